"""Rates of many plans under many scenarios at once, operator by operator.

A scenario is a load with, optionally, parameters of its own. What an operator is given depends on its own parallelism
and, under pointwise groupings, on that of the operators before it, not on the whole plan: plans in which it is given
the same share one row. So the work is one pass over the operators on arrays (rows, instances, scenarios).
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from modeling.flow.rates import stream_dealing
from modeling.flow.routing import POINTWISE, instance_shares
from modeling.inputs.node_speeds import node_factors
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placement import containers_of
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Name = TypeVar("Name", bound=Hashable)

ALIKE = 0.01
"""Instances whose shares lie within so much of each other count as one kind with their mean share: waits are then off
by a thousandth at a utilisation of .9. The busiest instance itself, which decides what saturates, is kept exactly."""


@dataclass(frozen=True)
class Scenarios:
    """loads_per_s: shape (scenarios, sources). All others have the shape (scenarios,) and multiply, or stand for, what
    the profile says; what is left out is as profiled.

    service_factor and service_cv2 per operator; selectivity_factor per stream name; stream_service_factor per stream
    that enters, in place of the operator's service_factor; input_selectivity_factor by (stream that leaves, stream that
    enters); scale_exponent and coordination_s per operator, instead of its efficiency's.
    """

    loads_per_s: Floats
    service_factor: Mapping[str, Floats] = field(default_factory=dict)
    service_cv2: Mapping[str, Floats] = field(default_factory=dict)
    selectivity_factor: Mapping[str, Floats] = field(default_factory=dict)
    stream_service_factor: Mapping[str, Floats] = field(default_factory=dict)
    input_selectivity_factor: Mapping[tuple[str, str], Floats] = field(default_factory=dict)
    scale_exponent: Mapping[str, Floats] = field(default_factory=dict)
    coordination_s: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return int(self.loads_per_s.shape[0])

    @property
    def alike(self) -> bool:
        """Whether all have the same service times and selectivities."""
        return not (
            self.service_factor
            or self.selectivity_factor
            or self.stream_service_factor
            or self.input_selectivity_factor
            or self.scale_exponent
            or self.coordination_s
        )

    def under(self, loads_per_s: Floats, taken: Callable[[Floats], Floats] = lambda each: each) -> "Scenarios":
        """Other loads. taken: what becomes of every parameter, so that there are as many as loads."""

        def each_of(per_name: Mapping[Name, Floats]) -> dict[Name, Floats]:
            return {name: taken(each) for name, each in per_name.items()}

        return Scenarios(
            loads_per_s,
            each_of(self.service_factor),
            each_of(self.service_cv2),
            each_of(self.selectivity_factor),
            each_of(self.stream_service_factor),
            each_of(self.input_selectivity_factor),
            each_of(self.scale_exponent),
            each_of(self.coordination_s),
        )

    def part(self, begin: int, end: int) -> "Scenarios":
        return self.under(self.loads_per_s[begin:end], lambda each: each[begin:end])


@dataclass(frozen=True)
class ByPlan:
    """Rows that several plans may share: rows[of[plan]] is a plan's, one entry a scenario."""

    of: Ints
    rows: Floats

    def every(self) -> Floats:
        """Shape (plans, scenarios), or (1, scenarios) where all plans have the same."""
        return self.rows if self.rows.shape[0] == 1 else self.rows[self.of]


@dataclass(frozen=True)
class Kinds:
    """The different instances of an operator, rows as in OperatorRates; a row that has fewer is filled with none.

    number: how many instances there are of each, shape (rows, kinds). taken_per_s, busy: of one instance of each kind,
    shape (rows, kinds, scenarios). service_s: mean per tuple, the same shape or (rows, 1, scenarios) where all kinds
    are alike. service_cv2: of a tuple of any stream, shape (rows or 1, scenarios or 1).
    """

    number: Ints
    taken_per_s: Floats
    busy: Floats
    service_s: Floats
    service_cv2: Floats


