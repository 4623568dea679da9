"""Variability of the arrivals at each instance, propagated from operator to operator, sources first.

Round robin smooths a stream, hashing and filtering thin it at random, and tuples made from one arrive together;
departures inherit the variability of arrivals and services (Whitt's queueing network analyser, 1983). Instances fed in
turn get more, or less, at the same time: over long spans their total output varies like their total input, over short
spans they are independent streams. So both are propagated (modeling/queueing/departures.py), as well as batches, if the
reader is slower than the sender, and fluctuating rates. Valid below saturation only, without backpressure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats, Ints
from modeling.flow.rates import OperatorFlow, rows_of
from modeling.flow.routing import POINTWISE
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Grouping, Stream, Topology
from modeling.latency.kind_loads import KindLoads
from modeling.queueing.batches import Batches
from modeling.queueing.bursts import Arrivals, BurstWaits, Levels, burst_waits
from modeling.queueing.departures import Carried
from modeling.queueing.queues import merged_excess

Plans = slice | Ints
Mixed = TypeVar("Mixed", Carried, Levels)

ONE_BY_ONE = (Grouping.FORWARD, Grouping.RESCALE)
"""Groupings under which an instance reads from only some upstream instances, whatever the packing."""


@dataclass(frozen=True)
class StreamBatches:
    """Batches in which tuples of one stream arrive; arrays of shape (plans or 1, scenarios).

    part: share of all input. whole: batches before routing, as far as their tuples wait for each other. receivers:
    number of instances served in turn, None if hashed. regular: share that arrives at regular times, 0 to 1. others: of
    a tuple's batch, how many came by other ways, whose turns have nothing to do with each other.
    """

    part: Floats
    whole: Batches
    receivers: Floats | None
    regular: Floats
    others: Floats

    def at(self, plans: slice, thin: Floats) -> Batches:
        """Batches at one instance of each kind; arguments as in Arriving.at."""
        whole = Batches(kinds_of_plans(self.whole.mean, plans), kinds_of_plans(self.whole.of_tuple, plans))
        others = kinds_of_plans(self.others, plans)
        if self.receivers is None:
            # Where streams are read by key, copies of a tuple have the same key.
            return whole.thinned(thin, others / np.maximum(whole.of_tuple - others, 1.0))
        return whole.routed(kinds_of_plans(self.receivers, plans), others)

    @property
    def arrays(self) -> tuple[Floats | None, ...]:
        return self.part, self.whole.mean, self.whole.of_tuple, self.receivers, self.regular, self.others

    def taken(self, plans: Plans) -> "StreamBatches":
        part, mean, of_tuple, regular, others = (
            _of_plans(each, plans)
            for each in (self.part, self.whole.mean, self.whole.of_tuple, self.regular, self.others)
        )
        receivers = None if self.receivers is None else _of_plans(self.receivers, plans)
        return StreamBatches(part, Batches(mean, of_tuple), receivers, regular, others)


def _of_plans(each: Floats, plans: Plans) -> Floats:
    return each if each.shape[0] == 1 else np.asarray(each[plans])


def _levels_of(levels: Levels | None, plans: Plans) -> Levels | None:
    if levels is None:
        return None
    return Levels(*(_of_plans(each, plans) for each in (levels.share, levels.factor, levels.mean_s)))


def kinds_of_plans(each: Floats, plans: slice) -> Floats:
    """Values common to all kinds of these plans, shape (plans or 1, 1, scenarios or 1)."""
    return _of_plans(each, plans)[:, None]


@dataclass
class Arriving:
    """ca² − 1 at the instances, split by origin; shape (plans or 1, scenarios).

    hashed: of hashed streams, as if all went to one instance. kept: of the others at each instance. Both are the excess
    of long spans over short ones; the variability of short spans due to batches is in `batches`. several: number of
    merging streams, less one. levels: of the fluctuating rate at which work arrives, None if constant; of_tuples and
    of_squares: likewise of tuples, and of their squared service times, which differ where streams have unlike ones.
    burst_weight: share of the tuples in bursts; burst_weights: of each stream's. polled_s: interval at which instances
    of a source poll for their batches, 0 if tuples are pushed.
    """

    hashed: Floats | None = None
    kept: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    several: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    batches: list[StreamBatches] = field(default_factory=list)
    levels: Levels | None = None
    of_tuples: Levels | None = None
    of_squares: Levels | None = None
    burst_weight: Floats | None = None
    burst_weights: dict[str, Floats] = field(default_factory=dict)
    polled_s: float = 0.0

    def plain(self) -> "Arriving":
        """The same without terms that are 0 everywhere: hashed Poisson arrivals stay Poisson, whatever their sender."""
        hashed = self.hashed if self.hashed is not None and self.hashed.any() else None
        uneven = hashed is not None or bool(self.kept.any())
        kept, several = (each if uneven else np.zeros((1, 1)) for each in (self.kept, self.several))
        return replace(self, hashed=hashed, kept=kept, several=several)

    @property
    def by_row(self) -> bool:
        """Whether arrivals are equally variable in all plans."""
        parts = [self.hashed, self.kept, self.several, *(each for one in self.batches for each in one.arrays)]
        for levels in (self.levels, self.of_squares):
            parts += [] if levels is None else [levels.share, levels.factor, levels.mean_s]
        return all(part is None or part.shape[0] == 1 for part in parts)

    def taken(self, plans: Ints) -> "Arriving":
        """The arrivals of these plans."""
        return Arriving(
            None if self.hashed is None else _of_plans(self.hashed, plans),
            _of_plans(self.kept, plans),
            _of_plans(self.several, plans),
            [each.taken(plans) for each in self.batches],
            _levels_of(self.levels, plans),
            of_squares=_levels_of(self.of_squares, plans),
            polled_s=self.polled_s,
        )

    def burst_waits(self, plans: slice, busy: Floats, wait_s: Floats) -> BurstWaits | None:
        """Waits of tuples in bursts and of the others at these plans' kinds, None if the rate is constant. wait_s: the
        wait at a constant rate.
        """
        levels, squares = (_levels_of(each, plans) for each in (self.levels, self.of_squares))
        if levels is None:
            return None
        # Exponential services with the same wait at that utilisation.
        customer_s = wait_s * (1 - busy) / np.maximum(busy, 1e-12)
        return burst_waits(busy, customer_s, levels.of_kinds, None if squares is None else squares.of_kinds)

    def at(self, plans: slice, thin: Floats, busy: Floats, cs2: Floats) -> Floats:
        """ca² − 1 of these plans, shape (plans or 1, kinds or 1, scenarios or 1).

        thin: share of all input for one instance of each kind. busy: its utilisation. cs2: of its services.
        """
        found = kinds_of_plans(self.kept, plans)
        if self.hashed is not None:
            found = thin * kinds_of_plans(self.hashed, plans) + found
        if (self.several > 0).any():
            found = found * merged_excess(kinds_of_plans(self.several, plans), busy, cs2)
        return found + (self.batch(plans, thin) - 1) if self.batches else found

    def batch(self, plans: slice, thin: Floats) -> Floats:
        """E[X²]/E[X] of batches at random times, over the tuples at one instance of each kind, as in `at`."""
        more: Floats = np.zeros((1, 1, 1))
        for each in self.batches:
            random = kinds_of_plans(each.part * (1 - each.regular), plans)
            more = more + random * (each.at(plans, thin).of_tuple - 1)
        return 1 + more

    def ca2(self, loads: KindLoads) -> Floats:
        """Squared coefficient of variation of interarrival times at one instance of each kind, shape (plans or 1, kinds
        or 1, scenarios or 1).
        """
        thin, busy, cs2 = (loads.by_plan(each) for each in (loads.thin, loads.busy, loads.cv2))
        return np.maximum(1 + self.at(slice(None), thin, busy, cs2), 0.0)


@dataclass(frozen=True)
class _Train:
    """Tuples that arrived in a batch and departed one by one: sizes, seconds between two tuples, and the share at
    regular times; shape (plans or 1, scenarios). origins: operators that made the batches. some: share of their tuples
    of which this way has any.
    """

    sizes: Batches
    apart_s: Floats
    regular: Floats
    origins: frozenset[str]
    some: Floats = field(default_factory=lambda: np.ones((1, 1)))


@dataclass(frozen=True)
class _Passed:
    """Departures of an operator with readers: of all its instances together, and of the busiest alone."""

    profile: OperatorProfile
    number: Ints
    taken: Floats
    senders: Floats
    together: Carried
    alone: Carried | None
    train: _Train | None
    levels: Levels | None


class Variability:
    """Processes operators in topological order, keeping only what later ones need.

    arrivals: at each source. The instance of an arrival is assumed random, as for log partitions by key, which are not
    filled in turn.
    """

    def __init__(self, topology: Topology, arrivals: Arrivals) -> None:
        self._topology = topology
        self._arrivals = arrivals
        self._passed: dict[str, _Passed] = {}
        self._readers = {name: len(topology.outputs(name)) for name in topology.order}

    def take(self, flow: OperatorFlow, loads: KindLoads) -> tuple[Arriving, Ints]:
        """Arrivals at the operator's instances, and an index for each plan, equal if all of that is equal."""
        name = flow.name
        streams, outputs = self._topology.inputs(name), self._topology.outputs(name)
        one_by_one = any(stream.grouping in POINTWISE for stream in outputs)
        if streams:
            arriving, arrivals, alone, train = self._arriving(streams, flow, loads, one_by_one)
        else:
            arriving, arrivals, alone, train = self._from_outside(flow, loads)
        number = rows_of([flow.row, *(self._passed[stream.upstream].number for stream in streams)])[1]
        if outputs:
            cs2 = loads.by_plan(loads.cv2[:, 0])
            self._passed[name] = _Passed(
                flow.profile,
                number,
                loads.by_plan(flow.entering_per_s),
                loads.parallelism,
                arrivals.past(loads.memory_s, cs2),
                alone.past(loads.memory_s, cs2) if one_by_one and alone is not None else None,
                None if train is None else replace(train, apart_s=np.maximum(train.apart_s, loads.apart_s)),
                None if arriving.of_tuples is None else arriving.of_tuples.past(loads.used),
            )
        for stream in streams:
            self._readers[stream.upstream] -= 1
            if not self._readers[stream.upstream]:
                del self._passed[stream.upstream]
        arriving = arriving.plain()
        return arriving, flow.row if arriving.by_row else number

    def _from_outside(self, flow: OperatorFlow, loads: KindLoads) -> tuple[Arriving, Carried, Carried, _Train | None]:
        arrivals = self._arrivals.at(flow.name)
        more = arrivals.cv2 - 1
        arriving, train = Arriving(kept=more / loads.parallelism), None
        if arrivals.bursts is not None:
            one = arrivals.bursts.levels
            arriving.levels = Levels(*(np.full((1, 1), each) for each in (one.share, one.factor, one.mean_s)))
            arriving.of_tuples, arriving.burst_weight = arriving.levels, arriving.levels.weight
        polling = flow.profile.polling
        if polling is not None:
            # All arrivals since an instance's last poll come at once.
            sizes = Batches.sized(loads.by_plan(flow.entering_per_s) / loads.parallelism * polling.interval_s)
            ones = np.ones((1, 1))
            arriving.batches.append(StreamBatches(ones, sizes, ones, ones, np.zeros((1, 1))))
            arriving.polled_s = polling.interval_s
            train = _Train(sizes, loads.apart_s * loads.parallelism, ones, frozenset({flow.name}))
        return arriving, Carried.arriving([[1 + more]]), Carried.arriving(1 + more / loads.parallelism), train

    def _arriving(
        self, streams: tuple[Stream, ...], flow: OperatorFlow, loads: KindLoads, one_by_one: bool
    ) -> tuple[Arriving, Carried, Carried | None, _Train | None]:
        """Arrivals at the instances; in total over all instances; with one_by_one, at the busiest alone; and their
        batches.
        """
        arriving = Arriving()
        squares: Floats = np.zeros((1, 1))
        arrivals: list[tuple[Floats, Carried]] = []
        alone: list[tuple[Floats, Carried]] = []
        batches: dict[tuple[frozenset[str], Grouping], list[tuple[Floats, _BatchedStream, Floats | None, int]]] = {}
        levels: list[tuple[Floats, Floats, Levels]] = []
        for stream in streams:
            before, part, work = self._passed[stream.upstream], loads.part(stream.name), loads.work(stream.name)
            out = loads.by_plan(flow.stream_per_s[stream.name])
            made = np.where(before.taken > 0, out / np.where(before.taken > 0, before.taken, 1.0), 1.0)
            whole = _selected(before.together, made, before.profile.selectivity_cv2.get(stream.name))
            if stream.name in flow.partners:
                senders, receivers = (loads.by_plan(each[:, None]) for each in flow.partners[stream.name])
            else:
                senders, receivers = senders_and_receivers(stream.grouping, before.senders, loads.parallelism)
            given = whole
            if before.alone is not None and stream.grouping in POINTWISE:
                some = (senders - 1) / np.maximum(before.senders - 1, 1.0)
                of_some = before.alone.together(before.together, some)
                given = _selected(of_some, made, before.profile.selectivity_cv2.get(stream.name))
            felt = self._felt(given, stream, senders, receivers, before, loads, alone=len(streams) == 1)
            squares = squares + part**2 / senders
            hashed = stream.grouping is Grouping.FIELDS
            short: Floats = np.ones((1, 1))
            forks = stream.upstream in self._topology.forks
            if (batched := _batched_stream(stream, before, out, made, forks=forks)) is not None:
                alike = batches.setdefault((batched.train.origins, stream.grouping), [])
                alike.append((part, batched, None if hashed else receivers, len(arrivals)))
                short = 1 + (1 - batched.train.regular) * (batched.waiting(loads.apart_s)[0].of_tuple - 1)
            # What makes others wait is the variance of work: of tuples that take k times as long it is k² times.
            weight = part * work**2
            if hashed:
                more = weight * (felt - short)
                arriving.hashed = more if arriving.hashed is None else arriving.hashed + more
            else:
                arriving.kept = arriving.kept + weight * (felt / receivers - np.maximum(short / receivers, 1.0))
            arrivals.append((part, whole))
            if one_by_one:
                share = 1 / receivers if not hashed else loads.by_plan(loads.thin.max(axis=1))
                alone.append((part, given.scaled(share, 1 - share if hashed else 0.0)))
            if before.levels is not None:
                levels.append((part, work, before.levels))
                arriving.burst_weights[stream.name] = before.levels.weight
        arriving.several = 1 / squares - 1
        trains: list[tuple[Floats, _Train]] = []
        for alike in batches.values():
            part, batched, others = _meeting([(each, one) for each, one, *_ in alike])
            trains.append((part, batched.train))
            hidden = sum(each * arrivals[at][1].hidden(1.0, loads.memory_s) for each, _, _, at in alike) / np.maximum(
                part, 1e-12
            )
            waiting, met = batched.waiting(loads.apart_s, 1 / (1 + hidden))
            if (waiting.of_tuple > 1).any():
                arriving.batches.append(StreamBatches(part, waiting, alike[0][2], batched.train.regular, met))
            for (*_, at), (_, one, *_), more in zip(alike, alike, others, strict=True):
                # Over long spans, what comes by other ways comes more or less at the same time.
                together = 1 + more / one.train.sizes.of_tuple
                arrivals[at] = arrivals[at][0], arrivals[at][1].varying(together)
                if one_by_one:
                    alone[at] = alone[at][0], alone[at][1].varying(together)
        if levels:
            arriving.of_tuples, arriving.levels, arriving.of_squares = (
                _mixed([(part * work**power, each) for part, work, each in levels]) for power in (0, 1, 2)
            )
            arriving.burst_weight = np.asarray(sum(part * each.weight for part, _, each in levels))
            if not flow.profile.stream_service_s:
                arriving.of_squares = None
        return arriving, _mixed(arrivals), _mixed(alone) if alone else None, _coupled(trains) if trains else None

    @staticmethod
    def _felt(
        given: Carried,
        stream: Stream,
        senders: Floats,
        receivers: Floats,
        before: _Passed,
        loads: KindLoads,
        alone: bool,
    ) -> Floats:
        cs2 = loads.by_plan(loads.cv2[:, 0])
        if alone and (cs2 < _NEARLY_CONSTANT).any() and (given.even_ca2 < _NEARLY_CONSTANT).any():
            one = (senders == 1) & (receivers == 1)
            line = one if stream.grouping in POINTWISE else one & (before.senders == 1) & (loads.parallelism == 1)
            if line.any():
                in_line = given.ca2_in_line(loads.used, loads.memory_s, cs2)
                return np.where(line, in_line, given.ca2(loads.used, loads.memory_s))
        return given.ca2(loads.used, loads.memory_s)


