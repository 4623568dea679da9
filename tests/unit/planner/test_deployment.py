"""Deploying a step: on the simulator, with a real ledger, at every way it can end."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clock import TraceClock
from planner.clusters.cluster import Accepted, Cluster, Failed, Pending, Verified
from planner.clusters.simulator import SimulatedCluster
from planner.deployment import Patience, deploy_step
from planner.errors import ClusterError, PlanError
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState

START = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
DUE = START + timedelta(minutes=10)
SMALL = PhysicalPlan("pair", {"source": 1, "work": 2})
LARGE = PhysicalPlan("pair", {"source": 1, "work": 6})


class Bench:
    """A simulator, its clock and a ledger with one step from SMALL to LARGE, due ten minutes after the start."""

    def __init__(self, folder: Path, topology: Topology, profiles: dict[str, OperatorProfile]) -> None:
        self.clock = TraceClock(folder / "clock")
        self.clock.start_at(START)
        truth = ArrivalHistory("pair", {"source": ArrivalSeries("pair", "source", START, 60, np.full(600, 60.0))})
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

    def deploy(self, step_id: str, cluster: Cluster | None = None):  # type: ignore[no-untyped-def]
        return deploy_step(step_id, self.ledger, cluster or self.cluster, self.clock, by="test", patience=Patience(120))


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
    assert "nothing changed" in deployment.detail
    assert "work 2" in deployment.detail
    assert bench.cluster.state().plan.same_parallelism(SMALL)


def test_step__with_more_instances_than_slots_is_refused_with_both_numbers(bench: Bench) -> None:
    step_id = bench.step(plan=PhysicalPlan("pair", {"source": 1, "work": 9}))
    bench.clock.advance_to(DUE)
    detail = bench.deploy(step_id).detail
    assert "10 instances > 8 slots" in detail


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
    assert "3 of 7 tasks run" in deployment.detail
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
    assert "the job restarts" in deployment.detail
    assert bench.cluster.state().plan.same_parallelism(SMALL)


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