@dataclass(frozen=True)
class OperatorRates:
    """One operator in all plans.

    row: of each plan. parallelism: of each row. entering_per_s: per stream that enters, as often as it is dealt, shape
    (rows, scenarios); stream_per_s: the same before it is dealt (an ALL stream counts once). busiest: utilisation of
    the busiest instance, shape (rows, scenarios). kinds: None where nobody asked. given_per_s: per stream that leaves.
    """

    name: str
    row: Ints
    parallelism: Ints
    entering_per_s: Mapping[str, Floats]
    stream_per_s: Mapping[str, Floats]
    busiest: Floats
    busy: Floats
    kinds: Kinds | None
    given_per_s: Mapping[str, ByPlan]

    @property
    def total_per_s(self) -> Floats:
        return np.asarray(sum(self.entering_per_s.values()))


@dataclass(frozen=True)
class Shares:
    """Of each stream that enters an operator: exact: of its different instances, shape (streams, different). alike: of
    its kinds, of which there are `number` each. instances: of every instance.
    """

    exact: Floats
    alike: Floats
    number: Ints
    instances: Floats


class KnownShares:
    """Shares by what decides them, worked out once; operators with the same groupings and the very same keys share."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[tuple[object, ...], Shares] = {}

    def of(self, reader: Operator, profile: OperatorProfile, streams: Sequence[Stream], parallelism: int) -> Shares:
        """streams: that enter; none for a source, which is dealt evenly."""
        keys = [profile.keys_of(stream.name) for stream in streams]
        what = (
            parallelism,
            reader.max_parallelism,
            *((s.grouping, s.shares) for s in streams),
            *(id(each) for each in keys),
        )
        if what not in self._known:
            shares = [
                instance_shares(
                    stream.grouping,
                    parallelism,
                    engine=self._engine,
                    max_parallelism=reader.max_parallelism,
                    keys=each,
                    shares=stream.shares or None,
                )
                for stream, each in zip(streams, keys, strict=True)
            ] or [np.full(parallelism, 1 / parallelism)]
            self._known[what] = _shares(np.stack(shares))
        return self._known[what]


def _shares(instances: Floats) -> Shares:
    even = instances / np.maximum(instances.mean(axis=1, keepdims=True), 1e-300)
    with np.errstate(divide="ignore"):
        steps = np.round(np.log(np.maximum(even, 1e-9)) / ALIKE)
    _, kind, number = np.unique(steps, axis=1, return_inverse=True, return_counts=True)
    alike = np.stack([np.bincount(kind.ravel(), weights=row) for row in instances]) / number
    return Shares(np.unique(instances, axis=1), alike, number, instances)


def many_rates(
    topology: Topology,
    profiles: Profiles,
    plans: Sequence[PhysicalPlan],
    scenarios: Scenarios,
    known: KnownShares,
    *,
    kinds: bool = True,
    site: Site = NOWHERE,
) -> Iterator[OperatorRates]:
    """Every operator in topological order. The plans fit the topology (fitting.unfit says which do)."""
    containers = [containers_of(plan) for plan in plans]
    packed = any(containers)
    slower = [node_factors(plan, site) for plan in plans] if packed and site.service_factor else []
    given: dict[str, ByPlan] = {}
    dealt: dict[str, _Dealt] = {}
    for name in topology.order:
        streams = topology.inputs(name)
        parallelism = np.array([plan.parallelism[name] for plan in plans])
        pointwise = [stream for stream in streams if stream.grouping in POINTWISE]
        deciding = [parallelism, *(given[stream.name].of for stream in streams)]
        deciding += [dealt[stream.upstream].of for stream in pointwise]
        if packed and any(stream.grouping is Grouping.LOCAL_OR_SHUFFLE for stream in pointwise):
            ends = {end for stream in pointwise for end in (stream.upstream, name)}
            deciding.append(_numbered([tuple(where.get(end) for end in sorted(ends)) for where in containers]))
        if slower:
            deciding.append(_numbered([tuple(np.atleast_1d(each.get(name, 1.0)).tolist()) for each in slower]))
        first, row = _rows(deciding)
        counts = parallelism[first]
        if streams:
            stream_per_s = {stream.name: given[stream.name].rows[given[stream.name].of[first]] for stream in streams}
        else:
            offered = scenarios.loads_per_s[:, topology.sources.index(name)]
            stream_per_s = {"": np.broadcast_to(offered, (first.size, offered.size))}
        copies = {stream.name for stream in streams if stream.grouping is Grouping.ALL}
        entering = {of: rate * counts[:, None] if of in copies else rate for of, rate in stream_per_s.items()}
        service = {of: _service_s(profiles[name], of, counts, scenarios) for of in entering}

        reader, profile = topology.operator(name), profiles[name]
        by_instance: dict[str, Floats] | None = None
        if pointwise or slower:
            by_instance = _by_instance(topology, profiles, plans, containers, first, name, stream_per_s, dealt)
            factors = np.ones((first.size, int(counts.max())))
            for at, plan in enumerate(first):
                if slower:
                    factors[at, : counts[at]] = slower[plan].get(name, 1.0)
            each_busy = np.asarray(sum(rate * service[of][:, None] for of, rate in by_instance.items()))
            busy = each_busy * factors[:, :, None]
            busiest = busy.max(axis=1)
            found = _kinds_of_instances(counts, by_instance, busy) if kinds else None
        else:
            shares = [known.of(reader, profile, streams, int(count)) for count in counts]
            exact = _padded([each.exact for each in shares])
            cost = {of: rate * service[of] for of, rate in stream_per_s.items()}
            busy = _spread(exact, cost)
            busiest = busy.max(axis=1)
            found = _kinds_of_shares(shares, stream_per_s, cost) if kinds else None
        if not streams and profile.polling is not None:
            # An instance that may not ask for more is as full as one that is busy; it does not work more for it.
            asked = stream_per_s[""] / counts[:, None] * profile.polling.least_s
            busy, busiest = np.maximum(busy, asked[:, None]), np.maximum(busiest, asked)
        known_kinds = None
        if found is not None:
            number, taken, used = found
            idle_s = _service_s(profile, "", counts, scenarios)
            one_service = not slower and not profile.stream_service_s
            service_s = idle_s[:, None] if one_service else _service_of_kinds(taken, used, idle_s)
            cv2 = scenarios.service_cv2.get(name, np.array([profile.service_cv2]))[None]
            known_kinds = Kinds(number, taken, used, service_s, _mixed_cv2(profile, stream_per_s, service, cv2))

        leaving: dict[str, ByPlan] = {}
        for out in topology.outputs(name):
            rate = _given_per_s(profile, out.name, entering, scenarios)
            rate = rate * scenarios.selectivity_factor.get(out.name, 1.0)
            leaving[out.name] = given[out.name] = _deduped(row, rate)
        if any(out.grouping in POINTWISE for out in topology.outputs(name)):
            if by_instance is None:
                every = _padded([known.of(reader, profile, streams, int(count)).instances for count in counts])
                by_instance = {
                    of: every[:, j, :, None] * rate[:, None] for j, (of, rate) in enumerate(stream_per_s.items())
                }
            dealt[name] = _Dealt.of_rows(row, counts, topology, profile, by_instance, entering, scenarios)
        yield OperatorRates(name, row, counts, entering, stream_per_s, busiest, busy, known_kinds, leaving)


@dataclass(frozen=True)
class _Dealt:
    """What instances give out, per stream of shape (rows, instances, scenarios). of: row of each plan."""

    of: Ints
    parallelism: Ints
    given_per_s: Mapping[str, Floats]

    @classmethod
    def of_rows(
        cls,
        row: Ints,
        counts: Ints,
        topology: Topology,
        profile: OperatorProfile,
        by_instance: Mapping[str, Floats],
        entering: Mapping[str, Floats],
        scenarios: Scenarios,
    ) -> "_Dealt":
        # As many operators as give alike share a row, whatever was before them.
        given: dict[str, Floats] = {}
        for out in topology.outputs(profile.operator):
            if out.grouping not in POINTWISE:
                continue
            whole = _given_per_s(profile, out.name, entering, scenarios) * scenarios.selectivity_factor.get(
                out.name, 1.0
            )
            if out.name in profile.input_selectivity and out.name not in profile.windowed:
                ratios = _input_selectivity(profile, out.name, scenarios)
                parts = np.asarray(sum(rate * ratios.get(of, 0.0) for of, rate in by_instance.items()))
            else:
                parts = np.asarray(sum(by_instance.values()))
            total = parts.sum(axis=1, keepdims=True)
            even = np.broadcast_to((np.arange(parts.shape[1]) < counts[:, None])[:, :, None], parts.shape)
            share = np.where(total > 0, parts / np.where(total > 0, total, 1.0), even / counts[:, None, None])
            given[out.name] = share * whole[:, None]
        numbers = _numbered([(int(c), *(g[at].tobytes() for g in given.values())) for at, c in enumerate(counts)])
        _, first = np.unique(numbers, return_index=True)
        return cls(numbers[row], counts[first], {name: each[first] for name, each in given.items()})


def _by_instance(
    topology: Topology,
    profiles: Profiles,
    plans: Sequence[PhysicalPlan],
    containers: Sequence[Mapping[str, tuple[int, ...]]],
    first: Ints,
    name: str,
    stream_per_s: Mapping[str, Floats],
    dealt: Mapping[str, _Dealt],
) -> dict[str, Floats]:
    """What enters each instance by each stream, shape (rows, instances, scenarios); of the plans numbered `first`."""
    streams = topology.inputs(name)
    counts = [plans[plan].parallelism[name] for plan in first]
    if not streams:
        there = np.arange(max(counts)) < np.array(counts)[:, None]
        (rate,) = stream_per_s.values()
        return {"": there[:, :, None] * (rate / np.array(counts)[:, None])[:, None]}
    found: dict[str, Floats] = {}
    for stream in streams:
        rate = stream_per_s[stream.name]
        entering = np.zeros((first.size, max(counts), rate.shape[1]))
        for at, plan in enumerate(first):
            dealing = stream_dealing(topology, profiles, plans[plan], stream, containers[plan])
            if dealing.shares.ndim == 1:
                entering[at, : counts[at]] = dealing.shares[:, None] * rate[at]
            else:
                before = dealt[stream.upstream]
                up = before.of[plan]
                giving = before.given_per_s[stream.name][up, : before.parallelism[up]]
                entering[at, : counts[at]] = dealing.shares.T @ giving
        found[stream.name] = entering
    return found


def _given_per_s(
    profile: OperatorProfile, stream: str, entering_per_s: Mapping[str, Floats], scenarios: Scenarios
) -> Floats:
    if stream in profile.windowed:
        return profile.windowed[stream].given_at_once_per_s(entering_per_s)
    if stream in profile.input_selectivity:
        ratios = _input_selectivity(profile, stream, scenarios)
        return np.asarray(sum(rate * ratios.get(of, 0.0) for of, rate in entering_per_s.items()))
    return profile.given_per_s(stream, entering_per_s)


def _input_selectivity(profile: OperatorProfile, stream: str, scenarios: Scenarios) -> dict[str, Floats]:
    factor = scenarios.input_selectivity_factor
    return {
        entering: ratio * factor.get((stream, entering), np.ones(1))
        for entering, ratio in profile.input_selectivity[stream].items()
    }


def _service_s(profile: OperatorProfile, stream: str, counts: Ints, scenarios: Scenarios) -> Floats:
    """Shape (rows, scenarios or 1)."""
    name, efficiency = profile.operator, profile.efficiency
    factor = scenarios.stream_service_factor.get(stream, scenarios.service_factor.get(name, np.ones(1)))
    if name not in scenarios.scale_exponent and name not in scenarios.coordination_s:
        each = np.array([[profile.service_s_of(stream, int(count))] for count in counts])
        return each * factor
    # As ScaleEfficiency.service_s says it, of many shapes at once.
    exponent = scenarios.scale_exponent.get(name, np.array([efficiency.exponent]))
    coordination_s = scenarios.coordination_s.get(name, np.array([efficiency.coordination_s]))
    service_s = profile.stream_service_s.get(stream, profile.service_s)
    further = counts[:, None] - efficiency.measured_at
    scaled = service_s * (counts[:, None] / efficiency.measured_at) ** (1 - exponent)
    return np.asarray(np.maximum(scaled + coordination_s * further, 0.0) * factor)


def _mixed_cv2(
    profile: OperatorProfile, stream_per_s: Mapping[str, Floats], service: Mapping[str, Floats], cv2: Floats
) -> Floats:
    """Of a tuple of any stream, as path_latency.stations has it: what streams differ by comes on top."""
    if not profile.stream_service_s or len(stream_per_s) < 2:
        return cv2
    weight = np.stack([stream_per_s[of] for of in stream_per_s])
    each_s = np.stack(np.broadcast_arrays(*(service[of] for of in stream_per_s)))
    mean_s = (weight * each_s).sum(axis=0)
    squares = (weight * each_s**2).sum(axis=0) * weight.sum(axis=0)
    return np.where(mean_s > 0, (1 + cv2) * squares / np.where(mean_s > 0, mean_s, 1.0) ** 2 - 1, cv2)


def _kinds_of_shares(
    shares: Sequence[Shares],
    stream_per_s: Mapping[str, Floats],
    cost: Mapping[str, Floats],
) -> tuple[Ints, Floats, Floats]:
    """Number, taken_per_s and busy of Kinds."""
    alike = _padded([each.alike for each in shares])
    number = np.zeros((len(shares), alike.shape[2]), dtype=np.int64)
    for at, each in enumerate(shares):
        number[at, : each.number.size] = each.number
    return number, _spread(alike, stream_per_s), _spread(alike, cost)


def _kinds_of_instances(counts: Ints, by_instance: Mapping[str, Floats], busy: Floats) -> tuple[Ints, Floats, Floats]:
    """Number, taken_per_s and busy of Kinds: one kind where all are alike, as many as instances elsewhere."""
    taken = np.asarray(sum(by_instance.values()))
    there = np.arange(taken.shape[1]) < counts[:, None]
    even = taken.sum(axis=1) / counts[:, None]
    busy_even = busy.sum(axis=1) / counts[:, None]
    alike = all(
        (np.abs(each - mean[:, None]) <= 1e-9 * mean[:, None]).all(where=there[:, :, None])
        for each, mean in ((taken, even), (busy, busy_even))
    )
    if alike:
        return counts[:, None], even[:, None], busy_even[:, None]
    return there.astype(np.int64), taken, busy


def _service_of_kinds(taken: Floats, busy: Floats, idle_s: Floats) -> Floats:
    return np.where(taken > 0, busy / np.where(taken > 0, taken, 1.0), idle_s[:, None])


def _spread(shares: Floats, per_stream: Mapping[str, Floats]) -> Floats:
    """Shape (rows, kinds, scenarios). shares: (rows, streams, kinds)."""
    if len(per_stream) == 1:
        (rate,) = per_stream.values()
        return np.asarray(shares[:, 0, :, None] * rate[:, None])
    return np.asarray(shares.transpose(0, 2, 1) @ np.stack(list(per_stream.values()), axis=1))


def _padded(parts: Sequence[Floats]) -> Floats:
    """Arrays of shape (streams, any) as one of shape (parts, streams, most)."""
    most = max(part.shape[1] for part in parts)
    whole = np.zeros((len(parts), parts[0].shape[0], most))
    for at, part in enumerate(parts):
        whole[at, :, : part.shape[1]] = part
    return whole


def _rows(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The first plan of each combination, and the combination of each plan."""
    combined = columns[0]
    for column in columns[1:]:
        if int(column.max()) > 0:
            _, combined = np.unique(combined * (int(column.max()) + 1) + column, return_inverse=True)
    _, first, row = np.unique(combined, return_index=True, return_inverse=True)
    return first, row


def _numbered(values: Sequence[object]) -> Ints:
    """A number for each value, the same for equal ones."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _deduped(of: Ints, rows: Floats) -> ByPlan:
    if rows.shape[0] == 1:
        return ByPlan(np.zeros_like(of), rows)
    if (rows == rows[0]).all():
        return ByPlan(np.zeros_like(of), rows[:1].copy())
    numbers = _numbered([row.tobytes() for row in rows])
    _, first = np.unique(numbers, return_index=True)
    return ByPlan(numbers[of], rows[first])
