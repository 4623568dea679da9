"""Search, ladder and step estimates give a plan the capacity that `evaluate` gives it as packed on its site."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import Case, cases

from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.excuse import Excuse
from modeling.inputs.network import Network
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from planner.errors import PlanError
from planner.horizon.ladder import capacity_ladder, ladder_of
from planner.limits import Limits
from planner.packing.offer import Offer
from planner.packing.registry import PACKERS
from planner.plan_model import PlanModel
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import ContainerPricing
from planner.pricing.site_prices import SitePrices
from planner.search.cheapest_plan import cheapest_plan
from planner.search.remembered_plans import RememberedPlans

ROUNDING = 1 + 1e-9
NODES = ("n1", "n2", "n3")


def sum_of(parallelism: Mapping[str, int]) -> float:
    return sum(parallelism.values())


@st.composite
def sites(draw: st.DrawFn, case: Case) -> Site:
    factors = st.sampled_from([0.5, 1.0, 1.5, 3.0])
    cores = draw(st.sampled_from([None, 0.5, 1.0, 4.0]))
    network = None
    sizes: dict[str, float] = {}
    if draw(st.booleans()):
        apart = 1.0 - np.eye(len(NODES))
        wide = np.where(apart, draw(st.sampled_from([0.1, 1e3])), np.inf)
        network = Network(NODES, apart * draw(st.sampled_from([0.1, 5.0])), 0 * apart, wide, apart == 2)
        sizes = {stream.name: draw(st.sampled_from([10.0, 1e4])) for stream in case.topology.streams}
    return Site(ContainerSize(cores=cores), {node: draw(factors) for node in NODES}, network, sizes)


@st.composite
def models(draw: st.DrawFn) -> tuple[Case, PlanModel]:
    case = draw(cases())
    site = draw(sites(case))
    names = ["flink_slots", "even_spread", "first_fit_decreasing", "resource_compliant", "round_robin"]
    name = draw(st.sampled_from(names))
    counts = {"containers": 2} if name in ("even_spread", "round_robin") else {"max_containers": 6}
    offer = Offer(site, nodes=dict.fromkeys(NODES), slots=2, **counts)
    costs = {each: InstanceCost(cores=0.1, memory_mib=1.0) for each in case.topology.order}
    placing = Placing(case.topology, case.profiles, costs, PACKERS[name](offer))
    return case, PlanModel(case.topology, case.profiles, site=site, placing=placing)


@settings(max_examples=40)
@given(models(), st.sampled_from([0.5, 0.85]), st.sampled_from([None, 2.0]))
def test_cheapest_plan__holds_in_evaluate_as_packed(
    drawn: tuple[Case, PlanModel], bound: float, latency_s: float | None
) -> None:
    case, model = drawn
    limits = Limits(bound, latency_s, 16)
    found = cheapest_plan(model, case.load_per_s, limits)
    if isinstance(found, Excuse) or model.unpacked_because(found.parallelism) is not None:
        return
    packed = model.packed(found)
    assert packed.packing or not model.depends_on_packing
    one = evaluate(case.topology, case.profiles, packed, case.load_per_s, site=model.site)
    assert one.headroom_factor * bound * ROUNDING >= 1.0 or not case.load_per_s
    assert latency_s is None or one.latency_s <= latency_s * ROUNDING


@settings(max_examples=40)
@given(models(), st.booleans(), st.sampled_from([3, 6]), st.sampled_from([None, 2.0]))
def test_max_instances_that_an_excuse_names__are_enough(
    drawn: tuple[Case, PlanModel], shared: bool, most: int, latency_s: float | None
) -> None:
    """shared: as if all operators shared slots."""
    case, model = drawn
    assert model.placing is not None
    if shared:
        model = replace(model, placing=replace(model.placing, together=[case.topology.order]))
    limits = Limits(0.5, latency_s, most)
    found = cheapest_plan(model, case.load_per_s, limits)
    named = re.match(r"raise max_instances to (\d+), or plan", found.remedy) if isinstance(found, Excuse) else None
    if named is not None:
        wider = cheapest_plan(model, case.load_per_s, replace(limits, max_instances=int(named[1])))
        assert isinstance(wider, PhysicalPlan), wider


@settings(max_examples=40)
@given(models(), st.data())
def test_ladder_and_estimates__give_evaluate_s_capacity(drawn: tuple[Case, PlanModel], data: st.DataObject) -> None:
    case, model = drawn
    plans = data.draw(st.lists(st.sampled_from(case.plans()), min_size=1, max_size=4))
    total = sum(case.load_per_s.values())
    if not total or any(profile.windowed for profile in case.profiles.values()):
        return
    mix = np.array([[case.load_per_s[source] / total] for source in case.topology.sources])
    capacity = ladder_of(plans, model).capacity_per_s(mix)[:, 0]
    for plan, carried in zip(plans, capacity.tolist(), strict=True):
        packed = model.packed(plan)
        true = evaluate(case.topology, case.profiles, packed, case.load_per_s, site=model.site)
        assert carried == pytest.approx(total * true.headroom_factor)
        assert model.capacity_per_s(PhysicalPlan(plan.topology, plan.parallelism), case.load_per_s) == pytest.approx(
            total * true.headroom_factor
        )
        assert model.estimate(plan, case.load_per_s).bottleneck == true.bottleneck


@settings(max_examples=40)
@given(models(), st.booleans())
def test_no_plan_of_a_ladder__carries_as_much_for_as_little_as_another(
    drawn: tuple[Case, PlanModel], by_container: bool
) -> None:
    """With one source: the more a plan costs, the more it carries."""
    case, model = drawn
    assert model.placing is not None
    price_of = None
    if by_container:
        try:
            price_of = ContainerPricing(model.placing, SitePrices(1.0)).per_hour
        except PlanError:
            return  # not even one instance of each operator can be packed
    try:
        ladder = capacity_ladder(
            RememberedPlans(model, Limits(1.0, max_instances=16)), [case.load_per_s], [], None, price_of
        )
    except ModelError:
        return  # no plan is within the limits
    rates = np.array([[case.load_per_s[source]] for source in case.topology.sources])
    mixes = [rates / rates.sum()] if rates.sum() > 0 else []
    most = ladder.capacity_per_s(np.hstack([*mixes, np.eye(len(rates))]))
    packed = [at for at, plan in enumerate(ladder.plans) if model.unpacked_because(plan.parallelism) is None]
    prices = {at: (price_of or sum_of)(ladder.plans[at].parallelism) for at in packed}
    for one in packed:
        for other in packed:
            worth = prices[one] < prices[other] or (most[one] > most[other]).any()
            assert one == other or worth
