"""The simulator with a scaler that takes a bound is what floor mode takes such a cluster for."""

from pathlib import Path

import pytest
from bounded_simulator import BoundedSimulator
from contract.scaler_floor_contract import Bounded, ScalerFloorContract
from contract.test_simulator_contract import words_simulator

from modeling.inputs.physical_plan import PhysicalPlan


class TestScalerFloorContract(ScalerFloorContract):
    @pytest.fixture
    def cluster(self, tmp_path: Path) -> Bounded:
        made, self.clock = words_simulator(tmp_path)
        least = dict.fromkeys(made.state().plan.parallelism, 1)
        return BoundedSimulator(made, PhysicalPlan("words", least))

    def let_time_pass(self, seconds: float) -> None:
        self.clock.wait(seconds)
