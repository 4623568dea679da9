"""A shadow accrued day by day is the shadow replayed in one go, whatever comes and whenever its steps are."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_cases import PROFILES, TOPOLOGY, plan, reality

from forecasting.arrivals.history import ArrivalSeries
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.engine_terms import EngineTerms
from planner.ledger.entries import ShadowDay, StepEntry
from planner.ledger.shadow_records import ShadowSpan
from planner.ledger.step_state import StepState
from planner.plan_model import PlanModel
from planner.replay.load import minute_load
from planner.replay.policies.fixed_plans import AtMoments
from planner.replay.run import replay
from planner.shadow.accrual import ShadowWorld, accrued_day

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
DAYS = [date(2026, 3, day) for day in (2, 3, 4)]
TERMS = EngineTerms(90.0, lead_s=300.0)


def span_of(steps: list[tuple[int, int]]) -> ShadowSpan:
    plans = [PhysicalPlan("calls", plan(work)) for work in (2, *(work for _, work in steps))]
    entries = [
        StepEntry(
            f"s-{number}",
            "s",
            number,
            "calls",
            MONDAY + timedelta(minutes=minute),
            MONDAY,
            plans[number],
            plans[number - 1],
            StepState.SHADOW,
            "",
            MONDAY,
            "planner",
            0,
        )
        for number, (minute, _) in enumerate(steps, 1)
    ]
    return ShadowSpan(MONDAY, plans[0], tuple(entries))


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(
    rates_per_s=st.lists(st.sampled_from([0.0, 5.0, 15.0, 25.0]), min_size=12, max_size=12),
    steps=st.lists(
        st.tuples(st.one_of(st.integers(0, 4319), st.sampled_from([1436, 1439, 1440, 2879])), st.integers(1, 3)),
        max_size=6,
        unique_by=lambda step: step[0],
    ),
)
def test_days_add_up_to_one_replay(rates_per_s: list[float], steps: list[tuple[int, int]]) -> None:
    counts = np.repeat(60.0 * np.array(rates_per_s), 360)
    series = {"ingest": ArrivalSeries("calls", "ingest", MONDAY, 60, counts)}
    span, world = span_of(sorted(steps)), ShadowWorld(PlanModel(TOPOLOGY, PROFILES), TERMS, 120.0)
    days: dict[date, ShadowDay] = {}
    for day in DAYS:
        days[day] = accrued_day(world, span, day, series, [], earlier=days, at=MONDAY)
    load = minute_load(series, may_be_silent=True)
    later = [(step.deploy_at.timestamp(), step.plan.parallelism) for step in span.steps]
    whole = replay(AtMoments("whole", [(0.0, plan(2)), *later], ""), load, reality(load, TERMS), {})
    for number, day in enumerate(DAYS):
        rows = slice(1440 * number, 1440 * (number + 1))
        assert days[day].instance_hours == pytest.approx(whole.instances[rows].sum() / 60)
        assert days[day].violation_minutes == (whole.lag_s[rows] > 120).sum()
        assert days[day].backlog == pytest.approx(whole.backlog[rows][-1], abs=1e-3)
    took_effect = [each for each in whole.decisions if each.in_effect_s is not None and each.in_effect_s < load.end_s]
    assert sum(day.rescales for day in days.values()) == len(took_effect)
