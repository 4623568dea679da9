"""Every packer keeps to the one contract, on nodes that are alike, that differ, and that nobody tells."""

from typing import Any

import pytest
from contract.packer_contract import PackerContract
from packing_cases import NODES, three_nodes

from modeling.inputs.site import ContainerSize, Site
from planner.packing.offer import Offer
from planner.packing.packer import Packer
from planner.packing.registry import PACKERS

ALIKE = Site(ContainerSize(2.0, 1500.0))
DEALT = {"round_robin": 6, "even_spread": 6}
"""Packers that do not find a number of containers by themselves: at least 17 instances / 7 of 200 MiB in 1500."""


def _offer(name: str, nodes: bool) -> Offer:
    return Offer(
        site=three_nodes() if nodes else ALIKE,
        containers=DEALT.get(name),
        nodes=NODES if nodes else {},
        slots=2 if name == "flink_slots" else 1,
    )


def each() -> list[Any]:
    made = [(name, nodes) for name in PACKERS for nodes in (False, True) if nodes or name != "network_aware"]
    return [pytest.param(PACKERS[name](_offer(name, nodes)), id=f"{name}{' on nodes' * nodes}") for name, nodes in made]


class TestEveryPacker(PackerContract):
    @pytest.fixture(params=each())
    def packer(self, request: pytest.FixtureRequest) -> Packer:
        packer: Packer = request.param
        return packer


def test_packers__are_known_by_their_names() -> None:
    assert all(make(Offer()).name == name for name, make in PACKERS.items())
