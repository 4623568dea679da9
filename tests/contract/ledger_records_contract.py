"""What the ledger must keep of guard, shadow and minutes."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from ledger_decisions import (
    NOON,
    after,
    plan_of,
    schedule_of,
    step_for,
)

from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import LedgerError
from planner.guard.actions import Action
from planner.guard.judgement import Verdict, VerdictKind
from planner.guard.look import Look, OperatorLook, Waiting
from planner.guard_facts import ActionKind, Diagnosis, DiagnosisKind, GuardState, Reason, ReasonKind
from planner.ledger.entries import BarredPair, Observation, ShadowDay
from planner.ledger.ledger import Ledger
from planner.ledger.minute_records import MinuteCount
from planner.ledger.notice_records import NoticeKey
from planner.ledger.step_state import StepState

PROPOSED, APPROVED, DUE = StepState.PROPOSED, StepState.APPROVED, StepState.DUE


class LedgerRecordsContract:
    """Part of LedgerContract, which has the fixtures."""

    def test_shadow_span__is_what_schedules_would_have_deployed_until_the_next(self, ledger: Ledger) -> None:
        assert ledger.shadow.span("calls") is None
        first = ledger.record_schedule(schedule_of(3, 4), shadow=True)
        # Steps are at 13:00 and 14:00; at 13:30 a newer schedule takes the place of the second.
        newer = replace(schedule_of(made_at=after(90)), steps=(step_for(after(100), after(200), 7),))
        second = ledger.record_schedule(newer, shadow=True)
        span = ledger.shadow.span("calls")
        assert span is not None
        assert (span.start, span.first) == (NOON, plan_of(2))
        assert [step.id for step in span.steps] == [f"{first}-1", f"{second}-1"]
        assert ledger.step(f"{first}-2").state is StepState.SUPERSEDED
        # A step whose time is a moment is followed right after it.
        plans = {60: plan_of(2), 61: plan_of(3), 100: plan_of(3), 101: plan_of(7)}
        assert {minute: span.plan_at(after(minute)) for minute in plans} == plans

    def test_shadow_span__ends_with_a_schedule_that_is_to_be_deployed(self, ledger: Ledger) -> None:
        shadowed = ledger.record_schedule(schedule_of(3, 4), shadow=True)
        ledger.record_schedule(schedule_of(5, made_at=after(90)))
        assert ledger.shadow.span("calls") is None
        assert [step.state for step in ledger.steps(schedule_id=shadowed)] == [StepState.SHADOW, StepState.SUPERSEDED]
        # What begins anew knows nothing of the first one.
        again = ledger.record_schedule(schedule_of(6, made_at=after(100)), shadow=True)
        span = ledger.shadow.span("calls")
        assert span is not None
        assert span.start == after(100)
        assert {step.schedule_id for step in span.steps} <= {again}

    def test_observations_and_days__are_kept_once(self, ledger: Ledger) -> None:
        seen = [
            Observation("calls", after(minute), plan_of(2), "running", {"ingest": 3.0}, lag)
            for minute, lag in enumerate((None, 0.5, float("inf")))
        ]
        assert ledger.shadow.record_observations("calls", seen[:2]) == 2
        assert ledger.shadow.record_observations("calls", seen) == 1
        assert ledger.shadow.observations("calls", after(0), after(1)) == seen[:2]
        assert ledger.shadow.last_observed("calls") == after(2)
        assert ledger.shadow.last_observed("mails") is None
        day = ShadowDay(
            "calls", NOON.date(), after(1), 90.0, 1440, 60, 72.0, 5, 1, 48.0, 48.0, 3, 2, 4, 1, 0.0, ("a", "b")
        )
        ledger.shadow.record_day(day)
        ledger.shadow.record_day(replace(day, instance_hours=1.0))
        assert ledger.shadow.days("calls") == [day]
        assert ledger.shadow.days("mails") == []

    def test_guard__bars_a_pair_that_keeps_failing_until_it_is_lifted(self, ledger: Ledger) -> None:
        def fail(minute: float, topology: str = "calls") -> BarredPair | None:
            plan, before = (PhysicalPlan(topology, {"work": count}) for count in (5, 2))
            cause = Diagnosis(DiagnosisKind.UNDER_PROVISIONED, "work")
            scales, still = Reason(ReasonKind.SCALES, cause), Reason(ReasonKind.STILL_ILL, cause)
            action = Action(cause, ActionKind.SCALE_UP, dict(plan.parallelism), scales, {"taken_per_s": 20.0})
            begun = ledger.guard.begin(action, plan, before, at=after(minute), expires_at=after(minute + 5))
            assert ledger.guard.open_action(topology) == begun
            assert ledger.step(str(begun.step_id)).state is APPROVED
            failure = Verdict(VerdictKind.INEFFECTIVE, still, {"taken_per_s": 20.0})
            barred = ledger.guard.judge(begun.id, failure, at=after(minute + 5), blacklist_after=2)
            # What is judged stays so.
            better = Verdict(VerdictKind.EFFECTIVE, Reason(ReasonKind.KEEPS_UP), {})
            assert ledger.guard.judge(begun.id, better, at=after(minute + 6), blacklist_after=2) is None
            judged = ledger.guard.action(begun.id)
            assert (judged.state, judged.reason, judged.judgement) == (GuardState.INEFFECTIVE, scales, still)
            if barred is not None:
                assert (barred.failures, barred.last) == (2, still)
            return barred

        pair = ("calls", "under-provisioned", "scale-up")
        assert fail(0) is None
        assert fail(10, "mails") is None
        assert fail(20) == ledger.guard.barred("calls")[0]
        assert ledger.guard.barred("mails") == []
        assert ledger.guard.lift(*pair, at=after(30), by="anna").since == after(25)
        assert ledger.guard.barred("calls") == []
        with pytest.raises(LedgerError, match="is not barred for topology 'calls'; barred is nothing"):
            ledger.guard.lift(*pair, at=after(31), by="anna")
        assert fail(40) is None
        assert fail(50) is not None
        assert [each.decided_at for each in ledger.guard.actions("calls")] == [after(m) for m in (50, 40, 20, 0)]

    def test_guard__keeps_looks_as_long_as_they_are_needed(self, ledger: Ledger) -> None:
        def look(minute: float) -> Look:
            return Look(after(minute), 60.0, {"work": OperatorLook((0.5,), (0.0,), (5.0,))}, Waiting({"work": 5.0}))

        for minute in (1, 2, 3, 3):
            ledger.guard.record_look("calls", look(minute), forget_before=after(minute - 1))
        ledger.guard.record_look("mails", look(1), forget_before=after(0))
        assert ledger.guard.looks("calls") == [look(2), look(3)]
        assert ledger.guard.looks("mails") == [look(1)]

    def test_minutes__count_once_however_often_they_are_recorded(self, ledger: Ledger, url: str) -> None:
        def record(lag_s: float, *minutes: float, topology: str = "calls") -> None:
            lags_s = [(after(minute), lag_s) for minute in minutes]
            Ledger(url).minutes.record(topology, lags_s, max_lag_s=180.0)

        # What is looked at on the hour is of the minute that ends then: 11:59, 12:00 twice, 12:59 and 13:00.
        record(0.0, 0, 0.5, 1, 59.5, 60.5)
        assert ledger.minutes.count("calls", after(-60), after(120)) == MinuteCount(4, 0)
        record(180.0, 0.7)
        assert ledger.minutes.count("calls", after(0), after(1)) == MinuteCount(1, 0)
        # It stays in violation whatever else was seen of it.
        record(180.5, 0.8, 60.9)
        record(10.0, 0.9)
        record(999.0, 5, topology="mails")
        assert ledger.minutes.count("calls", after(-60), after(120)) == MinuteCount(4, 2)
        # From the minute in which 12:00:30 lies up to, and without, that of 13:00:50.
        assert ledger.minutes.count("calls", after(0.5), after(60.8)) == MinuteCount(2, 1)
        assert ledger.minutes.count("calls", after(1), after(1)) == MinuteCount(0, 0)
        assert ledger.minutes.count("mails", after(0), after(60)) == MinuteCount(1, 1)
        ledger.minutes.record("calls", [], max_lag_s=180.0)

    def test_minutes__of_one_hour_are_kept_by_several_at_once(self, ledger: Ledger, url: str) -> None:
        def record(minute: int) -> None:
            Ledger(url).minutes.record("calls", [(after(minute), 200.0)], max_lag_s=180.0)

        with ThreadPoolExecutor(5) as pool:
            list(pool.map(record, range(1, 6)))
        assert ledger.minutes.count("calls", NOON, after(60)) == MinuteCount(5, 5)

    def test_notices__are_begun_once_by_several_at_once(self, ledger: Ledger, url: str) -> None:
        key = NoticeKey("digest", "calls", "guard", "one")
        with ThreadPoolExecutor(5) as pool:
            begun = list(pool.map(lambda _: Ledger(url).notices.begin([key], NOON), range(5)))
        assert sorted(begun) == [[], [], [], [], [key]]

    def test_notices__that_were_cut_short_or_not_taken_are_due_again(self, ledger: Ledger) -> None:
        key, notices = NoticeKey("digest", "calls", "guard", "one"), ledger.notices
        assert notices.begin([key], NOON)
        assert not notices.begin([key], after(10))
        assert notices.begin([key], after(11))
        notices.give_up([key])
        assert notices.is_due(key, after(11))
        assert notices.begin([key], after(11))
        notices.record_told([key], after(11))
        notices.give_up([key])
        assert not notices.is_due(key, after(60 * 24))

    def test_notices__of_what_is_over_are_due_when_it_comes_back(self, ledger: Ledger) -> None:
        keys = [
            NoticeKey("digest", *of)
            for of in (("calls", "drift", "a"), ("calls", "drift", "b"), ("calls", "rung", "a"))
        ]
        for key in (*keys, other := NoticeKey("digest", "mails", "drift", "a")):
            assert ledger.notices.begin([key], NOON)
            ledger.notices.record_told([key], NOON)
        ledger.notices.end_others("calls", "drift", ["b"], after(5))
        assert [ledger.notices.is_due(key, after(6)) for key in (*keys, other)] == [True, False, False, False]
        assert ledger.notices.begin([keys[0]], after(6))
        assert not ledger.notices.begin([keys[0]], after(7))

    def test_steps_and_actions__are_counted_by_state(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3, 4))
        ledger.transition(f"{schedule_id}-1", expected=PROPOSED, to=APPROVED, at=NOON, by="anna", why="")
        counts = ledger.step_counts("calls")
        assert set(counts) == set(StepState)
        assert {state: count for state, count in counts.items() if count} == {PROPOSED: 1, APPROVED: 1}
        assert ledger.guard.counts("calls") == []

    def test_moments__come_back_in_utc_and_need_a_time_zone(self, ledger: Ledger) -> None:
        step_id = f"{ledger.record_schedule(schedule_of(3))}-1"
        berlin = NOON.astimezone(timezone(timedelta(hours=1)))
        step = ledger.transition(step_id, expected=PROPOSED, to=APPROVED, at=berlin, by="anna", why="")
        assert step.updated_at == NOON
        assert step.updated_at.utcoffset() == timedelta(0)
        naive = datetime(2024, 3, 4, 12, 0)
        with pytest.raises(LedgerError, match="2024-03-04 12:00:00 has no time zone"):
            ledger.transition(step_id, expected=APPROVED, to=DUE, at=naive, by="anna", why="")
