"""What changes of one's own cost and violate, over the course that a search had."""

from dataclasses import replace
from datetime import timedelta
from math import ceil

import pytest
from horizon_cases import LIMITS, PAIR, PROFILES, START, TERMS, level

from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import PlanError
from planner.horizon.budget import Budget
from planner.horizon.horizon_plan import Change, HorizonPlan, HorizonPlanner, Present
from planner.plan_model import PlanModel

RUNNING = {"source": 1, "work": 3}
# Four hours of 1.5 tuples a second, and of 4.5 in the third hour; each instance of work carries one.
FORECASTS = level([1.5] * 24 + [4.5] * 12 + [1.5] * 12)
PRESENT = Present(START.timestamp(), RUNNING)


def change(minutes: float, work: int, source: int = 1) -> Change:
    at = START + timedelta(minutes=minutes)
    return Change(PhysicalPlan("pair", {"source": source, "work": work}), at.timestamp())


def followed(*several: list[Change]) -> list[HorizonPlan]:
    planner = HorizonPlanner(PlanModel(PAIR, PROFILES), LIMITS, TERMS, 1.0)
    found = planner.followed(FORECASTS, PRESENT, several, Budget(), 3.0)
    assert found is not None
    return found


def test_the_changes_of_a_search__cost_what_the_search_says() -> None:
    planner = HorizonPlanner(PlanModel(PAIR, PROFILES), LIMITS, TERMS, 1.0)
    planned = planner.planned(FORECASTS, PRESENT, Budget())
    assert planned is not None
    assert planned.found.turns
    changes = [Change(planned.plan_of(turn), planned.ahead.start_s + turn.asked_s) for turn in planned.found.turns]
    again = planner.followed(FORECASTS, PRESENT, [changes], Budget(), planned.prices.violation_h)
    assert again is not None
    assert again[0].found.instance_hours == pytest.approx(planned.found.instance_hours)
    assert again[0].found.violation_minutes == pytest.approx(planned.found.violation_minutes)
    assert again[0].found.cost_h == pytest.approx(planned.found.cost_h)


def test_instance_hours__are_those_of_the_plans_from_when_they_stop_the_job() -> None:
    # 4 instances until 21:55 and from 23:02 on, 7 in between: asked for at 21:50, stopping five minutes later.
    (planned,) = followed([change(110, 6), change(182, 3)])
    assert planned.found.instance_hours == pytest.approx((4 * (115 + 58) + 7 * 67) / 60)
    assert planned.found.violation_minutes == 0


def test_a_plan_that_no_search_would_take__is_judged_too() -> None:
    wasteful, lean = followed([change(110, 6, source=5)], [change(110, 6)])
    # From 21:55 to midnight, four more instances that carry nothing more.
    assert wasteful.found.instance_hours - lean.found.instance_hours == pytest.approx(4 * 125 / 60)
    assert wasteful.found.violation_minutes == lean.found.violation_minutes


def test_a_change_that_comes_late__violates_for_as_long_as_it_lacks() -> None:
    # Three carry 3 of 4.5 tuples a second: from about 22:06 on there are more than three minutes of lag.
    late, later, in_time = followed([change(130, 6)], [change(145, 6)], [change(110, 6)])
    assert in_time.found.violation_minutes < late.found.violation_minutes < later.found.violation_minutes


@pytest.mark.parametrize(("replanned_s", "held_s"), [(3600.0, 1800.0), (900.0, 450.0)])
def test_what_a_rescue_adds__is_held_until_the_next_forecast_half_of_the_way(replanned_s: float, held_s: float) -> None:
    """4.5/s come to three instances of work that carry three, from 22:00 on for an hour. After ten minutes 900 wait,
    and 4.5 / .85 + (900 + 4.5 * 30) / 600 = 7/s would be wanted: the strongest plan carries 6, twice as many. It
    runs for the 50 minutes that are left and half an interval, in whole steps of 5 minutes.
    """
    terms = replace(TERMS, react_s=600.0, replanned_s=replanned_s)
    planner = HorizonPlanner(PlanModel(PAIR, PROFILES), LIMITS, terms, 1.0)
    found = planner.followed(FORECASTS, PRESENT, [[]], Budget(), 3.0)
    assert found is not None
    assert terms.held_s == held_s
    added_h = 4 * (6 / 3 - 1) * (3000.0 + 300.0 * ceil(held_s / 300)) / 3600
    # Each path has an error of its capacity of 2 %.
    assert found[0].found.instance_hours == pytest.approx(4 * 4 + added_h, rel=0.01)


def test_a_change_beyond_the_forecast__is_refused() -> None:
    with pytest.raises(PlanError, match=r"would be in place after 2026-03-03 00:00 UTC, where the forecast ends"):
        followed([change(236, 6)])
