from datetime import UTC, datetime, timedelta

import pytest

from modeling.inputs.physical_plan import PhysicalPlan
from planner.fallback import Footing, Rung, held_schedule, why_stale
from planner.schedule_json import schedule_from_json, schedule_to_json

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("age_h", "reach_h", "why"),
    [
        (0, 24, ""),
        (3, 24, ""),
        (3.5, 24, "is 3.5 h old (planning.stale_s: 3 h)"),
        (120, 240, "is 5 d old (planning.stale_s: 3 h)"),
        # Of an hour, half is needed; of twelve or more, six.
        (0.5, 1, ""),
        (0.75, 1, "reaches 0.25 h ahead, 0.5 h are needed"),
        (2.5, 8, ""),
        (2, 2, "ended at 2026-03-02 12:00 UTC"),
    ],
)
def test_a_forecast__is_stale_when_it_is_old_or_ends_soon(age_h: float, reach_h: float, why: str) -> None:
    issued = NOON - age_h * HOUR
    assert why_stale(issued, issued + reach_h * HOUR, NOON, 3 * HOUR) == why


@pytest.mark.parametrize("rung", list(Rung))
def test_a_footing__is_read_back_from_what_a_schedule_keeps(rung: Rung) -> None:
    kept = Footing(rung, ("forecast of a: lost", "no profile: b")).derived_from()
    assert Footing.of(kept) == Footing(rung, ("forecast of a: lost; no profile: b",))


def test_a_footing__tells_what_is_wrong_with_the_calibration_and_else_nothing() -> None:
    assert Footing.of({}) == Footing()
    assert Footing.of({"calibration": "not measured now"}).summary == "forecast: calibration: not measured now"


def test_a_held_schedule__has_no_step_and_knows_no_violation_in_the_ledger_either() -> None:
    plan = PhysicalPlan("pair", {"read": 1, "count": 4})
    held = held_schedule("pair", NOON, plan, Footing(Rung.GUARD, ("no history",)), 0.95)
    back = schedule_from_json(schedule_to_json(held))
    assert (back.steps, back.current, back.why) == ((), plan, held.why)
    assert back.violation_minutes != back.violation_minutes
    assert held.why == "no basis for a plan: the running plan is held and only the guard acts: no history"
