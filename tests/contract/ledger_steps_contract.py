"""What the ledger must keep of steps on their way from approval to outcome."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from ledger_decisions import (
    NOON,
    after,
    brought_to,
    plan_of,
    schedule_of,
)

from planner.errors import LedgerError
from planner.ledger.entries import Outcome
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState

PROPOSED, APPROVED, DUE, DEPLOYING = StepState.PROPOSED, StepState.APPROVED, StepState.DUE, StepState.DEPLOYING


class LedgerStepsContract:
    """Part of LedgerContract, which has the fixtures."""

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
            ledger.resume(step_id, expected=DEPLOYING, at=NOON, by="deploy", why="started again")
        brought_to(ledger, step_id, DEPLOYING)
        assert ledger.resume(step_id, expected=DEPLOYING, at=after(1), by="deploy", why="started again").attempt == 2

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