_ALL = 1e-6
"""Ways that all tuples but so few take are taken by all."""

_NEARLY_CONSTANT = 0.15
"""cs2 from which the correction for constant services in line vanishes."""


def _selected(carried: Carried, made: Floats, made_cv2: float | None) -> Carried:
    """Variability of a stream with `made` output tuples per input tuple. made_cv2: squared coefficient of variation of
    that number, None for the most even case: below 1 tuples are kept at random, above 1 the number is constant.
    """
    if made_cv2 is not None:
        return carried.scaled(made, made * made_cv2)
    if (made == 1).all():
        return carried
    return carried.scaled(made, np.maximum(1 - made, 0.0))


def _mixed(parts: Sequence[tuple[Floats, Mixed]]) -> Mixed:
    """Superposition of streams, weighted by rate."""
    total, mixed = parts[0]
    for part, other in parts[1:]:
        total = total + part
        mixed = mixed.together(other, part / np.where(total > 0, total, 1.0))
    return mixed


@dataclass(frozen=True)
class _BatchedStream:
    """Batches of a stream before it is read: those made at once, and all that arrived one after the other. others: of
    a tuple's batch, how many come by other ways.
    """

    at_once: Batches
    train: _Train
    others: Floats = field(default_factory=lambda: np.zeros((1, 1)))

    def waiting(self, apart_s: Floats, seen: Floats | float = 0.0) -> tuple[Batches, Floats]:
        """Batches as far as their tuples wait for each other, if all instances together take apart_s per tuple; and the
        part of `others`. seen: weight of the spans over which other ways bring theirs.
        """
        after = self.train.sizes.of_tuple - self.at_once.of_tuple - self.others
        # Also safe for two numbers close to 0.
        sooner = np.minimum(self.train.apart_s, apart_s)
        lasting = np.where(apart_s > 0, 1 - sooner / np.where(apart_s > 0, apart_s, 1.0), 1.0)
        met = self.others * np.maximum(lasting, seen)
        more = self.at_once.of_tuple - 1 + after * lasting + met
        part = more / np.maximum(self.train.sizes.of_tuple - 1, 1e-12)
        return Batches.between(1 + (self.train.sizes.mean - 1) * part, 1 + more), met


