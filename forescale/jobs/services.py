"""Saturation of a graph of micro-services, whose calls hold the caller's threads."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from forescale.files.topology import TopologyConfig
from modeling.errors import ModelError
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.services.pools import CallRouting, ServicePool, ServiceSaturation, pool_of, service_saturation


@dataclass(frozen=True)
class ServiceTerms:
    """pools: one replica of each service."""

    pools: Mapping[str, ServicePool]
    routing: CallRouting


def service_terms(config: TopologyConfig, profiles: Profiles) -> ServiceTerms | None:
    """None if the topology file has no section `services`."""
    section = config.services_section
    if section is None:
        return None
    measured = {name: pool_of(profiles[name], section.threads[name], config.operators[name].cores) for name in profiles}
    other = {name: replace(measured[name], threads=count) for name, count in section.evaluated_threads.items()}
    return ServiceTerms(measured | other, section.routing)


def saturation(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, load_per_s: Mapping[str, float], terms: ServiceTerms
) -> ServiceSaturation | str:
    """Or why it is unknown. load_per_s: by source; only the mix matters."""
    try:
        return service_saturation(topology, profiles, terms.pools, plan.parallelism, load_per_s, terms.routing)
    except ModelError as error:
        return f"saturation by threads is unknown: {error}"
