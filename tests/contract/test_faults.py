"""Every adapter under every fault: on stand-ins that keep what they are asked for, and have the exact shapes.

That the stand-ins answer as the real ones do is held elsewhere: recorded answers of Flink, the contracts on real
servers, and tests/integration/kubernetes/test_stand_in.py.
"""

from pathlib import Path

import pytest
from contract.fault_contract import FaultContract
from fault_benches.bench import Bench
from fault_benches.flink import FlinkBench, FlinkRestartBench
from fault_benches.heron import HeronBench
from fault_benches.kubernetes import FlinkDeploymentBench, FlinkFloorBench, FloorBench, shop_bench
from fault_benches.simulator import SimulatorBench
from fault_benches.storm import StormBench

from engines.kubernetes.resources import AUTOSCALER, SCALED_OBJECT
from planner.ledger.ledger import Ledger

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its tables take longer than a deployment."""
    path = tmp_path_factory.mktemp("ledger") / "empty.db"
    Ledger(f"sqlite:///{path}")
    return path


class TestSimulatorFaults(FaultContract):
    def bench(self, folder: Path) -> Bench:
        return SimulatorBench(folder)


class TestFlinkFaults(FaultContract):
    def bench(self, folder: Path) -> Bench:
        return FlinkBench()


class TestFlinkRestartFaults(FaultContract):
    def bench(self, folder: Path) -> Bench:
        return FlinkRestartBench()


class TestStormFaults(FaultContract):
    def bench(self, folder: Path) -> Bench:
        return StormBench()


class TestHeronFaults(FaultContract):
    def bench(self, folder: Path) -> Bench:
        return HeronBench(folder)


class TestKubernetesFaults(FaultContract):
    """Micro-services are deployed by the same adapter."""

    def bench(self, folder: Path) -> Bench:
        return shop_bench()


class TestAutoscalerFaults(FaultContract):
    def bench(self, folder: Path) -> Bench:
        return FloorBench(AUTOSCALER)


class TestScaledObjectFaults(FaultContract):
    def bench(self, folder: Path) -> Bench:
        return FloorBench(SCALED_OBJECT)


class TestFlinkDeploymentFaults(FaultContract):
    def bench(self, folder: Path) -> Bench:
        return FlinkDeploymentBench()


class TestFlinkFloorFaults(FaultContract):
    def bench(self, folder: Path) -> Bench:
        return FlinkFloorBench()
