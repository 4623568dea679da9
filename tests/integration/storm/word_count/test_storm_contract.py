"""A real Storm is a cluster: the word count of examples/storm, whose bolts wait instead of computing."""

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from contract.cluster_contract import ClusterContract
from faulty_calls import Cut, KilledError
from storm_cluster import StormCluster as LocalStorm

from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from planner.clock import RealClock
from planner.clusters.cluster import Accepted, Cluster, Refusal
from planner.clusters.storm import StormCluster
from planner.deployment import Deployment, Patience, deploy_step
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState

pytestmark = [pytest.mark.storm, pytest.mark.slow]

NAME = "word-count"
SLOTS = 3
WORD_COUNT = Topology(
    NAME,
    (Operator("sentences", 1), Operator("split", 12), Operator("count", 12)),
    (Stream("sentences", "split"), Stream("split", "count", Grouping.FIELDS)),
    Engine.STORM,
)


class TestStormContract(ClusterContract):
    patience_s = 180.0
    poll_s = 1.0
    measured_s = 10.0
    topology = WORD_COUNT

    @pytest.fixture
    def cluster(self, word_count: LocalStorm) -> Cluster:
        return StormCluster(word_count.url, NAME, WORD_COUNT, wait_s=1, timeout_s=120.0)

    @pytest.fixture
    def unreachable(self) -> Callable[[], object]:
        with socket.socket() as probe:  # a port that nobody listens on
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        return StormCluster(f"http://127.0.0.1:{port}", NAME, WORD_COUNT, timeout_s=2.0).state

    def let_time_pass(self, seconds: float) -> None:
        time.sleep(seconds)

    def too_large_plan(self, cluster: Cluster) -> PhysicalPlan:
        """Executors need no slots, workers do: four of them."""
        running = cluster.state().plan
        plan = replace(running, parallelism={**running.parallelism, "split": 4})
        instances = [Instance(name, at) for name, count in plan.parallelism.items() for at in range(count)]
        parts = [tuple(instances[first :: SLOTS + 1]) for first in range(SLOTS + 1)]
        return replace(plan, packing=tuple(Container(id, part) for id, part in enumerate(parts, 1)))

    def test_apply__refuses_more_executors_than_tasks(self, cluster: Cluster) -> None:
        before = cluster.state().plan
        refusal = cluster.apply(replace(before, parallelism={**before.parallelism, "split": 13}), expected=before)
        assert isinstance(refusal, Refusal)
        assert "13" in refusal.reason
        assert "submitted with 12 tasks" in refusal.reason
        assert cluster.state().plan.same_parallelism(before)

    def test_packing__sets_the_number_of_workers_and_undoing_sets_it_back(self, cluster: Cluster) -> None:
        before = cluster.state()
        instances = [Instance(name, at) for name, count in before.plan.parallelism.items() for at in range(count)]
        two = replace(before.plan, packing=(Container(1, tuple(instances[::2])), Container(2, tuple(instances[1::2]))))
        accepted = cluster.apply(two, expected=before.plan)
        self.verified(cluster, accepted)
        assert self.free_slots(cluster, SLOTS - 2) == SLOTS - 2
        assert isinstance(accepted, Accepted)
        self.verified(cluster, cluster.undo(accepted))
        assert self.free_slots(cluster, SLOTS - 1) == SLOTS - 1

    def free_slots(self, cluster: Cluster, awaited: int) -> int | None:
        """Supervisors tell some seconds later which of their slots are used."""
        for _ in range(30):
            if cluster.state().free_slots == awaited:
                break
            self.let_time_pass(self.poll_s)
        return cluster.state().free_slots

    def test_downtime__is_the_wait_and_the_restart(self, cluster: Cluster) -> None:
        before = cluster.state().plan
        verified = self.verified(cluster, cluster.apply(self.another_plan(cluster), expected=before))
        assert verified.downtime_s is not None
        assert 1.0 < verified.downtime_s < self.patience_s

    @pytest.mark.parametrize("where", ["before the rebalance", "after the rebalance", "while it is verified"])
    def test_killed__a_second_run_of_the_step_is_verified_after_one_rebalance(
        self, cluster: Cluster, word_count: LocalStorm, tmp_path: Path, where: str
    ) -> None:
        before, plan = cluster.state().plan, self.another_plan(cluster)
        ledger, now = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}"), datetime.now(UTC)
        times = {"deploy_at": now, "expires_at": now + timedelta(hours=1), "at": now}
        step = ledger.record_hand_made_step("step", plan, replaces=before, by="test", why="a test", **times)

        def is_meant(cut: Cut, request: httpx.Request) -> bool:
            return bool(cut.changed) if where == "while it is verified" else request.method == "POST"

        first = Cut(is_meant, after=where == "after the rebalance")
        second = Cut(lambda cut, request: False)
        with pytest.raises(KilledError):
            self.deployed(ledger, step, word_count, first)
        assert ledger.step(step).state is StepState.DEPLOYING
        told = self.deployed(ledger, step, word_count, second)
        assert told.state is StepState.VERIFIED, told.why
        assert [path.rpartition("/rebalance/")[2] for path in first.changed + second.changed] == ["1"]
        assert cluster.state().plan.same_parallelism(plan)

    def deployed(self, ledger: Ledger, step: str, word_count: LocalStorm, cut: Cut) -> Deployment:
        """As another process does it."""
        cluster = StormCluster(word_count.url, NAME, WORD_COUNT, wait_s=1, timeout_s=120.0, transport=cut)
        patience = Patience(timeout_s=self.patience_s, poll_s=1.0, hold_s=2.0)
        return deploy_step(step, ledger, cluster, RealClock(), by="test", patience=patience)
