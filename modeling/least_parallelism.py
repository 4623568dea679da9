"""The least parallelism that carries a load: sufficient counts of one operator, and the cheapest plan.

All answers use the same core as evaluate_many, so results hold there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

import numpy as np

from modeling.arrays import Flags, Floats
from modeling.evaluate_many import EvaluationOptions, checked_loads, loaded
from modeling.flow.limits import Limit
from modeling.flow.rates import KnownRouting
from modeling.flow.routing import POINTWISE
from modeling.flow.scenarios import Scenarios
from modeling.flow.throughput import Capacity
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.scale_efficiency import LINEAR
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Grouping, Topology
from modeling.inputs.windowed_output import WindowKind
from modeling.latency.delay import Delay
from modeling.latency.sink_times import ManyLatencies, SinkTimes
from modeling.queueing.bursts import Arrivals

Counts = Mapping[str, int]

LatencyBounds = Mapping[float | None, float]
"""Bounds in seconds, by the share of tuples within each: 0.95 is the p95, None the mean."""

ROUNDING = 1 + 1e-9
"""Tolerance factor on bounds, for rounding."""

MAX_LOADS = 32
"""Loads for which independent operators are solved at once: each parallelism is computed under all of them."""

MAX_TRIED = 4096
"""Maximum parallelisms of a coupled part, or within a latency, that are tried before the best so far is taken."""


@dataclass(frozen=True)
class Question:
    """Requirements on plans: one load, and the maximum utilisation of each operator's busiest instance.

    most: maximum per operator, in addition to its max_parallelism and partitions. price: per instance of each operator,
    in any unit, default 1; the search minimises the total price. delays: see evaluate_many. sink: whose latency
    percentiles count, None for all sinks together. site: where plans run. packed: the plan of a parallelism with its
    packing, which must exist; None leaves plans without a packing.
    """

    topology: Topology
    profiles: Profiles
    load_per_s: Mapping[str, float]
    max_utilisation: float
    most: Mapping[str, int]
    arrival_cv2: float | Arrivals = 1.0
    delays: Mapping[str, Delay] | None = None
    sink: str | None = None
    price: Mapping[str, float] = field(default_factory=dict)
    site: Site = NOWHERE
    packed: Callable[[Counts], PhysicalPlan] | None = None

    def price_of(self, parallelism: Counts) -> float:
        """Total price of all instances."""
        return sum(count * self.price.get(name, 1.0) for name, count in parallelism.items())

    def counts(self, operator: str) -> range:
        """Possible parallelisms of the operator; a custom grouping allows only one."""
        given = {len(s.shares) for s in self.topology.inputs(operator) if s.gives_parallelism}
        most = min(self.topology.operator(operator).max_busy, self.most.get(operator, inf))
        return range(max(given), min(max(given), int(most)) + 1) if given else range(1, int(most) + 1)

    def used(self, several: Sequence[Counts]) -> Floats:
        """Utilisation of the busiest instance of each operator, shape (parallelisms, operators)."""
        return self.used_limits(several)[:, : len(self.topology.order)]

    def used_limits(self, several: Sequence[Counts]) -> Floats:
        """Used share of each limit (operators, containers, links), shape (parallelisms, limits)."""
        return self._loaded(several, latency=False)[0]

    def used_under(self, several: Sequence[Counts], scenarios: Scenarios) -> Floats:
        """Utilisation of the busiest instance of each operator under other loads, shape (parallelisms, operators,
        scenarios).
        """
        if not several:
            return np.empty((0, len(self.topology.order), scenarios.count))
        return self._under(several, scenarios, latency=False)[0][:, : len(self.topology.order)]

    def limits(self, parallelism: Counts) -> list[Limit]:
        """The limits of one parallelism, in the order of `used_limits`."""
        return Capacity(self.topology, self.profiles, [self._plan(parallelism)], self.site, self._known).limits(0)

    def excess(self, several: Sequence[Counts], bounds: LatencyBounds) -> Floats:
        """Largest ratio of a utilisation to its bound, or, where no limit is full, of a latency to its own. Shape
        (parallelisms,).
        """
        used, sinks = self._loaded(several, latency=bool(bounds))
        most = used.max(axis=1)
        late = [self._latency_s(used, sinks, share) / bound for share, bound in bounds.items()]
        return np.asarray(np.max([most / self.max_utilisation, *(np.where(most < 1, of, 0.0) for of in late)], axis=0))

    def latency_s(self, several: Sequence[Counts], share: float | None) -> Floats:
        """End-to-end latency, the mean if share is None, shape (parallelisms,)."""
        return self._latency_s(*self._loaded(several), share)

    def holds(self, several: Sequence[Counts], bounds: LatencyBounds) -> Flags:
        """Whether no utilisation and no latency exceeds its bound, shape (parallelisms,)."""
        return np.asarray(self.strain(several, bounds) <= ROUNDING)

    def strain(self, several: Sequence[Counts], bounds: LatencyBounds) -> Floats:
        """Largest ratio of a latency to its bound; infinite if an operator exceeds its utilisation. Shape
        (parallelisms,).
        """
        return self._strain(*self._loaded(several, latency=bool(bounds)), bounds)

    def _strain(self, used: Floats, sinks: Mapping[str, SinkTimes], bounds: LatencyBounds) -> Floats:
        parts = [self._latency_s(used, sinks, share) / bound for share, bound in bounds.items()]
        held = (used <= self.max_utilisation * ROUNDING).all(axis=1)
        return np.where(held, np.max([np.zeros(len(used)), *parts], axis=0), inf)

    def strain_each(
        self, several: Sequence[Sequence[Counts]], loads_per_s: Floats, bounds: LatencyBounds
    ) -> list[Floats]:
        """The strain of several parallelisms under each of several loads that replace its own, computed at once.

        loads_per_s: shape (loads, sources).
        """
        load = np.repeat(np.arange(len(several)), [len(some) for some in several])
        used, sinks = self._under(
            [one for some in several for one in some], Scenarios(loads_per_s), latency=bool(bounds)
        )
        row, shape = np.arange(load.size), (load.size, len(several))

        def own(values: Floats) -> Floats:
            return np.broadcast_to(values, shape)[row, load][:, None]

        times = {name: SinkTimes.of(*map(own, sink.arrays)) for name, sink in sinks.items()}
        strains = self._strain(used[row, :, load], times, bounds)
        return np.split(strains, np.cumsum([len(some) for some in several])[:-1])

    def _loaded(self, several: Sequence[Counts], *, latency: bool = True) -> tuple[Floats, Mapping[str, SinkTimes]]:
        used, sinks = self._under(several, self._scenario, latency=latency)
        return used[:, :, 0], sinks

    def _under(
        self, several: Sequence[Counts], scenarios: Scenarios, *, latency: bool
    ) -> tuple[Floats, Mapping[str, SinkTimes]]:
        plans = [self._plan(each) for each in several]
        capacity = Capacity(self.topology, self.profiles, plans, self.site, self._known)
        options = EvaluationOptions(latency, self.arrival_cv2, self.delays or {}, self.site)
        return loaded(capacity, self.topology, scenarios, options)

    def _plan(self, parallelism: Counts) -> PhysicalPlan:
        if self.packed is not None:
            return self.packed(parallelism)
        return PhysicalPlan(self.topology.name, dict(parallelism))

    def _latency_s(self, used: Floats, sinks: Mapping[str, SinkTimes], share: float | None) -> Floats:
        stable = np.asarray((used < 1).all(axis=1, keepdims=True))
        latency = ManyLatencies(sinks, stable, np.zeros_like(stable))
        return np.asarray((latency.mean_s if share is None else latency.quantile_s(share, self.sink))[:, 0])

    @cached_property
    def loads_per_s(self) -> Floats:
        """Its one load, shape (1, sources)."""
        return checked_loads(self.topology, self.profiles, self.load_per_s)

    @cached_property
    def _scenario(self) -> Scenarios:
        return Scenarios(self.loads_per_s)

    @cached_property
    def _known(self) -> KnownRouting:
        return KnownRouting(self.topology, self.profiles)


def least_count(question: Question, parallelism: Counts, operator: str, begin: int = 1) -> int | None:
    """The fewest instances, from `begin` on, with which one operator keeps to its utilisation, others unchanged; None
    if no number does.
    """
    counts = question.counts(operator)
    if not counts or counts[-1] < begin:
        return None
    # Even routing would need this many, so fewer cannot suffice.
    evenly = even_count(question, parallelism, operator) if question.profiles[operator].efficiency == LINEAR else 0.0
    begin = max(begin, counts[0], min(counts[-1], int(evenly / ROUNDING)))
    at = question.topology.order.index(operator)
    counts = range(begin, counts[-1] + 1)
    for some in _doubling(counts):
        used = question.used([{**parallelism, operator: count} for count in some])[:, at]
        if (held := np.flatnonzero(used <= question.max_utilisation * ROUNDING)).size:
            return some[int(held[0])]
    return None


def even_count(question: Question, parallelism: Counts, operator: str) -> float:
    """Number of instances at the maximum utilisation if every stream were routed evenly."""
    evenly = replace(question, topology=_evenly_routed(question.topology))
    used = evenly.used([{**parallelism, operator: 1}])[0, question.topology.order.index(operator)]
    return float(used) / question.max_utilisation


def fewest_instances_each(questions: Sequence[Question]) -> list[dict[str, int] | str]:
    """For each question the cheapest parallelisms that keep to the utilisation, or the operator that cannot. The
    questions differ in nothing but their load: operators that are solved independently are solved for MAX_LOADS of them
    at once.

    Operators whose parallelism does not affect others are solved independently. Coupled ones (pointwise groupings
    partition by both parallelisms, and each reader of an ALL stream adds a copy) are searched together by branch and
    bound; exact unless more than MAX_TRIED must be tried.
    """
    if not questions:
        return []
    topology = questions[0].topology
    allowed = {name: questions[0].counts(name) for name in topology.order}
    if none := [name for name, counts in allowed.items() if not counts]:
        return [none[0]] * len(questions)
    parts = _coupled(topology)
    lone = [part[0] for part in parts if len(part) == 1]
    together = [part for part in parts if len(part) > 1]
    found = list[dict[str, int] | str]()
    for begin in range(0, len(questions), MAX_LOADS):
        found += _alone(questions[begin : begin + MAX_LOADS], lone)
    return [
        counts if isinstance(counts, str) else _with_coupled(question, counts, together)
        for question, counts in zip(questions, found, strict=True)
    ]


def _with_coupled(question: Question, found: dict[str, int], parts: Sequence[Sequence[str]]) -> dict[str, int] | str:
    """The parallelisms found so far with those of the coupled operators; or an operator that none keeps to its
    utilisation.
    """
    for part in parts:
        best = _Together(question, found, part).best()
        if isinstance(best, str):
            return best
        found |= best
    return found


def _alone(questions: Sequence[Question], operators: Sequence[str]) -> list[dict[str, int] | str]:
    """For each question: least_count of independent operators, all at once, and the minimum of all others; or the first
    operator that no number keeps to its utilisation. The questions differ in nothing but their load.
    """
    first = questions[0]
    topology, profiles = first.topology, first.profiles
    scenarios = Scenarios(np.concatenate([question.loads_per_s for question in questions]))
    at = {name: number for number, name in enumerate(topology.order)}
    allowed = {name: first.counts(name) for name in topology.order}
    least = {name: counts[0] for name, counts in allowed.items()}
    evenly = replace(first, topology=_evenly_routed(topology)).used_under(
        [least | dict.fromkeys(operators, 1)], scenarios
    )
    found = [dict(least) for _ in questions]
    none: list[list[str]] = [[] for _ in questions]
    left: list[dict[str, Iterator[list[int]]]] = []
    for load in range(len(questions)):
        left.append({})
        for name in operators:
            counts = allowed[name]
            even = evenly[0, at[name], load] / first.max_utilisation if profiles[name].efficiency == LINEAR else 0.0
            begin = max(counts[0], min(counts[-1], int(even / ROUNDING)))
            left[load][name] = _doubling(range(begin, counts[-1] + 1))
    while any(left):
        tried = [{name: next(several, []) for name, several in each.items()} for each in left]
        rows: dict[tuple[int, ...], int] = {}
        row_of = [
            [rows.setdefault(tuple(one.values()), len(rows)) for one in _in_step(found[load], some)]
            for load, some in enumerate(tried)
        ]
        used = first.used_under([dict(zip(topology.order, row, strict=True)) for row in rows], scenarios)
        for load, some in enumerate(tried):
            for name, chunk in some.items():
                of = used[row_of[load][: len(chunk)], at[name], load]
                held = np.flatnonzero(of <= first.max_utilisation * ROUNDING)
                if held.size:
                    found[load][name] = chunk[int(held[0])]
                elif not chunk:
                    none[load].append(name)
                if held.size or not chunk:
                    del left[load][name]
    return [min(of, key=at.__getitem__) if of else counts for counts, of in zip(found, none, strict=True)]


def _in_step(found: Counts, tried: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    """Parallelisms in which the tried counts of independent operators rise together; shorter lists keep their last."""
    for row in range(max(map(len, tried.values()), default=0)):
        yield {**found, **{name: counts[min(row, len(counts) - 1)] for name, counts in tried.items() if counts}}


class _Together:
    """Coupled operators, of which some determine the routing of others, in topological order."""

    def __init__(self, question: Question, found: Counts, part: Sequence[str]) -> None:
        self._question = question
        self._found = dict(found)
        self._part = part
        self._at = {name: question.topology.order.index(name) for name in part}
        self._least = lower_bounds(question, part)
        self._deciding = _deciding(question.topology)
        self._best: dict[str, int] | None = None
        self._tried = 0

    def best(self) -> dict[str, int] | str:
        for name in self._part:
            if self._least[name] is None:
                return name
        misfit = self._search(0, {})
        if self._best is None:
            return misfit
        while (fewer := self._one_fewer(self._best)) is not None:
            self._best = fewer
        return self._best

    def _search(self, depth: int, chosen: dict[str, int]) -> str:
        """Tries every parallelism of the operator at this depth that may lower the price; returns an operator that none
        keeps to its utilisation.
        """
        if depth == len(self._part):
            self._best = dict(chosen)
            return ""
        name = self._part[depth]
        least = {each: self._least[each] or 1 for each in self._part[depth:]}
        price = self._question.price_of
        misfit = name
        for some in _doubling([count for count in self._question.counts(name) if count >= least[name]]):
            self._tried += len(some)
            used = self._question.used([{**self._found, **least, **chosen, name: count} for count in some])
            fits = used[:, self._at[name]] <= self._question.max_utilisation * ROUNDING
            for count in (count for count, fit in zip(some, fits, strict=True) if fit):
                if self._best is not None and (
                    price({**least, **chosen, name: count}) >= price(self._best) or self._tried > MAX_TRIED
                ):
                    return ""
                misfit = self._search(depth + 1, {**chosen, name: count})
                if name not in self._deciding or (self._best is None and self._tried > 4 * MAX_TRIED):
                    return misfit
        return misfit

    def _one_fewer(self, chosen: dict[str, int]) -> dict[str, int] | None:
        """The choice with one instance less of some operator, if all still keep to the utilisation."""
        fewer = [
            {**chosen, name: count - 1} for name, count in chosen.items() if count - 1 in self._question.counts(name)
        ]
        if not fewer:
            return None
        used = self._question.used([{**self._found, **each} for each in fewer])[:, list(self._at.values())]
        holds = np.flatnonzero((used <= self._question.max_utilisation * ROUNDING).all(axis=1))
        return fewer[int(holds[0])] if holds.size else None


def lower_bounds(question: Question, operators: Iterable[str]) -> dict[str, int | None]:
    """Lower bound of each operator's parallelism: with all streams routed evenly and every upstream operator at one
    instance; None if no number suffices. Downstream of sessions, where more tuples may give fewer outputs, it is 1.
    """
    topology = question.topology
    evenly = replace(question, topology=_evenly_routed(topology))
    windows = [window for name in topology.order for window in question.profiles[name].windowed.values()]
    if any(window.kind is WindowKind.SESSION for window in windows):
        return {name: question.counts(name)[0] if question.counts(name) else None for name in operators}
    ones = dict.fromkeys(topology.order, 1)
    found: dict[str, int | None] = {}
    for name in operators:
        allowed = question.counts(name)
        least = least_count(evenly, ones, name, allowed[0]) if allowed else None
        found[name] = least if least is not None and least in allowed else None
    return found


def least_instances(question: Question, found: Counts) -> dict[str, int]:
    """Lower bounds of all parallelisms that keep to the utilisation. found: from fewest_instances_each."""
    alone = {part[0] for part in _coupled(question.topology) if len(part) == 1}
    bounds = lower_bounds(question, [name for name in found if name not in alone])
    return {name: count if name in alone else bounds[name] or 1 for name, count in found.items()}


def _evenly_routed(topology: Topology) -> Topology:
    """The topology with every stream routed evenly, except ALL streams."""
    even = tuple(
        s if s.grouping is Grouping.ALL else replace(s, grouping=Grouping.SHUFFLE, shares=()) for s in topology.streams
    )
    return replace(topology, streams=even)


def _deciding(topology: Topology) -> set[str]:
    """Operators whose parallelism affects the input of others."""
    return {
        name
        for name in topology.order
        if any(_by_both(topology, s.grouping) for s in topology.outputs(name))
        or (topology.outputs(name) and any(s.grouping is Grouping.ALL for s in topology.inputs(name)))
    }


def _by_both(topology: Topology, grouping: Grouping) -> bool:
    """Whether routing depends on the upstream parallelism. Without a packing, local is a shuffle."""
    return grouping in POINTWISE and grouping is not Grouping.LOCAL_OR_SHUFFLE


def _coupled(topology: Topology) -> list[list[str]]:
    """Groups of operators that must be searched together; groups and members in topological order."""
    parts = [{name} for name in topology.order]
    for stream in topology.streams:
        together = set[str]()
        if _by_both(topology, stream.grouping):
            together |= {stream.upstream, stream.downstream}
        if stream.grouping is Grouping.ALL:
            together |= {stream.downstream, *topology.reached[stream.downstream]}
        joined = together.union(*(part for part in parts if part & together))
        parts = [part for part in parts if not part & together] + ([joined] if joined else [])
    at = {name: number for number, name in enumerate(topology.order)}
    return sorted((sorted(part, key=at.__getitem__) for part in parts), key=lambda part: at[part[0]])


def _doubling(counts: Sequence[int]) -> Iterator[list[int]]:
    """Chunks of the counts, growing in size, since the answer is often among the first."""
    begin, size = 0, 16
    while begin < len(counts):
        yield list(counts[begin : begin + size])
        begin, size = begin + size, min(256, size * 2)
