"""What a real Flink does beyond the contract: groupings, limits, changes under way, cancelled jobs, service times."""

import socket
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from machine import stretched
from patience import until

from forescale.local.demo.word_count import COUNT, SOURCE, SPLIT, RunningWordCount, WordCount
from forescale.local.flink.local_cluster import LocalFlink
from modeling.calibration.calibrated import calibrated
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, Failed, Pending, Refusal, Status, Verified
from planner.clusters.flink import FlinkCluster
from planner.errors import ClusterError

pytestmark = [pytest.mark.flink, pytest.mark.slow]

JOB = WordCount(name="word-count-under-test")


def plan_with(cluster: FlinkCluster, **parallelism: int) -> PhysicalPlan:
    plan = cluster.state().plan
    return replace(plan, parallelism={**plan.parallelism, **parallelism})


def finished(cluster: FlinkCluster, accepted: Accepted | Refusal) -> Verified | Failed:
    assert isinstance(accepted, Accepted), accepted
    for _ in range(120):
        if not isinstance(progress := cluster.progress(accepted), Pending):
            return progress
        time.sleep(0.5)
    raise AssertionError(progress)


def settle(cluster: FlinkCluster, **parallelism: int) -> PhysicalPlan:
    """Bring the shared job to that parallelism, whatever a test before it left running."""
    plan = plan_with(cluster, **parallelism)

    def asked() -> Accepted | None:
        """A change that is under way is waited for."""
        accepted = cluster.apply(plan, expected=cluster.state().plan)
        return accepted if isinstance(accepted, Accepted) else None

    assert isinstance(finished(cluster, until(asked)), Verified)
    return plan


@pytest.fixture
def another(flink: LocalFlink) -> Iterator[RunningWordCount]:
    """A second job, for tests that take it away."""
    job = WordCount(name="another").start(flink, 10)
    yield job
    job.cancel()


def test_rescale__tells_its_downtime_and_takes_no_slots_but_those_it_needs(
    cluster: FlinkCluster, flink: LocalFlink
) -> None:
    settle(cluster, sentences=1, split=1, count=1)
    plan = plan_with(cluster, sentences=1, split=2, count=3)
    verified = finished(cluster, cluster.apply(plan, expected=cluster.state().plan))
    assert isinstance(verified, Verified)
    assert verified.downtime_s is not None
    assert 0 < verified.downtime_s < 30
    assert cluster.state().running_since == verified.running_since
    free_slots = flink.slots - 3  # a slot holds one subtask of each operator
    # What a larger plan or a cancelled job held before is given back after 50 s without use.
    until(lambda: cluster.state().free_slots == free_slots, within_s=180)


def test_apply__reaches_the_job_manager_that_answers_among_several(cluster: FlinkCluster, flink: LocalFlink) -> None:
    with socket.socket() as probe:  # a port that nobody listens on
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    behind = FlinkCluster(
        f"http://127.0.0.1:{port}", JOB.name, JOB.topology, warm_s=3.0, timeout_s=60, standby_urls=(flink.url,)
    )
    settle(cluster, sentences=1, split=1, count=1)
    plan = plan_with(behind, count=2)
    assert isinstance(finished(behind, behind.apply(plan, expected=behind.state().plan)), Verified)
    until(lambda: cluster.state().plan == plan)  # Flink caches what it tells of a job


def test_apply__refuses_more_instances_than_key_groups(cluster: FlinkCluster) -> None:
    before = cluster.state().plan
    refusal = cluster.apply(plan_with(cluster, count=129), expected=before)
    assert isinstance(refusal, Refusal)
    assert "129" in refusal.reason
    assert "128" in refusal.reason


def test_undo__of_a_change_under_way_ends_in_the_old_plan(cluster: FlinkCluster) -> None:
    before = settle(cluster, sentences=1, split=1, count=2)
    accepted = cluster.apply(plan_with(cluster, count=4), expected=before)
    assert isinstance(accepted, Accepted)
    undone = cluster.undo(accepted)
    assert isinstance(finished(cluster, undone), Verified)
    until(lambda: (state := cluster.state()).status is Status.RUNNING and state.plan == before)


def test_samples__give_the_service_times_that_the_job_was_told_to_take(
    cluster: FlinkCluster, word_count: RunningWordCount
) -> None:
    settle(cluster, sentences=1, split=2, count=2)
    word_count.offer(200)
    for _ in range(4):
        with stretched() as stretch:
            samples = cluster.operator_samples(8.0)
        per_s = sum(sample.records_in / sample.span_s for sample in samples if sample.operator == SOURCE)
        if per_s > 0.95 * 200 / stretch.factor:  # else the machine was too busy to send as many
            break
    profiles = calibrated(JOB.topology, samples, JOB.declared_profiles(), warm_s=3.0).profiles
    # Told: 4 ms a sentence, 1 ms a word, 5 words a sentence. A machine that is late adds to it, never takes from it.
    assert 0.95 * 0.004 < profiles[SPLIT].service_s < 1.15 * 0.004 * stretch.factor
    assert 0.95 * 0.001 < profiles[COUNT].service_s < 1.15 * 0.001 * stretch.factor
    # Whole buffers are counted as they leave: some tens of words at the edges of the span.
    assert profiles[SPLIT].selectivity[f"{SPLIT}->{COUNT}"] == pytest.approx(5.0, rel=0.02)
    assert 0.95 * 200 / stretch.factor < per_s < 1.05 * 200


def test_job__that_is_cancelled_is_down_and_fails_what_was_asked_of_it(
    flink: LocalFlink, another: RunningWordCount
) -> None:
    topology = WordCount(name="another").topology
    cluster = FlinkCluster(flink.url, "another", topology, warm_s=1.0, timeout_s=60)
    before = cluster.state().plan
    accepted = cluster.apply(replace(before, parallelism={**before.parallelism, COUNT: 2}), expected=before)
    finished(cluster, accepted)
    another.cancel()
    until(lambda: cluster.state().status is Status.DOWN)
    assert isinstance(accepted, Accepted)
    assert isinstance(cluster.progress(accepted), Failed)
    assert isinstance(cluster.undo(accepted), Refusal)
    with pytest.raises(ClusterError, match="is down"):
        cluster.operator_samples(1.0)
