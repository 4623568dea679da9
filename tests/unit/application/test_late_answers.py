"""An answer to a review that comes when its steps are over: never a yes that quietly decides nothing."""

from datetime import timedelta
from pathlib import Path

import pytest
from ledger_decisions import NOON, after, steps_at
from served import Home, home

from forescale.jobs.proposals import proposal_of
from forescale.jobs.review import review
from forescale.report.decision.verdict import asked
from forescale.situation.workspace import Workspace
from planner.errors import PlanError
from planner.ledger.step_state import StepState


@pytest.fixture
def at_noon(tmp_path: Path) -> Home:
    return home(tmp_path)


def proposed(at_noon: Home, *steps: tuple[float, int]) -> str:
    return at_noon.ledger.record_schedule(steps_at(*steps, made_at=at_noon.clock.now()))


def states(at_noon: Home, schedule_id: str) -> list[StepState]:
    return [step.state for step in at_noon.ledger.steps(schedule_id=schedule_id)]


def test_approval__of_a_schedule_that_another_has_replaced_names_that_one(at_noon: Home) -> None:
    old = proposed(at_noon, (60, 8))
    at_noon.go_to(30)
    new = proposed(at_noon, (60, 9))
    with pytest.raises(
        PlanError, match=f"all of it is superseded; schedule {new} of 2024-03-04 12:30 UTC is the newest"
    ):
        review(Workspace(at_noon.settings), old, approve=True, by="anna")
    assert states(at_noon, new) == [StepState.PROPOSED]
    assert review(Workspace(at_noon.settings), old, approve=False, by="anna").steps == {f"{old}-1": "superseded"}


def test_approval__after_the_time_of_all_steps_says_to_plan_again(at_noon: Home) -> None:
    made = proposed(at_noon, (60, 8))  # until 14:30
    at_noon.go_to(151)
    with pytest.raises(PlanError, match="all of it is expired; plan again: `forescale plan calls`"):
        review(Workspace(at_noon.settings), made, approve=True, by="anna")


def test_approval__takes_the_steps_that_are_still_to_come(at_noon: Home) -> None:
    made = proposed(at_noon, (60, 8), (180, 1))
    at_noon.go_to(151)
    for _ in range(2):  # a task that is tried again changes nothing
        review(Workspace(at_noon.settings), made, approve=True, by="anna")
        assert states(at_noon, made) == [StepState.EXPIRED, StepState.APPROVED]


def test_approval__of_what_was_vetoed_does_not_pass_for_one(at_noon: Home) -> None:
    made = proposed(at_noon, (60, 8))
    review(Workspace(at_noon.settings), made, approve=False, by="ben")
    with pytest.raises(PlanError, match="all of it is vetoed"):
        review(Workspace(at_noon.settings), made, approve=True, by="anna")


def test_a_page__asks_for_no_step_whose_time_went_by_though_no_job_has_recorded_that(at_noon: Home) -> None:
    made = at_noon.ledger.schedule(proposed(at_noon, (60, 8), (180, 1)))
    steps = at_noon.ledger.steps(schedule_id=made.id)
    assert {step.state for step in steps} == {StepState.PROPOSED}
    first, both = (proposal_of(None, made, steps, at) for at in (after(150), after(180) + timedelta(hours=2)))
    assert first.waiting == (1,)
    assert asked(both).replace("\N{NO-BREAK SPACE}", " ") == "Nothing: 2 steps expired."
    assert proposal_of(None, made, steps, NOON).waiting == (0, 1)
