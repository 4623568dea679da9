"""Deploying a step: on the simulator, with a real ledger, at every way it can end."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from causes import cause_of

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clock import TraceClock
from planner.clusters.cluster import (
    Accepted,
    Cluster,
    ClusterState,
    Failed,
    Pending,
    Refusal,
    SourceBacklog,
    Status,
    Verified,
)
from planner.clusters.simulator import SimulatedCluster
from planner.deployment import Deployment, Patience, deploy_step
from planner.errors import ClusterError, PlanError
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState
from planner.step_cause import StepCauseKind

START = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
DUE = START + timedelta(minutes=10)
SMALL = PhysicalPlan("pair", {"source": 1, "work": 2})
LARGE = PhysicalPlan("pair", {"source": 1, "work": 6})


class Bench:
    """A simulator, its clock and a ledger with one step from SMALL to LARGE, due ten minutes after the start.

    per_minute: what comes.
    """

    def __init__(
        self, folder: Path, topology: Topology, profiles: dict[str, OperatorProfile], per_minute: float = 60.0
    ) -> None:
        self.clock = TraceClock(folder / "clock")
        self.clock.start_at(START)
        truth = ArrivalHistory("pair", {"source": ArrivalSeries("pair", "source", START, 60, np.full(600, per_minute))})
        self.cluster = SimulatedCluster(topology, profiles, SMALL, 8, 25, truth, self.clock, folder)
        self.ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
        self.cluster.state()

    def step(self, plan: PhysicalPlan = LARGE, replaces: PhysicalPlan = SMALL) -> str:
        return self.ledger.record_hand_made_step(
            f"{plan.plan_id}-{replaces.plan_id}",
            plan,
            replaces=replaces,
            deploy_at=DUE,
            expires_at=DUE + timedelta(hours=1),
            at=START,
            by="test",
            why="a test",
        )

    def deploy(self, step_id: str, cluster: Cluster | None = None, catch_up_s: float = 0.0) -> Deployment:
        patience = Patience(120, catch_up_s=catch_up_s)
        return deploy_step(step_id, self.ledger, cluster or self.cluster, self.clock, by="test", patience=patience)

    def measured(self, plan: PhysicalPlan, catch_up_s: float, cluster: Cluster | None = None) -> Mapping[str, float]:
        """What the outcome of a step to the plan has, deployed in time."""
        step_id = self.step(plan)
        self.clock.advance_to(DUE)
        assert self.deploy(step_id, cluster, catch_up_s).state is StepState.VERIFIED
        outcome = self.ledger.outcome(step_id)
        assert outcome is not None
        return outcome.measured


@pytest.fixture
def bench(tmp_path: Path, pair: Topology, pair_profiles: dict[str, OperatorProfile]) -> Bench:
    return Bench(tmp_path, pair, pair_profiles)


def test_step__is_deployed_verified_and_its_outcome_kept(bench: Bench) -> None:
    step_id = bench.step()
    bench.clock.advance_to(DUE)
    assert bench.deploy(step_id).state is StepState.VERIFIED
    assert bench.cluster.state().plan.same_parallelism(LARGE)
    outcome = bench.ledger.outcome(step_id)
    assert outcome is not None
    # the simulator is down for 25 s from the moment it is asked
    assert outcome.downtime_s == 25
    assert outcome.verified_at == DUE + timedelta(seconds=25)


def test_step__deployed_twice_changes_nothing_the_second_time(bench: Bench) -> None:
    step_id = bench.step()
    bench.clock.advance_to(DUE)
    first = bench.deploy(step_id)
    since = bench.cluster.state().running_since
    again = bench.deploy(step_id)
    assert again.state is first.state is StepState.VERIFIED
    assert bench.cluster.state().running_since == since


def test_step__that_is_not_due_is_refused_and_stays(bench: Bench) -> None:
    step_id = bench.step()
    with pytest.raises(PlanError, match="is due at"):
        bench.deploy(step_id)
    assert bench.ledger.step(step_id).state is StepState.APPROVED


def test_step__whose_time_has_gone_by_expires_and_nothing_is_deployed(bench: Bench) -> None:
    step_id = bench.step()
    bench.clock.advance_to(DUE + timedelta(hours=2))
    assert bench.deploy(step_id).state is StepState.EXPIRED
    assert bench.cluster.state().plan.same_parallelism(SMALL)


def test_step__that_assumed_another_plan_is_refused_and_nothing_changes(bench: Bench) -> None:
    step_id = bench.step(replaces=PhysicalPlan("pair", {"source": 1, "work": 3}))
    bench.clock.advance_to(DUE)
    deployment = bench.deploy(step_id)
    assert deployment.state is StepState.ROLLED_BACK
    assert cause_of(deployment).kind is StepCauseKind.REFUSED
    assert "work 2" in cause_of(deployment).detail
    assert bench.cluster.state().plan.same_parallelism(SMALL)


def test_step__with_more_instances_than_slots_is_refused_with_both_numbers(bench: Bench) -> None:
    step_id = bench.step(plan=PhysicalPlan("pair", {"source": 1, "work": 9}))
    bench.clock.advance_to(DUE)
    assert "10 instances > 8 slots" in cause_of(bench.deploy(step_id)).detail


class Faulty:
    """The simulator behind a fault: what `progress` says of the plan that was asked for is replaced."""

    def __init__(self, cluster: SimulatedCluster, progress: Callable[[Accepted], Verified | Pending | Failed]) -> None:
        self._cluster = cluster
        self._progress = progress

    def __getattr__(self, name: str) -> object:
        return getattr(self._cluster, name)

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        return self._progress(accepted)


def test_plan__that_does_not_come_up_in_time_is_undone(bench: Bench) -> None:
    def never_large(accepted: Accepted) -> Verified | Pending | Failed:
        stuck = accepted.plan.same_parallelism(LARGE)
        return Pending("3 of 7 tasks run") if stuck else bench.cluster.progress(accepted)

    step_id = bench.step()
    bench.clock.advance_to(DUE)
    deployment = bench.deploy(step_id, Faulty(bench.cluster, never_large))  # type: ignore[arg-type]
    assert deployment.undone
    cause = cause_of(deployment)
    assert (cause.kind, cause.plan) == (StepCauseKind.UNDONE, SMALL.parallelism)
    assert "3 of 7 tasks run" in cause.detail
    assert bench.cluster.state().plan.same_parallelism(SMALL)
    assert bench.ledger.step(step_id).state is StepState.ROLLED_BACK


def test_plan__that_comes_up_but_does_not_hold_is_undone(bench: Bench) -> None:
    looks: list[int] = []

    def falls_over(accepted: Accepted) -> Verified | Pending | Failed:
        answer = bench.cluster.progress(accepted)
        if accepted.plan.same_parallelism(LARGE) and isinstance(answer, Verified):
            looks.append(1)
            return answer if len(looks) == 1 else Failed("the job restarts")
        return answer

    step_id = bench.step()
    bench.clock.advance_to(DUE)
    deployment = bench.deploy(step_id, Faulty(bench.cluster, falls_over))  # type: ignore[arg-type]
    assert deployment.undone
    assert cause_of(deployment).detail == "the job restarts"
    assert bench.cluster.state().plan.same_parallelism(SMALL)


class Down(Faulty):
    """The old plan is there, and nothing of it runs."""

    def state(self) -> ClusterState:
        return replace(self._cluster.state(), status=Status.DOWN)


class Stopped(Down):
    """It was stopped to be started with a plan."""

    def stopped_for(self, plan: PhysicalPlan) -> bool:
        return plan.same_parallelism(LARGE)


class Killed(Faulty):
    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        raise ClusterError("killed")


@pytest.mark.parametrize(
    ("kind", "state", "runs"), [(Stopped, StepState.VERIFIED, LARGE), (Down, StepState.ROLLED_BACK, SMALL)]
)
def test_deployment__that_was_cut_short_is_taken_up_however_late_only_where_it_has_stopped_the_job(
    bench: Bench, kind: type[Faulty], state: StepState, runs: PhysicalPlan
) -> None:
    step_id = bench.step()
    bench.clock.advance_to(DUE)
    with pytest.raises(ClusterError):
        bench.deploy(step_id, Killed(bench.cluster, bench.cluster.progress))  # type: ignore[arg-type]
    bench.clock.advance_to(DUE + timedelta(hours=2))
    assert bench.deploy(step_id, kind(bench.cluster, bench.cluster.progress)).state is state  # type: ignore[arg-type]
    assert bench.cluster.state().plan.same_parallelism(runs)


class Rescaling(Faulty):
    """As Flink has it: until the rescale is over, the old plan is the one that is told."""

    looks = 3

    def state(self) -> ClusterState:
        self.looks -= 1
        state = self._cluster.state()
        return replace(state, plan=SMALL, status=Status.RESCALING) if self.looks >= 0 else state


def test_deployment__that_was_asked_for_and_is_late_is_not_told_to_be_never_asked_while_it_goes_on(
    bench: Bench,
) -> None:
    step_id = bench.step()
    bench.clock.advance_to(DUE)
    bench.ledger.transition(step_id, expected=StepState.APPROVED, to=StepState.DUE, at=DUE, by="test", why="due")
    bench.ledger.transition(step_id, expected=StepState.DUE, to=StepState.DEPLOYING, at=DUE, by="test", why="asked")
    bench.cluster.apply(LARGE, expected=SMALL)
    bench.clock.advance_to(DUE + timedelta(hours=2))
    # 120 s of patience with a look every 5 s: 25 looks are not enough for a rescale that takes 28 of them.
    slow = Rescaling(bench.cluster, bench.cluster.progress)
    slow.looks = 28
    with pytest.raises(ClusterError, match="still rescaling after 120 s"):
        bench.deploy(step_id, slow)  # type: ignore[arg-type]
    assert bench.ledger.step(step_id).state is StepState.DEPLOYING
    assert bench.deploy(step_id, slow).state is StepState.VERIFIED  # type: ignore[arg-type]


def test_deployment__cut_short_by_an_unreachable_cluster_is_taken_up_again(bench: Bench) -> None:
    def gone(_: Accepted) -> Verified | Pending | Failed:
        raise ClusterError("no answer")

    step_id = bench.step()
    bench.clock.advance_to(DUE)
    with pytest.raises(ClusterError):
        bench.deploy(step_id, Faulty(bench.cluster, gone))  # type: ignore[arg-type]
    assert bench.ledger.step(step_id).state is StepState.DEPLOYING
    assert bench.deploy(step_id).state is StepState.VERIFIED
    assert bench.ledger.step(step_id).attempt == 2
    # asked once: down for 25 s from DUE on, not a second time
    state = bench.cluster.state()
    assert state.running_since == DUE + timedelta(seconds=25)


class Waiting(Faulty):
    """The simulator, which would wait for slots: until when it may is kept."""

    def apply_by(self, plan: PhysicalPlan, *, expected: PhysicalPlan, latest: datetime | None) -> Accepted | Refusal:
        self.latest = latest
        return self._cluster.apply(plan, expected=expected)


def test_step__waits_for_slots_until_it_is_of_no_use(bench: Bench) -> None:
    step_id, cluster = bench.step(), Waiting(bench.cluster, bench.cluster.progress)
    bench.clock.advance_to(DUE)
    assert bench.deploy(step_id, cluster).state is StepState.VERIFIED  # type: ignore[arg-type]
    assert cluster.latest == DUE + timedelta(hours=1)


class Noted(Faulty):
    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        answer = self._cluster.apply(plan, expected=expected)
        assert isinstance(answer, Accepted)
        return replace(answer, note="Heron packs 2 containers")


def test_step__tells_what_the_cluster_noted_of_it(bench: Bench) -> None:
    step_id = bench.step()
    bench.clock.advance_to(DUE)
    deployment = bench.deploy(step_id, Noted(bench.cluster, bench.cluster.progress))  # type: ignore[arg-type]
    cause = cause_of(deployment)
    assert (cause.kind, cause.downtime_s, cause.detail) == (StepCauseKind.RUNS, 25, "Heron packs 2 containers")
    assert bench.ledger.step(step_id).cause == cause


THREE = PhysicalPlan("pair", {"source": 1, "work": 3})


def test_catch_up__is_measured_from_when_the_plan_runs_until_nothing_waits(
    tmp_path: Path, pair: Topology, pair_profiles: dict[str, OperatorProfile]
) -> None:
    bench = Bench(tmp_path, pair, pair_profiles, per_minute=90.0)
    measured = bench.measured(THREE, 600.0)
    # 25 s without processing leave 37.5 tuples, which 3/s drain beside the 1.5/s that come within 25 s; looked at
    # every 5 s
    assert 25 <= measured["catch_up_s"] <= 30
    assert (measured["downtime_s"], measured["instances_added"], measured["lead_s"]) == (25, 1, 0)
    assert "catch_up_at_least_s" not in measured


def test_catch_up__that_goes_on_longer_than_it_is_watched_is_known_to_be_longer(
    tmp_path: Path, pair: Topology, pair_profiles: dict[str, OperatorProfile]
) -> None:
    bench = Bench(tmp_path, pair, pair_profiles, per_minute=150.0)
    # Ten minutes of .5/s too much leave 300 tuples, the downtime 62.5 more: 3/s drain them at .5/s in 725 s.
    measured = bench.measured(THREE, 120.0)
    assert 115 <= measured["catch_up_at_least_s"] <= 125
    assert "catch_up_s" not in measured


def test_catch_up__is_not_asked_for_where_nobody_waits_for_it(bench: Bench) -> None:
    measured = bench.measured(LARGE, 0.0)
    assert "catch_up_s" not in measured
    assert bench.clock.now() == DUE + timedelta(seconds=25 + 30)


class Silent(Faulty):
    """The simulator, that does not tell what waits."""

    def __init__(self, cluster: SimulatedCluster, waits: SourceBacklog | None) -> None:
        super().__init__(cluster, cluster.progress)
        self._waits = waits

    def backlogs(self) -> Mapping[str, SourceBacklog]:
        if self._waits is None:
            raise ClusterError("no answer")
        return {"source": self._waits}


@pytest.mark.parametrize("waits", [None, SourceBacklog(None, None, "publishes no pendingRecords")])
def test_catch_up__of_a_cluster_that_does_not_tell_is_not_known_and_not_waited_for(
    bench: Bench, waits: SourceBacklog | None
) -> None:
    measured = bench.measured(LARGE, 600.0, Silent(bench.cluster, waits))  # type: ignore[arg-type]
    assert set(measured) == {"downtime_s", "instances_added", "lead_s"}
    # Down for 25 s, held for 30 s, and one more look 5 s later.
    assert bench.clock.now() <= DUE + timedelta(seconds=25 + 30 + 5)


class Provisioned(Faulty):
    """The simulator on a platform that brings instances 90 s after they were asked for."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.cluster, self._brought)
        self._bench = bench

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        return Accepted(plan, expected, self._bench.clock.now())

    def _brought(self, accepted: Accepted) -> Verified | Pending | Failed:
        if self._bench.clock.now() < accepted.at + timedelta(seconds=90):
            return Pending("4 instances are not there yet")
        self._bench.cluster.apply(accepted.plan, expected=accepted.replaced)
        return self._bench.cluster.progress(accepted)