def _batched_stream(
    stream: Stream, before: _Passed, rate_per_s: Floats, made: Floats, *, forks: bool
) -> _BatchedStream | None:
    """Batches of a stream; None if tuples arrive one by one. forks: whether they meet others that were made with them;
    then each is a batch of one until then.
    """
    windowed, origins = before.profile.windowed.get(stream.name), frozenset({before.profile.operator})
    if windowed is not None:
        if windowed.fires_every_s is None:
            return None
        # All keys fire at once, in all instances.
        sizes = Batches.sized(rate_per_s * windowed.fires_every_s)
        return _BatchedStream(sizes, _Train(sizes, np.zeros((1, 1)), np.ones((1, 1)), origins))
    cv2 = before.profile.selectivity_cv2.get(stream.name, 0.0)
    if before.train is None:
        if not (cv2 or (made > 1).any() or forks):
            return None
        sizes = Batches.sized(np.maximum(made, 1.0) if forks and not cv2 else made, cv2)
        some = np.minimum(made / np.maximum(sizes.mean, 1e-12), 1.0)
        return _BatchedStream(sizes, _Train(sizes, np.zeros((1, 1)), np.zeros((1, 1)), origins, some))
    at_once, train = Batches.sized(made, cv2), before.train
    kept = train.sizes.thinned(np.minimum(made, 1.0))
    each = np.maximum(made, 1.0)
    sizes = Batches.between(kept.mean * each, at_once.of_tuple + each * (kept.of_tuple - 1))
    apart_s = train.apart_s / np.maximum(made, 1e-12)
    some = np.minimum(train.some * train.sizes.mean * made / np.maximum(sizes.mean, 1e-12), 1.0)
    return _BatchedStream(at_once, _Train(sizes, apart_s, train.regular, train.origins, some))


