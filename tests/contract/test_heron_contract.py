"""The stand-in for Heron is a cluster; no Heron is to be had."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from contract.cluster_contract import ClusterContract
from heron_stand_in import HeronStandIn, heron_stand_in

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from planner.clusters.cluster import Accepted, Cluster, Pending, Refusal
from planner.clusters.heron import HeronCluster, HeronNames
from planner.clusters.heron_packing import PredictedPacking
from planner.errors import ClusterError
from planner.packing.first_fit_decreasing import FirstFitDecreasing
from planner.packing.offer import Offer

pytestmark = pytest.mark.slow

WORDS = Topology(
    "words",
    (Operator("feed", 16), Operator("split", 16), Operator("count", 16)),
    (Stream("feed", "split"), Stream("split", "count", Grouping.FIELDS)),
    Engine.HERON,
)
NAMES = HeronNames("local", "prod", "words", "ubuntu")


class TestHeronContract(ClusterContract):
    topology = WORDS
    patience_s = 120.0
    poll_s = 0.2
    measured_s = 600.0

    @pytest.fixture
    def heron(self, tmp_path: Path) -> Iterator[HeronStandIn]:
        with heron_stand_in(tmp_path) as stand_in:
            yield stand_in

    @pytest.fixture
    def cluster(self, heron: HeronStandIn) -> Cluster:
        return self.connected(heron)

    @pytest.fixture
    def unreachable(self) -> Callable[[], object]:
        return HeronCluster("http://127.0.0.1:9", NAMES, WORDS, timeout_s=2.0).state

    def connected(self, heron: HeronStandIn, predicted: PredictedPacking | None = None) -> HeronCluster:
        return HeronCluster(heron.url, NAMES, WORDS, client=[str(heron.client)], max_containers=6, predicted=predicted)

    def let_time_pass(self, seconds: float) -> None:
        """Counters of the stand-in reach back for an hour."""
        if seconds <= self.poll_s:
            time.sleep(seconds)

    def test_operator_samples__cover_every_instance_with_finite_numbers(self, cluster: Cluster) -> None:
        """Heron has one sample for each minute: five of them here, of all instances."""
        samples = cluster.operator_samples(300.0)
        assert {(each.operator, each.index) for each in samples} == {
            ("feed", 0),
            ("split", 0),
            ("split", 1),
            ("count", 0),
            ("count", 1),
        }
        assert all(each.span_s == 60 for each in samples)

    def test_apply__asks_for_what_changes_alone_after_a_dry_run(self, cluster: Cluster, heron: HeronStandIn) -> None:
        before = cluster.state().plan
        assert isinstance(cluster.apply(_with(before, count=3), expected=before), Accepted)
        dry, real = heron.calls()
        assert real == ["update", "local/ubuntu/prod", "words", "--component-parallelism", "count:3"]
        assert dry == [*real, "--dry-run", "--dry-run-format", "json"]

    def test_apply__logs_the_packing_that_heron_will_make(
        self, cluster: Cluster, caplog: pytest.LogCaptureFixture
    ) -> None:
        before = cluster.state().plan
        with caplog.at_level("INFO"):
            cluster.apply(_with(before, count=3), expected=before)
        assert "heron update will pack 1: feed[0], split[0], split[1], count[2]; 2: count[0], count[1]" in caplog.text

    def test_apply__that_heron_refuses__changes_nothing(self, cluster: Cluster, heron: HeronStandIn) -> None:
        before = cluster.state().plan
        heron.change(down="[ERROR]: Failed to update topology words")
        refusal = cluster.apply(_with(before, count=3), expected=before)
        assert isinstance(refusal, Refusal)
        assert "Failed to update topology words" in refusal.reason
        assert "spouts may be paused: activate them by `" in refusal.reason
        assert "heron activate local/ubuntu/prod words`" in refusal.reason
        assert cluster.state().plan == before

    def test_apply__while_another_update_is_under_way__waits_for_the_next_attempt(
        self, cluster: Cluster, heron: HeronStandIn
    ) -> None:
        """It may be one that a killed deployment left behind: refused now, its plan would come all the same."""
        before = cluster.state().plan
        heron.change(
            down="[ERROR]: The update lock can not be obtained for topology words. Another actor is performing an "
            "update on it. Failing this request, try again once current update is complete"
        )
        with pytest.raises(ClusterError, match=r"another update is under way .* deploy again when it has ended"):
            cluster.apply(_with(before, count=3), expected=before)
        assert cluster.state().plan == before

    def test_dry_run__as_predicted__is_shown_before_the_update_and_nothing_more_is_said(
        self, heron: HeronStandIn, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Containers of 4 instances: 1 has room for one more, which both put there. The stand-in has a rule of its own,
        so that this tests the comparison; that the packers are Heron's is tested in tests/unit/packing.
        """
        cluster = self.connected(heron, predicted(4))
        before = cluster.state().plan
        with caplog.at_level("INFO"):
            accepted = cluster.apply(_with(before, count=3), expected=before)
        assert isinstance(accepted, Accepted)
        assert accepted.note == ""
        assert "heron update will pack 1: feed[0], split[0], split[1], count[2]; 2: count[0], count[1]" in caplog.text
        assert "predicts" not in caplog.text

    def test_dry_run__other_than_predicted__is_told_and_heron_has_its_way(
        self, heron: HeronStandIn, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Of at most 3 instances container 1 is full: the prediction puts count[2] into container 2, Heron does not."""
        cluster = self.connected(heron, predicted(3))
        before = cluster.state().plan
        accepted = cluster.apply(_with(before, count=3), expected=before)
        assert isinstance(accepted, Accepted)
        assert accepted.note.startswith(
            "Heron packs 2 containers (count 1, feed 1, split 2 | count 2), where first_fit_decreasing predicts 2 "
            "containers (feed 1, split 2 | count 3); Heron's is made, and schedules count the predicted containers: "
            "set packing.packer"
        )
        assert accepted.note in caplog.text
        self.verified(cluster, accepted)
        assert [len(each.instances) for each in cluster.state().plan.packing] == [4, 2]

    def test_apply__that_fails_with_the_packing_changed__is_for_progress_and_undo(
        self, cluster: Cluster, heron: HeronStandIn
    ) -> None:
        before = cluster.state().plan
        heron.change(torn="[ERROR]: instances did not come up", lost=["count"])
        accepted = cluster.apply(_with(before, count=3), expected=before)
        assert isinstance(accepted, Accepted)
        assert isinstance(cluster.progress(accepted), Pending)
        heron.change(torn="")
        assert isinstance(cluster.undo(accepted), Accepted)
        assert cluster.state().plan.same_parallelism(before)

    def test_progress__waits_for_instances_that_do_not_report(self, cluster: Cluster, heron: HeronStandIn) -> None:
        before = cluster.state().plan
        heron.change(lost=["count"])
        accepted = cluster.apply(_with(before, count=3), expected=before)
        assert isinstance(accepted, Accepted)
        assert isinstance(pending := cluster.progress(accepted), Pending)
        assert "instances of count have not reported" in pending.reason

    def test_killed_after_asking__is_taken_up_by_another_process(self, cluster: Cluster, heron: HeronStandIn) -> None:
        before = cluster.state().plan
        plan = _with(before, count=3)
        cluster.apply(plan, expected=before)
        another = self.connected(heron)
        taken_up = another.apply(plan, expected=before)
        assert self.verified(another, taken_up).downtime_s is None
        assert isinstance(taken_up, Accepted)
        self.verified(another, another.undo(taken_up))
        assert cluster.state().plan.same_parallelism(before)

    def test_state__tells_the_packing_by_rank(self, cluster: Cluster) -> None:
        packing = cluster.state().plan.packing
        assert [(each.id, [str(one) for one in each.instances]) for each in packing] == [
            (1, ["feed[0]", "split[0]", "split[1]"]),
            (2, ["count[0]", "count[1]"]),
        ]

    def test_a_client_that_is_not_installed__is_told(self, heron: HeronStandIn) -> None:
        cluster = HeronCluster(heron.url, NAMES, WORDS, client=["/no/such/heron"])
        before = cluster.state().plan
        with pytest.raises(ClusterError, match=r"cannot be run: No such file.*; install Heron's client here"):
            cluster.apply(_with(before, count=3), expected=before)


def predicted(instances: int) -> PredictedPacking:
    """By Heron's first fit decreasing, with at most so many instances in a container."""
    return PredictedPacking(FirstFitDecreasing(Offer(max_instances=instances)))


def _with(plan: PhysicalPlan, **counts: int) -> PhysicalPlan:
    return replace(plan, parallelism={**plan.parallelism, **counts}, packing=())
