"""What a scaler of somebody else is offered at a moment, from a real ledger."""

from pathlib import Path

import pytest
from ledger_decisions import after, asked_by_hand, schedule_of, steps_at

from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState
from planner.offered import NoOffer, OfferedPlan, offered_plan


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")


def approved(ledger: Ledger, *steps: tuple[float, int], made_at: float = 0) -> list[str]:
    made = ledger.record_schedule(steps_at(*steps, made_at=after(made_at)))
    ledger.approve_schedule(made, at=after(made_at), by="anna", why="as planned")
    return [f"{made}-{number}" for number in range(1, len(steps) + 1)]


def counts(ledger: Ledger, *minutes: float, asked_of_scaler: bool = True) -> list[int | NoOffer]:
    offers = [offered_plan(ledger, "calls", after(minute), asked_of_scaler=asked_of_scaler) for minute in minutes]
    return [each.parallelism["transcribe"] if isinstance(each, OfferedPlan) else each for each in offers]


def moved(ledger: Ledger, step_id: str, *states: StepState, at: float) -> None:
    for state in states:
        before = ledger.step(step_id).state
        ledger.transition(step_id, expected=before, to=state, at=after(at), by="anna", why="as told")


def test_nothing_is_offered__without_a_schedule_before_its_first_step_and_after_its_end(ledger: Ledger) -> None:
    assert counts(ledger, 0) == [NoOffer.NO_SCHEDULE]
    approved(ledger, (60, 8))
    # It ends after a day.
    assert counts(ledger, 59, 1440) == [NoOffer.NOT_BEGUN, NoOffer.ENDED]


def test_an_approved_step__is_offered_from_its_deploy_time_whether_or_not_anything_deploys_it(ledger: Ledger) -> None:
    approved(ledger, (60, 8), (120, 3))
    assert counts(ledger, 60, 119, 120, 1439) == [8, 8, 3, 3]
    offer = offered_plan(ledger, "calls", after(70), asked_of_scaler=True)
    assert isinstance(offer, OfferedPlan)
    assert (offer.since, offer.until) == (after(60), after(1440))
    assert [(each.at, each.parallelism["transcribe"]) for each in offer.coming] == [(after(120), 3)]


def test_what_nobody_approved__is_never_offered(ledger: Ledger) -> None:
    ledger.record_schedule(steps_at((60, 8)))
    assert counts(ledger, 70) == [NoOffer.NOT_BEGUN]
    ledger.record_schedule(schedule_of(8, topology="other"), shadow=True)
    assert offered_plan(ledger, "other", after(70), asked_of_scaler=True) is NoOffer.NO_SCHEDULE


def test_a_late_approval__takes_effect_when_it_is_given(ledger: Ledger) -> None:
    made = ledger.record_schedule(steps_at((60, 8)))
    ledger.approve_schedule(made, at=after(75), by="anna", why="late")
    offer = offered_plan(ledger, "calls", after(80), asked_of_scaler=True)
    assert isinstance(offer, OfferedPlan)
    assert offer.since == after(75)


def test_a_veto__brings_back_the_plan_before(ledger: Ledger) -> None:
    _, second = approved(ledger, (60, 8), (120, 12))
    assert counts(ledger, 130) == [12]
    moved(ledger, second, StepState.VETOED, at=131)
    assert counts(ledger, 132) == [8]


@pytest.mark.parametrize(("of_scaler", "offered"), [(True, 8), (False, NoOffer.NOT_BEGUN)])
def test_a_plan_that_did_not_come_up__stays_offered_where_a_scaler_carries_it_out(
    of_scaler: bool, offered: int | NoOffer, ledger: Ledger
) -> None:
    (step,) = approved(ledger, (60, 8))
    moved(ledger, step, StepState.DUE, StepState.DEPLOYING, at=60)
    moved(ledger, step, StepState.ROLLED_BACK, at=65)
    assert counts(ledger, 70, asked_of_scaler=of_scaler) == [offered]


def test_a_new_schedule__leaves_in_effect_what_has_begun_and_only_that(ledger: Ledger) -> None:
    approved(ledger, (60, 8), (120, 12))
    # Made at 13:30: the second step is superseded before its time.
    approved(ledger, (180, 4), made_at=90)
    assert counts(ledger, 100, 130, 180) == [8, 8, 4]


def test_a_step_withheld__is_not_offered_until_its_time_is_taken_up_again(ledger: Ledger) -> None:
    first, second = approved(ledger, (60, 8), (120, 3))
    moved(ledger, first, StepState.DUE, StepState.DEPLOYING, StepState.VERIFIED, at=61)
    moved(ledger, second, StepState.WITHHELD, at=120)
    assert counts(ledger, 125) == [8]
    moved(ledger, second, StepState.DUE, at=130)
    assert counts(ledger, 131) == [3]


def test_a_plan_of_a_person__is_offered_until_the_next_step(ledger: Ledger) -> None:
    approved(ledger, (2, 4), (60, 8))
    assert counts(ledger, 4) == [4]
    asked_by_hand(ledger)  # 9 instances, for five past
    assert counts(ledger, 4, 5) == [4, 9]


def test_a_superseded_step__that_stood_approved_at_its_time_stays_in_effect(ledger: Ledger) -> None:
    step, _ = approved(ledger, (60, 8), (200, 9))
    moved(ledger, step, StepState.SUPERSEDED, at=70)
    assert counts(ledger, 71) == [8]
    assert ledger.step(step).state is StepState.SUPERSEDED


def test_the_way_to_verified__keeps_one_plan_in_effect(ledger: Ledger) -> None:
    (step,) = approved(ledger, (0, 8))
    for state in (StepState.DUE, StepState.DEPLOYING, StepState.VERIFIED):
        assert counts(ledger, 1) == [8]
        moved(ledger, step, state, at=0)
    assert counts(ledger, 1) == [8]
