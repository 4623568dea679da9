"""Steps in floor mode on the simulator, with a real ledger, while somebody else scales the same job."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from bounded_simulator import BoundedSimulator
from causes import cause_of
from floor_bench import Bench
from ledger_decisions import NOON, after, plan_of

from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, ClusterState, Failed, Pending, Refusal, Status, Verified
from planner.ledger.step_state import StepState
from planner.step_cause import StepCauseKind


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_step__raises_to_its_plan_whatever_runs_by_then(bench: Bench) -> None:
    # It was planned from 2 instances (`steps_at`), and 4 run: `act` would refuse it.
    (step_id,) = bench.planned((10, 8))
    deployment = bench.deploy(step_id)
    assert (deployment.state, bench.runs) == (StepState.VERIFIED, 8)
    assert cause_of(deployment).floor == {"ingest": 1, "transcribe": 8}
    assert bench.ledger.step(step_id).replaces.same_parallelism(plan_of(4))
    outcome = bench.ledger.outcome(step_id)
    assert outcome is not None
    assert (outcome.downtime_s, outcome.measured["instances_added"]) == (25, 4)


def test_a_step__below_what_somebody_else_runs_changes_nothing_and_holds(bench: Bench) -> None:
    (step_id,) = bench.planned((10, 3))
    since = bench.cluster.state().running_since
    assert bench.deploy(step_id).state is StepState.VERIFIED
    assert bench.runs == 4
    assert bench.cluster.state().running_since == since


def test_steps__take_back_what_forescale_raised_and_go_no_further(bench: Bench) -> None:
    up, down, out = bench.planned((10, 8), (60, 6), (120, 2))
    seen = []
    for step_id in (up, down, out):
        assert bench.deploy(step_id).state is StepState.VERIFIED
        seen.append(bench.runs)
    assert seen == [8, 6, 4]


def test_what_somebody_else_scaled_meanwhile__is_theirs(bench: Bench) -> None:
    up, down = bench.planned((10, 8), (60, 2))
    bench.deploy(up)
    bench.somebody_scales(11)
    assert bench.deploy(down).state is StepState.VERIFIED
    assert bench.runs == 11
    assert cause_of(bench.ledger.step(down)).plan["transcribe"] == 11
    assert (11, 2) in _floored(bench, down)


def test_the_limit__leaves_what_has_no_room_out_and_says_so(bench: Bench) -> None:
    (step_id,) = bench.planned((10, 12))
    assert bench.deploy(step_id, within=10).state is StepState.VERIFIED
    assert bench.runs == 9
    assert (9, 12) in _floored(bench, step_id)


def _floored(bench: Bench, step_id: str) -> set[tuple[int, int]]:
    """What was asked for over which floor, of transcribe, as it was written down."""
    causes = [event.cause for event in bench.ledger.events(step_id) if event.cause is not None]
    floored = [cause for cause in causes if cause.kind is StepCauseKind.FLOORED]
    return {(cause.plan["transcribe"], cause.floor["transcribe"]) for cause in floored}


class _Meddled:
    """The simulator, and somebody who scales it to a plan right before or right after a request."""

    def __init__(self, bench: Bench, *, before: int | None = None, after: int | None = None) -> None:
        self._bench, self._before, self._after = bench, before, after
        self.state, self.operator_samples = bench.cluster.state, bench.cluster.operator_samples
        self.backlogs, self.undo = bench.cluster.backlogs, bench.cluster.undo
        self.record = bench.cluster.record

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        if self._before is not None:
            self._bench.somebody_scales(self._before)
            self._before = None
        return self._bench.cluster.apply(plan, expected=expected)

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        told = self._bench.cluster.progress(accepted)
        if self._after is not None and isinstance(told, Verified):
            self._bench.somebody_scales(self._after)
            self._after = None
        return told


def test_somebody_else_who_is_quicker__has_the_floor_laid_on_what_they_set(bench: Bench) -> None:
    # 4 → 6 between the look and the request: compare-and-set refuses, and 8 is laid on the 6.
    (step_id,) = bench.planned((10, 8))
    assert bench.deploy(step_id, _Meddled(bench, before=6)).state is StepState.VERIFIED
    assert bench.runs == 8
    assert bench.ledger.step(step_id).replaces.same_parallelism(plan_of(6))


@pytest.mark.parametrize(("count", "state"), [(10, StepState.VERIFIED), (7, StepState.ROLLED_BACK)])
def test_somebody_else_within_the_hold__keeps_the_last_word(bench: Bench, count: int, state: StepState) -> None:
    # Above the floor of 8 it holds; below it the step has failed, and what somebody else set is not undone.
    (step_id,) = bench.planned((10, 8))
    deployment = bench.deploy(step_id, _Meddled(bench, after=count))
    assert (deployment.state, bench.runs) == (state, count)
    if state is StepState.ROLLED_BACK:
        assert cause_of(deployment).kind is StepCauseKind.NOT_UNDONE


def test_a_deployment_cut_short_after_the_request__is_taken_up_with_the_same_plan(bench: Bench) -> None:
    (step_id,) = bench.planned((10, 8))

    class Killed(_Meddled):
        def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
            super().apply(plan, expected=expected)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.deploy(step_id, Killed(bench))
    assert bench.ledger.step(step_id).state is StepState.DEPLOYING
    bench.clock.wait(120)
    assert bench.deploy(step_id).state is StepState.VERIFIED
    assert bench.runs == 8
    # What was taken up is known as forescale's own raise from 4.
    (down,) = bench.planned((60, 2))
    assert bench.deploy(down).state is StepState.VERIFIED
    assert bench.runs == 4


class _Rescaling(_Meddled):
    """Killed right after the first request; then, as Flink has it, the old plan is told until the rescale is over."""

    def __init__(self, bench: Bench, looks: int) -> None:
        super().__init__(bench)
        self._looks, self._killed = looks, False
        self.state = self._told

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        answer = super().apply(plan, expected=expected)
        if not self._killed:
            self._killed = True
            raise KeyboardInterrupt
        return answer

    def _told(self) -> ClusterState:
        state = self._bench.cluster.state()
        if not self._killed or self._looks <= 0:
            return state
        self._looks -= 1
        return replace(state, plan=plan_of(4), status=Status.RESCALING)


@pytest.mark.parametrize(("floor", "runs"), [(8, 8), (2, 4)])
def test_a_deployment_cut_short_and_taken_up_after_its_time__ends_as_what_was_asked_for(
    bench: Bench, floor: int, runs: int
) -> None:
    # While 4 → 8 goes on, 4 are told. A floor of 2 asks for the 4 that run, and holds as soon as it is looked at.
    (step_id,) = bench.planned((10, floor))
    cluster = _Rescaling(bench, looks=3)
    with pytest.raises(KeyboardInterrupt):
        bench.deploy(step_id, cluster)
    bench.clock.advance_to(bench.ledger.step(step_id).expires_at + timedelta(minutes=1))
    assert (bench.deploy(step_id, cluster).state, bench.runs) == (StepState.VERIFIED, runs)


def test_a_scaler_that_takes_a_bound__gets_the_plan_as_its_bound(bench: Bench) -> None:
    cluster = BoundedSimulator(bench.cluster, plan_of(1))
    up, down = bench.planned((10, 8), (60, 2))
    assert bench.deploy(up, cluster).state is StepState.VERIFIED
    assert (cluster.bound.parallelism["transcribe"], bench.runs) == (8, 8)
    cluster.scaled(plan_of(10))
    bench.clock.wait(60)
    assert bench.deploy(down, cluster).state is StepState.VERIFIED
    # The bound is lowered at once; what runs is the scaler's business.
    assert (cluster.bound.parallelism["transcribe"], bench.runs) == (2, 10)


def test_a_bound_that_its_owner_set__is_never_lowered(bench: Bench) -> None:
    # 3 for the night's sake: raised to 8, and back to 3 where the plan is 1.
    cluster = BoundedSimulator(bench.cluster, plan_of(3))
    for step_id, bound in zip(bench.planned((10, 2), (60, 8), (120, 1)), (3, 8, 3), strict=True):
        assert bench.deploy(step_id, cluster).state is StepState.VERIFIED
        assert cluster.bound.parallelism["transcribe"] == bound
    assert (3, 1) in _floored(bench, step_id)


def test_a_bound_that_is_one_number_for_all__is_taken_back_as_well(bench: Bench) -> None:
    class Uniform(BoundedSimulator):
        def scaler_floor(self) -> Any:
            bounded = super().scaler_floor()

            class One(type(bounded)):  # type: ignore[misc]
                def floor(self) -> PhysicalPlan:
                    return self.bound_of(super().floor())

                def bound_of(self, plan: PhysicalPlan) -> PhysicalPlan:
                    return replace(
                        plan, parallelism=dict.fromkeys(plan.parallelism, max(plan.parallelism.values())), packing=()
                    )

                def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
                    told: Accepted | Refusal = super().apply(self.bound_of(plan), expected=expected)
                    return replace(told, plan=self.bound_of(plan)) if isinstance(told, Accepted) else told

            return One(self)

    cluster = Uniform(bench.cluster, plan_of(1))
    for step_id, bound in zip(bench.planned((10, 6), (60, 2)), (6, 2), strict=True):
        assert bench.deploy(step_id, cluster).state is StepState.VERIFIED
        assert set(cluster.scaler_floor().floor().parallelism.values()) == {bound}


def test_a_bound_that_never_comes_through__is_undone(bench: Bench) -> None:
    cluster = BoundedSimulator(bench.cluster, plan_of(1))

    class Slow(type(cluster.scaler_floor())):  # type: ignore[misc]
        def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
            if accepted.plan.parallelism["transcribe"] == 8:
                return Pending("no node has room")
            told: Verified | Pending | Failed = super().progress(accepted)
            return told

    bounded: Callable[[], object] = lambda: Slow(cluster)  # noqa: E731
    cluster.scaler_floor = bounded  # type: ignore[method-assign,assignment]
    (step_id,) = bench.planned((10, 8))
    deployment = bench.deploy(step_id, cluster)
    assert deployment.state is StepState.ROLLED_BACK
    assert cause_of(deployment).kind is StepCauseKind.UNDONE
    assert "no node has room" in cause_of(deployment).detail
    assert cluster.bound.parallelism["transcribe"] == 1


def test_a_plan_of_a_person__runs_exactly_in_floor_mode_as_well(bench: Bench) -> None:
    bench.planned((10, 8))
    step_id = bench.ledger.record_hand_made_step(
        "by hand",
        plan_of(2),
        replaces=plan_of(4),
        deploy_at=after(1),
        expires_at=after(1) + timedelta(hours=1),
        at=NOON,
        by="anna",
        why="asked for",
    )
    assert bench.deploy(step_id).state is StepState.VERIFIED
    assert bench.runs == 2
