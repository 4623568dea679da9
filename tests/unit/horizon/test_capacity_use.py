"""Two sources that peak at moments of their own: a plan must carry each of them, in the mix that comes with it."""

import numpy as np
import pytest
from horizon_cases import START, forecast_of, schedule_of

from forescale.jobs.report import busiest_per_s, planned_capacity
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.horizon.capacity_use import CapacityUse
from planner.horizon.ladder import ladder_of
from planner.horizon.outlook import Outlook, outlook
from planner.plan_model import PlanModel
from planner.scaling_schedule import AlternativeKind

ORDERS_AND_CLICKS = Topology(
    "shop",
    tuple(map(Operator, ("orders", "clicks", "price", "join"))),
    (Stream("orders", "price"), Stream("price", "join"), Stream("clicks", "join")),
)
PROFILES = {
    name: OperatorProfile(name, service_s)
    for name, service_s in {"orders": 1e-6, "clicks": 1e-6, "price": 0.1, "join": 0.01}.items()
}
"""An instance of price carries 10 orders a second, one of join 100/s of both."""
MODEL = PlanModel(ORDERS_AND_CLICKS, PROFILES)
ORDERS, CLICKS = [40.0] * 12 + [5.0] * 60, [5.0] * 36 + [150.0] * 36
"""Steps of 5 minutes: orders peak in the first hour, clicks in the last three, with a larger total."""


def plan(price: int, join: int) -> PhysicalPlan:
    return PhysicalPlan("shop", {"orders": 1, "clicks": 1, "price": price, "join": join})


def ahead() -> Outlook:
    rates = np.array([ORDERS, CLICKS])[:, :, None]
    return Outlook(START.timestamp(), 300.0 * np.arange(73), rates, np.ones(72, dtype=bool))


def test_the_use_of_a_plan__is_that_of_its_own_busiest_moment() -> None:
    # price: 40 orders of 10·2 in the first hour. join: 155/s of 100·1 at the end.
    use = CapacityUse(ahead(), ladder_of([plan(2, 2), plan(8, 1)], MODEL))
    assert use.of(0.95) == pytest.approx([40 / 20, 155 / 100])
    assert use.of(0.95, 36) == pytest.approx([155 / 200, 155 / 100])
    assert use.of(0.95, plans=slice(1, 2)) == pytest.approx([155 / 100])
    assert use.peak_per_s(0, 0.95).tolist() == [40.0, 5.0]
    assert use.peak_per_s(1, 0.95).tolist() == [5.0, 150.0]


def test_a_fixed_plan_for_the_peak__carries_the_peak_of_each_source() -> None:
    forecasts = {
        name: forecast_of(np.array([rates]), 300, name) for name, rates in (("orders", ORDERS), ("clicks", CLICKS))
    }
    running = dict(plan(12, 4).parallelism)
    made = schedule_of(forecasts, running, topology=ORDERS_AND_CLICKS, profiles=PROFILES)
    (fixed,) = (each for each in made.alternatives if each.kind is AlternativeKind.STATIC)
    assert fixed.parallelism is not None
    assert fixed.parallelism["price"] * 10 >= 40
    assert fixed.parallelism["join"] * 100 >= 155
    assert fixed.violation_minutes == 0


def test_the_capacity_on_a_page__is_above_the_load_where_the_plan_carries_it() -> None:
    forecasts = {
        name: forecast_of(np.array([rates]), 300, name) for name, rates in (("orders", ORDERS), ("clicks", CLICKS))
    }
    made = schedule_of(forecasts, dict(plan(3, 2).parallelism), topology=ORDERS_AND_CLICKS, profiles=PROFILES)
    seen = outlook(forecasts, ("orders", "clicks"), made.made_at.timestamp())
    assert seen is not None
    assert busiest_per_s(made, seen, MODEL) == {"orders": 40.0, "clicks": 5.0}  # 40 of 10·3 orders
    drawn = planned_capacity(made, seen, MODEL, 0.5)
    assert {step.plan.plan_id for step in drawn} == {each.plan_id for each, _, _ in made.plans_running()}
    for step in drawn:
        price, join = step.plan.parallelism["price"], step.plan.parallelism["join"]
        at = min(int((step.start - START).total_seconds() // 300), 71)
        whole = min(10 * price, 100 * join - CLICKS[at])
        assert step.mst_per_s["orders"] == pytest.approx(max(whole, 0.0), rel=1e-6)
        beside = 0.0 if ORDERS[at] > 10 * price else 100 * join - ORDERS[at]
        assert step.mst_per_s["clicks"] == pytest.approx(beside, rel=1e-6)
        # Half of it may be used: 5·price orders, and 50·join of both.
        half = min(5 * price, 50 * join - CLICKS[at])
        assert step.usable_per_s["orders"] == pytest.approx(max(half, 0.0), rel=1e-6)
