"""The reactive scaler that a schedule is compared with, by hand."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from replay_cases import PROFILES, TOPOLOGY, plan
from sample_decision import NOW, forecast

from forecasting.forecast import Forecast
from planner.clusters.engine_terms import EngineTerms
from planner.guard.terms import GuardTerms
from planner.packing.flink_slots import FlinkSlots
from planner.packing.offer import Offer
from planner.plan_model import PlanModel
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import ContainerPricing, InstancePricing
from planner.pricing.site_prices import SitePrices
from planner.replay.last_day import DayTerms
from planner.replay.reactive import PATHS, reactive_alternative
from planner.scaling_schedule import Alternative, AlternativeKind

TERMS = DayTerms(EngineTerms(30.0, lead_s=300.0), GuardTerms(), {}, 0.0)
HOURS = 2


def on(paths_per_s: list[list[float]], terms: DayTerms = TERMS, waiting: float = 0.0) -> Alternative | None:
    """Paths in steps of five minutes for two hours, from three instances of work."""
    paths = np.array([np.resize(path, 12 * HOURS) for path in paths_per_s])
    one: Forecast = replace(forecast("ingest"), rate_per_s=forecast().rate_per_s[: 12 * HOURS], paths_per_s=paths)
    end = NOW + timedelta(hours=HOURS)
    return reactive_alternative({"ingest": one}, NOW, end, PlanModel(TOPOLOGY, PROFILES), terms, plan(3), waiting)


def test_what_waits_now__is_late_until_it_has_drained() -> None:
    # 6,000 tuples came in the last 6000 ÷ 19 = 316 s, and drain at 30 − 19 = 11/s: within drain_s (600), so nothing is
    # done. The oldest has waited 180 s while more than 180 · 19 = 3,420 wait: for 2580 ÷ 11 = 235 s, in four minutes.
    assert on([[19.0]] * 7, waiting=6000.0) == Alternative(
        "", 8.0, 0, 4.0, kind=AlternativeKind.REACTIVE, sample_paths=PATHS
    )


def test_a_steady_load__costs_what_runs_and_no_minute() -> None:
    # 19/s keep three instances of 10/s 63 % busy: nothing to do. With the one of ingest 4 instances for two hours.
    assert on([[19.0]] * 7) == Alternative("", 8.0, 0, 0.0, kind=AlternativeKind.REACTIVE, sample_paths=PATHS)


def test_a_reactive_scaler__has_the_price_of_its_plans_where_they_have_prices() -> None:
    # (1 · .5 + 3 · 2) an hour, for two hours.
    costs = {"ingest": InstanceCost(price_per_hour=0.5), "work": InstanceCost(price_per_hour=2.0)}
    priced = on([[19.0]] * 7, replace(TERMS, pricing=InstancePricing(costs)))
    assert priced is not None
    assert priced.price == pytest.approx(13.0)


def test_a_plan_that_cannot_be_packed__leaves_the_price_unknown() -> None:
    placing = Placing(TOPOLOGY, PROFILES, {}, FlinkSlots(Offer(slots=2, max_containers=1)))
    pricing = ContainerPricing(placing, SitePrices(1.0))
    priced = on([[19.0]] * 7, replace(TERMS, pricing=pricing))
    assert priced is not None
    assert priced.price is None


def test_a_sudden_peak__is_late_on_the_paths_that_have_it() -> None:
    calm, peak = [20.0], [20.0] * 12 + [90.0] * 12
    quiet, half = on([calm] * 10), on([calm] * 5 + [peak] * 5)
    assert quiet is not None
    assert half is not None
    assert quiet.violation_minutes == 0
    assert half.violation_minutes > 0
    assert half.cost_instance_hours > quiet.cost_instance_hours


def test_one_path__is_replayed_once() -> None:
    only = on([[19.0]])
    assert only is not None
    assert only.cost_instance_hours == pytest.approx(8.0)
    assert only.sample_paths == 1
