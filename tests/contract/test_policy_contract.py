"""Every policy of a replay keeps to the one contract."""

import pytest
from contract.policy_contract import PolicyContract

from planner.replay.contest import POLICIES


class TestEveryPolicy(PolicyContract):
    @pytest.fixture(params=list(POLICIES))
    def name(self, request: pytest.FixtureRequest) -> str:
        name: str = request.param
        return name
