"""Steps of a schedule in floor mode on a real autoscaler's bounds, from the ledger to the replicas."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from kubernetes_controllers import Controllers
from kubernetes_objects import autoscaler, deployment, namespace
from kubernetes_server import LocalKubernetes
from ledger_decisions import NOON, plan_of, steps_at
from patience import until

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clock import RealClock
from planner.clusters.kubernetes import AutoscaledKubernetesCluster
from planner.deployment import Deployment, Patience, deploy_step
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

CALLS = Topology("calls", (Operator("ingest", 20), Operator("transcribe", 20)), (Stream("ingest", "transcribe"),))

OPERATORS = {"ingest": "hpa/ingest", "transcribe": "hpa/transcribe"}
NAMESPACE = "floor-steps"


class ClockOfTheLedger(RealClock):
    """Begins at the time of the ledger's steps, and goes as fast as the API server's."""

    def __init__(self) -> None:
        self._behind = datetime.now(UTC) - NOON

    def now(self) -> datetime:
        return super().now() - self._behind


def test_steps__raise_and_lower_the_bound_and_the_autoscaler_has_the_last_word(
    kubernetes: LocalKubernetes, tmp_path: Path
) -> None:
    """The bound is 2. A step raises it to 6, the load then asks for 9, and the next step lowers the bound to 3: 9 run
    on until the load goes.
    """
    kubernetes.create(namespace(NAMESPACE))
    kubernetes.create(deployment("ingest", None), deployment("transcribe", None), namespace=NAMESPACE)
    kubernetes.create(autoscaler("ingest", 1, 20), autoscaler("transcribe", 2, 20), namespace=NAMESPACE)
    server = kubernetes.server(NAMESPACE)
    cluster = AutoscaledKubernetesCluster(server, CALLS, OPERATORS, frozenset({"OpenAPI-Generator"}))
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    with Controllers(kubernetes, NAMESPACE, (AUTOSCALER, DEPLOYMENT)).running() as controllers:
        up = _deployed(cluster, ledger, 6)
        assert up.state is StepState.VERIFIED
        assert cluster.state().plan.same_parallelism(plan_of(6))
        controllers.demand["transcribe"] = 9
        _until_runs(cluster, 9)
        down = _deployed(cluster, ledger, 3)
        assert down.state is StepState.VERIFIED
        assert cluster.scaler_floor().floor().same_parallelism(plan_of(3))
        assert cluster.state().plan.same_parallelism(plan_of(9))
        controllers.demand["transcribe"] = 0
        _until_runs(cluster, 3)
    assert controllers.errors == []


def _deployed(cluster: AutoscaledKubernetesCluster, ledger: Ledger, transcribe: int) -> Deployment:
    """A step that is due now, approved and deployed."""
    clock = ClockOfTheLedger()
    schedule = ledger.record_schedule(steps_at((0, transcribe)))
    ledger.approve_schedule(schedule, at=clock.now(), by="anna", why="as planned")
    patience = Patience(timeout_s=120, poll_s=0.1, hold_s=0.3)
    return deploy_step(f"{schedule}-1", ledger, cluster, clock, by="test", patience=patience, floor_within=40)


def _until_runs(cluster: AutoscaledKubernetesCluster, transcribe: int) -> None:
    until(lambda: cluster.state().plan.same_parallelism(plan_of(transcribe)))
