"""What the ledger must do on every database. A subclass gives its URL; see test_ledger_contract.py."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import pytest
from ledger_decisions import NOON, after, forecast_of, plan_of, schedule_of, step_for, steps_at

from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import LedgerError
from planner.guard.actions import Action, ActionKind
from planner.guard.diagnoses import Diagnosis, DiagnosisKind
from planner.guard.judgement import Verdict, VerdictKind
from planner.guard.look import Look, OperatorLook, Waiting
from planner.ledger.entries import BarredPair, Observation, Outcome, ShadowDay, StepEntry
from planner.ledger.guard_state import GuardState
from planner.ledger.ledger import Ledger
from planner.ledger.minute_records import MinuteCount
from planner.ledger.step_state import StepState

PROPOSED, APPROVED, DUE, DEPLOYING = StepState.PROPOSED, StepState.APPROVED, StepState.DUE, StepState.DEPLOYING


def brought_to(ledger: Ledger, step_id: str, state: StepState) -> StepEntry:
    """The step after it went the straight way from proposed to a state on the way to verified."""
    way = [PROPOSED, APPROVED, DUE, DEPLOYING, StepState.VERIFIED]
    for before, following in pairwise(way[: way.index(state) + 1]):
        ledger.transition(step_id, expected=before, to=following, at=NOON, by="anna", why="as planned")
    return ledger.step(step_id)


def asked_by_hand(ledger: Ledger) -> str:
    return ledger.record_hand_made_step(
        "r1",
        plan_of(9),
        replaces=plan_of(2),
        deploy_at=after(5),
        expires_at=after(9),
        at=NOON,
        by="anna",
        why="fair",
    )


class LedgerContract:
    """Subclass it as `Test…` with the fixture `url` of an empty database."""

    @pytest.fixture
    def url(self) -> str:
        raise NotImplementedError

    @pytest.fixture
    def ledger(self, url: str) -> Ledger:
        return Ledger(url)

    def test_record_schedule__gives_back_the_same_schedule(self, ledger: Ledger, url: str) -> None:
        forecast_id = ledger.record_forecast(forecast_of())
        schedule_id = ledger.record_schedule(schedule_of(3, 4), forecasts=[forecast_id], report="reports/1.html")
        entry = Ledger(url).schedule(schedule_id)
        assert entry.schedule == schedule_of(3, 4)
        assert entry.forecasts == ("run-1",)
        assert entry.report == "reports/1.html"
        assert ledger.forecasts("calls") == [forecast_of()]

    def test_forecast_topologies__names_each_once(self, ledger: Ledger) -> None:
        assert ledger.forecast_topologies() == []
        for number, name in enumerate(("web", "calls", "calls")):
            ledger.record_forecast(replace(forecast_of(), id=f"run-{number}", topology=name))
        assert ledger.forecast_topologies() == ["calls", "web"]

    def test_record_schedule__proposes_its_steps_until_the_next_ones_time(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3, 4))
        first, second = ledger.steps(schedule_id=schedule_id)
        assert [first.id, second.id] == [f"{schedule_id}-1", f"{schedule_id}-2"]
        assert (first.deploy_at, first.expires_at) == (
            after(60),
            after(120),
        )  # needed until 150, but the next is at 120
        assert (second.deploy_at, second.expires_at) == (after(120), after(210))
        assert first.plan == plan_of(3)
        assert first.replaces == plan_of(2)
        assert (first.state, first.attempt, first.schedule_id) == (PROPOSED, 0, schedule_id)

    def test_record_schedule__twice_is_once(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3))
        brought_to(ledger, f"{schedule_id}-1", APPROVED)
        assert ledger.record_schedule(schedule_of(3, made_at=after(1))) == schedule_id
        assert [step.state for step in ledger.steps(topology="calls")] == [APPROVED]
        assert len(ledger.schedules("calls")) == 1

    def test_record_schedule__again_after_a_newer_one_does_not_call_off_the_newer(self, ledger: Ledger) -> None:
        older = ledger.record_schedule(schedule_of(3))
        newer = ledger.record_schedule(schedule_of(4, made_at=after(60)))
        ledger.record_schedule(schedule_of(3))
        assert ledger.step(f"{older}-1").state is StepState.SUPERSEDED
        assert ledger.step(f"{newer}-1").state is PROPOSED

    def test_record_schedule__supersedes_what_is_proposed_and_leaves_what_was_approved(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(schedule_of(3, 4))
        brought_to(ledger, f"{first}-1", APPROVED)
        ledger.record_schedule(schedule_of(7, made_at=after(30)))
        assert [step.state for step in ledger.steps(schedule_id=first)] == [APPROVED, StepState.SUPERSEDED]

    def test_approve_schedule__takes_the_place_of_what_waits_and_of_nothing_else(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(schedule_of(3, 4, 5, 6))
        brought_to(ledger, f"{first}-1", StepState.VERIFIED)
        brought_to(ledger, f"{first}-2", DEPLOYING)
        brought_to(ledger, f"{first}-3", DUE)
        elsewhere = ledger.record_schedule(schedule_of(3, topology="mails"))
        by_hand = asked_by_hand(ledger)
        second = ledger.record_schedule(schedule_of(7, made_at=after(30)))
        ledger.approve_schedule(second, at=after(31), by="anna", why="fair")
        states = {step.id: step.state for step in ledger.steps()}
        assert states == {
            f"{first}-1": StepState.VERIFIED,
            f"{first}-2": DEPLOYING,
            f"{first}-3": StepState.SUPERSEDED,
            f"{first}-4": StepState.SUPERSEDED,
            f"{elsewhere}-1": PROPOSED,
            by_hand: APPROVED,
            f"{second}-1": APPROVED,
        }
        assert ledger.step(f"{first}-3").reason == f"schedule {second} takes its place"

    def test_approve_schedule__of_an_outdated_schedule_changes_nothing(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(schedule_of(3))
        second = ledger.record_schedule(schedule_of(7, made_at=after(30)))
        ledger.approve_schedule(second, at=after(31), by="anna", why="fair")
        ledger.approve_schedule(first, at=after(32), by="bert", why="late")
        assert ledger.step(f"{first}-1").state is StepState.SUPERSEDED
        assert ledger.step(f"{second}-1").state is APPROVED

    def test_approve_schedule__twice_changes_nothing_the_second_time(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3))
        for minutes in (1, 2):
            ledger.approve_schedule(schedule_id, at=after(minutes), by="anna", why="fair")
        assert [event.to_state for event in ledger.events(f"{schedule_id}-1")] == [PROPOSED, APPROVED]

    def test_approve_schedule__that_holds_the_plan_supersedes_too(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(schedule_of(3))
        brought_to(ledger, f"{first}-1", APPROVED)
        hold = ledger.record_schedule(schedule_of(made_at=after(30)))
        ledger.approve_schedule(hold, at=after(31), by="anna", why="fair")
        assert ledger.step(f"{first}-1").state is StepState.SUPERSEDED

    def test_approve_schedule__of_some_steps_leaves_the_others_proposed(self, ledger: Ledger) -> None:
        earlier = ledger.record_schedule(schedule_of(9))
        brought_to(ledger, f"{earlier}-1", APPROVED)
        schedule_id = ledger.record_schedule(schedule_of(3, 4, made_at=after(1)))
        ledger.approve_schedule(schedule_id, at=after(2), by="anna", why="fair", only=[f"{schedule_id}-1"])
        assert [step.state for step in ledger.steps(schedule_id=schedule_id)] == [APPROVED, PROPOSED]
        assert ledger.step(f"{earlier}-1").state is StepState.SUPERSEDED

    def test_inherit__approves_what_somebody_has_approved_and_nothing_else(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(steps_at((60, 3), (120, 4), (180, 5), (240, 6)))
        for position in (1, 2, 3):
            brought_to(ledger, f"{first}-{position}", APPROVED)
        vetoed = {"expected": APPROVED, "to": StepState.VETOED, "at": NOON, "by": "ben", "why": "no"}
        ledger.transition(f"{first}-3", **vetoed)
        # The second asks for another plan, the third was vetoed, the fourth never approved.
        second = ledger.record_schedule(steps_at((65, 3), (120, 7), (180, 5), (240, 6), made_at=after(30)))
        for _ in range(2):
            inherited = ledger.approvals.inherit(second, within=timedelta(minutes=10), at=after(30))
        assert inherited == []
        assert [step.state for step in ledger.steps(schedule_id=second)] == [APPROVED, PROPOSED, PROPOSED, PROPOSED]
        step = ledger.step(f"{second}-1")
        assert step.reason == f"approved before by anna, as step {first}-1 at Mon 13:00: the morning's calls come"
        assert (step.updated_by, ledger.approvals.approver(step.id)) == ("earlier approval", "anna")
        assert ledger.step(f"{first}-1").state is StepState.SUPERSEDED
        assert [other.id for other in ledger.approvals.standing(second)] == [f"{first}-2"]

    def test_inherit__lets_many_small_delays_not_add_up(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(steps_at((60, 3)))
        brought_to(ledger, f"{first}-1", APPROVED)
        states = []
        for number, minute in enumerate((66, 72), start=1):
            later = ledger.record_schedule(steps_at((minute, 3), made_at=after(number)))
            ledger.approvals.inherit(later, within=timedelta(minutes=10), at=after(number))
            states.append(ledger.step(f"{later}-1").state)
        # 72 is 6 minutes from 66, and 12 from 60, which anna approved.
        assert states == [APPROVED, PROPOSED]

    def test_inherit__is_for_the_newest_schedule_that_is_no_shadow(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(steps_at((60, 3)))
        older = ledger.record_schedule(steps_at((61, 3), made_at=after(1)))
        newer = ledger.record_schedule(steps_at((62, 3), made_at=after(2)))
        # Proposed ones are superseded by newer ones.
        assert ledger.step(f"{first}-1").state is StepState.SUPERSEDED
        brought_to(ledger, f"{newer}-1", APPROVED)
        assert ledger.approvals.inherit(older, within=timedelta(minutes=10), at=after(3)) == []
        shadow = ledger.record_schedule(steps_at((60, 3), made_at=after(3)), shadow=True)
        assert ledger.approvals.inherit(shadow, within=timedelta(minutes=10), at=after(3)) == []

    def test_ask__tells_why_once_and_leaves_the_step_proposed(self, ledger: Ledger) -> None:
        step_id = f"{ledger.record_schedule(schedule_of(3))}-1"
        for why in ("it is large", "it is large", "it is dear"):
            ledger.approvals.ask(step_id, at=after(1), by="auto_approve", why=why)
        step = ledger.step(step_id)
        assert (step.state, step.reason) == (PROPOSED, "the morning's calls come; asked because it is dear")
        assert [event.to_state for event in ledger.events(step_id)] == [PROPOSED] * 3
        brought_to(ledger, step_id, APPROVED)
        with pytest.raises(LedgerError, match=r"is approved since .* not proposed as expected"):
            ledger.approvals.ask(step_id, at=after(2), by="auto_approve", why="it is late")

    def test_record_schedule__on_an_unknown_forecast_records_nothing(self, ledger: Ledger) -> None:
        earlier = ledger.record_schedule(schedule_of(3))
        with pytest.raises(LedgerError, match="rests on forecast 'lost', which the ledger does not have; record"):
            ledger.record_schedule(schedule_of(4), forecasts=["lost"])
        assert [entry.id for entry in ledger.schedules("calls")] == [earlier]
        assert ledger.step(f"{earlier}-1").state is PROPOSED

    def test_record_schedule__in_shadow_mode_makes_steps_that_go_nowhere(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3, 4), shadow=True)
        assert ledger.schedule(schedule_id).shadow
        assert {step.state for step in ledger.steps(schedule_id=schedule_id)} == {StepState.SHADOW}
        assert ledger.due_steps(after(70)) == []
        assert ledger.expire_steps(after(9999), by="ben") == []
        with pytest.raises(LedgerError, match=r"made in shadow mode and is never deployed; set planning.mode: act"):
            ledger.approve_schedule(schedule_id, at=after(1), by="anna", why="fair")
        with pytest.raises(LedgerError, match="approved does not follow shadow; what may follow is superseded"):
            ledger.transition(
                f"{schedule_id}-1", expected=StepState.SHADOW, to=APPROVED, at=NOON, by="ben", why="a try"
            )

    def test_record_schedule__the_same_in_shadow_mode_is_another(self, ledger: Ledger) -> None:
        assert ledger.record_schedule(schedule_of(3)) != ledger.record_schedule(schedule_of(3), shadow=True)

    def test_record_schedule__in_shadow_mode_calls_off_all_that_waits_but_what_people_asked_for(
        self, ledger: Ledger
    ) -> None:
        act = ledger.record_schedule(schedule_of(3, 4))
        brought_to(ledger, f"{act}-1", APPROVED)
        by_hand = asked_by_hand(ledger)
        ledger.record_schedule(schedule_of(5, made_at=after(30)), shadow=True)
        assert {step.state for step in ledger.steps(schedule_id=act)} == {StepState.SUPERSEDED}
        assert ledger.step(by_hand).state is APPROVED

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

    def test_schedules__come_newest_first(self, ledger: Ledger) -> None:
        ids = [ledger.record_schedule(schedule_of(count, made_at=after(count))) for count in (3, 5, 4)]
        assert [entry.id for entry in ledger.schedules("calls")] == [ids[1], ids[2], ids[0]]
        assert [entry.id for entry in ledger.schedules("calls", limit=1)] == [ids[1]]

    def test_transition__writes_every_move_down(self, ledger: Ledger) -> None:
        step_id = f"{ledger.record_schedule(schedule_of(3))}-1"
        step = brought_to(ledger, step_id, DEPLOYING)
        assert (step.state, step.reason, step.updated_by, step.attempt) == (DEPLOYING, "as planned", "anna", 1)
        moves = [(event.from_state, event.to_state) for event in ledger.events(step_id)]
        assert moves == [(None, PROPOSED), (PROPOSED, APPROVED), (APPROVED, DUE), (DUE, DEPLOYING)]

    def test_transition__from_another_state_than_expected_changes_nothing(self, ledger: Ledger) -> None:
        step_id = f"{ledger.record_schedule(schedule_of(3))}-1"
        brought_to(ledger, step_id, APPROVED)
        with pytest.raises(
            LedgerError, match=rf"step {step_id} is approved since .*anna: as planned.*, not proposed as"
        ):
            ledger.transition(step_id, expected=PROPOSED, to=StepState.VETOED, at=NOON, by="ben", why="no")
        assert ledger.step(step_id).state is APPROVED
        assert len(ledger.events(step_id)) == 2

    def test_transition__by_several_at_once_lets_exactly_one_through(self, ledger: Ledger, url: str) -> None:
        step_id = f"{ledger.record_schedule(schedule_of(3))}-1"

        def approves(who: str) -> bool:
            try:
                Ledger(url).transition(step_id, expected=PROPOSED, to=APPROVED, at=NOON, by=who, why="first")
            except LedgerError:
                return False
            return True

        with ThreadPoolExecutor(5) as pool:
            assert sum(pool.map(approves, ["anna", "ben", "cleo", "dan", "eva"])) == 1
        assert len(ledger.events(step_id)) == 2

    def test_transition__that_no_step_makes_is_refused_with_what_may_follow(self, ledger: Ledger) -> None:
        step_id = f"{ledger.record_schedule(schedule_of(3))}-1"
        with pytest.raises(
            LedgerError, match="verified does not follow proposed; what may follow is approved, expired"
        ):
            ledger.transition(step_id, expected=PROPOSED, to=StepState.VERIFIED, at=NOON, by="ben", why="hurry")

    def test_transition__of_an_unknown_step_names_it(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerError, match="no step nowhere-1"):
            ledger.transition("nowhere-1", expected=PROPOSED, to=APPROVED, at=NOON, by="ben", why="")

    def test_resume__counts_another_attempt(self, ledger: Ledger) -> None:
        step_id = f"{ledger.record_schedule(schedule_of(3))}-1"
        with pytest.raises(LedgerError, match=r"is proposed since .* not deploying"):
            ledger.resume(step_id, at=NOON, by="deploy", why="started again")
        brought_to(ledger, step_id, DEPLOYING)
        assert ledger.resume(step_id, at=after(1), by="deploy", why="started again").attempt == 2

    def test_due_steps__are_approved_and_their_time_has_come_and_not_gone(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3, 4, 5))
        for position in (1, 2):
            brought_to(ledger, f"{schedule_id}-{position}", APPROVED)
        assert ledger.due_steps(after(59)) == []
        assert [step.id for step in ledger.due_steps(after(60))] == [f"{schedule_id}-1"]
        # At 120 min the second step's time has come, and with it the first one's has gone.
        assert [step.id for step in ledger.due_steps(after(120))] == [f"{schedule_id}-2"]
        assert ledger.due_steps(after(120), topology="mails") == []
        assert ledger.due_steps(after(210)) == []

    def test_expire_steps__calls_off_what_waited_too_long(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3, 4))
        brought_to(ledger, f"{schedule_id}-1", APPROVED)
        assert ledger.expire_steps(after(119), by="deploy") == []
        assert ledger.expire_steps(after(120), by="deploy") == [f"{schedule_id}-1"]
        assert ledger.step(f"{schedule_id}-1").state is StepState.EXPIRED

    def test_record_hand_made_step__is_approved_and_the_same_for_the_same_request(self, ledger: Ledger) -> None:
        def ask(count: int) -> str:
            return ledger.record_hand_made_step(
                "request-1",
                plan_of(count),
                replaces=plan_of(2),
                deploy_at=after(1),
                expires_at=after(60),
                at=NOON,
                by="anna",
                why="a fair in town",
            )

        step_id = ask(5)
        step = ledger.step(step_id)
        assert (step.state, step.schedule_id, step.plan, step.updated_by) == (APPROVED, None, plan_of(5), "anna")
        assert ask(5) == step_id
        assert len(ledger.steps()) == 1
        with pytest.raises(LedgerError, match="transcribe 5, not ingest 1 · transcribe 6; give the new request an id"):
            ask(6)

    def test_record_outcome__keeps_what_is_known_last(self, ledger: Ledger) -> None:
        step_id = f"{ledger.record_schedule(schedule_of(3))}-1"
        assert ledger.outcome(step_id) is None
        ledger.record_outcome(Outcome(step_id, after(61), 24.0, {"downtime_s": 30.0, "catch_up_s": float("inf")}))
        known = Outcome(step_id, after(61), 24.0, {"downtime_s": 30.0}, {"downtime_s": 24.0}, violation_minutes=2)
        ledger.record_outcome(known)
        assert ledger.outcome(step_id) == known
        with pytest.raises(LedgerError, match="no step nowhere-1"):
            ledger.record_outcome(Outcome("nowhere-1", None, None))

    def test_outcomes__are_of_one_topology_in_the_states_asked_for_what_ended_last_first(self, ledger: Ledger) -> None:
        own = ledger.record_schedule(schedule_of(3, 4, 5))
        other = ledger.record_schedule(schedule_of(3, topology="mails"))
        for step_id, minute in ((f"{own}-1", 61), (f"{own}-2", 121), (f"{other}-1", 62)):
            for before, following in pairwise((PROPOSED, APPROVED, DUE, DEPLOYING, StepState.VERIFIED)):
                ledger.transition(step_id, expected=before, to=following, at=after(minute), by="anna", why="")
            ledger.record_outcome(Outcome(step_id, after(minute), 24.0, {}, {"downtime_s": 24.0, "lead_s": 3.0}))
        brought_to(ledger, f"{own}-3", DEPLOYING)
        ledger.record_outcome(Outcome(f"{own}-3", None, None))
        verified = ledger.outcomes("calls", states=(StepState.VERIFIED,))
        assert [(step.id, known.measured["lead_s"]) for step, known in verified] == [(f"{own}-2", 3), (f"{own}-1", 3)]
        assert len(ledger.outcomes("calls")) == 3
        assert [step.id for step, _ in ledger.outcomes("calls", states=(StepState.VERIFIED,), limit=1)] == [f"{own}-2"]
        assert ledger.outcomes("elsewhere") == []

    def test_guard__bars_a_pair_that_keeps_failing_until_it_is_lifted(self, ledger: Ledger) -> None:
        def fail(minute: float, topology: str = "calls") -> BarredPair | None:
            plan, before = (PhysicalPlan(topology, {"work": count}) for count in (5, 2))
            cause = Diagnosis(DiagnosisKind.UNDER_PROVISIONED, "work", "work is full")
            action = Action(cause, ActionKind.SCALE_UP, dict(plan.parallelism), "work 2 → 5", {"taken_per_s": 20.0})
            begun = ledger.guard.begin(action, plan, before, at=after(minute), expires_at=after(minute + 5))
            assert ledger.guard.open_action(topology) == begun
            assert ledger.step(str(begun.step_id)).state is APPROVED
            failure = Verdict(VerdictKind.INEFFECTIVE, "still full", {"taken_per_s": 20.0})
            barred = ledger.guard.judge(begun.id, failure, at=after(minute + 5), blacklist_after=2)
            # What is judged stays so.
            better = Verdict(VerdictKind.EFFECTIVE, "", {})
            assert ledger.guard.judge(begun.id, better, at=after(minute + 6), blacklist_after=2) is None
            assert ledger.guard.action(begun.id).state is GuardState.INEFFECTIVE
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

    def test_moments__come_back_in_utc_and_need_a_time_zone(self, ledger: Ledger) -> None:
        step_id = f"{ledger.record_schedule(schedule_of(3))}-1"
        berlin = NOON.astimezone(timezone(timedelta(hours=1)))
        step = ledger.transition(step_id, expected=PROPOSED, to=APPROVED, at=berlin, by="anna", why="")
        assert step.updated_at == NOON
        assert step.updated_at.utcoffset() == timedelta(0)
        naive = datetime(2024, 3, 4, 12, 0)
        with pytest.raises(LedgerError, match="2024-03-04 12:00:00 has no time zone"):
            ledger.transition(step_id, expected=APPROVED, to=DUE, at=naive, by="anna", why="")
