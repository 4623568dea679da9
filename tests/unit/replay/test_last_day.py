"""The last day under the guard alone and in hindsight, by hand."""

from dataclasses import replace

import pytest
from replay_cases import PROFILES, TOPOLOGY, load_of, plan

from planner.clusters.engine_terms import EngineTerms
from planner.guard.terms import GuardTerms
from planner.limits import Limits
from planner.packing.flink_slots import FlinkSlots
from planner.packing.offer import Offer
from planner.plan_model import PlanModel
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import ContainerPricing
from planner.pricing.site_prices import SitePrices
from planner.replay.last_day import DayTerms, LastDay, last_day

TERMS = DayTerms(EngineTerms(30.0, lead_s=300.0), GuardTerms(), {}, 0.0)


def day(rates_per_s: list[float], terms: DayTerms = TERMS, work: int = 3) -> LastDay:
    return last_day(load_of(rates_per_s), PlanModel(TOPOLOGY, PROFILES), terms, plan(work))


def test_a_steady_load__is_held_by_both() -> None:
    # 19/s for two hours. 3 instances of 10/s each are 63 % busy: the guard has nothing to do. Hindsight does with 2.
    # With the one of ingest: 3 instances × 2 h against 4 × 2 h.
    found = day([19.0] * 120)
    assert (found.guard.instance_hours, found.guard.violation_minutes, found.guard.rescales) == (8.0, 0.0, 0)
    assert (found.hindsight.instance_hours, found.hindsight.violation_minutes) == (pytest.approx(6.0), 0.0)
    assert found.guard.minutes_known == 120


def test_a_sudden_peak__catches_the_guard_and_not_hindsight() -> None:
    # 3 instances carry 30/s; of 90/s for an hour 60/s wait, beyond 180 s of lag after 4.5 minutes (180 · 90 / 60 s),
    # before the lead time of 5 minutes is over.
    found = day([20.0] * 60 + [90.0] * 60 + [20.0] * 60)
    assert found.guard.violation_minutes > 0
    assert found.guard.rescales >= 1
    assert found.hindsight.violation_minutes == 0
    assert found.hindsight.instance_hours < found.guard.instance_hours


def test_least_instances__bind_hindsight_as_well() -> None:
    found = day([20.0] * 120, replace(TERMS, least={"work": 5}))
    assert found.hindsight.instance_hours == pytest.approx(6 * 2)


def test_a_price_for_violations__is_what_hindsight_weighs() -> None:
    # Held at 2 instances, 60 minutes of 60/s are late all the time, and so is the backlog after; at 1e-4
    # instance-hours a minute nothing is worth more than that.
    peak = [10.0] * 30 + [60.0] * 60 + [10.0] * 30
    dear, cheap = (day(peak, replace(TERMS, price_h=price_h)).hindsight for price_h in (1e6, 1e-4))
    assert dear.violation_minutes == 0
    assert cheap.violation_minutes > 60
    assert cheap.instance_hours < dear.instance_hours


def test_hindsight__pays_for_task_managers_where_they_have_prices() -> None:
    """Task managers of four slots at 1 an hour: 19/s and 29/s take two and three instances, in one; 69/s for an hour
    take seven, in two, some minutes later as lag allows.
    """
    pricing = ContainerPricing(Placing(TOPOLOGY, PROFILES, {}, FlinkSlots(Offer(slots=4))), SitePrices(1.0))
    rates_per_s = [19.0] * 60 + [29.0] * 60 + [69.0] * 60
    priced = day(rates_per_s, replace(TERMS, pricing=pricing), work=5)
    assert priced.hindsight.price is not None
    assert 1 + 1 + 2 * 0.85 < priced.hindsight.price <= 1 + 1 + 2
    assert day(rates_per_s, work=5).hindsight.price is None
    assert priced.guard.price is not None
    assert priced.guard.price > priced.hindsight.price


@pytest.mark.parametrize("bound", ["max_latency_s", "max_p95_latency_s"])
def test_latency_bounds_of_the_limits__do_not_bind_hindsight(bound: str) -> None:
    # 19/s on two instances of 10/s: 95 % busy, so tuples of 0.1 s wait for long, and no lag comes of it.
    limits = Limits(max_latency_s=0.4) if bound == "max_latency_s" else Limits(max_p95_latency_s=0.4)
    found = day([19.0] * 120, replace(TERMS, guard=GuardTerms(limits=limits)))
    assert found.hindsight.instance_hours == pytest.approx(6.0)
