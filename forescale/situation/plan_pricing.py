"""Prices and placement of a topology's plans, by its file and its site."""

import hashlib
from dataclasses import dataclass, field, replace

from forescale.files.site import SiteFile
from forescale.files.topology import TopologyConfig
from forescale.wiring.instance_costs import instance_costs
from modeling.inputs.operator_profile import Profiles
from planner.decision_basis import PriceFacts
from planner.errors import PlanError
from planner.pricing.instance_cost import CostQuantity
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import ContainerPricing, InstancePricing, PlanPricing


@dataclass(frozen=True)
class PricedPlans:
    """pricing: None if only instances count. placing: None without a packer. facts: the prices, None if nothing
    has one. digest: the same for the same prices and packing.
    """

    pricing: PlanPricing | None = None
    placing: Placing | None = None
    facts: PriceFacts | None = None
    digest: str = field(default="", compare=False)


def priced_plans(
    config: TopologyConfig, where: SiteFile, digest: str, profiles: Profiles, placing: Placing | None
) -> PricedPlans:
    """By the prices of containers and nodes if the site has prices, else by the prices of instances. digest: of the
    site. Raises PlanError for inconsistent prices.
    """
    found = _priced(config, where, profiles, placing)
    return replace(found, digest=_digest(config, digest, profiles))


def _digest(config: TopologyConfig, site: str, profiles: Profiles) -> str:
    costs, _ = instance_costs(config, profiles)
    told = [repr(sorted(costs.items())), "" if config.packing is None else config.packing.model_dump_json()]
    return hashlib.sha256("|".join([*told, *([site] if site else [])]).encode()).hexdigest()[:24]


def _priced(config: TopologyConfig, where: SiteFile, profiles: Profiles, placing: Placing | None) -> PricedPlans:
    costs, unknown = instance_costs(config, profiles)
    lacking = next((each.operators for each in unknown if each.quantity is CostQuantity.PRICE), ())
    priced = not lacking and all(cost.price_per_hour is not None for cost in costs.values())
    if placing is None or config.packing is None or not where.prices.known:
        return _by_instance(InstancePricing(costs) if priced else None, placing, lacking)
    name = config.packing.site
    if told := [name for name, cost in costs.items() if cost.price_per_hour]:
        raise PlanError(
            f"operator {told[0]} has a price_per_hour, and so have containers or nodes of {name or 'packing'}: running "
            "plans would be priced twice; remove the prices of one of them"
        )
    pricing = ContainerPricing(placing, where.prices)
    facts = PriceFacts(pricing.instance_per_hour, site=str(name or ""), packer=config.packing.packer)
    return PricedPlans(pricing, placing, facts)


def _by_instance(pricing: InstancePricing | None, placing: Placing | None, lacking: tuple[str, ...]) -> PricedPlans:
    if pricing is not None:
        return PricedPlans(pricing, placing, PriceFacts(pricing.instance_per_hour))
    return PricedPlans(None, placing, PriceFacts(unpriced=lacking) if lacking else None)
