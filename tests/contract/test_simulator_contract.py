"""The simulator is a cluster."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from contract.cluster_contract import ClusterContract

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clock import TraceClock
from planner.clusters.cluster import Cluster
from planner.clusters.simulator import SimulatedCluster

START = datetime(2024, 3, 4, 8, 0, tzinfo=UTC)
WORDS = Topology(
    "words",
    (Operator("sentences"), Operator("split"), Operator("count")),
    (Stream("sentences", "split"), Stream("split", "count")),
)


def words_simulator(folder: Path) -> tuple[SimulatedCluster, TraceClock]:
    clock = TraceClock(folder / "clock")
    clock.start_at(START)
    profiles = {
        "sentences": OperatorProfile("sentences", 0.001),
        "split": OperatorProfile("split", 0.1, {"split->count": 5.0}),
        "count": OperatorProfile("count", 0.01),
    }
    truth = ArrivalHistory("words", {"sentences": ArrivalSeries("words", "sentences", START, 60, np.full(1440, 600.0))})
    plan = PhysicalPlan("words", {"sentences": 1, "split": 2, "count": 1})
    return SimulatedCluster(WORDS, profiles, plan, 8, 25.0, truth, clock, folder / "simulator"), clock


class TestSimulatorContract(ClusterContract):
    topology = WORDS

    @pytest.fixture
    def cluster(self, tmp_path: Path) -> Cluster:
        simulator, self.clock = words_simulator(tmp_path)
        return simulator

    @pytest.fixture
    def unreachable(self, tmp_path: Path) -> Callable[[], object]:
        simulator, _ = words_simulator(tmp_path)
        (tmp_path / "simulator").write_text("a file where its folder should be")
        return simulator.state

    def let_time_pass(self, seconds: float) -> None:
        self.clock.wait(seconds)
