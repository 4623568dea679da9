"""The threads of micro-services, from the section `services` of a topology file and their profiles."""

from dataclasses import replace

from forescale.files.topology import TopologyConfig
from modeling.inputs.operator_profile import Profiles
from modeling.services.pools import ServiceTerms, pool_of


def service_terms(config: TopologyConfig, profiles: Profiles, *, evaluated: bool = False) -> ServiceTerms | None:
    """None if the topology file has no section `services`. evaluated: with `services.evaluated_threads`."""
    section = config.services_section
    if section is None:
        return None
    pools = {name: pool_of(profiles[name], section.threads[name], config.operators[name].cores) for name in profiles}
    if evaluated:
        pools |= {name: replace(pools[name], threads=count) for name, count in section.evaluated_threads.items()}
    return ServiceTerms(pools, section.routing)