def _meeting(streams: Sequence[tuple[Floats, _BatchedStream]]) -> tuple[Floats, _BatchedStream, Sequence[Floats]]:
    """Streams whose batches were made of the same tuples, as arms of a diamond, as one: their trains meet again. Also,
    how many tuples of the others come with one of each stream.
    """
    if len(streams) == 1:
        return *streams[0], [np.zeros((1, 1))]
    whole = np.asarray(sum(part for part, _ in streams))
    # Where nothing flows, all count alike.
    weights = [np.where(whole > 0, part / np.maximum(whole, 1e-12), 1 / len(streams)) for part, _ in streams]
    sizes, some = [each.train.sizes for _, each in streams], [each.train.some for _, each in streams]
    made = [share * size.mean for share, size in zip(some, sizes, strict=True)]
    # Ways that few tuples take: as even as that can be, as if each was for others, where not all go more than one way.
    few = [share < 1 - _ALL for share in some]
    ways = np.asarray(sum(np.where(one, share, 0.0) for one, share in zip(few, some, strict=True)))
    once = np.floor(ways + _ALL)
    besides = once * np.maximum(2 * ways - once - 1, 0.0) / np.maximum(ways, 1e-12)
    of_few = np.asarray(sum(np.where(one, each, 0.0) for one, each in zip(few, made, strict=True)))
    of_all = np.asarray(sum(made)) - of_few
    others = [
        np.where(one, of_all + besides * of_few / np.maximum(ways, 1e-12), of_all - each + of_few)
        for one, each in zip(few, made, strict=True)
    ]
    of_tuple = sum(weight * (size.of_tuple + more) for weight, size, more in zip(weights, sizes, others, strict=True))
    any_way = np.maximum(np.minimum(ways, 1.0), np.asarray(of_all > 0, dtype=np.float64))
    merged = Batches.between((of_all + of_few) / np.maximum(any_way, 1e-12), np.asarray(of_tuple))

    def mean(each: Sequence[Floats]) -> Floats:
        return np.asarray(sum(weight * one for weight, one in zip(weights, each, strict=True)))

    lasting_s = mean([size.mean * each.train.apart_s for size, (_, each) in zip(sizes, streams, strict=True)])
    at_once = Batches(
        mean([each.at_once.mean for _, each in streams]), mean([each.at_once.of_tuple for _, each in streams])
    )
    regular = mean([each.train.regular for _, each in streams])
    origins = streams[0][1].train.origins
    train = _Train(merged, lasting_s / merged.mean, regular, origins, any_way)
    return whole, _BatchedStream(at_once, train, mean(others)), others


