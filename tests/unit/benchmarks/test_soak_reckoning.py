"""The reckoning of the soak benchmark: what was lost and what was doubled, of cases by hand."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from modeling.inputs.physical_plan import PhysicalPlan
from planner.ledger.entries import StepEntry, StepEvent
from planner.ledger.step_state import StepState

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "soaking"
NOON = datetime(2026, 3, 9, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture(scope="module")
def reckoning() -> Iterator[ModuleType]:
    """The scripts lie outside the packages."""
    sys.path.insert(0, str(FOLDER))
    yield import_module("reckoning")
    sys.path.remove(str(FOLDER))


def step(reckoning: ModuleType, *states: tuple[StepState, datetime]) -> object:
    """From one instance to two, due at noon; every transition that is given, after it was proposed."""
    plan, before = PhysicalPlan("words", {"count": 2}), PhysicalPlan("words", {"count": 1})
    entry = StepEntry(
        "s1", "d1", 0, "words", NOON, NOON + 6 * HOUR, plan, before,
        states[-1][0], "", states[-1][1], "soak", 1,
    )  # fmt: skip
    return reckoning.SteppedStep(entry, [StepEvent("s1", None, state, at, "soak", "") for state, at in states])


def of_steps(reckoning: ModuleType, *steps: object, rescales: int, hindered: bool = False) -> object:
    spans = [reckoning.Span(NOON - HOUR, NOON + 12 * HOUR)] if hindered else []
    return reckoning.reckoned_steps("words", reckoning.Deployed(list(steps), spans, rescales, NOON + 12 * HOUR))


APPROVED = (StepState.APPROVED, NOON - HOUR)


def test_an_hour_without_a_decision__is_lost_one_with_two_is_doubled_and_an_excused_one_is_neither(
    reckoning: ModuleType,
) -> None:
    made = [frozenset({"a"}), frozenset(), frozenset({"b", "c"}), frozenset()]
    hours = [reckoning.Hour(NOON + at * HOUR, {"words": ids}) for at, ids in enumerate(made[:3])]
    hours.append(reckoning.Hour(NOON + 3 * HOUR, {"words": made[3]}, frozenset({"words"})))
    found = reckoning.reckoned_decisions("words", hours)
    assert found.decisions == 3
    assert found.lost == ("words: no decision in the hour from 09 Mar 13:00",)
    assert found.doubled == ("words: 2 decisions in the hour from 09 Mar 14:00",)


def test_an_approved_step_that_was_deployed_once__is_neither(reckoning: ModuleType) -> None:
    found = of_steps(reckoning, step(reckoning, APPROVED, (StepState.VERIFIED, NOON + MINUTE)), rescales=1)
    assert (found.steps, found.lost, found.doubled) == (1, (), ())


def test_an_approved_step_that_nobody_deployed__is_lost_unless_it_was_hindered(reckoning: ModuleType) -> None:
    left = step(reckoning, APPROVED)
    assert of_steps(reckoning, left, rescales=0).lost == ("words: step s1 of 09 Mar 12:00 is still approved",)
    assert of_steps(reckoning, left, rescales=0, hindered=True).lost == ()
    late = step(reckoning, APPROVED, (StepState.SUPERSEDED, NOON + HOUR))
    assert of_steps(reckoning, late, rescales=0).lost == (
        "words: step s1 of 09 Mar 12:00 was called off after its time",
    )


def test_a_cluster_that_changed_more_often_than_it_was_asked__was_deployed_to_twice(reckoning: ModuleType) -> None:
    once = step(reckoning, APPROVED, (StepState.VERIFIED, NOON + MINUTE))
    assert of_steps(reckoning, once, rescales=2).doubled == ("words: the cluster changed its plan 2 times for 1 steps",)
    assert of_steps(reckoning, once, rescales=0).lost == (
        "words: 1 steps are verified, and the cluster changed 0 times",
    )


def test_a_step_whose_plan_the_guard_had_asked_for_just_before__asked_for_no_change(reckoning: ModuleType) -> None:
    guards = step(reckoning, APPROVED, (StepState.VERIFIED, NOON + MINUTE))
    planned = step(reckoning, APPROVED, (StepState.VERIFIED, NOON + 2 * MINUTE))
    object.__setattr__(planned.entry, "id", "s2")  # type: ignore[attr-defined]
    found = of_steps(reckoning, planned, guards, rescales=1)
    assert (found.lost, found.doubled) == ((), ())
    assert of_steps(reckoning, planned, guards, rescales=2).doubled == (
        "words: the cluster changed its plan 2 times for 1 steps",
    )


def test_steps_of_two_schedules_that_wait_at_once__are_doubled(reckoning: ModuleType) -> None:
    first, second = step(reckoning, APPROVED).entry, step(reckoning, APPROVED).entry  # type: ignore[attr-defined]
    object.__setattr__(second, "schedule_id", "d2")
    assert reckoning.doubled_places("words", [first]).doubled == ()
    assert reckoning.doubled_places("words", [first, second]).doubled == (
        "words: steps of 2 schedules wait at once: d1, d2",
    )


def test_a_step_of_the_newest_schedule_that_is_called_off_before_its_time__stopped_in_silence(
    reckoning: ModuleType,
) -> None:
    born_dead = step(reckoning, (StepState.SUPERSEDED, NOON - HOUR)).entry  # type: ignore[attr-defined]
    assert reckoning.silent_stops("words", [born_dead], NOON - HOUR).stopped == (
        "words: superseded step s1 of 09 Mar 12:00 at 09 Mar 11:00, in the newest schedule",
    )
    waiting, over = step(reckoning, APPROVED).entry, born_dead  # type: ignore[attr-defined]
    assert reckoning.silent_stops("words", [waiting], NOON - HOUR).stopped == ()
    assert reckoning.silent_stops("words", [over], NOON + HOUR).stopped == ()
