"""The lower bounds of autoscalers behind a real API server take plans as a cluster does, while the load is low."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import pytest
from contract.cluster_contract import ClusterContract
from contract.scaler_floor_contract import Bounded, ScalerFloorContract
from kubernetes_controllers import Controllers
from kubernetes_objects import autoscaler, deployment, namespace, scaled_object
from kubernetes_server import LocalKubernetes
from patience import until
from server_process import free_ports

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, SCALED_OBJECT
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.cluster import Accepted, Cluster, Failed, Pending, Refusal, Status, Verified
from planner.clusters.kubernetes import AutoscaledKubernetesCluster

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

TOPOLOGY = Topology("shop", (Operator("orders", 20), Operator("bills", 20)), (Stream("orders", "bills"),))
MOST, MANY = 6, 18


@pytest.fixture(scope="module")
def controllers(kubernetes: LocalKubernetes) -> Iterator[None]:
    """Four namespaces: in two of them scalers follow the load down to their bounds at once, in two they never do."""
    most = {"floor-hpa": MOST, "floor-keda": MOST, "bound-hpa": MANY, "bound-keda": MANY}
    played = []
    for name, upper in most.items():
        scalers: tuple[dict[str, Any], ...] = (scaled_object("orders", upper), scaled_object("bills", upper))
        if name.endswith("hpa"):
            scalers = autoscaler("orders", 2, upper), autoscaler("bills", 1, upper)
        kubernetes.create(namespace(name))
        kubernetes.create(deployment("orders", None), deployment("bills", None), *scalers, namespace=name)
        kinds = (DEPLOYMENT, AUTOSCALER if name.endswith("hpa") else SCALED_OBJECT)
        played.append(Controllers(kubernetes, name, kinds, scales_down=name.startswith("floor")))
    with contextlib.ExitStack() as running:
        for each in played:
            running.enter_context(each.running())
        yield
    assert [error for each in played for error in each.errors] == []


class OnItsFloor(AutoscaledKubernetesCluster):
    """A cluster whose scalers hold it at their lower bounds: there, to set a bound is to set what runs."""

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        return self.scaler_floor().apply(plan, expected=expected)

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        floor = self.scaler_floor().progress(accepted)
        runs = self.state().plan.same_parallelism(accepted.plan)
        return floor if runs or not isinstance(floor, Verified) else Pending("replicas are yet to go")

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        return self.scaler_floor().undo(accepted)


class FloorContract(ClusterContract):
    patience_s = 120.0
    poll_s = 0.1
    measured_s = 0.2
    counts_tuples = False
    topology = TOPOLOGY
    operators: ClassVar[Mapping[str, str]]
    namespace: str

    @pytest.fixture
    def cluster(self, kubernetes: LocalKubernetes, controllers: None) -> Cluster:
        server = kubernetes.server(self.namespace)
        found = OnItsFloor(server, TOPOLOGY, self.operators, frozenset({"OpenAPI-Generator"}))
        until(lambda: found.state().status is Status.RUNNING)  # its pods are played by others, and begin when they do
        return found

    @pytest.fixture
    def unreachable(self, kubernetes: LocalKubernetes) -> Callable[[], object]:
        nobody = LocalKubernetes(f"https://127.0.0.1:{free_ports(1)[0]}", kubernetes.folder)
        return OnItsFloor(nobody.server(self.namespace, "nobody"), TOPOLOGY, self.operators).scaler_floor().floor

    def let_time_pass(self, seconds: float) -> None:
        time.sleep(seconds)

    def test_floor__is_what_runs_while_the_load_is_low(self, cluster: OnItsFloor) -> None:
        assert cluster.scaler_floor().floor().same_parallelism(cluster.state().plan)


class TestHorizontalPodAutoscalerContract(FloorContract):
    namespace = "floor-hpa"
    operators: ClassVar = {"orders": "hpa/orders", "bills": "hpa/bills"}


class TestScaledObjectContract(FloorContract):
    namespace = "floor-keda"
    operators: ClassVar = {"orders": "scaledobject/orders", "bills": "scaledobject/bills"}


class BoundContract(ScalerFloorContract):
    patience_s = 120.0
    poll_s = 0.1
    operators: ClassVar[Mapping[str, str]]
    namespace: str

    @pytest.fixture
    def cluster(self, kubernetes: LocalKubernetes, controllers: None) -> Bounded:
        server = kubernetes.server(self.namespace)
        return AutoscaledKubernetesCluster(server, TOPOLOGY, self.operators, frozenset({"OpenAPI-Generator"}))

    def let_time_pass(self, seconds: float) -> None:
        time.sleep(seconds)


class TestHorizontalPodAutoscalerBoundContract(BoundContract):
    namespace = "bound-hpa"
    operators: ClassVar = {"orders": "hpa/orders", "bills": "hpa/bills"}


class TestScaledObjectBoundContract(BoundContract):
    namespace = "bound-keda"
    operators: ClassVar = {"orders": "scaledobject/orders", "bills": "scaledobject/bills"}
