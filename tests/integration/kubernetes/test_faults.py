"""Some of what a request may meet, on a real API server: asking again ends in the plan, and undoing in the one before.

The whole matrix runs on a stand-in, which test_stand_in.py holds against this server.
"""

import itertools
from contextlib import suppress

import pytest
from kubernetes_faults import faulty
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
FOR_GOOD = (3, 4)
"""Patches of a change of two operators that are no dry runs: those come first."""

_places = (f"faults-{number}" for number in itertools.count())


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


def _cluster(server: KubernetesServer) -> KubernetesCluster:
    return KubernetesCluster(server, TOPOLOGY, OPERATORS)


KINDS = ["effect, then silence", "effect, then half an answer", "no effect, then 409", "no effect, then 500"]


@pytest.mark.parametrize("number", FOR_GOOD)
@pytest.mark.parametrize("kind", KINDS)
def test_apply__ends_in_the_plan_when_asked_again_after_a_fault(
    kubernetes: LocalKubernetes, place: str, kind: str, number: int
) -> None:
    with suppress(ClusterError):
        answer = _cluster(faulty(kubernetes, place, kind, number)).apply(AFTER, expected=BEFORE)
        left = BEFORE if isinstance(answer, Refusal) else AFTER
        assert _cluster(kubernetes.server(place)).state().plan.same_parallelism(left)
    cluster = _cluster(kubernetes.server(place))
    again = cluster.apply(AFTER, expected=BEFORE)
    assert isinstance(again, Accepted), again
    assert again.replaced.same_parallelism(BEFORE)
    assert cluster.state().plan.same_parallelism(AFTER)


@pytest.mark.parametrize("number", FOR_GOOD)
def test_undo__ends_in_the_plan_before_when_asked_again_after_a_fault(
    kubernetes: LocalKubernetes, place: str, number: int
) -> None:
    accepted = _cluster(kubernetes.server(place)).apply(AFTER, expected=BEFORE)
    assert isinstance(accepted, Accepted), accepted
    with pytest.raises(ClusterError):
        _cluster(faulty(kubernetes, place, "effect, then silence", number)).undo(accepted)
    cluster = _cluster(kubernetes.server(place))
    assert isinstance(cluster.undo(accepted), Accepted)
    assert cluster.state().plan.same_parallelism(BEFORE)


def test_undo__takes_back_a_change_that_was_cut_short(kubernetes: LocalKubernetes, place: str) -> None:
    with pytest.raises(ClusterError):
        _cluster(faulty(kubernetes, place, "effect, then silence", 3)).apply(AFTER, expected=BEFORE)
    cluster = _cluster(kubernetes.server(place))
    assert cluster.state().plan.parallelism == {"orders": 5, "bills": 1}
    back = cluster.undo(Accepted(AFTER, BEFORE, cluster.state().observed_at))
    assert isinstance(back, Accepted), back
    assert cluster.state().plan.same_parallelism(BEFORE)
