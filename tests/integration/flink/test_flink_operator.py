"""What the contract does not ask of FlinkDeployments: rights, the autoscaler's lower bound, what others change."""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

import pytest
from contract.scaler_floor_contract import Bounded, ScalerFloorContract
from flink_operator import FlinkOperator
from kubernetes_faults import faulty
from kubernetes_rights import Right, give, manifest, rights_of, service_token
from kubernetes_server import SOMEBODY, LocalKubernetes
from patience import until

from engines.kubernetes.resources import FLINK_DEPLOYMENT
from forescale.local.demo.word_count import RunningWordCount, WordCount
from forescale.local.flink.local_cluster import LocalFlink
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, Pending, Refusal, Verified
from planner.clusters.flink_deployment import OVERRIDES, VERTEX_FLOOR
from planner.clusters.flink_operator import AutoscaledFlinkOperatorCluster, FlinkOperatorCluster
from planner.clusters.flink_operator_floor import FlinkOperatorFloor
from planner.errors import ClusterError

JOB = WordCount(name="word-count-autoscaled")
NAMESPACE = "autoscaled"
NOTHING_ASKED: dict[str, str | None] = {OVERRIDES: None, VERTEX_FLOOR: None}

pytestmark = [pytest.mark.flink, pytest.mark.kubernetes, pytest.mark.slow]


@pytest.fixture(scope="module")
def operated(flink: LocalFlink, kubernetes: LocalKubernetes) -> Iterator[RunningWordCount]:
    job = JOB.start(flink, 20)
    try:
        operator = FlinkOperator(kubernetes, NAMESPACE, JOB.name, flink.url, slots=16, pods=4)
        kubernetes.create(*manifest("flink"), namespace=NAMESPACE)
        with operator.running():
            yield job
        assert operator.errors == []
    finally:
        job.cancel()


@pytest.fixture
def cluster(kubernetes: LocalKubernetes, flink: LocalFlink, operated: RunningWordCount) -> FlinkOperatorCluster:
    """Without an autoscaler."""
    _configure(kubernetes, {**NOTHING_ASKED, "job.autoscaler.enabled": None})
    return FlinkOperatorCluster(kubernetes.server(NAMESPACE), JOB.name, flink.url, JOB.topology, timeout_s=60)


@pytest.fixture
def autoscaled(
    kubernetes: LocalKubernetes, flink: LocalFlink, operated: RunningWordCount
) -> AutoscaledFlinkOperatorCluster:
    _configure(kubernetes, {**NOTHING_ASKED, "job.autoscaler.enabled": "true"})
    return AutoscaledFlinkOperatorCluster(kubernetes.server(NAMESPACE), JOB.name, flink.url, JOB.topology, timeout_s=60)


def _configure(kubernetes: LocalKubernetes, configuration: Mapping[str, str | None]) -> None:
    from kubernetes.client import CustomObjectsApi

    of = (FLINK_DEPLOYMENT.group, FLINK_DEPLOYMENT.version, NAMESPACE, FLINK_DEPLOYMENT.plural, JOB.name)
    CustomObjectsApi(kubernetes.client()).patch_namespaced_custom_object(
        *of,
        {"spec": {"flinkConfiguration": configuration}},
        field_manager="argocd",
        _content_type="application/merge-patch+json",
    )


def _more(plan: PhysicalPlan, **added: int) -> PhysicalPlan:
    return replace(plan, parallelism={name: count + added.get(name, 0) for name, count in plan.parallelism.items()})


def _settled(cluster: FlinkOperatorCluster) -> PhysicalPlan:
    until(lambda: cluster.state().status == "running")
    return cluster.state().plan


def _verified(setter: FlinkOperatorCluster | FlinkOperatorFloor, accepted: Accepted | Refusal) -> Verified:
    assert isinstance(accepted, Accepted), accepted
    until(lambda: not isinstance(setter.progress(accepted), Pending))
    progress = setter.progress(accepted)
    assert isinstance(progress, Verified), progress
    return progress


class TestFlinkOperatorFloorContract(ScalerFloorContract):
    """All operators run the same number of instances, so that one bound for all of them is any of these plans."""

    patience_s = 180.0
    poll_s = 0.5

    @pytest.fixture
    def cluster(self, autoscaled: AutoscaledFlinkOperatorCluster) -> Bounded:
        _settled(autoscaled)
        return autoscaled

    def let_time_pass(self, seconds: float) -> None:
        time.sleep(seconds)


def test_apply__refuses_where_the_operators_autoscaler_would_undo_it(autoscaled: FlinkOperatorCluster) -> None:
    before = _settled(autoscaled)
    refusal = autoscaled.apply(_more(before, count=1), expected=before)
    assert isinstance(refusal, Refusal)
    assert "job.autoscaler.enabled" in refusal.reason
    assert "for any other plan set its bounds in the object by hand" in refusal.reason
    assert autoscaled.state().plan.same_parallelism(before)


