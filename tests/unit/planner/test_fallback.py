from datetime import UTC, datetime, timedelta

import pytest

from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import Cause, CauseKind, DecisionBasis, Rung
from planner.fallback import held_schedule, unusable
from planner.schedule_json import schedule_from_json, schedule_to_json

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("age_h", "reach_h", "why"),
    [
        (0, 24, None),
        (3, 24, None),
        (3.5, 24, Cause(CauseKind.STALE_FORECAST, "a", 3.5 * 3600, 3 * 3600)),
        (120, 240, Cause(CauseKind.STALE_FORECAST, "a", 120 * 3600, 3 * 3600)),
        # Of an hour, half is needed; of twelve or more, six.
        (0.5, 1, None),
        (0.75, 1, Cause(CauseKind.SHORT_FORECAST, "a", 0.25 * 3600, 0.5 * 3600)),
        (2.5, 8, None),
        (2, 2, Cause(CauseKind.ENDED_FORECAST, "a", at=NOON)),
    ],
)
def test_a_forecast__is_stale_when_it_is_old_or_ends_soon(age_h: float, reach_h: float, why: Cause | None) -> None:
    issued = NOON - age_h * HOUR
    assert unusable("a", issued, issued + reach_h * HOUR, NOON, 3 * HOUR) == why


def test_a_held_schedule__has_no_step_and_knows_no_violation_in_the_ledger_either() -> None:
    plan = PhysicalPlan("pair", {"read": 1, "count": 4})
    basis = DecisionBasis(Rung.GUARD, (Cause(CauseKind.NO_HISTORY, detail="lost"),))
    held = held_schedule("pair", NOON, plan, basis, 0.95)
    back = schedule_from_json(schedule_to_json(held))
    assert (back.steps, back.current, back.basis) == ((), plan, basis)
    assert back.violation_minutes != back.violation_minutes
