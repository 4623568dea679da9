"""An answer to a review that comes when its steps are over: never a yes or a no that quietly decides nothing."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
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


def begun(at_noon: Home, step_id: str) -> None:
    for before, after_it in pairwise((StepState.APPROVED, StepState.DUE, StepState.DEPLOYING)):
        at_noon.ledger.transition(step_id, expected=before, to=after_it, at=NOON, by="anna", why="as planned")


def test_approval__of_a_schedule_that_another_has_replaced_names_that_one(at_noon: Home) -> None:
    old = proposed(at_noon, (60, 8))
    at_noon.go_to(30)
    new = proposed(at_noon, (60, 9))
    with pytest.raises(
        PlanError, match=f"all of it is superseded; schedule {new} of 2024-03-04 12:30 UTC is the newest"
    ):
        review(Workspace(at_noon.settings), old, approve=True, by="anna")
    assert states(at_noon, new) == [StepState.PROPOSED]


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


def test_approval__of_what_was_deployed_and_vetoed_does_not_pass_for_one(at_noon: Home) -> None:
    made = at_noon.plan((60, 8), (180, 1))
    begun(at_noon, f"{made}-1")
    review(Workspace(at_noon.settings), made, approve=False, by="ben")
    deploying, verified = StepState.DEPLOYING, StepState.VERIFIED
    at_noon.ledger.transition(f"{made}-1", expected=deploying, to=verified, at=after(62), by="deploy", why="runs")
    with pytest.raises(PlanError, match="none of it waits, it is verified, vetoed; plan again: `forescale plan calls`"):
        review(Workspace(at_noon.settings), made, approve=True, by="anna")


def test_veto__of_a_schedule_that_another_has_replaced_names_that_one_while_it_waits(at_noon: Home) -> None:
    old = proposed(at_noon, (60, 8))
    at_noon.go_to(30)
    new = proposed(at_noon, (60, 9))
    refused = f"not vetoed: none of it waits, it is superseded; schedule {new} of 2024-03-04 12:30 UTC is the newest"
    with pytest.raises(PlanError, match=refused):
        review(Workspace(at_noon.settings), old, approve=False, by="anna")
    for _ in range(2):  # a task that is tried again changes nothing
        review(Workspace(at_noon.settings), new, approve=False, by="anna")
        assert states(at_noon, new) == [StepState.VETOED]
    assert review(Workspace(at_noon.settings), old, approve=False, by="anna").steps == {f"{old}-1": "superseded"}


def test_veto__after_a_step_has_begun_says_so_and_stops_those_to_come(at_noon: Home) -> None:
    alone = at_noon.plan((60, 8))
    begun(at_noon, f"{alone}-1")
    with pytest.raises(PlanError, match="not vetoed: none of it waits, it is deploying; to return to the plan before"):
        review(Workspace(at_noon.settings), alone, approve=False, by="anna")
    others = at_noon.plan((60, 8), (180, 1))
    begun(at_noon, f"{others}-1")
    review(Workspace(at_noon.settings), others, approve=False, by="anna")
    assert states(at_noon, others) == [StepState.DEPLOYING, StepState.VETOED]


def test_veto__of_what_was_deployed_names_the_command_that_returns_until_that_is_done(at_noon: Home) -> None:
    ledger, made = at_noon.ledger, at_noon.plan((60, 8))
    begun(at_noon, f"{made}-1")
    deploying, verified = StepState.DEPLOYING, StepState.VERIFIED
    ledger.transition(f"{made}-1", expected=deploying, to=verified, at=after(62), by="deploy", why="runs")
    for _ in range(2):
        with pytest.raises(PlanError, match=r"the plan before: `forescale deploy now calls --set transcribe=2`$"):
            review(Workspace(at_noon.settings), made, approve=False, by="anna")
    at_noon.go_to(70)
    step = ledger.step(f"{made}-1")
    back = ledger.record_hand_made_step(
        "r1",
        step.replaces,
        replaces=step.plan,
        deploy_at=after(70),
        expires_at=after(90),
        at=after(70),
        by="ben",
        why="",
    )
    begun(at_noon, back)
    ledger.transition(back, expected=deploying, to=verified, at=after(72), by="deploy", why="runs")
    with pytest.raises(PlanError, match=r"not vetoed: none of it waits, it is verified$"):
        review(Workspace(at_noon.settings), made, approve=False, by="anna")


def test_veto__of_what_was_undone_names_no_way_back(at_noon: Home) -> None:
    made = at_noon.plan((60, 8))
    begun(at_noon, f"{made}-1")
    deploying, undone = StepState.DEPLOYING, StepState.ROLLED_BACK
    at_noon.ledger.transition(f"{made}-1", expected=deploying, to=undone, at=after(62), by="deploy", why="refused")
    with pytest.raises(PlanError, match=r"not vetoed: none of it waits, it is rolled back$"):
        review(Workspace(at_noon.settings), made, approve=False, by="anna")


def test_veto__of_several_at_once_is_one(at_noon: Home) -> None:
    made = proposed(at_noon, *((60 * (1 + hour), 2 + hour % 2) for hour in range(12)))
    with ThreadPoolExecutor(4) as pool:
        answers = [
            pool.submit(review, Workspace(at_noon.settings), made, approve=False, by=who)
            for who in ("anna", "ben", "cleo", "dan")
        ]
    assert all(set(each.result().steps.values()) == {StepState.VETOED} for each in answers)
    assert set(states(at_noon, made)) == {StepState.VETOED}


def test_a_page__asks_for_no_step_whose_time_went_by_though_no_job_has_recorded_that(at_noon: Home) -> None:
    made = at_noon.ledger.schedule(proposed(at_noon, (60, 8), (180, 1)))
    steps = at_noon.ledger.steps(schedule_id=made.id)
    assert {step.state for step in steps} == {StepState.PROPOSED}
    first, both = (proposal_of(None, made, steps, at) for at in (after(150), after(180) + timedelta(hours=2)))
    assert first.waiting == (1,)
    assert asked(both).replace("\N{NO-BREAK SPACE}", " ") == "Nothing: 2 steps expired."
    assert proposal_of(None, made, steps, NOON).waiting == (0, 1)
