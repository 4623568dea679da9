"""What every cluster adapter must do. A subclass gives the cluster and lets time pass; see test_simulator_contract.py.

Each test starts from whatever plan runs and leaves the cluster running, so that a subclass may let them share one.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clusters.cluster import Accepted, Cluster, Pending, Refusal, Status, Verified
from planner.errors import ClusterError


class ClusterContract:
    """Subclass it as `Test…`, with the fixture `cluster` and the method `let_time_pass`.

    patience_s: how long an accepted plan may take until it is verified. poll_s: how often it is asked for.
    measured_s: how long a plan runs before its counters are read. topology: what it runs, with the largest parallelism
    that the cluster allows. counts_tuples: whether the cluster counts what instances do; else it says that it does not.
    """

    topology: Topology

    patience_s: float = 120.0
    poll_s: float = 5.0
    measured_s: float = 120.0
    counts_tuples: bool = True

    @pytest.fixture
    def cluster(self) -> Cluster:
        """A cluster that runs a plan."""
        raise NotImplementedError

    @pytest.fixture
    def unreachable(self) -> Callable[[], object]:
        """Asks something of a cluster that cannot be reached."""
        raise NotImplementedError

    def let_time_pass(self, seconds: float) -> None:
        raise NotImplementedError

    def another_plan(self, cluster: Cluster) -> PhysicalPlan:
        """A plan that the cluster can run and does not: the last operator with one instance more, or one less."""
        state = cluster.state()
        name = self.topology.order[-1]
        count = state.plan.parallelism[name]
        return replace(
            state.plan, parallelism={**state.plan.parallelism, name: count - 1 if count > 1 else 2}, packing=()
        )

    def too_large_plan(self, cluster: Cluster) -> PhysicalPlan:
        """A plan within every max_parallelism that needs more slots than the cluster has."""
        plan = cluster.state().plan
        largest = {operator.name: operator.max_parallelism for operator in self.topology.operators}
        return replace(plan, parallelism={**plan.parallelism, **largest}, packing=())

    def verified(self, cluster: Cluster, accepted: Accepted | Refusal) -> Verified:
        """Wait with patience until an accepted plan runs."""
        assert isinstance(accepted, Accepted), accepted
        waited_s = 0.0
        while isinstance(progress := cluster.progress(accepted), Pending) and waited_s < self.patience_s:
            self.let_time_pass(self.poll_s)
            waited_s += self.poll_s
        assert isinstance(progress, Verified), f"after {waited_s:g} s: {progress}"
        return progress

    def test_state__runs_a_plan_for_every_operator_of_its_topology(self, cluster: Cluster) -> None:
        state = cluster.state()
        assert state.status is Status.RUNNING
        assert set(state.plan.parallelism) == set(self.topology.order)
        assert state.observed_at.tzinfo is not None
        assert state.running_since is not None
        assert state.running_since <= state.observed_at

    def test_apply__brings_an_accepted_plan_to_verified(self, cluster: Cluster) -> None:
        before, plan = cluster.state().plan, self.another_plan(cluster)
        accepted = cluster.apply(plan, expected=before)
        progress = self.verified(cluster, accepted)
        assert isinstance(accepted, Accepted)
        assert accepted.replaced.same_parallelism(before)
        assert progress.downtime_s is None or progress.downtime_s >= 0
        state = cluster.state()
        assert state.status is Status.RUNNING
        assert state.plan.same_parallelism(plan)

    def test_apply__refuses_a_stale_expectation_and_changes_nothing(self, cluster: Cluster) -> None:
        before, plan = cluster.state().plan, self.another_plan(cluster)
        name = self.topology.order[-1]
        stale = replace(before, parallelism={**before.parallelism, name: before.parallelism[name] + 2}, packing=())
        refusal = cluster.apply(plan, expected=stale)
        assert isinstance(refusal, Refusal)
        assert str(before.parallelism[name]) in refusal.reason
        after = cluster.state()
        assert after.status is Status.RUNNING
        assert after.plan.same_parallelism(before)

    def test_apply__refuses_an_unknown_operator_by_its_name(self, cluster: Cluster) -> None:
        before = cluster.state().plan
        plan = replace(before, parallelism={**before.parallelism, "no-such-operator": 1}, packing=())
        refusal = cluster.apply(plan, expected=before)
        assert isinstance(refusal, Refusal)
        assert "no-such-operator" in refusal.reason
        assert cluster.state().plan.same_parallelism(before)

    def test_apply__refuses_a_plan_beyond_the_slots_with_value_bound_and_remedy(self, cluster: Cluster) -> None:
        before, plan = cluster.state().plan, self.too_large_plan(cluster)
        refusal = cluster.apply(plan, expected=before)
        assert isinstance(refusal, Refusal)
        value_and_bound, remedy = refusal.reason.split(";", 1)
        assert sum(character.isdigit() for character in value_and_bound) >= 2
        assert remedy.strip()
        assert cluster.state().plan.same_parallelism(before)

    def test_apply__of_the_running_plan_changes_nothing(self, cluster: Cluster) -> None:
        before = cluster.state()
        accepted = cluster.apply(before.plan, expected=before.plan)
        assert isinstance(accepted, Accepted)
        after = cluster.state()
        assert after.status is Status.RUNNING
        assert after.running_since == before.running_since
        assert isinstance(cluster.progress(accepted), Verified)

    def test_apply__asked_twice_as_after_a_crash_is_accepted_and_still_undoable(self, cluster: Cluster) -> None:
        before, plan = cluster.state().plan, self.another_plan(cluster)
        self.verified(cluster, cluster.apply(plan, expected=before))
        again = cluster.apply(plan, expected=before)
        self.verified(cluster, again)
        assert isinstance(again, Accepted)
        self.verified(cluster, cluster.undo(again))
        assert cluster.state().plan.same_parallelism(before)

    def test_undo__brings_back_what_was_replaced(self, cluster: Cluster) -> None:
        before, plan = cluster.state().plan, self.another_plan(cluster)
        accepted = cluster.apply(plan, expected=before)
        self.verified(cluster, accepted)
        assert isinstance(accepted, Accepted)
        self.verified(cluster, cluster.undo(accepted))
        assert cluster.state().plan.same_parallelism(before)

    def test_operator_samples__cover_every_instance_with_finite_numbers(self, cluster: Cluster) -> None:
        assert cluster.state().status is Status.RUNNING
        self.let_time_pass(self.measured_s)
        if not self.counts_tuples:
            with pytest.raises(ClusterError, match="counts no tuples; "):
                cluster.operator_samples(self.measured_s / 2)
            return
        samples = cluster.operator_samples(self.measured_s / 2)
        plan = cluster.state().plan
        wanted = {(name, index) for name, count in plan.parallelism.items() for index in range(count)}
        assert {(sample.operator, sample.index) for sample in samples} == wanted
        assert len(samples) == len(wanted)
        for sample in samples:
            assert sample.span_s > 0
            assert all(math.isfinite(x) for x in (sample.busy_s, sample.backpressured_s, sample.records_in))
            assert set(sample.records_out) == {s.name for s in self.topology.outputs(sample.operator)}

    def test_backlogs__tell_of_every_source_or_say_why_not(self, cluster: Cluster) -> None:
        assert cluster.state().status is Status.RUNNING
        backlogs = cluster.backlogs()
        assert set(backlogs) == set(self.topology.sources)
        for backlog in backlogs.values():
            assert (backlog.lag_s is None) == bool(backlog.unmeasured)
            if backlog.lag_s is not None:
                assert backlog.tuples is not None
                assert 0 <= backlog.tuples < math.inf
                assert 0 <= backlog.lag_s < math.inf

    def test_unreachable__is_a_cluster_error(self, unreachable: Callable[[], object]) -> None:
        with pytest.raises(ClusterError):
            unreachable()
