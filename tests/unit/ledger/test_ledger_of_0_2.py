"""A ledger that 0.2 wrote is read as facts: what its texts meant is fields, and its steps go on where they were."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from ledger_decisions import after, plan_of

from planner.decision_basis import CauseKind, Rung
from planner.edit_facts import LimitKind, LimitPassed
from planner.guard_facts import Reason, ReasonKind
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import Approval, Maker, Moved, StepState

WRITTEN = Path(__file__).parents[2] / "written_by_0_2" / "ledger.sql"
UNDOING, WITHHELD, ROLLED_BACK = StepState.UNDOING, StepState.WITHHELD, StepState.ROLLED_BACK


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.executescript(WRITTEN.read_text(encoding="utf-8"))
        connection.commit()
    return Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")


def test_a_step_that_0_2_was_undoing__is_being_undone(ledger: Ledger) -> None:
    step = ledger.steps(topology="undoing")[0]
    assert (step.state, step.reason) == (UNDOING, "it does not hold")
    moves = [(event.from_state, event.to_state) for event in ledger.events(step.id)]
    assert moves[-1] == (StepState.DEPLOYING, UNDOING)
    ledger.transition(step.id, expected=UNDOING, to=ROLLED_BACK, at=after(80), by="deploy", why="undone")


def test_a_step_that_0_2_withheld__is_withheld_and_gives_its_place_to_the_next(ledger: Ledger) -> None:
    first, second = ledger.steps(topology="withheld")
    assert (first.state, first.reason) == (WITHHELD, "a backlog of 5 s")
    assert [event.to_state for event in ledger.events(first.id)][-1] is WITHHELD
    assert first in ledger.due_steps(after(62), topology="withheld")
    assert set(ledger.expire_steps(after(24 * 60), by="plan", topology="withheld")) == {first.id, second.id}


def test_a_step_that_0_2_never_asked_for__is_told_apart_from_one_that_failed(ledger: Ledger) -> None:
    step = ledger.steps(topology="never")[0]
    assert (step.state, step.never_asked) == (ROLLED_BACK, True)


def test_what_the_guard_moved_and_made__is_told_by_fields(ledger: Ledger) -> None:
    made = {step.made_by: step for step in ledger.steps(topology="moved")}
    assert set(made) == {Maker.GUARD, Maker.SCHEDULE}
    moved = made[Maker.SCHEDULE]
    assert (moved.moved, moved.reason, moved.replaces) == (Moved.BY_GUARD, "fine", plan_of(3, "moved"))
    [by_hand] = [step for step in ledger.steps(topology="calls") if step.schedule_id is None]
    assert by_hand.made_by is Maker.PERSON


def test_why_the_guard_acted__is_the_sentence_that_0_2_wrote(ledger: Ledger) -> None:
    [action] = ledger.guard.actions("moved")
    assert (action.reason, action.judgement) == (Reason(ReasonKind.WORDED, detail="more come"), None)


def test_approvals_and_questions__are_fields(ledger: Ledger) -> None:
    first, second = [step for step in ledger.steps(topology="calls") if step.state is not StepState.SUPERSEDED][-2:]
    assert ledger.approvals.approved(first.id) == ("anna", Approval.PERSON)
    assert ledger.events(first.id)[-1].approval is Approval.INHERITED
    assert (second.state, second.asked_because) == (StepState.PROPOSED, "it is large")
    # No release before this one kept it as a fact, and nothing is read back from its words.
    assert second.review_cause is None
    assert second.reason == "the morning's calls come"


def test_schedules_of_0_2__have_facts_for_their_texts(ledger: Ledger) -> None:
    [held], [edited] = ledger.schedules("held"), ledger.schedules("edited")
    assert held.schedule.basis.rung is Rung.HOLD
    assert [cause.kind for cause in held.schedule.basis.causes] == [CauseKind.RECORDED]
    basis = edited.schedule.basis
    assert (basis.forecasts, basis.candidates) == (("run-1",), {"b.json": "0123abcd"})
    assert basis.edit is not None
    assert basis.edit.overridden == (LimitPassed(LimitKind.MIN_PARALLELISM, 1, 2, "transcribe"),)
    [use] = ledger.uses.schedules("edited", after(1))
    assert use.basis.calibration.version == "calls/3"
