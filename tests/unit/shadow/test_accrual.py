"""A day of a shadow: what its steps would have cost and violated, by hand."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from replay_cases import PROFILES, TOPOLOGY, plan

from forecasting.arrivals.history import ArrivalSeries
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Topology
from planner.clusters.engine_terms import EngineTerms
from planner.errors import PlanError
from planner.ledger.entries import Observation, ShadowDay, StepEntry
from planner.ledger.shadow_records import ShadowSpan
from planner.ledger.step_state import StepState
from planner.plan_model import PlanModel
from planner.shadow.accrual import UNKNOWN_BEGINNING, ShadowWorld, accrued_day, whole_days
from planner.shadow.comparison import compared

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
FIRST, SECOND = date(2026, 3, 2), date(2026, 3, 3)
WORLD = ShadowWorld(PlanModel(TOPOLOGY, PROFILES), EngineTerms(60.0, lead_s=300.0), max_lag_s=120.0)


def running(work: int) -> PhysicalPlan:
    return PhysicalPlan("calls", plan(work))


def step_at(at: datetime, work: int, before: int) -> StepEntry:
    return StepEntry(
        "s-1", "s", 1, "calls", at, at, running(work), running(before), StepState.SHADOW, "", at, "planner", 0
    )


def span_of(work: int, *steps: StepEntry, start: datetime = MONDAY) -> ShadowSpan:
    return ShadowSpan(start, running(work), steps)


def arrivals(*rates_per_s: tuple[float, float]) -> dict[str, ArrivalSeries]:
    """Rates, each for so many hours."""
    counts = np.concatenate([np.full(round(60 * hours), 60.0 * rate) for rate, hours in rates_per_s])
    return {"ingest": ArrivalSeries("calls", "ingest", MONDAY, 60, counts)}


def accrued(
    span: ShadowSpan,
    day: date,
    series: dict[str, ArrivalSeries],
    *earlier: ShadowDay,
    observations: tuple[Observation, ...] = (),
    world: ShadowWorld = WORLD,
) -> ShadowDay:
    known = {each.day: each for each in earlier}
    return accrued_day(world, span, day, series, observations, earlier=known, at=MONDAY + timedelta(days=9))


def test_a_day__costs_what_its_plans_cost_and_counts_its_rescales() -> None:
    noon = MONDAY + timedelta(hours=12)
    found = accrued(span_of(2, step_at(noon, 1, 2)), FIRST, arrivals((5.0, 24)))
    # 1 + 2 instances until noon, 1 + 1 from then on.
    assert found.instance_hours == pytest.approx(12 * 3 + 12 * 2)
    assert (found.rescales, found.violation_minutes, found.notes) == (1, 0, ())


def test_what_waits_at_midnight__is_carried_into_the_next_day() -> None:
    series = arrivals((10.0, 23), (20.0, 1), (5.0, 24))
    span = span_of(1)
    first = accrued(span, FIRST, series)
    # One instance takes 10 of 20 tuples a second for an hour.
    assert first.backlog == pytest.approx(36_000, rel=1e-3)
    second = accrued(span, SECOND, series, first)
    # The backlog drains at 5 a second, so it lasts 7,200 s. Once all of Monday is served, what waits came at 5 a
    # second, and the oldest has waited 7,200 - t seconds: more than 120 until t = 7,080 s, which is 118 minutes.
    assert second.violation_minutes == pytest.approx(118, abs=1)
    assert second.backlog == 0
    assert second.notes == ()
    # Without Monday nobody knows.
    alone = accrued(span, SECOND, series)
    assert (alone.violation_minutes, alone.notes) == (0, (UNKNOWN_BEGINNING,))


def test_a_change_that_is_under_way_at_midnight__counts_on_the_day_it_takes_effect() -> None:
    late = MONDAY + timedelta(hours=23, minutes=58)
    series, span = arrivals((5.0, 48)), span_of(1, step_at(late, 2, 1))
    first = accrued(span, FIRST, series)
    second = accrued(span, SECOND, series, first)
    assert (first.rescales, second.rescales) == (0, 1)
    # It stops the job at 00:03, five minutes of lead after it was asked for; until then 1 + 1 instances run.
    assert first.instance_hours == pytest.approx(48)
    assert second.instance_hours == pytest.approx((3 * 2 + 1437 * 3) / 60)


def test_a_shadow_that_begins_within_a_day__is_replayed_from_then_on_for_the_next() -> None:
    series = arrivals((10.0, 23), (20.0, 1), (5.0, 24))
    late = span_of(1, start=MONDAY + timedelta(hours=23, minutes=30))
    # Half the backlog, 18,000 tuples, is gone after 3,600 s: late until 3,480 s, 58 minutes.
    assert accrued(late, SECOND, series).violation_minutes == pytest.approx(58, abs=1)


def test_a_day_on_which_nothing_comes__still_costs_its_plan() -> None:
    assert accrued(span_of(2), FIRST, arrivals((0.0, 24))).instance_hours == pytest.approx(72)


def test_real_and_shadow__are_compared_over_the_minutes_that_are_known() -> None:
    seen = tuple(
        Observation(
            "calls", MONDAY + timedelta(minutes=minute), running(4), "running", {}, 600.0 if minute < 31 else None
        )
        for minute in range(1, 61)
    )
    found = accrued(span_of(2), FIRST, arrivals((30.0, 24)), observations=seen)
    assert (found.observed_minutes, found.measured_minutes, found.real_violation_minutes) == (60, 30, 30)
    assert (found.real_instance_hours, found.instance_hours_observed) == (5.0, 3.0)
    # 10 tuples a second too many: the lag grows by a third of the time, and exceeds 120 s after 6 minutes.
    assert found.violation_minutes == pytest.approx(1440 - 6, abs=1)
    assert found.violation_minutes_measured == pytest.approx(30 - 6, abs=1)
    total = compared([found])
    assert (total.real_instance_hours, total.instance_hours, total.saved_share) == (5.0, 3.0, pytest.approx(0.4))


def test_rescales__are_compared_in_the_minutes_in_which_a_real_one_would_be_seen() -> None:
    # Down for a minute, the one that adds instances five minutes after it was asked for: they run from 06:01, 12:06 and
    # 18:01 on.
    steps = [step_at(MONDAY + timedelta(hours=hour), count, 3 - count) for hour, count in ((6, 1), (12, 2), (18, 1))]
    # What ran is known from 12:06 to 18:02; whether it changed at 12:06 is not.
    seen = tuple(
        Observation("calls", MONDAY + timedelta(minutes=minute), running(4), "running")
        for minute in (*range(12 * 60 + 7, 18 * 60, 60), 18 * 60 + 2)
    )
    found = accrued(span_of(2, *steps), FIRST, arrivals((5.0, 24)), observations=seen)
    assert (found.rescales, found.rescales_observed, found.real_rescales) == (3, 1, 0)
    assert compared([found]).rescales == 1
    assert compared([accrued(span_of(2, *steps), FIRST, arrivals((5.0, 24)))]).rescales == 3


def test_what_nobody_observed__is_unknown_and_the_shadow_stands_alone() -> None:
    total = compared([accrued(span_of(2), FIRST, arrivals((5.0, 24)))])
    assert (total.real_instance_hours, total.real_violation_minutes, total.real_rescales) == (None, None, None)
    assert total.saved_share is None
    assert total.instance_hours == pytest.approx(72)


def test_days_of_which_nothing_is_known__leave_the_comparison_of_the_others_alone() -> None:
    seen = tuple(
        Observation("calls", MONDAY + timedelta(minutes=minute), running(4), "running") for minute in (0, 60, 120)
    )
    known = accrued(span_of(2), FIRST, arrivals((5.0, 48)), observations=seen)
    unknown = accrued(span_of(2), SECOND, arrivals((5.0, 48)), known)
    total = compared([known, unknown])
    # Two hours of 1 + 4 instances against two of 1 + 2.
    assert (total.real_instance_hours, total.instance_hours, total.minutes) == (10.0, 6.0, 2880)


def test_a_topology_with_other_operators__cannot_be_accrued() -> None:
    other = ShadowWorld(PlanModel(Topology("calls", (Operator("ingest"),), ()), PROFILES), WORLD.engine, 120.0)
    with pytest.raises(PlanError, match="other operators than the shadow's plans"):
        accrued(span_of(2), FIRST, arrivals((5.0, 24)), world=other)


def test_a_history_that_ends_within_the_day__is_named_with_its_span() -> None:
    with pytest.raises(PlanError, match="source 'ingest' goes from 2026-03-02 00:00 to 2026-03-02 23:00 UTC"):
        accrued(span_of(2), FIRST, arrivals((5.0, 23)))


@pytest.mark.parametrize(
    ("start_h", "end_h", "days"),
    [(0, 24, [FIRST]), (0.1, 48, [SECOND]), (0, 23.9, []), (-1, 48.5, [FIRST, SECOND]), (5, 3, [])],
)
def test_whole_days__lie_wholly_within(start_h: float, end_h: float, days: list[date]) -> None:
    assert whole_days(MONDAY + timedelta(hours=start_h), MONDAY + timedelta(hours=end_h)) == days
