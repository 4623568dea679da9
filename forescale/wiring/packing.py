"""The packer that a topology's section `packing` names, and what instances of the topology reserve."""

from collections.abc import Mapping
from pathlib import Path

from forescale.files.packing_section import PackingSection
from forescale.files.site import SiteFile, no_site, read_site_file
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from planner.packing.needs import Reserved
from planner.packing.packer import Packer
from planner.packing.registry import packer_named


def site_of_packing(config: TopologyConfig, settings: Settings) -> SiteFile | None:
    """The site that the section `packing` names; None if it names none. Raises FileError."""
    if config.packing is None or config.packing.site is None:
        return None
    return read_site_file(Path(settings.below_home(config.packing.site)), config.as_topology())


def packer_and_site(config: TopologyConfig, packing: PackingSection, settings: Settings) -> tuple[Packer, SiteFile]:
    """Raises PlanError or FileError for a site that does not fit the section."""
    where = site_of_packing(config, settings) or no_site(config.engine)
    return packer_named(packing.packer, packing.offer(where.site, where.prices)), where


def reserved_of(config: TopologyConfig) -> Mapping[str, Reserved]:
    """Reservations of one instance by operator, from the topology file."""
    return {name: Reserved(entry.cores, entry.memory_mib) for name, entry in config.operators.items()}
