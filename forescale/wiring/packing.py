"""The packer that a topology's section `packing` names, and what instances of the topology reserve."""

from collections.abc import Mapping
from pathlib import Path

from forescale.files.packing_section import PackingSection
from forescale.files.site import SiteFile, no_site, read_site_file, site_digest
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.instance_costs import instance_costs
from modeling.inputs.operator_profile import Profiles
from planner.packing.needs import Reserved
from planner.packing.packer import Packer
from planner.packing.registry import packer_named
from planner.pricing.placing import Placing


def site_of_packing(config: TopologyConfig, settings: Settings) -> SiteFile | None:
    """The site that the section `packing` names; None if it names none. Raises FileError."""
    if config.packing is None or config.packing.site is None:
        return None
    return read_site_file(Path(settings.below_home(config.packing.site)), config.as_topology())


def known_site(config: TopologyConfig, settings: Settings) -> tuple[SiteFile, str, str]:
    """The site that the section `packing` names, its digest and its path; the engine's usual values and two empty
    texts if it names none. Raises FileError.
    """
    site = site_of_packing(config, settings)
    if site is None or config.packing is None or config.packing.site is None:
        return no_site(config.engine), "", ""
    path = Path(settings.below_home(config.packing.site))
    return site, site_digest(path), str(path)


def packer_of(packing: PackingSection, where: SiteFile) -> Packer:
    """Raises PlanError for a site that does not fit the section."""
    return packer_named(packing.packer, packing.offer(where.site, where.prices))


def placing_of(config: TopologyConfig, where: SiteFile, profiles: Profiles) -> Placing | None:
    """None without a section `packing`. Raises PlanError for a site that does not fit it."""
    if config.packing is None:
        return None
    costs, _ = instance_costs(config, profiles)
    return Placing(config.as_topology(), profiles, costs, packer_of(config.packing, where))


def reserved_of(config: TopologyConfig) -> Mapping[str, Reserved]:
    """Reservations of one instance by operator, from the topology file."""
    return {name: Reserved(entry.cores, entry.memory_mib) for name, entry in config.operators.items()}
