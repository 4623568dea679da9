"""evaluate_many(): throughput, utilisation and latency of many plans under many loads at once.

Loops run over operators only; plans, loads and draws of parameters are axes of arrays (modeling/flow/many_rates.py,
modeling/latency/moments.py). Use modeling/evaluate.py for all that is to be known of one plan under one load.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.excuse import Excuse, unfit
from modeling.flow.many_rates import KnownShares, OperatorRates, Scenarios, many_rates
from modeling.flow.rates import check_load
from modeling.flow.site_limits import site_use
from modeling.flow.throughput import LARGEST_SCALE, SEARCH_STEP
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Engine, Topology
from modeling.latency.delay import Delay
from modeling.latency.moments import LatencyRecursion, ManyLatencies
from modeling.queueing.queues import UNSTABLE
from modeling.uncertainty.parameter_draws import ParameterDraws

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

CELLS = 2**15
"""Plans x scenarios that are worked on at once."""

SCENARIOS = 2**12
"""Of them at most so many scenarios."""

OTHER = -1
"""As a bottleneck: no operator, but a container or a link."""

_FULL = 1 - 1e-12
_HALVINGS = 40


@dataclass(frozen=True)
class ManyEstimates:
    """Estimates of plans (first axis) under loads (second axis); of draws, these are an axis before both.

    utilisation: of the busiest instance of each operator, shape (plans, loads, operators), under the offered load.
    saturation_scale: by what factor the load could grow; bottleneck: number of the operator that saturates first, OTHER
    where it is a container or a link; both of shape (plans, loads). throughput_per_s: what each source takes in, shape
    (plans, loads, sources). latency: None where it was left out. excuses: why a plan could not be evaluated, by its
    number; its numbers are NaN.
    """

    operators: tuple[str, ...]
    sources: tuple[str, ...]
    utilisation: Floats
    saturation_scale: Floats
    bottleneck: Ints
    throughput_per_s: Floats
    excuses: Mapping[int, Excuse]
    latency: ManyLatencies | None = None

    @property
    def stable(self) -> Flags:
        """Whether each plan carries each load, shape (plans, loads)."""
        return self.saturation_scale > 1.0


@dataclass(frozen=True)
class _Asked:
    latency: bool
    arrival_cv2: float
    delays: Mapping[str, Delay]
    site: Site


def evaluate_many(
    topology: Topology,
    profiles: Profiles,
    plans: Sequence[PhysicalPlan],
    loads_per_s: Mapping[str, npt.ArrayLike],
    *,
    latency: bool = True,
    arrival_cv2: float = 1.0,
    delays: Mapping[str, Delay] | None = None,
    site: Site = NOWHERE,
) -> ManyEstimates:
    """What each plan would do under each load, as `evaluate` says it of one of each; latency by three moments.

    loads_per_s: per source one rate for each load, shape (loads,). latency: False leaves it out. arrival_cv2: squared
    variation of the times between arrivals to each source; 1 is Poisson. delays: what streams add beside queue and
    service, by `a->b`, and what tuples wait before a source, by its name. site: where plans with a packing run; where
    outputs follow windows, only the speed of nodes is used of it. Raises ModelError for loads, profiles or delays
    that do not fit the topology; a plan that does not fit is excused.
    """
    loads = _checked_loads(topology, profiles, loads_per_s)
    asked = _Asked(latency, arrival_cv2, delays or {}, site)
    return _estimates(topology, profiles, plans, Scenarios(loads), asked)


def evaluate_draws(
    topology: Topology,
    profiles: Profiles,
    plans: Sequence[PhysicalPlan],
    loads_per_s: Mapping[str, npt.ArrayLike],
    draws: ParameterDraws,
    *,
    latency: bool = True,
    arrival_cv2: float = 1.0,
    delays: Mapping[str, Delay] | None = None,
    site: Site = NOWHERE,
) -> ManyEstimates:
    """evaluate_many for each draw of the parameters: arrays of shape (draws, plans, loads), the last axis as there."""
    loads = _checked_loads(topology, profiles, loads_per_s)
    asked = _Asked(latency, arrival_cv2, delays or {}, site)
    told = _estimates(topology, profiles, plans, draws.scenarios(loads), asked)
    return _folded(told, draws.count, loads.shape[0])


def evaluate_scenarios(
    topology: Topology,
    profiles: Profiles,
    plans: Sequence[PhysicalPlan],
    scenarios: Scenarios,
    *,
    latency: bool = True,
    arrival_cv2: float = 1.0,
    delays: Mapping[str, Delay] | None = None,
    site: Site = NOWHERE,
) -> ManyEstimates:
    """evaluate_many where each load has parameters of its own; scenarios instead of loads in all shapes."""
    _checked_loads(topology, profiles, dict(zip(topology.sources, scenarios.loads_per_s.T, strict=True)))
    asked = _Asked(latency, arrival_cv2, delays or {}, site)
    return _estimates(topology, profiles, plans, scenarios, asked)


def _folded(told: ManyEstimates, draws: int, loads: int) -> ManyEstimates:
    """Draws apart from loads."""

    def folded(each: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.moveaxis(each.reshape(each.shape[0], draws, loads, *each.shape[2:]), 1, 0)

    latency = told.latency
    return ManyEstimates(
        told.operators,
        told.sources,
        folded(told.utilisation),
        folded(told.saturation_scale),
        folded(told.bottleneck),
        folded(told.throughput_per_s),
        told.excuses,
        None if latency is None else ManyLatencies(*(folded(each) for each in vars(latency).values())),
    )


def _checked_loads(topology: Topology, profiles: Profiles, loads_per_s: Mapping[str, npt.ArrayLike]) -> Floats:
    """Shape (loads, sources)."""
    given = {source: np.atleast_1d(np.asarray(rates, dtype=np.float64)) for source, rates in loads_per_s.items()}
    lengths = {rates.size for rates in given.values()}
    if len(lengths) > 1 or any(rates.ndim != 1 for rates in given.values()):
        raise ModelError(f"loads of {sorted(lengths)} rates; give every source one rate for each load")
    if 0 in lengths:
        raise ModelError("no load at all; give every source at least one rate")
    # The extremes stand for all: a negative or infinite rate is one of them, NaN is both.
    for extreme in (np.min, np.max):
        check_load(topology, profiles, {source: float(extreme(rates)) for source, rates in given.items()})
    return np.stack([given[source] for source in topology.sources], axis=1)


def _estimates(
    topology: Topology, profiles: Profiles, plans: Sequence[PhysicalPlan], scenarios: Scenarios, asked: _Asked
) -> ManyEstimates:
    if unknown := sorted(set(asked.delays) - {stream.name for stream in topology.streams} - set(topology.sources)):
        raise ModelError(f"delay of {unknown[0]}, which is no stream and no source; streams are named `a->b`")
    excuses = {number: why for number, plan in enumerate(plans) if (why := unfit(topology, plan)) is not None}
    fitting = [number for number in range(len(plans)) if number not in excuses]
    job = _Job(topology, profiles, asked)
    shape = (len(plans), scenarios.count)
    # Operators first: each writes a plane of its own.
    utilisation = np.full((len(topology.order), *shape), np.nan)
    scale, bottleneck = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    taken = np.full((*shape, len(topology.sources)), np.nan)
    latency = ManyLatencies(*(np.full(shape, np.nan) for _ in range(4))) if asked.latency else None
    across = min(scenarios.count, SCENARIOS)
    at_once = max(1, CELLS // across)
    for begin in range(0, len(fitting), at_once):
        chosen = fitting[begin : begin + at_once]
        # Slices where they will do: they are no copies.
        at = slice(chosen[0], chosen[-1] + 1) if chosen[-1] - chosen[0] + 1 == len(chosen) else chosen
        these = [plans[number] for number in chosen]
        for first in range(0, scenarios.count, across):
            of = slice(first, min(scenarios.count, first + across))
            told = job.estimated(these, scenarios.part(of.start, of.stop))
            utilisation[:, at, of], scale[at, of], bottleneck[at, of] = told[:3]
            taken[at, of] = told[3]
            if latency is not None and told[4] is not None:
                for whole, part in zip(vars(latency).values(), vars(told[4]).values(), strict=True):
                    whole[at, of] = part
    if not any(profiles[name].windowed for name in topology.order):
        for number in fitting:
            limited = site_use(topology, profiles, plans[number], asked.site)
            if limited[0].size:
                _bounded(scenarios.loads_per_s, *limited, scale[number], bottleneck[number], taken[number])
                if latency is not None:
                    for each in vars(latency).values():
                        each[number][scale[number] <= 1] = UNSTABLE
    return ManyEstimates(
        topology.order,
        topology.sources,
        np.moveaxis(utilisation, 0, 2),
        scale,
        bottleneck,
        taken,
        excuses,
        latency,
    )


def _bounded(loads: Floats, use: Floats, slows: Flags, scale: Floats, bottleneck: Ints, taken: Floats) -> None:
    """What containers and links of one plan leave of its saturation and of what sources take in; the last three change.

    loads, taken: shape (scenarios, sources). use, slows: of site_use, shape (limits, sources).
    """
    with np.errstate(divide="ignore"):
        room = 1 / (loads @ use.T).max(axis=1)
    bottleneck[room < scale] = OTHER
    np.minimum(scale, room, out=scale)
    for _ in range(use.shape[0]):
        used = taken @ use.T
        worst = used.argmax(axis=1)
        most = np.take_along_axis(used, worst[:, None], 1)
        if not (most > 1 / _FULL).any():
            break
        np.divide(taken, most, out=taken, where=(most > 1 / _FULL) & slows[worst])


class _Job:
    """A topology with its profiles, and what was worked out of it before."""

    def __init__(self, topology: Topology, profiles: Profiles, asked: _Asked) -> None:
        self._topology = topology
        self._profiles = profiles
        self._asked = asked
        self._known = KnownShares(topology.engine)
        self._windowed = any(profiles[name].windowed for name in topology.order)

    def rates(
        self, plans: Sequence[PhysicalPlan], scenarios: Scenarios, *, kinds: bool = False
    ) -> Iterator[OperatorRates]:
        return many_rates(
            self._topology, self._profiles, plans, scenarios, self._known, kinds=kinds, site=self._asked.site
        )

    def estimated(
        self, plans: Sequence[PhysicalPlan], scenarios: Scenarios
    ) -> tuple[Floats, Floats, Ints, Floats, ManyLatencies | None]:
        """Utilisation (operators, plans, scenarios), scale and bottleneck (plans, scenarios), what sources take in
        (plans, scenarios, sources), latency.
        """
        shape = (len(plans), scenarios.count)
        recursion = None
        if self._asked.latency:
            recursion = LatencyRecursion(
                self._topology,
                self._profiles,
                shape,
                self._asked.arrival_cv2,
                self._asked.delays,
                scenarios.service_cv2,
            )
        used = np.empty((len(self._topology.order), *shape))
        busiest, bottleneck = np.full(shape, -1.0), np.zeros(shape, dtype=np.int64)
        for number, operator in enumerate(self.rates(plans, scenarios, kinds=recursion is not None)):
            own = operator.busiest[operator.row]
            used[number] = own
            bottleneck[own > busiest] = number
            np.maximum(busiest, own, out=busiest)
            if recursion is not None:
                recursion.take(operator)
        with np.errstate(over="ignore", divide="ignore"):
            scale = 1 / busiest
        taken = np.broadcast_to(scenarios.loads_per_s, (*shape, scenarios.loads_per_s.shape[1])).copy()
        if self._windowed:
            self._solved(plans, scenarios, scale, bottleneck, taken)
        elif (busiest > 1 / _FULL).any():
            self._slow(plans, scenarios, busiest, bottleneck, taken)
        latency = recursion.latencies(busiest < 1) if recursion is not None else None
        return used, scale, bottleneck, taken, latency

    @property
    def _fed(self) -> Flags:
        """Whether each operator, when full, slows each source, shape (operators, sources)."""
        topology = self._topology
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(topology.order)
        graph.add_edges_from((stream.upstream, stream.downstream) for stream in topology.streams)
        feeds = np.ones((len(topology.order), len(topology.sources)), dtype=bool)
        if topology.engine is not Engine.HERON:
            for column, source in enumerate(topology.sources):
                reached = nx.descendants(graph, source) | {source}
                feeds[:, column] = [name in reached for name in topology.order]
        return feeds

    def _slow(
        self, plans: Sequence[PhysicalPlan], scenarios: Scenarios, busiest: Floats, bottleneck: Ints, taken: Floats
    ) -> None:
        """What sources take in under backpressure, as throughput.throughput_per_s says it; changes `taken`."""
        fed = self._fed
        over = busiest > 1 / _FULL
        slowed = over[:, :, None] & fed[bottleneck]
        np.divide(taken, busiest[:, :, None], out=taken, where=slowed)
        # Where every source that gives anything is slowed, all operators are brought down alike, and that was all.
        again = over & ((~slowed) & (taken > 0)).any(axis=2)
        if not again.any():
            return
        at, where = np.nonzero(again)
        different, plan_of = np.unique(at, return_inverse=True)
        busy = self._busy_per_unit([plans[number] for number in different], scenarios)
        rates = taken[at, where]
        for _ in self._topology.order:
            used = np.stack([self._used(each, plan_of, where, rates) for each in busy], axis=1)
            worst = used.argmax(axis=1)
            most = np.take_along_axis(used, worst[:, None], 1)
            if not (most > 1 / _FULL).any():
                break
            rates = np.where((most > 1 / _FULL) & fed[worst], rates / np.maximum(most, 1e-300), rates)
        taken[at, where] = rates

    def _busy_per_unit(self, plans: Sequence[PhysicalPlan], scenarios: Scenarios) -> list[tuple[Ints, Floats]]:
        """Per operator the row of each plan, and what keeps its instances busy per unit of each source's load, shape
        (rows, instances, scenarios or 1, sources).
        """
        sources = len(self._topology.sources)
        count = 1 if scenarios.alike else scenarios.count
        loads = np.tile(np.eye(sources), (count, 1))
        units = Scenarios(loads) if scenarios.alike else scenarios.under(loads, lambda each: np.repeat(each, sources))
        return [(of.row, of.busy.reshape(*of.busy.shape[:2], count, sources)) for of in self.rates(plans, units)]

    @staticmethod
    def _used(busy: tuple[Ints, Floats], plan_of: Ints, where: Ints, rates: Floats) -> Floats:
        """Of the busiest instance under rates of shape (cells, sources), for plans and scenarios of the cells."""
        row, per_unit = busy
        cell = per_unit[row[plan_of], :, where if per_unit.shape[2] > 1 else 0]
        return np.asarray(np.einsum("cks,cs->ck", cell, rates).max(axis=1))

    def _solved(
        self, plans: Sequence[PhysicalPlan], scenarios: Scenarios, scale: Floats, bottleneck: Ints, taken: Floats
    ) -> None:
        """Where outputs follow windows: saturation is sought, as throughput.saturation_of does; plan by plan."""
        fed = self._fed
        for number, plan in enumerate(plans):
            scale[number], bottleneck[number] = self._saturation(plan, scenarios)
            at = np.arange(scenarios.count)
            scales, worst = scale[number], bottleneck[number]
            for _ in self._topology.order:
                over = scales < _FULL
                if not over.any():
                    break
                at, scales, worst = at[over], scales[over], worst[over]
                taken[number, at] *= np.where(fed[worst], scales[:, None], 1.0)
                now = scenarios.under(taken[number, at], partial(np.take, indices=at))
                scales, worst = self._saturation(plan, now)

    def _saturation(self, plan: PhysicalPlan, scenarios: Scenarios) -> tuple[Floats, Ints]:
        """Scale and bottleneck of each scenario: the first crossing of 1, upwards from where nothing saturates."""

        def used(scales: Floats) -> Floats:
            scaled = scenarios.under(scenarios.loads_per_s * scales[:, None])
            return np.stack([operator.busiest[0] for operator in self.rates([plan], scaled)])

        busiest = used(np.ones(scenarios.count)).max(axis=0)
        low = np.minimum(1.0, 0.5 / np.maximum(busiest, 0.5))
        while (too_high := used(low).max(axis=0) >= 1).any():
            low = np.where(too_high, low / 2, low)
        begun, high = low, low
        found = ~scenarios.loads_per_s.any(axis=1)
        none = found.copy()
        while not found.all() and (high < LARGEST_SCALE * begun).any():
            low = np.where(found, low, high)
            high = np.where(found, high, high * SEARCH_STEP)
            found = found | (used(high).max(axis=0) >= 1)
        crossing = found & ~none
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = used(middle).max(axis=0) >= 1
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.where(crossing, high, np.inf), used(np.where(crossing, high, 1.0)).argmax(axis=0)
