"""evaluate_many(): throughput and utilisation of many plans under many loads at once.

Rates are linear in the load. So what each instance is busy with per unit of each source's load is worked out once per
operator and parallelism; all plans and loads are then matrix products. Instances with the same shares count once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.operator_profile import OperatorProfile, Profiles
from modeling.physical_plan import PhysicalPlan
from modeling.rates import arrival_rates, check_load
from modeling.routing import POINTWISE, instance_shares
from modeling.topology import Engine, Grouping, Stream, Topology

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_FULL = 1 - 1e-12


@dataclass(frozen=True)
class ManyEstimates:
    """Estimates of plans (first axis) under loads (second axis).

    utilisation: of the busiest instance of each operator, shape (plans, loads, operators), under the offered load.
    saturation_scale: by what factor the load could grow; bottleneck: number of the operator that saturates first; both
    of shape (plans, loads). throughput_per_s: what each source takes in, shape (plans, loads, sources). excuses: why
    a plan could not be evaluated, by its number; its numbers are NaN.
    """

    operators: tuple[str, ...]
    sources: tuple[str, ...]
    utilisation: Floats
    saturation_scale: Floats
    bottleneck: Ints
    throughput_per_s: Floats
    excuses: Mapping[int, str]

    @property
    def stable(self) -> npt.NDArray[np.bool_]:
        """Whether each plan carries each load, shape (plans, loads)."""
        return self.saturation_scale > 1.0


def evaluate_many(
    topology: Topology, profiles: Profiles, plans: Sequence[PhysicalPlan], loads_per_s: Mapping[str, npt.ArrayLike]
) -> ManyEstimates:
    """What each plan would do under each load, as `evaluate` says it of one of each.

    loads_per_s: per source one rate for each load, shape (loads,). Raises ModelError for loads or profiles that do not
    fit the topology; a plan that does not fit is excused.
    """
    loads = _checked_loads(topology, profiles, loads_per_s)
    if windowed := [name for name in topology.order if profiles[name].windowed]:
        raise ModelError(
            f"operator {windowed[0]!r} gives out by windows, so that rates are not linear in the load; use evaluate, "
            "one plan and load at a time"
        )
    excuses: dict[int, str] = {}
    for number, plan in enumerate(plans):
        try:
            plan.check(topology)
        except ModelError as error:
            excuses[number] = str(error)
    good = [number for number in range(len(plans)) if number not in excuses]
    # Per operator what keeps each of its different instances busy, by plan.
    busy = _busy_per_load(topology, profiles, [plans[number] for number in good]) if good else {}
    shape = (len(plans), loads.shape[0])
    utilisation = np.full((*shape, len(topology.order)), np.nan)
    taken = np.full((*shape, loads.shape[1]), np.nan)
    offered = np.broadcast_to(loads, (len(good), *loads.shape))
    utilisation[good] = _utilisation(topology, busy, offered)
    taken[good] = _taken(topology, busy, offered)
    busiest = np.where(np.isnan(utilisation), -np.inf, utilisation).max(axis=2)
    with np.errstate(over="ignore"):
        scale = np.where(busiest > 0, 1 / np.where(busiest > 0, busiest, 1.0), np.inf)
    scale[list(excuses)] = np.nan
    bottleneck = np.where(np.isnan(utilisation), -np.inf, utilisation).argmax(axis=2)
    return ManyEstimates(topology.order, topology.sources, utilisation, scale, bottleneck, taken, excuses)


Busy = dict[str, list[tuple[Ints, Floats]]]
"""Per operator: numbers of plans, and busy seconds per second per unit of each source's load of its different
instances, shape (those plans, instances, sources)."""


def _checked_loads(topology: Topology, profiles: Profiles, loads_per_s: Mapping[str, npt.ArrayLike]) -> Floats:
    """Shape (loads, sources)."""
    given = {source: np.atleast_1d(np.asarray(rates, dtype=np.float64)) for source, rates in loads_per_s.items()}
    lengths = {rates.size for rates in given.values()}
    if len(lengths) > 1 or any(rates.ndim != 1 for rates in given.values()):
        raise ModelError(f"loads of {sorted(lengths)} rates; give every source one rate for each load")
    # The extremes stand for all: a negative or infinite rate is one of them, NaN is both.
    for extreme in (np.min, np.max):
        check_load(topology, profiles, {source: float(extreme(rates)) for source, rates in given.items()})
    return np.stack([given[source] for source in topology.sources], axis=1)


def _busy_per_load(topology: Topology, profiles: Profiles, plans: Sequence[PhysicalPlan]) -> Busy:
    """Of plans without pointwise groupings by sharing what they have in common, of others one by one."""
    if any(stream.grouping in POINTWISE for stream in topology.streams):
        return _one_by_one(topology, profiles, plans)
    sources = np.eye(len(topology.sources))
    parallelism = {name: np.array([plan.parallelism[name] for plan in plans]) for name in topology.order}
    # Tuples per second per unit of each source's load, shape (plans, sources): of each stream, and what enters by it.
    entering: dict[str, dict[str, Floats]] = {}
    busy: Busy = {}
    known: dict[tuple[object, ...], Floats] = {}
    for name in topology.order:
        profile = profiles[name]
        count = parallelism[name]
        if name in topology.sources:
            unit = np.broadcast_to(sources[topology.sources.index(name)], (len(plans), sources.shape[0]))
            entering[name] = {"": unit}
            service_s = _service_s(profile, "", count)
            rows = unit * (service_s / count)[:, None]
            busy[name] = [(np.arange(len(plans)), rows[:, None, :])]
            continue
        streams = {
            stream: profiles[stream.upstream].given_per_s(stream.name, entering[stream.upstream])
            for stream in topology.inputs(name)
        }
        copies = {stream: count if stream.grouping is Grouping.ALL else np.ones_like(count) for stream in streams}
        entering[name] = {stream.name: rate * copies[stream][:, None] for stream, rate in streams.items()}
        costs = np.stack(
            [rate * _service_s(profile, stream.name, count)[:, None] for stream, rate in streams.items()], axis=1
        )
        busy[name] = []
        for each in np.unique(count):
            of = np.flatnonzero(count == each)
            shares = _different_shares(topology, profiles, list(streams), int(each), known)
            busy[name].append((of, np.einsum("kj,pks->pjs", shares, costs[of])))
    return busy


def _service_s(profile: OperatorProfile, stream: str, count: Ints) -> Floats:
    """Per plan, of an operator of so many instances there."""
    different, where = np.unique(count, return_inverse=True)
    return np.array([profile.service_s_of(stream, int(each)) for each in different])[where]


def _different_shares(
    topology: Topology,
    profiles: Profiles,
    streams: Sequence[Stream],
    parallelism: int,
    known: dict[tuple[object, ...], Floats],
) -> Floats:
    """Shares of the instances of one operator, shape (streams, different instances).

    known: what was worked out before; operators with the same groupings and the very same keys share it.
    """
    reader = topology.operator(streams[0].downstream)
    keys = [profiles[reader.name].keys_of(stream.name) for stream in streams]
    what = (
        parallelism,
        reader.max_parallelism,
        *((s.grouping, s.shares) for s in streams),
        *(id(each) for each in keys),
    )
    if what not in known:
        shares = [
            instance_shares(
                stream.grouping,
                parallelism,
                engine=topology.engine,
                max_parallelism=reader.max_parallelism,
                keys=each,
                shares=stream.shares or None,
            )
            for stream, each in zip(streams, keys, strict=True)
        ]
        known[what] = np.unique(np.stack(shares), axis=1)
    return known[what]


def _one_by_one(topology: Topology, profiles: Profiles, plans: Sequence[PhysicalPlan]) -> Busy:
    """Where what an instance gets depends on which one gave it, by a unit load of each source in turn."""
    busy: Busy = {name: [] for name in topology.order}
    for number, plan in enumerate(plans):
        units = [
            arrival_rates(topology, profiles, plan, {s: float(s == source) for s in topology.sources}).busy
            for source in topology.sources
        ]
        for name in topology.order:
            rows = np.unique(np.stack([unit[name] for unit in units], axis=1), axis=0)
            busy[name].append((np.array([number]), rows[None]))
    return busy


def _utilisation(topology: Topology, busy: Busy, loads: Floats) -> Floats:
    """Of the busiest instance, shape (plans, loads, operators). loads: shape (plans, loads, sources)."""
    used = np.zeros((*loads.shape[:2], len(topology.order)))
    for column, name in enumerate(topology.order):
        for of, rows in busy.get(name, []):
            used[of, :, column] = np.max(loads[of] @ rows.transpose(0, 2, 1), axis=2)
    return used


def _taken(topology: Topology, busy: Busy, offered: Floats) -> Floats:
    """What the sources take in under backpressure, as throughput.throughput_per_s says it of one plan and load."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(topology.order)
    graph.add_edges_from((stream.upstream, stream.downstream) for stream in topology.streams)
    feeds = np.zeros((len(topology.order), len(topology.sources)), dtype=bool)
    for column, source in enumerate(topology.sources):
        reached = nx.descendants(graph, source) | {source}
        feeds[:, column] = [topology.engine is Engine.HERON or name in reached for name in topology.order]
    taken = np.array(offered)
    for _ in topology.order:
        used = _utilisation(topology, busy, taken)
        worst = used.argmax(axis=2)
        most = np.take_along_axis(used, worst[:, :, None], axis=2)
        if not (most > 1 / _FULL).any():
            break
        slowed = (most > 1 / _FULL) & feeds[worst]
        taken = np.where(slowed, taken / np.maximum(most, 1e-300), taken)
    return taken