def _coupled(trains: Sequence[tuple[Floats, _Train]]) -> _Train:
    """Trains of several streams combined; single arrivals have the remaining weight."""
    more = sum(part * (train.sizes.of_tuple - 1) for part, train in trains)
    fewer = sum(part * (1 - 1 / train.sizes.mean) for part, train in trains)
    weights = [part * (train.sizes.of_tuple - 1) / np.maximum(more, 1e-12) for part, train in trains]
    return _Train(
        Batches.between(1 / (1 - np.minimum(fewer, 1 - 1e-12)), np.asarray(1 + more)),
        np.asarray(sum(weight * train.apart_s for weight, (_, train) in zip(weights, trains, strict=True))),
        np.asarray(sum(weight * train.regular for weight, (_, train) in zip(weights, trains, strict=True))),
        frozenset().union(*(train.origins for _, train in trains)),
        np.asarray(
            sum(part * train.some for part, train in trains) / np.maximum(sum(part for part, _ in trains), 1e-12)
        ),
    )


def senders_and_receivers(
    grouping: Grouping, upstream: npt.ArrayLike, downstream: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Number of upstream instances that one instance reads from, and of instances that each upstream one serves in
    turn.
    """
    up, down = np.asarray(upstream, dtype=np.float64), np.asarray(downstream, dtype=np.float64)
    if grouping is Grouping.FORWARD:
        return np.where(up == down, 1.0, up), np.where(up == down, 1.0, down)
    if grouping in ONE_BY_ONE:
        return np.maximum(up // down, 1.0), np.maximum(down // up, 1.0)
    return up, down if grouping in (Grouping.SHUFFLE, Grouping.LOCAL_OR_SHUFFLE) else np.ones_like(down)
