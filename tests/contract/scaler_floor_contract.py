"""What every lower bound of a cluster's own scaler must do. A subclass gives the cluster and lets time pass; see
test_scaler_floor_contract.py.
"""

from dataclasses import replace
from typing import Protocol

import pytest

from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, Cluster, Pending, Refusal, ScalerFloor, TakesFloor, Verified


class Bounded(Cluster, TakesFloor, Protocol):
    """A cluster whose own scaler takes a lower bound."""


class ScalerFloorContract:
    """Subclass it as `Test…`, with the fixture `cluster` and the method `let_time_pass`. patience_s: how long an
    accepted bound may take until it is verified.
    """

    patience_s: float = 120.0
    poll_s: float = 5.0

    @pytest.fixture
    def cluster(self) -> Bounded:
        """A cluster that runs a plan, and whose bound is not above it."""
        raise NotImplementedError

    def let_time_pass(self, seconds: float) -> None:
        raise NotImplementedError

    def larger(self, plan: PhysicalPlan) -> PhysicalPlan:
        """One instance more of every operator."""
        return replace(plan, parallelism={name: count + 1 for name, count in plan.parallelism.items()}, packing=())

    def verified(self, floor: ScalerFloor, accepted: Accepted | Refusal) -> Verified:
        assert isinstance(accepted, Accepted), accepted
        waited_s = 0.0
        while isinstance(progress := floor.progress(accepted), Pending) and waited_s < self.patience_s:
            self.let_time_pass(self.poll_s)
            waited_s += self.poll_s
        assert isinstance(progress, Verified), f"after {waited_s:g} s: {progress}"
        return progress

    def test_a_cluster_with_a_bound__is_known_as_one(self, cluster: Bounded) -> None:
        assert isinstance(cluster, TakesFloor)

    def test_apply__sets_the_bound_and_as_much_runs(self, cluster: Bounded) -> None:
        floor = cluster.scaler_floor()
        wanted, before = self.larger(cluster.state().plan), floor.floor()
        accepted = floor.apply(wanted, expected=before)
        self.verified(floor, accepted)
        assert isinstance(accepted, Accepted)
        assert accepted.replaced.same_parallelism(before)
        assert floor.floor().same_parallelism(wanted)
        assert floor.bound_of(wanted).same_parallelism(wanted)
        runs = cluster.state().plan.parallelism
        assert all(runs[name] >= count for name, count in wanted.parallelism.items())

    def test_apply__of_a_lower_bound_stops_nothing(self, cluster: Bounded) -> None:
        floor = cluster.scaler_floor()
        runs = cluster.state().plan
        self.verified(floor, floor.apply(runs, expected=floor.floor()))
        least = replace(runs, parallelism=dict.fromkeys(runs.parallelism, 1), packing=())
        since = cluster.state().running_since
        self.verified(floor, floor.apply(least, expected=runs))
        assert floor.floor().same_parallelism(least)
        assert cluster.state().running_since == since

    def test_apply__refuses_a_stale_expectation_and_changes_nothing(self, cluster: Bounded) -> None:
        floor = cluster.scaler_floor()
        before, wanted = floor.floor(), self.larger(cluster.state().plan)
        assert isinstance(floor.apply(wanted, expected=self.larger(before)), Refusal)
        assert floor.floor().same_parallelism(before)

    def test_apply__asked_twice_as_after_a_crash_is_accepted_and_still_undoable(self, cluster: Bounded) -> None:
        floor = cluster.scaler_floor()
        before, wanted = floor.floor(), self.larger(cluster.state().plan)
        self.verified(floor, floor.apply(wanted, expected=before))
        again = floor.apply(wanted, expected=before)
        self.verified(floor, again)
        assert isinstance(again, Accepted)
        self.verified(floor, floor.undo(again))
        assert floor.floor().same_parallelism(before)
