"""Prices and placement of a topology's plans, by its file and its site."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from forescale.files.site import site_digest
from forescale.files.topology import TopologyConfig
from forescale.jobs.instance_costs import instance_costs
from forescale.settings import Settings
from forescale.wiring.packing import packer_and_site
from modeling.inputs.operator_profile import Profiles
from planner.errors import PlanError
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import ContainerPricing, InstancePricing, PlanPricing


@dataclass(frozen=True)
class PricedPlans:
    """pricing: None if only instances count. placing: None without a packer. notes: statement of the prices in a
    schedule. digest: the same for the same prices and packing.
    """

    pricing: PlanPricing | None = None
    placing: Placing | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    digest: str = field(default="", compare=False)


def priced_plans(settings: Settings, config: TopologyConfig, profiles: Profiles) -> PricedPlans:
    """By the prices of containers and nodes if the section `packing` names a site with prices, else by the prices of
    instances. Raises PlanError or FileError for inconsistent prices and for unknown nodes.
    """
    found, digest = _priced(settings, config, profiles), _digest(settings, config, profiles)
    return replace(found, digest=digest)


def _digest(settings: Settings, config: TopologyConfig, profiles: Profiles) -> str:
    costs, _ = instance_costs(config, profiles)
    packing = config.packing
    told = [repr(sorted(costs.items())), "" if packing is None else packing.model_dump_json()]
    if packing is not None and packing.site is not None:
        told.append(site_digest(Path(settings.below_home(packing.site))))
    return hashlib.sha256("|".join(told).encode()).hexdigest()[:24]


def _priced(settings: Settings, config: TopologyConfig, profiles: Profiles) -> PricedPlans:
    costs, notes = instance_costs(config, profiles)
    lacking = [note for note in notes if note.startswith("no price")]
    priced = not lacking and all(cost.price_per_hour is not None for cost in costs.values())
    if config.packing is None:
        return PricedPlans(*_by_instance(InstancePricing(costs) if priced else None, None, lacking))
    topology = config.as_topology()
    name = config.packing.site
    packer, where = packer_and_site(config, config.packing, settings)
    placing = Placing(topology, profiles, costs, packer)
    if not where.prices.known:
        return PricedPlans(*_by_instance(InstancePricing(costs) if priced else None, placing, lacking))
    told = [name for name, cost in costs.items() if cost.price_per_hour]
    if told:
        raise PlanError(
            f"operator {told[0]} has a price_per_hour, and so have containers or nodes of {name}: running plans would "
            "be priced twice; remove the prices of one of them"
        )
    pricing = ContainerPricing(placing, where.prices)
    what = f"containers and nodes of {name}, packed by {config.packing.packer}"
    return PricedPlans(pricing, placing, {"prices": f"{what}; an instance-hour is {pricing.instance_per_hour:.4g}"})


def _by_instance(
    pricing: InstancePricing | None, placing: Placing | None, lacking: list[str]
) -> tuple[PlanPricing | None, Placing | None, Mapping[str, str]]:
    if pricing is not None:
        told = f"instances of each operator; an instance-hour is {pricing.instance_per_hour:.4g}"
        return pricing, placing, {"prices": told}
    return None, placing, {"prices": f"all instances count the same; {lacking[0]}"} if lacking else {}
