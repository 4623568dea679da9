"""Whatever a request meets, asking again for the same plan ends in that plan, and undoing in the one before."""

import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from kubernetes_objects import deployment, namespace
from kubernetes_server import LocalKubernetes

from engines.kubernetes.server import KubernetesServer
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.cluster import Accepted, Refusal
from planner.clusters.kubernetes import KubernetesCluster
from planner.errors import ClusterError

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

TOPOLOGY = Topology("shop", (Operator("orders", 20), Operator("bills", 20)), (Stream("orders", "bills"),))
OPERATORS = {"orders": "deployment/orders", "bills": "deployment/bills"}
BEFORE, AFTER = PhysicalPlan("shop", {"orders": 2, "bills": 1}), PhysicalPlan("shop", {"orders": 5, "bills": 3})
PATCHES = 4
"""Of a change of two operators: each as a dry run, then each for good."""

_places = (f"faults-{number}" for number in itertools.count())


class Fault:
    """What the patch of that number meets, counted from 1."""

    def __init__(self, kind: str, number: int, answer: Callable[..., Any]) -> None:
        self.kind, self.number, self._answer, self._patches = kind, number, answer, 0

    def request(self, method: str, *positional: Any, **named: Any) -> Any:
        import urllib3
        from kubernetes.client.rest import RESTResponse

        def answer(status: int, body: bytes) -> RESTResponse:
            return RESTResponse(urllib3.HTTPResponse(body, {"Content-Type": "application/json"}, status=status))

        self._patches += method == "PATCH"
        if method != "PATCH" or self._patches != self.number:
            return self._answer(method, *positional, **named)
        happens, _, what = self.kind.partition(", then ")
        if happens == "effect":
            self._answer(method, *positional, **named).read()
        if what == "silence":
            raise urllib3.exceptions.ReadTimeoutError(None, "/", "Read timed out.")  # type: ignore[arg-type]
        if what == "a broken connection":
            raise urllib3.exceptions.ProtocolError("Connection aborted.")
        if what == "half an answer":
            return answer(200, b'{"kind": "Scale", "metadata": {"na')
        status = int(what)
        return answer(status, b'{"kind": "Status", "message": "too bad", "code": %d}' % status)


@pytest.fixture
def place(kubernetes: LocalKubernetes) -> str:
    """A namespace of its own, in which the plan before runs."""
    name = next(_places)
    kubernetes.create(namespace(name))
    kubernetes.create(deployment("orders", 7), deployment("bills", 7), namespace=name)
    # Replicas belong to whoever made the object, even those that the server filled in.
    cluster = KubernetesCluster(kubernetes.server(name), TOPOLOGY, OPERATORS, frozenset({"OpenAPI-Generator"}))
    assert isinstance(cluster.apply(BEFORE, expected=PhysicalPlan("shop", {"orders": 7, "bills": 7})), Accepted)
    return name


def _faulty(kubernetes: LocalKubernetes, place: str, kind: str, number: int) -> KubernetesServer:
    client = kubernetes.client()
    client.rest_client.request = Fault(kind, number, client.rest_client.request).request
    return KubernetesServer(place, ClusterError, client=client)


def _cluster(server: KubernetesServer) -> KubernetesCluster:
    return KubernetesCluster(server, TOPOLOGY, OPERATORS)


KINDS = [
    "no effect, then silence",
    "effect, then silence",
    "no effect, then a broken connection",
    "effect, then half an answer",
    "no effect, then 409",
    "no effect, then 429",
    "no effect, then 500",
    "effect, then 500",
    "no effect, then 503",
    "no effect, then 422",
]


@pytest.mark.parametrize("number", range(1, PATCHES + 1))
@pytest.mark.parametrize("kind", KINDS)
def test_apply__ends_in_the_plan_when_asked_again_after_a_fault(
    kubernetes: LocalKubernetes, place: str, kind: str, number: int
) -> None:
    with suppress(ClusterError):
        answer = _cluster(_faulty(kubernetes, place, kind, number)).apply(AFTER, expected=BEFORE)
        left = BEFORE if isinstance(answer, Refusal) else AFTER
        assert _cluster(kubernetes.server(place)).state().plan.same_parallelism(left)
    cluster = _cluster(kubernetes.server(place))
    again = cluster.apply(AFTER, expected=BEFORE)
    assert isinstance(again, Accepted), again
    assert again.replaced.same_parallelism(BEFORE)
    assert cluster.state().plan.same_parallelism(AFTER)


@pytest.mark.parametrize("number", range(1, PATCHES + 1))
@pytest.mark.parametrize("kind", ["effect, then silence", "no effect, then 500"])
def test_undo__ends_in_the_plan_before_when_asked_again_after_a_fault(
    kubernetes: LocalKubernetes, place: str, kind: str, number: int
) -> None:
    accepted = _cluster(kubernetes.server(place)).apply(AFTER, expected=BEFORE)
    assert isinstance(accepted, Accepted), accepted
    with pytest.raises(ClusterError):
        _cluster(_faulty(kubernetes, place, kind, number)).undo(accepted)
    cluster = _cluster(kubernetes.server(place))
    assert isinstance(cluster.undo(accepted), Accepted)
    assert cluster.state().plan.same_parallelism(BEFORE)


def test_undo__takes_back_a_change_that_was_cut_short(kubernetes: LocalKubernetes, place: str) -> None:
    with pytest.raises(ClusterError):
        _cluster(_faulty(kubernetes, place, "effect, then silence", 3)).apply(AFTER, expected=BEFORE)
    cluster = _cluster(kubernetes.server(place))
    assert cluster.state().plan.parallelism == {"orders": 5, "bills": 1}
    back = cluster.undo(Accepted(AFTER, BEFORE, cluster.state().observed_at))
    assert isinstance(back, Accepted), back
    assert cluster.state().plan.same_parallelism(BEFORE)
