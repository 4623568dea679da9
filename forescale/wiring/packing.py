"""The packer that a topology's section `packing` names, and what instances of the topology reserve."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from forescale.files.packing_section import PackingSection
from forescale.files.site import SiteFile, no_site, read_site_file, site_digest
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.instance_costs import instance_costs
from modeling.inputs.operator_profile import Profiles
from planner.packing.flink_slots import FlinkSlots, slot_groups
from planner.packing.needs import Reserved
from planner.packing.packer import Packer
from planner.packing.registry import packer_named
from planner.pricing.placing import Placing


def container_cores(config: TopologyConfig, settings: Settings) -> float | None:
    """Cores of a container, as people declared them. Raises FileError."""
    return known_site(config, settings)[0].site.container.cores


def known_site(config: TopologyConfig, settings: Settings) -> tuple[SiteFile, str, str]:
    """The site of the section `packing`, and the digest and path of the file that it names; the engine's usual values
    and two empty texts if it names none. Raises FileError.
    """
    packing = config.packing
    if packing is None:
        return no_site(config.engine), "", ""
    site, digest, place = no_site(config.engine), "", ""
    if packing.site is not None:
        path = Path(settings.below_home(packing.site))
        site, digest, place = read_site_file(path, config.as_topology()), site_digest(path), str(path)
    if packing.cores is not None:
        site = replace(site, site=site.site.with_cores(packing.cores))
    if packing.price_per_hour is not None:
        site = replace(site, prices=replace(site.prices, container_per_hour=packing.price_per_hour))
    return site, digest, place


def packer_of(packing: PackingSection, where: SiteFile) -> Packer:
    """Raises PlanError for a site that does not fit the section."""
    return packer_named(packing.packer, packing.offer(where.site, where.prices))


def placing_of(config: TopologyConfig, where: SiteFile, profiles: Profiles) -> Placing | None:
    """None without a section `packing`. Raises PlanError for a site that does not fit it."""
    if config.packing is None:
        return None
    costs, _ = instance_costs(config, profiles)
    topology, packer = config.as_topology(), packer_of(config.packing, where)
    paid_whole = isinstance(packer, FlinkSlots) and where.prices.known
    together = list(slot_groups(topology, config.packing.slot_groups).values()) if paid_whole else []
    return Placing(topology, profiles, costs, packer, together)


def reserved_of(config: TopologyConfig) -> Mapping[str, Reserved]:
    """Reservations of one instance by operator, from the topology file."""
    return {name: Reserved(entry.cores, entry.memory_mib) for name, entry in config.operators.items()}
