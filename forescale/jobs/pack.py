"""A parallelism packed into containers, by a packer of the registry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forescale.files.topology import TopologyConfig
from forescale.wiring.packing import reserved_of
from modeling.arrays import Floats
from modeling.flow.plan_rates import arrival_rates
from modeling.inputs.checked import site_of_plans
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.rescaling.instance_changes import staying
from modeling.rescaling.node_scaling import (
    MeasuredThroughput,
    NodeChoice,
    NodeScaling,
    best_nodes,
    fitted_node_scaling,
)
from planner.packing.lower_bound import least_containers
from planner.packing.needs import loaded_needs, reserved_needs
from planner.packing.offer import Offer
from planner.packing.open_containers import OpenContainers
from planner.packing.registry import packer_named
from planner.packing.traffic import stream_traffic
from planner.packing.workload import Workload


@dataclass(frozen=True)
class Packed:
    """used: per container, shape (containers, 3): cores, MiB of memory and of disk, without padding. needed: the
    size that all containers need, padding included. min_containers: lower bound on their number. stay: running
    instances that stay in their container; None if nothing runs. nodes: of those offered, the ones that sustain most by
    the site's measured throughput, and what scales it; None without measurements.
    """

    plan: PhysicalPlan
    used: Floats
    needed: Floats
    min_containers: int
    stay: int | None
    notes: tuple[str, ...]
    nodes: tuple[NodeChoice, NodeScaling] | None = None


def pack(
    config: TopologyConfig,
    profiles: Profiles,
    parallelism: Mapping[str, int],
    packer: str,
    offer: Offer,
    *,
    load_per_s: Mapping[str, float],
    running: PhysicalPlan | None = None,
    throughput: Sequence[MeasuredThroughput] = (),
) -> Packed:
    """load_per_s: by source; empty if unknown: an instance then needs what the topology file reserves for it, else the
    engine's usual size. Raises PlanError or ModelError for what cannot be packed.
    """
    packs = packer_named(packer, offer)
    offer = packs.offer
    work = workload(config, profiles, parallelism, load_per_s)
    packing = packs.pack(work) if running is None else packs.repack(running.packing, work)
    plan = PhysicalPlan(config.topology, parallelism, packing)
    site_of_plans(work.topology, offer.site, [plan])
    used = OpenContainers(offer, work, packing).used
    return Packed(
        plan=plan,
        used=used,
        needed=used.max(axis=0) + offer.kept,
        min_containers=least_containers(offer, work),
        stay=None if running is None else staying(running.packing, packing),
        notes=work.needs.notes,
        nodes=_best_nodes(offer, throughput),
    )


def _best_nodes(offer: Offer, throughput: Sequence[MeasuredThroughput]) -> tuple[NodeChoice, NodeScaling] | None:
    network = offer.site.network
    linked = [] if network is None else [node for node in offer.nodes or network.nodes if node in network.nodes]
    if network is None or not throughput or not linked:
        return None
    scaling = fitted_node_scaling(throughput)
    return best_nodes(scaling, network, linked), scaling


def workload(
    config: TopologyConfig, profiles: Profiles, parallelism: Mapping[str, int], load_per_s: Mapping[str, float]
) -> Workload:
    topology = config.as_topology()
    plan = PhysicalPlan(config.topology, parallelism)
    plan.check(topology)
    reserved = reserved_of(config)
    if not load_per_s:
        return Workload(topology, plan.parallelism, reserved_needs(plan.parallelism, reserved))
    rates = arrival_rates(topology, profiles, plan, load_per_s)
    needs = loaded_needs(topology, profiles, plan, rates, reserved)
    return Workload(topology, plan.parallelism, needs, stream_traffic(topology, profiles, plan, load_per_s))