def test_lead_time__is_what_went_by_from_asking_until_the_old_plan_stopped(bench: Bench) -> None:
    measured = bench.measured(LARGE, 0.0, Provisioned(bench))  # type: ignore[arg-type]
    assert (measured["lead_s"], measured["downtime_s"]) == (90, 25)


def test_lead_time__of_a_deployment_that_was_taken_up_again_is_not_known(bench: Bench) -> None:
    def gone(_: Accepted) -> Verified | Pending | Failed:
        raise ClusterError("no answer")

    step_id = bench.step()
    bench.clock.advance_to(DUE)
    with pytest.raises(ClusterError):
        bench.deploy(step_id, Faulty(bench.cluster, gone))  # type: ignore[arg-type]
    bench.deploy(step_id)
    outcome = bench.ledger.outcome(step_id)
    assert outcome is not None
    assert set(outcome.measured) == {"downtime_s", "instances_added"}


def test_downtime__of_a_plan_that_ran_already_is_not_taken_for_a_measurement(bench: Bench) -> None:
    # Somebody else has put the plan in place: compare-and-set has nothing to do.
    bench.cluster.apply(THREE, expected=SMALL)
    bench.clock.wait(60)
    bench.cluster.apply(LARGE, expected=THREE)
    assert bench.measured(LARGE, 0.0) == {}
