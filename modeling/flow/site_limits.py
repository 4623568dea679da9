"""What of a site fills up: the cores of containers, the links between nodes. By what factor a load may grow till then,
and what sources take in where one is full.
"""

from collections.abc import Callable, Mapping

import networkx as nx
import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from modeling.flow.link_limits import link_saturation
from modeling.flow.rates import Rates, arrival_rates
from modeling.flow.resources import container_saturation, resources
from modeling.flow.throughput import LARGEST_SCALE, SEARCH_STEP, throughput_per_s
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Engine, Topology

Floats = npt.NDArray[np.float64]

_FULL = 1 - 1e-9


def site_limits(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, site: Site
) -> dict[str, float]:
    """By what factor the load could grow until each container's cores (`container 3`) and each link between two nodes
    (`network a → b`) are in use, where rates are linear in it; those without bound are left out.
    """
    if site == NOWHERE:
        return {}
    needs = resources(topology, profiles, plan, rates, site)
    cores = {f"container {id}": scale for id, scale in container_saturation(needs).items() if scale < float("inf")}
    return {**cores, **link_saturation(topology, profiles, plan, rates, site)}


def site_saturation(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    rates: Rates,
    site: Site,
) -> dict[str, float]:
    """site_limits at the mix of a load. rates: those that the load brings.

    Where outputs follow windows, rates are not linear in the load: then the least of them is sought, and the others are
    read off between the loads that were tried, to a few per cent.
    """
    found = site_limits(topology, profiles, plan, rates, site)
    if not found or not _windowed(topology, profiles):
        return found

    def used(scale: float) -> dict[str, float]:
        grown = {source: rate * scale for source, rate in load_per_s.items()}
        more = arrival_rates(topology, profiles, plan, grown, site)
        return {what: 1 / room for what, room in site_limits(topology, profiles, plan, more, site).items()}

    tried = {1.0: {what: 1 / room for what, room in found.items()}}
    while max(tried[min(tried)].values(), default=0.0) >= 1:
        tried[min(tried) / SEARCH_STEP] = used(min(tried) / SEARCH_STEP)
    while min(tried[max(tried)].values(), default=1.0) < 1 and max(tried) < LARGEST_SCALE:
        tried[max(tried) * SEARCH_STEP] = used(max(tried) * SEARCH_STEP)
    scales = sorted(tried)
    names = sorted({what for each in tried.values() for what in each})
    told = {what: _read_off(scales, [tried[scale].get(what, 0.0) for scale in scales]) for what in names}
    first = min(told, key=lambda what: told[what])
    if told[first] < float("inf"):
        above = next(scale for scale in scales if max(tried[scale].values(), default=0.0) >= 1)
        below = scales[scales.index(above) - 1]
        exact = _root(lambda scale: max(used(scale).values(), default=0.0) - 1, below, above)
        told[max(used(exact).items(), key=lambda each: each[1])[0]] = exact
    return told


def site_throughput_per_s(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, load_per_s: Mapping[str, float], site: Site
) -> dict[str, float]:
    """What each source takes in under backpressure from operators, and from containers and links that are full.

    A full container slows the sources that feed its operators in proportion, a full link all of them; in Heron
    backpressure stops every source.
    """
    taken = throughput_per_s(topology, profiles, plan, load_per_s, site)
    if site == NOWHERE:
        return taken
    feeding = feeding_sources(topology, plan)
    windowed = _windowed(topology, profiles)

    def limits(at_per_s: Mapping[str, float]) -> dict[str, float]:
        return site_limits(topology, profiles, plan, arrival_rates(topology, profiles, plan, at_per_s, site), site)

    room = limits(taken)
    for _ in range(2 * len(room) + 2):
        what, least = min(room.items(), key=lambda each: each[1], default=("", 1.0))
        if least >= _FULL:
            break
        slowed = feeding.get(what, frozenset(topology.sources))

        def at(factor: float, slowed: frozenset[str] = slowed, begun: Mapping[str, float] = taken) -> dict[str, float]:
            return {source: rate * factor if source in slowed else rate for source, rate in begun.items()}

        if windowed:
            least = _root(lambda factor, what=what: 1 / limits(at(factor)).get(what, np.inf) - 1, 0.0, 1.0)  # type: ignore[misc]
        taken = at(least)
        room = limits(taken)
    return taken


def site_use(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, site: Site
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """What part of each limit a tuple a second of each source uses, shape (limits, sources), and whether the limit
    slows that source when it is reached; no rows where nothing bounds. For rates that are linear in the load.
    """
    if site == NOWHERE or not plan.packing:
        return np.zeros((0, len(topology.sources))), np.zeros((0, len(topology.sources)), dtype=bool)
    units = []
    for source in topology.sources:
        one = {name: float(name == source) for name in topology.sources}
        rates = arrival_rates(topology, profiles, plan, one, site)
        units.append(site_limits(topology, profiles, plan, rates, site))
    names = sorted({what for unit in units for what in unit})
    feeding = feeding_sources(topology, plan)
    every = frozenset(topology.sources)
    use = np.array([[1 / unit[what] if what in unit else 0.0 for unit in units] for what in names])
    slows = np.array([[source in feeding.get(what, every) for source in topology.sources] for what in names])
    shape = (len(names), len(topology.sources))
    return use.reshape(shape), slows.reshape(shape).astype(bool)


def feeding_sources(topology: Topology, plan: PhysicalPlan) -> dict[str, frozenset[str]]:
    """The sources that a full container slows, by its name; not named are links, which slow all."""
    if topology.engine is Engine.HERON:
        return {}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(topology.order)
    graph.add_edges_from((stream.upstream, stream.downstream) for stream in topology.streams)
    reached = {source: nx.descendants(graph, source) | {source} for source in topology.sources}
    return {
        f"container {container.id}": frozenset(
            source
            for source, operators in reached.items()
            if any(instance.operator in operators for instance in container.instances)
        )
        for container in plan.packing
    }


def _windowed(topology: Topology, profiles: Profiles) -> bool:
    return any(profiles[name].windowed for name in topology.order)


def _read_off(scales: list[float], used: list[float]) -> float:
    """Where the part in use passes 1, between the scales that were tried."""
    for at in range(1, len(scales)):
        if used[at - 1] < 1 <= used[at]:
            share = (1 - used[at - 1]) / (used[at] - used[at - 1])
            return scales[at - 1] + share * (scales[at] - scales[at - 1])
    return float("inf")


def _root(left: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(left, low, high, xtol=1e-12, rtol=1e-10))