def test_floor__is_one_bound_for_all_vertices_and_leaves_the_job_alone_until_it_is_kept_to(
    autoscaled: AutoscaledFlinkOperatorCluster,
) -> None:
    """A plan of 1, 2 and 1 more than now is a bound by its largest number; undone, the bound is 1 again."""
    before = _settled(autoscaled)
    floor = autoscaled.scaler_floor()
    was = floor.floor()
    assert set(was.parallelism.values()) == {1}
    plan = _more(before, split=1)
    accepted = floor.apply(plan, expected=was)
    _verified(floor, accepted)
    largest = max(plan.parallelism.values())
    assert set(floor.floor().parallelism.values()) == {largest}
    assert all(count >= plan.parallelism[name] for name, count in autoscaled.state().plan.parallelism.items())
    stale = floor.apply(_more(plan, split=3), expected=was)
    assert isinstance(stale, Refusal)
    assert f"min-parallelism is {largest}, not 1 as was assumed" in stale.reason
    assert isinstance(accepted, Accepted)
    assert isinstance(floor.undo(accepted), Accepted)
    assert floor.floor().same_parallelism(was)


def test_floor__needs_an_autoscaler_that_keeps_to_it(
    kubernetes: LocalKubernetes, flink: LocalFlink, cluster: FlinkOperatorCluster
) -> None:
    same = AutoscaledFlinkOperatorCluster(kubernetes.server(NAMESPACE), JOB.name, flink.url, JOB.topology, timeout_s=60)
    floor = same.scaler_floor()
    refusal = floor.apply(_more(floor.floor(), count=2), expected=floor.floor())
    assert isinstance(refusal, Refusal)
    assert "set job.autoscaler.enabled, or leave planning.mode: floor" in refusal.reason


def test_apply__names_who_set_the_overrides(kubernetes: LocalKubernetes, cluster: FlinkOperatorCluster) -> None:
    _configure(kubernetes, {OVERRIDES: ""})
    before = _settled(cluster)
    refusal = cluster.apply(_more(before, count=1), expected=before)
    _configure(kubernetes, {OVERRIDES: None})
    assert isinstance(refusal, Refusal)
    assert f"flinkdeployment/{JOB.name}: 'argocd' sets what the plan would" in refusal.reason


@pytest.mark.parametrize("kind", ["effect, then silence", "no effect, then 409"])
def test_apply__ends_in_the_plan_when_asked_again_after_a_fault(
    kubernetes: LocalKubernetes, flink: LocalFlink, cluster: FlinkOperatorCluster, kind: str
) -> None:
    before = _settled(cluster)
    count = before.parallelism["count"]
    plan = _more(before, count=-1 if count > 1 else 1)
    server = faulty(kubernetes, NAMESPACE, kind, 1)
    with suppress(ClusterError):
        FlinkOperatorCluster(server, JOB.name, flink.url, JOB.topology, timeout_s=60).apply(plan, expected=before)
    again = cluster.apply(plan, expected=before)
    assert isinstance(again, Accepted), again
    assert again.replaced.same_parallelism(before)
    _verified(cluster, again)
    _verified(cluster, cluster.undo(again))
    assert cluster.state().plan.same_parallelism(before)


def test_rights__are_enough_to_deploy_verify_and_undo_and_doctor_says_so(
    kubernetes: LocalKubernetes, flink: LocalFlink, cluster: FlinkOperatorCluster
) -> None:
    _settled(cluster)
    account = _account(kubernetes, flink)
    assert "a dry run of " in account.check_may_rescale()
    assert _deployed_and_undone(account) == ""


@pytest.mark.parametrize("right", rights_of("flink"), ids=str)
def test_rights__are_no_more_than_are_needed_and_doctor_misses_each(
    kubernetes: LocalKubernetes, flink: LocalFlink, cluster: FlinkOperatorCluster, right: Right
) -> None:
    _settled(cluster)
    account = _account(kubernetes, flink, right)
    with pytest.raises(ClusterError) as missed:
        account.check_may_rescale()
    for told in (str(missed.value), _deployed_and_undone(account)):
        assert f"grant the verb {right.verb} on {right.resource} of API group {right.group!r}" in told


def test_state__names_the_right_that_is_lacking(
    kubernetes: LocalKubernetes, flink: LocalFlink, cluster: FlinkOperatorCluster
) -> None:
    nobody = FlinkOperatorCluster(
        kubernetes.server(NAMESPACE, SOMEBODY), JOB.name, flink.url, JOB.topology, timeout_s=60
    )
    with pytest.raises(ClusterError, match="grant the verb get on flinkdeployments"):
        nobody.state()


def _account(kubernetes: LocalKubernetes, flink: LocalFlink, without: Right | None = None) -> FlinkOperatorCluster:
    token = service_token(kubernetes, NAMESPACE, "flink")
    give(kubernetes, NAMESPACE, "flink", token, without)
    server = kubernetes.server(NAMESPACE, "account", token)
    return FlinkOperatorCluster(server, JOB.name, flink.url, JOB.topology, timeout_s=60)


def _deployed_and_undone(cluster: FlinkOperatorCluster) -> str:
    """Beyond the 16 slots of one task manager, and back; what was said against it, if anything."""
    try:
        before = cluster.state().plan
        accepted = cluster.apply(_more(before, count=16), expected=before)
        if isinstance(accepted, Refusal):
            return accepted.reason
        # Nobody starts another task manager here: that it is asked for is enough.
        back = cluster.undo(accepted)
        _verified(cluster, back)
    except ClusterError as error:
        return str(error)
    return ""
