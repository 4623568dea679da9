"""The guard at work on the real simulator, with a real ledger."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from guard_bench import TERMS, Bench, after, plan_of

from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, Refusal, SourceBacklog, Status
from planner.clusters.simulator import SimulatedCluster
from planner.deployment import deploy_step
from planner.errors import LedgerError
from planner.guard.actions import Action
from planner.guard_facts import (
    ActionKind,
    Diagnosis,
    DiagnosisKind,
    GuardState,
    Reason,
    ReasonKind,
    Symptom,
    SymptomKind,
)
from planner.guarding import guard_turn
from planner.ledger.step_state import Moved, StepState
from planner.scaling_schedule import ScalingSchedule, ScheduledStep
from planner.withheld_steps import withheld_because


def rescales(bench: Bench) -> int:
    counts = bench.cluster.record(after(0), bench.clock.now()).parallelism["work"]
    return int(np.count_nonzero(np.diff(counts)))


def schedule(
    bench: Bench, current: PhysicalPlan, *steps: tuple[float, PhysicalPlan], violation_price_h: float = 0.0
) -> list[str]:
    """An approved schedule of plans by the minute they are deployed at. Ids of its steps."""
    end, before, made = after(24 * 60), current, []
    for minute, plan in steps:
        at = after(minute)
        made.append(
            ScheduledStep(at, at, at, end, plan, before, {"read": 1.0}, "work", 0.5, 2.0, 30.0, 0.0, 1.0, "planned")
        )
        before = plan
    now = bench.clock.now()
    whole = ScalingSchedule("pair", now, now, end, 0.95, current, tuple(made), 1.0, "planned")
    whole = replace(whole, violation_price_h=violation_price_h)
    schedule_id = bench.ledger.record_schedule(whole)
    bench.ledger.approve_schedule(schedule_id, at=now, by="anna", why="as planned")
    return [f"{schedule_id}-{number}" for number in range(1, len(steps) + 1)]


def test_a_job_made_too_small__heals_in_one_action_that_is_judged_effective(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    turns = bench.until(20)
    # 2 instances manage 20/s of 30/s: after five minutes 3,000 wait. Wanted are 30 / .7 = 42.9/s for what comes, and
    # (3,000 + 30 · 30 of the downtime) / 600 s = 6.5/s for what waits: 49.4/s, five instances of 10/s.
    begun = [turn for turn in turns if turn.action is not None]
    assert [dict(turn.action.plan) for turn in begun if turn.action] == [{"read": 1, "work": 5}]
    [scaling] = [reason.scaling for reason in begun[0].reasons]
    assert scaling is not None
    assert (scaling.offered_per_s, scaling.is_estimated) == (pytest.approx(30), False)
    assert (dict(scaling.running), dict(scaling.plan)) == ({"read": 1, "work": 2}, {"read": 1, "work": 5})
    (action,) = bench.ledger.guard.actions("pair")
    assert (action.diagnosis, action.action, action.state) == ("under-provisioned", "scale-up", GuardState.EFFECTIVE)
    assert action.before["offered_per_s"] == pytest.approx(30)
    assert action.before["sustained_per_s"] == pytest.approx(20)
    assert action.expected == pytest.approx({"sustained_per_s": 50.0, "utilisation": 0.6})
    assert action.judged_at is not None
    assert action.measured["taken_per_s"] > 30
    assert (bench.work, rescales(bench)) == (5, 1)
    assert bench.cluster.record(after(15), after(20)).lag_s.max() == 0
    # The deployment is a step like any other.
    assert action.step_id is not None
    step = bench.ledger.step(action.step_id)
    assert (step.state, step.schedule_id, step.updated_by) == (StepState.VERIFIED, None, "guard")
    assert bench.ledger.outcome(step.id) is not None


def test_a_cluster_that_does_not_tell_what_waits__is_estimated_and_says_why(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    bench.backlogs = lambda: {"read": SourceBacklog(None, None, "source 'read' publishes nothing")}
    # What came during the start may still drain for 600 s, and a window of 180 s lies after that.
    early = bench.until(11)
    assert [turn.action for turn in early] == [None] * 11
    assert [(reason.kind, reason.operator, reason.bound) for reason in early[-1].reasons] == [
        (ReasonKind.MAY_DRAIN, "read", 600)
    ]
    turn = next(turn for turn in bench.until(14) if turn.action is not None)
    assert turn.action is not None
    # read waits for room nearly always: 5 times the 20/s that it takes in are believed where 30/s come.
    assert turn.action.before["offered_per_s"] == pytest.approx(100, rel=0.01)
    assert [reason.scaling.is_estimated for reason in turn.reasons if reason.scaling] == [True]
    assert turn.assessment is not None
    assert turn.assessment.unmeasured == {"read": "source 'read' publishes nothing"}
    # Without a backlog nothing more is known than that: 100 / .7 + 100 · 30 / 600 = 147.9/s of 10/s each.
    assert turn.action.plan["work"] == 15


def test_a_single_look__never_acts(tmp_path: Path) -> None:
    # One look of 60 s fills a window of 40 s whole. After two minutes 1,200 wait, and a rescale adds 30 · 30:
    # 30 / .7 + 2,100 / 60 = 77.9/s, eight instances.
    terms = replace(TERMS, window_s=40.0, settle_s=40.0, drain_s=60.0)
    bench = Bench(tmp_path, [30.0] * 30, work=2, terms=terms)
    first, second = bench.until(2)
    assert (first.action, first.reasons) == (None, (Reason(ReasonKind.ONE_LOOK),))
    assert second.action is not None
    assert (second.looks, dict(second.action.plan)) == (2, {"read": 1, "work": 8})


def test_a_backlog_that_drains_after_a_start__is_no_load(tmp_path: Path) -> None:
    # 8/s come where 10/s are managed. The first minute leaves 18 · 60 = 1,080, which drain at 2/s in 540 s: meanwhile
    # the job is full, and no backlog is known.
    bench = Bench(tmp_path, [28.0] + [8.0] * 60, work=1)
    bench.backlogs = lambda: {"read": SourceBacklog(None, None, "the group has not committed")}
    turns = bench.until(30)
    assert [turn.action for turn in turns] == [None] * 30
    assert rescales(bench) == 0


def test_lag_of_a_cluster_that_tells_it__is_a_missed_target(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [10.0] * 60, work=2, acts=False)
    bench.backlogs = lambda: {"read": SourceBacklog(5000.0, 500.0)}
    (advice,) = bench.until(5)[-1].advice
    assert (advice.diagnosis, advice.action) == ("target-missed", "scale-up")
    assert advice.reason.diagnosis is not None
    assert advice.reason.diagnosis.symptoms == (Symptom(SymptomKind.LAG, "", 500, 180),)
    # Nothing is full. What waits does not grow, so 10/s come: (10 / .7 + (5,000 + 10 · 30) / 600) / 10 = 2.3.
    assert dict(advice.plan) == {"read": 1, "work": 3}


def test_a_spike_shorter_than_the_settling_time__is_not_chased_twice(tmp_path: Path) -> None:
    # A quarter of an hour of calm, four minutes of spike, calm again.
    bench = Bench(tmp_path, [10.0] * 15 + [60.0] * 4 + [10.0] * 40, work=2)
    turns = bench.until(35)
    assert sum(turn.action is not None for turn in turns) <= 1
    assert rescales(bench) <= 1


def test_a_spike_shorter_than_the_window__is_left_to_pass(tmp_path: Path) -> None:
    # One minute of 25/s where 20/s are managed: 300 wait, and drain at 10/s within half a minute.
    bench = Bench(tmp_path, [10.0] * 10 + [25.0] + [10.0] * 30, work=2)
    assert [turn.action for turn in bench.until(18)] == [None] * 18
    assert bench.ledger.guard.actions("pair") == []


def test_advise__tells_once_what_it_would_do_and_deploys_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2, acts=False)
    turns = bench.until(9)
    assert [len(turn.advice) for turn in turns] == [0] * 4 + [1] + [0] * 4
    (advice,) = bench.ledger.guard.actions("pair")
    assert (advice.state, advice.step_id, dict(advice.plan)) == (GuardState.ADVISED, None, {"read": 1, "work": 5})
    assert bench.work == 2
    assert bench.ledger.steps(topology="pair") == []


@pytest.mark.slow
def test_an_idle_job__is_lowered_after_its_dwell_to_what_the_load_needs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [10.0] * 120, work=8)
    bench.until(29)
    assert bench.work == 8
    bench.until(31)
    # (10 / .7 + 10 · 30 / 600) / 10 = 1.48: two instances. One of eight is 12.5 % busy, below half of 70 %.
    assert bench.work == 2
    bench.until(38)
    (action,) = bench.ledger.guard.actions("pair")
    assert (action.diagnosis, action.action, action.state) == ("over-provisioned", "scale-down", GuardState.EFFECTIVE)


@pytest.mark.slow
def test_the_schedule__is_a_floor(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [10.0] * 120, work=8)
    schedule(bench, plan_of(6))
    bench.until(31)
    assert bench.work == 6
    bench.until(70)
    assert bench.work == 6


@pytest.mark.slow
def test_a_planned_peak__keeps_the_plan_from_being_lowered(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [10.0] * 120, work=8)
    # Within a dwell of 30 minutes the schedule wants 7 instances; from five minutes before on nothing is lowered.
    schedule(bench, plan_of(1), (33.0, plan_of(7)))
    turns = bench.until(32)
    assert bench.work == 8
    assert [(reason.kind, reason.observed) for reason in turns[29].reasons] == [(ReasonKind.STEP_AHEAD, 180)]
    other = Bench(tmp_path / "other", [10.0] * 120, work=8)
    schedule(other, plan_of(1), (50.0, plan_of(7)))
    other.until(31)
    assert other.work == 7


def test_minutes_to_spare__have_the_guard_wait_until_more_instances_are_worth_theirs(tmp_path: Path) -> None:
    """10/s more wait each second. After nine minutes 5,400 do, 180 s of 30/s, and within 480 s the job is late for as
    many: as long as it may be. Two changes, and 4 instances for half an hour, would be worth 40 minutes.
    """
    bench = Bench(tmp_path, [30.0] * 120, work=2)
    bench.guarded = replace(bench.guarded, held_s=1800.0, most_late_s=480.0)
    schedule(bench, plan_of(2), violation_price_h=0.1)
    (*_, last) = bench.until(8)
    assert [(each.kind, each.observed, each.bound) for each in last.reasons] == [
        (ReasonKind.MAY_BE_LATE, 4, pytest.approx(480.0))
    ]
    assert bench.work == 2
    bench.until(11)
    assert bench.work == 6
    none_to_spare = Bench(tmp_path / "other", [30.0] * 120, work=2)
    none_to_spare.guarded = replace(none_to_spare.guarded, held_s=1800.0, most_late_s=480.0)
    schedule(none_to_spare, plan_of(2), violation_price_h=0.2)
    none_to_spare.until(6)
    assert none_to_spare.work == 5


def test_a_planned_step__follows_on_what_the_guard_has_put_in_place(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 120, work=2)
    down, up, night = schedule(bench, plan_of(2), (40, plan_of(1)), (60, plan_of(9)), (90, plan_of(2)))
    bench.until(6)
    assert bench.work == 5
    # The lowering takes back what the guard added: it stays approved, says so, and waits while 30/s come.
    lowering = bench.ledger.step(down)
    assert (lowering.state, lowering.plan, lowering.replaces) == (StepState.APPROVED, plan_of(1), plan_of(5))
    assert lowering.moved is Moved.AGAINST_GUARD
    # The rest of the day is as approved.
    peak, evening = bench.ledger.step(up), bench.ledger.step(night)
    assert (peak.state, peak.plan, peak.replaces) == (StepState.APPROVED, plan_of(9), plan_of(1))
    assert (evening.state, evening.plan, evening.replaces) == (StepState.APPROVED, plan_of(2), plan_of(9))
    bench.until(41)
    of = (bench.topology, bench.guarded.terms, bench.ledger, bench.cluster, bench.clock.now())
    waits = withheld_because(bench.ledger.step(down), *of)
    assert waits is not None
    assert waits.need is not None
    assert (waits.need.offered_per_s, waits.need.backlog) == (pytest.approx(30.0), 0.0)


def test_all_steps_of_a_day__live_on_when_the_guard_adds_more_than_any_of_them(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 120, work=2)
    steps = schedule(bench, plan_of(2), (40, plan_of(3)), (60, plan_of(4)), (90, plan_of(2)))
    bench.until(6)
    assert bench.work == 5
    kept = [bench.ledger.step(step) for step in steps]
    assert [(step.state, step.plan) for step in kept] == [
        (StepState.APPROVED, plan_of(3)),
        (StepState.APPROVED, plan_of(4)),
        (StepState.APPROVED, plan_of(2)),
    ]
    assert [step.moved for step in kept] == [Moved.AGAINST_GUARD, None, None]


def test_a_floor_ahead__stays_as_it_was_planned_whatever_the_guard_puts_in_place(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 120, work=2)
    bench.guarded = replace(bench.guarded, floor=True)
    down, up = schedule(bench, plan_of(2), (40, plan_of(1)), (60, plan_of(9)))
    bench.until(6)
    assert bench.work == 5
    steps = [bench.ledger.step(step_id) for step_id in (down, up)]
    assert [(step.state, step.plan) for step in steps] == [
        (StepState.APPROVED, plan_of(1)),
        (StepState.APPROVED, plan_of(9)),
    ]


@pytest.mark.slow
def test_the_floor__lets_the_guard_take_back_what_somebody_else_has_above_it(tmp_path: Path) -> None:
    # The step wants 3 and leaves the 8 that somebody else has. The guard may go down to these 3; 2 would do for 10/s.
    bench = Bench(tmp_path, [10.0] * 120, work=8)
    bench.guarded = replace(bench.guarded, floor=True)
    (step_id,) = schedule(bench, plan_of(8), (1, plan_of(3)))
    bench.clock.wait(60)
    deploy_step(step_id, bench.ledger, bench.cluster, bench.clock, by="deploy", floor_within=32)
    assert (bench.ledger.step(step_id).state, bench.work) == (StepState.VERIFIED, 8)
    bench.until(32)
    assert bench.work == 3


def test_a_planned_step__keeps_what_the_guard_has_added_elsewhere(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 120, work=2)
    up, night = schedule(bench, plan_of(2), (60, plan_of(3, read=4)), (90, plan_of(2)))
    bench.until(6)
    assert bench.ledger.step(up).plan == plan_of(5, read=4)
    assert (bench.ledger.step(night).replaces, bench.ledger.step(night).plan) == (plan_of(5, read=4), plan_of(2))


def test_a_step_whose_time_has_come__goes_first(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    (step,) = schedule(bench, plan_of(2), (4.5, plan_of(6)))
    turns = bench.until(7)
    assert turns[4].reasons == (Reason(ReasonKind.STEP_FIRST, step_id=step, state=StepState.APPROVED.value),)
    # Nobody deploys it: once a settling time has gone by, the guard acts.
    bench.until(11)
    assert bench.work > 2


def test_a_deployment_that_was_cut_short__keeps_the_guard_away_for_a_while_only(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    (step,) = schedule(bench, plan_of(2), (4.5, plan_of(6)))
    bench.until(4)
    for before, to in ((StepState.APPROVED, StepState.DUE), (StepState.DUE, StepState.DEPLOYING)):
        bench.ledger.transition(step, expected=before, to=to, at=bench.clock.now(), by="deploy", why="killed then")
    assert [turn.action for turn in bench.until(8)] == [None] * 4
    bench.until(10)
    assert bench.work > 2


def test_a_deployment_that_is_taken_up_again_and_again__keeps_the_guard_away_no_longer(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    (step,) = schedule(bench, plan_of(2), (4.5, plan_of(6)))
    bench.until(4)
    for before, to in ((StepState.APPROVED, StepState.DUE), (StepState.DUE, StepState.DEPLOYING)):
        bench.ledger.transition(step, expected=before, to=to, at=bench.clock.now(), by="deploy", why="killed then")
    for minute in range(5, 11):
        bench.ledger.resume(step, expected=StepState.DEPLOYING, at=bench.clock.now(), by="deploy", why="taken up again")
        bench.until(minute)
    # As after one attempt: a settling time of 300 s after the first, at minute 4.
    assert bench.work > 2


def test_planned_steps__are_rebased_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    (up,) = schedule(bench, plan_of(2), (60, plan_of(9)))
    for _ in range(2):
        bench.ledger.guard.rebase(plan_of(2), plan_of(5), max_instances=32, at=after(1))
    step = bench.ledger.step(up)
    assert (step.replaces, step.reason, step.moved) == (plan_of(5), "as planned", Moved.BY_GUARD)
    assert [event.to_state for event in bench.ledger.events(up)][-2:] == [StepState.APPROVED] * 2
    # A scale-down leaves planned steps as they are, but for what they follow on.
    bench.ledger.guard.rebase(plan_of(5), plan_of(3), max_instances=32, at=after(2))
    assert (bench.ledger.step(up).replaces, bench.ledger.step(up).plan) == (plan_of(3), plan_of(9))


HOT = KeyHistogram({"hot": 1.0})
"""One key, so that one instance has all the work whatever the parallelism."""


@pytest.mark.slow
def test_a_pair_that_keeps_failing__is_barred_until_it_is_lifted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [15.0] * 240, work=2, keys=HOT)
    bench.until(45)
    records = bench.ledger.guard
    # Hot keys are reported from the first window on; lag goes beyond its 180 s after nine minutes, and is scaled at.
    done = records.actions("pair")[::-1]
    assert [(each.action, each.state) for each in done if each.state is not GuardState.ADVISED] == [
        ("scale-up", GuardState.INEFFECTIVE)
    ] * 2
    (barred,) = records.barred("pair")
    assert (barred.diagnosis, barred.action) == ("target-missed", "scale-up")
    assert (barred.failures, barred.last.kind) == (2, ReasonKind.STILL_ILL)
    before = bench.work
    turns = bench.until(60)
    assert bench.work == before
    assert ReasonKind.BARRED in [reason.kind for reason in turns[-1].reasons]
    assert any(each.action == "report-keys" for each in done)

    with pytest.raises(LedgerError, match=r"scale-down under over-provisioned is not barred .* target-missed scale-up"):
        records.lift("pair", "over-provisioned", "scale-down", at=bench.clock.now(), by="anna")
    records.lift("pair", "target-missed", "scale-up", at=bench.clock.now(), by="anna")
    assert records.barred("pair") == []
    bench.until(62)
    assert bench.work > before
    # Failures from before it was lifted do not count: one more is not enough.
    bench.until(72)
    assert records.barred("pair") == []


class Dying:
    """The simulator, and a process that is killed right before or right after it was asked for a plan."""

    def __init__(self, cluster: SimulatedCluster, *, asks: bool) -> None:
        self._cluster, self._asks = cluster, asks

    def __getattr__(self, name: str) -> object:
        return getattr(self._cluster, name)

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        if self._asks:
            self._cluster.apply(plan, expected=expected)
        raise KeyboardInterrupt


@pytest.mark.parametrize("asks", [False, True], ids=["before", "after"])
def test_a_crash_around_the_deployment__neither_acts_twice_nor_forgets(tmp_path: Path, asks: bool) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    bench.until(4)
    bench.clock.wait(60)
    with pytest.raises(KeyboardInterrupt):
        guard_turn(bench.guarded, bench.ledger, Dying(bench.cluster, asks=asks), bench.clock)  # type: ignore[arg-type]
    assert bench.work == (5 if asks else 2)
    opened = bench.ledger.guard.open_action("pair")
    assert opened is not None
    bench.until(14)
    (action,) = bench.ledger.guard.actions("pair")
    assert (action.id, action.state) == (opened.id, GuardState.EFFECTIVE)
    assert (bench.work, rescales(bench)) == (5, 1)


def test_a_deployment_that_never_asked_the_cluster__says_nothing_of_the_action(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    bench.until(4)
    bench.clock.wait(60)
    with pytest.raises(KeyboardInterrupt):
        guard_turn(bench.guarded, bench.ledger, Dying(bench.cluster, asks=False), bench.clock)  # type: ignore[arg-type]
    # The next turn comes when the action's time is over, a settling time later.
    bench.clock.wait(301)
    bench.turn()
    (action,) = bench.ledger.guard.actions("pair")
    assert (action.state, bench.work) == (GuardState.MOOT, 2)
    assert action.judgement is not None
    assert (action.judgement.kind, action.judgement.state) == (ReasonKind.NOT_DEPLOYED, StepState.ROLLED_BACK)


def test_a_plan_that_the_cluster_refuses__fails_and_changes_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2, slots=4)
    bench.until(5)
    (action,) = bench.ledger.guard.actions("pair")
    assert action.state is GuardState.INEFFECTIVE
    assert action.judgement is not None
    assert action.judgement.kind is ReasonKind.NOT_DEPLOYED
    assert action.judgement.cause is not None
    assert "6 instances > 4 slots" in action.judgement.cause.detail
    assert bench.work == 2


def test_somebody_elses_plan__makes_the_action_moot(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    bench.until(6)
    bench.cluster.apply(plan_of(7), expected=plan_of(5))
    bench.until(9)
    (action,) = bench.ledger.guard.actions("pair")
    assert (action.state, action.judgement) == (
        GuardState.MOOT,
        Reason(ReasonKind.REPLACED, plan={"read": 1, "work": 7}),
    )


def test_a_guard_that_only_advises_now__calls_off_what_it_had_begun(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    now = bench.clock.now()
    cause = Diagnosis(DiagnosisKind.UNDER_PROVISIONED, "work")
    action = Action(cause, ActionKind.SCALE_UP, {"read": 1, "work": 5}, Reason(ReasonKind.SCALES, cause))
    begun = bench.ledger.guard.begin(action, plan_of(5), plan_of(2), at=now, expires_at=after(5))
    with pytest.raises(LedgerError, match=rf"action {begun.id} of the guard is open since .*; wait until it is judged"):
        bench.ledger.guard.begin(action, plan_of(6), plan_of(2), at=after(1), expires_at=after(5))
    bench.guarded = replace(bench.guarded, acts=False)
    bench.until(1)
    (closed,) = bench.ledger.guard.actions("pair")
    assert (closed.state, bench.work) == (GuardState.MOOT, 2)
    assert bench.ledger.step(str(begun.step_id)).state is StepState.VETOED


def test_a_job_that_is_rescaling__is_left_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    bench.cluster.apply(plan_of(3), expected=plan_of(2))
    bench.clock.wait(10)
    turn = bench.turn()
    assert (turn.assessment, turn.reasons) == (None, (Reason(ReasonKind.NOT_RUNNING, state=Status.RESCALING.value),))
