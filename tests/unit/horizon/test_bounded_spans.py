"""Spans in which people want at least or at most so many instances: every schedule keeps them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from horizon_cases import PAIR, START, TERMS, level, schedule_of
from hypothesis import given
from hypothesis import strategies as st

from planner.decision_basis import NOTHING_KNOWN, BoundedSpan
from planner.horizon.horizon_plan import ChangeRules
from planner.horizon.prices import ChangeTerms
from planner.scaling_schedule import ScalingSchedule
from planner.schedule import WINDOWS

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


def made_with(
    rates: Sequence[float],
    running: int,
    spans: Sequence[BoundedSpan],
    *,
    terms: ChangeTerms = QUICK,
    most_a_day: int | None = None,
    closed: Sequence[tuple[float, float]] = (),
    changes: Sequence[float] = (),
) -> ScalingSchedule:
    rules = ChangeRules(closed, most_a_day, bounded=tuple(spans))
    plans = {"source": 1, "work": running}
    basis = replace(NOTHING_KNOWN, bounded=tuple(spans))
    return schedule_of(level(rates), plans, terms=terms, rules=rules, topology=PAIR, changes=changes, basis=basis)


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
    far = made_with([2.0] * 72, 3, [span(10_000, 20_000, least=9)])
    assert made_with([2.0] * 72, 3, []) == replace(far, basis=NOTHING_KNOWN)


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


def test_fewer_changes_a_day_than_spans_need__keep_what_they_can() -> None:
    # Twice an hour of 9, and back to 3 after each, would be four changes. With two a day there is no going back.
    evenings = [span(120, 180, least=9), span(300, 360, least=9)]
    made = made_with([2.0] * 144, 3, evenings, most_a_day=2)
    assert len(made.steps) <= 2
    assert min(count for _, count in counts(made, evenings)) == 9


def test_a_day_whose_changes_are_used_up__has_none_for_a_span() -> None:
    changes = [NOW_S - 3600, NOW_S - 7200]
    assert made_with([2.0] * 72, 3, [span(120, 180, least=9)], most_a_day=2, changes=changes).steps == ()


def test_a_span_that_begins_in_a_freeze__has_its_instances_before_that() -> None:
    evening, closed = span(120, 180, least=9), (NOW_S + 3600, NOW_S + 4 * 3600)
    made = made_with([2.0] * 144, 3, [evening], closed=[closed])
    assert [step.plan.parallelism["work"] for step in made.steps] == [9, 3]
    assert made.steps[0].runs_from.timestamp() <= closed[0]
    assert made.steps[1].deploy_at.timestamp() >= closed[1]


def test_a_span_beyond_one_change__is_climbed_to_and_from() -> None:
    # 3 to 9 are three changes of 2; each is asked for a minute ahead and takes half of one.
    evening = span(120, 180, least=9)
    made = made_with([2.0] * 72, 3, [evening], terms=replace(QUICK, max_step=2))
    assert [step.plan.parallelism["work"] for step in made.steps] == [5, 7, 9, 7, 5, 3]
    assert made.steps[2].runs_from.timestamp() <= evening.start_s
    assert made.steps[3].stops_at.timestamp() >= evening.end_s


def test_a_plan_that_a_span_forbids__is_rejected_for_that() -> None:
    # 7 are on the ladder for the second span.
    made = made_with([2.0] * 72, 3, [span(120, 180, least=9), span(240, 270, least=7)])
    (excuse,) = (each for each in made.excuses if each.target == WINDOWS)
    assert (excuse.plan.parallelism["work"], excuse.value, excuse.bound) == (7, 7.0, 9.0)


def test_two_spans_closer_than_the_dwell__are_both_kept() -> None:
    # From 22:00 nine, from 22:45 two: a change for the first at 21:55 would bar that for the second until 22:55:30.
    first, second = span(120, 150, least=9), span(165, 195, most=2)
    made = made_with([1.5] * 72, 3, [first, second], terms=replace(QUICK, apart_s=3600.0))
    assert min(count for _, count in counts(made, [first])) == 9
    assert max(count for _, count in counts(made, [second])) == 2
    up, down = made.steps
    assert (down.deploy_at - up.runs_from).total_seconds() >= 3600


@pytest.mark.slow
@given(
    loads,
    st.integers(1, 12),
    starts,
    st.integers(1, 14),
    st.sampled_from([1, 2, 3]) | st.none(),
    st.integers(0, 300) | st.none(),
    st.sampled_from([2.0, 5.0, inf]),
)
def test_spans__pass_no_limit_of_changes(
    rates: np.ndarray, running: int, start: int, least: int, most: int | None, freeze: int | None, max_step: float
) -> None:
    closed = [] if freeze is None else [(NOW_S + 60 * freeze, NOW_S + 60 * freeze + 3600)]
    spans = [span(start, start + 45, least=least), span(start + 60, start + 90, most=max(1, least - 3))]
    terms = replace(QUICK, max_step=max_step, apart_s=600.0)
    made = made_with(rates.tolist(), running, spans, terms=terms, most_a_day=most, closed=closed)
    assert most is None or len(made.steps) <= most
    for before, step in zip((made.current, *(each.plan for each in made.steps)), made.steps, strict=False):
        changed = sum(abs(step.plan.parallelism[name] - count) for name, count in before.parallelism.items())
        assert changed <= max_step
        for begin_s, end_s in closed:
            assert step.runs_from.timestamp() <= begin_s + 1 or step.deploy_at.timestamp() >= end_s - 1
    for before_step, step in pairwise(made.steps):
        assert (step.deploy_at - before_step.runs_from).total_seconds() >= 600 - 1
