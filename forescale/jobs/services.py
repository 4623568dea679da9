"""Saturation of a graph of micro-services with other replicas or threads than it was calibrated with."""

from collections.abc import Mapping
from dataclasses import replace

from forescale.files.topology import TopologyConfig
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.services.pools import CallRouting, ServiceSaturation, pool_of, service_saturation


def saturation(
    config: TopologyConfig,
    profiles: Profiles,
    replicas: Mapping[str, int],
    threads: Mapping[str, int],
    load_per_s: Mapping[str, float],
    routing: CallRouting = CallRouting.SHARED,
) -> ServiceSaturation:
    """threads: of one replica, if different from the topology file's, with which it was measured.

    Raises FileError if the topology file has no section services, and ModelError for what cannot be computed.
    """
    topology, section = config.as_topology(), config.services
    PhysicalPlan(config.topology, replicas).check(topology)
    pools = {
        name: pool_of(profiles[name], section.threads[name], config.operators[name].cores) for name in topology.order
    }
    changed = {name: replace(pools[name], threads=count) for name, count in threads.items() if name in pools}
    return service_saturation(topology, profiles, pools | changed, replicas, load_per_s, routing)
