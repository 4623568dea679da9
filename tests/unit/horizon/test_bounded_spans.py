"""Spans in which people want at least or at most so many instances: every schedule keeps them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from horizon_cases import PAIR, START, TERMS, level, schedule_of
from hypothesis import given
from hypothesis import strategies as st

from planner.decision_basis import BoundedSpan
from planner.horizon.horizon_plan import ChangeRules
from planner.scaling_schedule import ScalingSchedule

NOW_S = START.timestamp()
QUICK = replace(TERMS, lead_s=60.0, downtime_s=30.0)


def span(start_min: float, end_min: float, *, least: int = 0, most: int = 0) -> BoundedSpan:
    bounds = {"least": {"work": least} if least else {}, "most": {"work": most} if most else {}}
    return BoundedSpan(NOW_S + 60 * start_min, NOW_S + 60 * end_min, **bounds)


def counts(made: ScalingSchedule, spans: Sequence[BoundedSpan], begun_s: float = 0.0) -> list[tuple[float, int]]:
    """Instances of work at each moment of the spans, minute by minute, from begun_s on."""
    found = []
    for each in spans:
        for at_s in np.arange(max(each.start_s, NOW_S + begun_s), min(each.end_s, made.end.timestamp()), 60.0):
            plan = made.current
            for step in made.steps:
                if step.runs_from.timestamp() <= at_s:
                    plan = step.plan
            found.append((at_s, plan.parallelism["work"]))
    return found


def made_with(rates: Sequence[float], running: int, spans: Sequence[BoundedSpan]) -> ScalingSchedule:
    rules = ChangeRules(bounded=tuple(spans))
    return schedule_of(level(rates), {"source": 1, "work": running}, terms=QUICK, rules=rules, topology=PAIR)


def test_at_least_so_many__run_when_the_span_begins_and_no_longer_than_it_lasts() -> None:
    # 2/s of 1/s an instance need 2 to 3; from minute 120 to 180 a person wants 9.
    evening = span(120, 180, least=9)
    made = made_with([2.0] * 72, 3, [evening])
    assert [step.plan.parallelism["work"] for step in made.steps] == [9, 3]
    up, down = made.steps
    assert up.runs_from.timestamp() <= evening.start_s
    assert up.runs_from.timestamp() >= evening.start_s - 1200  # changes after four hours begin each quarter of an hour
    assert evening.end_s <= down.deploy_at.timestamp() + 60 + 1 <= evening.end_s + 1200
    assert min(count for _, count in counts(made, [evening])) == 9
    assert made.violation_minutes == 0


def test_at_most_so_many__are_kept_though_the_load_asks_for_more() -> None:
    # 8/s want 8; from minute 60 to 90 a person allows 4.
    short = span(60, 90, most=4)
    made = made_with([8.0] * 72, 9, [short])
    assert max(count for _, count in counts(made, [short])) <= 4
    assert made.violation_minutes > 0


def test_a_span_that_has_begun__is_kept_from_the_earliest_moment_on() -> None:
    begun = span(-30, 60, least=7)
    made = made_with([2.0] * 72, 3, [begun])
    assert made.steps[0].plan.parallelism["work"] == 7
    assert made.steps[0].deploy_at == made.made_at


def test_without_spans__nothing_changes() -> None:
    assert made_with([2.0] * 72, 3, []) == made_with([2.0] * 72, 3, [span(10_000, 20_000, least=9)])


loads = st.lists(st.sampled_from([1.0, 3.0, 6.0, 10.0]), min_size=6, max_size=6).map(lambda hours: np.repeat(hours, 12))
starts = st.integers(20, 330)


@pytest.mark.slow
@given(loads, st.integers(1, 12), starts, st.integers(10, 120), st.integers(1, 14), starts, st.integers(2, 14))
def test_no_schedule__leaves_the_bounds_of_a_span(
    rates: np.ndarray, running: int, start: int, minutes: int, least: int, later: int, most: int
) -> None:
    spans = [span(start, start + minutes, least=least)]
    if later > start + minutes + 40:
        spans.append(span(later, later + 60, most=most))
    made = made_with(rates.tolist(), running, spans)
    # A change is requested a minute ahead and takes half of one; the first steps are five minutes wide.
    for each in spans:
        bounds = each.least.get("work", 0), each.most.get("work", 99)
        assert all(bounds[0] <= count <= bounds[1] for _, count in counts(made, [each], 600.0)), (each, made.steps)
