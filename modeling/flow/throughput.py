"""Throughput: where a plan saturates, and what gets through when the load is beyond that."""

from collections.abc import Mapping
from dataclasses import dataclass

import networkx as nx
from scipy.optimize import brentq

from modeling.flow.rates import Rates, arrival_rates
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Engine, Topology

LARGEST_SCALE = 1e6
"""An operator that does not saturate at a million times the load has other limits."""
SEARCH_STEP = 1.5


@dataclass(frozen=True)
class Saturation:
    """scale: the factor by which the load could grow until the bottleneck's busiest instance is busy all the time.

    per_operator: the same factor for each operator alone; infinite where a load costs it nothing.
    """

    scale: float
    bottleneck: str
    per_operator: Mapping[str, float]


def saturation(topology: Topology, rates: Rates) -> Saturation:
    """Utilisation is linear in the load, so an operator saturates at 1 / (its busiest instance's utilisation)."""
    per_operator: dict[str, float] = {}
    for name in topology.order:
        busiest = float(rates.busy[name].max())
        per_operator[name] = 1 / busiest if busiest > 0 else float("inf")
    bottleneck = min(topology.order, key=lambda name: per_operator[name])
    return Saturation(per_operator[bottleneck], bottleneck, per_operator)


def saturation_of(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    rates: Rates,
    site: Site = NOWHERE,
) -> Saturation:
    """The saturation of a plan at the mix of a load. rates: those that the load brings.

    Where outputs follow windows, utilisation is not linear in the load: then each operator's first crossing of 1 is
    sought, upwards from where nothing saturates.
    """
    if not any(profile.windowed for profile in profiles.values()) or not any(load_per_s.values()):
        return saturation(topology, rates)

    def used(scale: float) -> dict[str, float]:
        scaled = {source: rate * scale for source, rate in load_per_s.items()}
        busy = arrival_rates(topology, profiles, plan, scaled, site).busy
        return {name: float(each.max()) for name, each in busy.items()}

    low = min(1.0, 0.5 / max(max(used(1.0).values()), 0.5))
    while max(used(low).values()) >= 1:
        low /= 2
    found: dict[str, float] = {}
    below, scale = low, low
    while len(found) < len(topology.order) and scale < LARGEST_SCALE * low:
        below, scale = scale, scale * SEARCH_STEP
        for name, each in used(scale).items():
            if each >= 1 and name not in found:
                found[name] = float(brentq(lambda s, of=name: used(s)[of] - 1, below, scale))
    per_operator = {name: found.get(name, float("inf")) for name in topology.order}
    bottleneck = min(topology.order, key=lambda name: per_operator[name])
    return Saturation(per_operator[bottleneck], bottleneck, per_operator)


def throughput_per_s(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    site: Site = NOWHERE,
) -> dict[str, float]:
    """What each source takes in under backpressure: the fixed point at which no instance is more than fully busy.

    A saturated operator slows the sources that feed it (Flink's credits, Storm's max pending) in proportion; in Heron
    backpressure stops every source. Each round brings the worst operator to exactly full and lowers no other's room,
    so there are at most as many rounds as operators.
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(topology.order)
    graph.add_edges_from((stream.upstream, stream.downstream) for stream in topology.streams)
    taken = dict(load_per_s)
    for _ in topology.order:
        rates = arrival_rates(topology, profiles, plan, taken, site)
        worst = saturation_of(topology, profiles, plan, taken, rates, site)
        if worst.scale >= 1 - 1e-12:
            break
        feeding = nx.ancestors(graph, worst.bottleneck) | {worst.bottleneck}
        for source in topology.sources:
            if source in feeding or topology.engine is Engine.HERON:
                taken[source] *= worst.scale
    return taken
