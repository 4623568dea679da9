"""How even the arrivals at each instance are: variability passed from operator to operator, sources first.

Round robin smooths a stream, hashing and filtering thin it at random, many tuples made of one come together; what
leaves an operator carries the variability of its arrivals and services on (Whitt's queueing network analyser, 1983).
Instances that are routed to in turn get more at the same time and less at the same time: over long spans what they give
together varies as what was given to them together does, over short ones they are independent streams. So both are
handed on (modeling/queueing/departures.py), and so are batches, as far as who reads them is slower than who passed them
on, and a rate that goes up and down. Below saturation only: no backpressure here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats, Ints
from modeling.flow.rates import OperatorFlow, rows_of
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Grouping, Stream, Topology
from modeling.latency.kind_loads import KindLoads
from modeling.queueing.batches import Batches
from modeling.queueing.bursts import Arrivals, Levels
from modeling.queueing.departures import Carried
from modeling.queueing.queues import MERGED

Plans = slice | Ints
Mixed = TypeVar("Mixed", Carried, Levels)

ONE_BY_ONE = (Grouping.FORWARD, Grouping.RESCALE)
"""Groupings under which an instance hears of some of those before it only. LOCAL_OR_SHUFFLE is taken as a shuffle: what
is routed within a container alone comes a little evener than it is told."""


@dataclass(frozen=True)
class StreamBatches:
    """Batches in which tuples come by one stream; arrays of shape (plans or 1, scenarios).

    part: of all that enters. whole: before it is routed, as far as its tuples wait for each other. receivers: among how
    many it is routed in turn, None where it is hashed. regular: the part of it that comes at even times, 0 to 1.
    """

    part: Floats
    whole: Batches
    receivers: Floats | None
    regular: Floats

    def at(self, plans: slice, thin: Floats) -> Batches:
        """At an instance of each kind; arguments as of Arriving.at."""
        whole = Batches(kinds_of_plans(self.whole.mean, plans), kinds_of_plans(self.whole.of_tuple, plans))
        return whole.thinned(thin) if self.receivers is None else whole.routed(kinds_of_plans(self.receivers, plans))

    @property
    def arrays(self) -> tuple[Floats | None, ...]:
        return self.part, self.whole.mean, self.whole.of_tuple, self.receivers, self.regular

    def taken(self, plans: Plans) -> "StreamBatches":
        part, mean, of_tuple, regular = (
            _of_plans(each, plans) for each in (self.part, self.whole.mean, self.whole.of_tuple, self.regular)
        )
        receivers = None if self.receivers is None else _of_plans(self.receivers, plans)
        return StreamBatches(part, Batches(mean, of_tuple), receivers, regular)


def _of_plans(each: Floats, plans: Plans) -> Floats:
    return each if each.shape[0] == 1 else np.asarray(each[plans])


def kinds_of_plans(each: Floats, plans: slice) -> Floats:
    """What is alike for all kinds of these plans, shape (plans or 1, 1, scenarios or 1)."""
    return _of_plans(each, plans)[:, None]


@dataclass
class Arriving:
    """ca² − 1 at the instances, by what decides it; shape (plans or 1, scenarios).

    hashed: of hashed streams, as if all went to one instance; kept: of the others at each instance. Both are what long
    spans have more than short ones; what these have, where tuples come in batches, is in `batches`. several: how
    many streams come together, less one. levels: between which the rate goes up and down, None where it stays.
    """

    hashed: Floats | None = None
    kept: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    several: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    batches: list[StreamBatches] = field(default_factory=list)
    levels: Levels | None = None

    def plain(self) -> "Arriving":
        """The same without what is 0 everywhere: Poisson arrivals that are hashed stay so, whoever gives them."""
        hashed = self.hashed if self.hashed is not None and self.hashed.any() else None
        uneven = hashed is not None or bool(self.kept.any())
        kept, several = (each if uneven else np.zeros((1, 1)) for each in (self.kept, self.several))
        return Arriving(hashed, kept, several, self.batches, self.levels)

    @property
    def by_row(self) -> bool:
        """Whether all plans are given as evenly."""
        parts = [self.hashed, self.kept, self.several, *(each for one in self.batches for each in one.arrays)]
        if self.levels is not None:
            parts += [self.levels.share, self.levels.factor, self.levels.mean_s]
        return all(part is None or part.shape[0] == 1 for part in parts)

    def taken(self, plans: Ints) -> "Arriving":
        """Of these plans."""
        return Arriving(
            None if self.hashed is None else _of_plans(self.hashed, plans),
            _of_plans(self.kept, plans),
            _of_plans(self.several, plans),
            [each.taken(plans) for each in self.batches],
            self.levels_of(plans),
        )

    def levels_of(self, plans: Plans) -> Levels | None:
        if self.levels is None:
            return None
        return Levels(*(_of_plans(each, plans) for each in (self.levels.share, self.levels.factor, self.levels.mean_s)))

    def at(self, plans: slice, thin: Floats, idle2: Floats) -> Floats:
        """Shape (plans or 1, kinds or 1, scenarios or 1), of these plans.

        thin: part of all that enters which an instance of each kind is given. idle2: its idle part, squared.
        """
        found = kinds_of_plans(self.kept, plans)
        if self.hashed is not None:
            found = thin * kinds_of_plans(self.hashed, plans) + found
        if (self.several > 0).any():
            # Albin's hybrid (1984), with the constant of MERGED: over short spans many streams look Poisson.
            found = found / (1 + idle2 * (MERGED * kinds_of_plans(self.several, plans)))
        return found + (self.batch(plans, thin) - 1) if self.batches else found

    def batch(self, plans: slice, thin: Floats) -> Floats:
        """E[X²]/E[X] of batches that come at any time, of the tuples at an instance of each kind, as `at`."""
        more: Floats = np.zeros((1, 1, 1))
        for each in self.batches:
            random = kinds_of_plans(each.part * (1 - each.regular), plans)
            more = more + random * (each.at(plans, thin).of_tuple - 1)
        return 1 + more

    def ca2(self, loads: KindLoads) -> Floats:
        """Squared variation of the gaps between arrivals at an instance of each kind, shape (plans or 1, kinds or 1,
        scenarios or 1).
        """
        thin, busy = loads.by_plan(loads.thin), loads.by_plan(np.minimum(loads.busy, 1.0))
        return np.maximum(1 + self.at(slice(None), thin, (1 - busy) ** 2), 0.0)


@dataclass(frozen=True)
class _Train:
    """Tuples that came in a batch and have been passed on one after the other: sizes, seconds between two of them, and
    the part of them that comes at even times; shape (plans or 1, scenarios).
    """

    sizes: Batches
    apart_s: Floats
    regular: Floats


@dataclass(frozen=True)
class _Passed:
    """What is known of an operator that others read: of all its instances together, and of the busiest alone."""

    profile: OperatorProfile
    number: Ints
    taken: Floats
    senders: Floats
    together: Carried
    alone: Carried | None
    train: _Train | None
    levels: Levels | None


class Variability:
    """Takes one operator after the other, in topological order, and keeps only what later ones need.

    arrivals: to each source. Which instance of it an arrival comes to is taken as random: partitions of a log by key
    are, and nobody deals to them in turn.
    """

    def __init__(self, topology: Topology, arrivals: Arrivals) -> None:
        self._topology = topology
        self._arrivals = arrivals
        self._passed: dict[str, _Passed] = {}
        self._readers = {name: len(topology.outputs(name)) for name in topology.order}

    def take(self, flow: OperatorFlow, loads: KindLoads) -> tuple[Arriving, Ints]:
        """At the instances of the operator; and a number for each plan, the same where all of that is."""
        name = flow.name
        streams, outputs = self._topology.inputs(name), self._topology.outputs(name)
        one_by_one = any(stream.grouping in ONE_BY_ONE for stream in outputs)
        if streams:
            arriving, came, alone, train = self._arriving(streams, flow, loads, one_by_one)
        else:
            arriving, came, alone, train = self._from_outside(flow, loads)
        number = rows_of([flow.row, *(self._passed[stream.upstream].number for stream in streams)])[1]
        if outputs:
            cs2 = loads.by_plan(loads.cv2[:, 0])
            self._passed[name] = _Passed(
                flow.profile,
                number,
                loads.by_plan(flow.entering_per_s),
                loads.parallelism,
                came.past(loads.memory_s, cs2),
                alone.past(loads.memory_s, cs2) if one_by_one and alone is not None else None,
                None if train is None else _Train(train.sizes, np.maximum(train.apart_s, loads.apart_s), train.regular),
                None if arriving.levels is None else arriving.levels.past(loads.used),
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
        polling = flow.profile.polling
        if polling is not None:
            # Whatever came to an instance since it last asked comes at once.
            sizes = Batches.sized(loads.by_plan(flow.entering_per_s) / loads.parallelism * polling.interval_s)
            ones = np.ones((1, 1))
            arriving.batches.append(StreamBatches(ones, sizes, ones, ones))
            train = _Train(sizes, loads.apart_s * loads.parallelism, ones)
        return arriving, Carried.arriving([[1 + more]]), Carried.arriving(1 + more / loads.parallelism), train

    def _arriving(
        self, streams: tuple[Stream, ...], flow: OperatorFlow, loads: KindLoads, one_by_one: bool
    ) -> tuple[Arriving, Carried, Carried | None, _Train | None]:
        """At the instances; what comes to all of them together; with one_by_one, to the busiest of them alone; and the
        batches in which it comes.
        """
        arriving = Arriving()
        squares: Floats = np.zeros((1, 1))
        came: list[tuple[Floats, Carried]] = []
        alone: list[tuple[Floats, Carried]] = []
        trains: list[tuple[Floats, _Train]] = []
        levels: list[tuple[Floats, Levels]] = []
        for stream in streams:
            before, part = self._passed[stream.upstream], loads.part(stream.name)
            out = loads.by_plan(flow.stream_per_s[stream.name])
            made = np.where(before.taken > 0, out / np.where(before.taken > 0, before.taken, 1.0), 1.0)
            whole = _selected(before.together, made, before.profile.selectivity_cv2.get(stream.name))
            senders, receivers = senders_and_receivers(stream.grouping, before.senders, loads.parallelism)
            given = whole
            if before.alone is not None and stream.grouping in ONE_BY_ONE:
                some = (senders - 1) / np.maximum(before.senders - 1, 1.0)
                of_some = before.alone.together(before.together, some)
                given = _selected(of_some, made, before.profile.selectivity_cv2.get(stream.name))
            felt = self._felt(given, stream, senders, receivers, before, loads, alone=len(streams) == 1)
            squares = squares + part**2 / senders
            hashed = stream.grouping is Grouping.FIELDS
            short: Floats = np.ones((1, 1))
            if (comes := _comes(stream, before, out, made)) is not None:
                trains.append((part, comes.train))
                waiting, regular = comes.waiting(loads.apart_s), comes.train.regular
                arriving.batches.append(StreamBatches(part, waiting, None if hashed else receivers, regular))
                short = 1 + (1 - regular) * (waiting.of_tuple - 1)
            if hashed:
                more = part * (felt - short)
                arriving.hashed = more if arriving.hashed is None else arriving.hashed + more
            else:
                arriving.kept = arriving.kept + part * (felt / receivers - np.maximum(short / receivers, 1.0))
            came.append((part, whole))
            if one_by_one:
                share = 1 / receivers if not hashed else loads.by_plan(loads.thin.max(axis=1))
                alone.append((part, given.scaled(share, 1 - share if hashed else 0.0)))
            if before.levels is not None:
                levels.append((part, before.levels))
        arriving.several = 1 / squares - 1
        if levels:
            arriving.levels = _mixed(levels)
        return arriving, _mixed(came), _mixed(alone) if alone else None, _coupled(trains) if trains else None

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
            line = one if stream.grouping in ONE_BY_ONE else one & (before.senders == 1) & (loads.parallelism == 1)
            if line.any():
                in_line = given.ca2_in_line(loads.used, loads.memory_s, cs2)
                return np.where(line, in_line, given.ca2(loads.used, loads.memory_s))
        return given.ca2(loads.used, loads.memory_s)


_NEARLY_CONSTANT = 0.15
"""cs2 from which on stations in line are not what constant services make of them at all."""


def _selected(carried: Carried, made: Floats, made_cv2: float | None) -> Carried:
    """Of a stream of which `made` tuples are made of each one. made_cv2: squared variation of that number, None where
    it is as even as can be: below 1 each is kept at random, above 1 it is the same.
    """
    if made_cv2 is not None:
        return carried.scaled(made, made * made_cv2)
    if (made == 1).all():
        return carried
    return carried.scaled(made, np.maximum(1 - made, 0.0))


def _mixed(parts: Sequence[tuple[Floats, Mixed]]) -> Mixed:
    """Streams that come together, weighed by rate."""
    total, mixed = parts[0]
    for part, other in parts[1:]:
        total = total + part
        mixed = mixed.together(other, part / np.where(total > 0, total, 1.0))
    return mixed


@dataclass(frozen=True)
class _Comes:
    """Batches of a stream that is about to be read: of those made at once, and of all that came one after the other."""

    at_once: Batches
    train: _Train

    def waiting(self, apart_s: Floats) -> Batches:
        """As far as they wait for each other where instances take so long for a tuple, all at work together."""
        after = self.train.sizes.of_tuple - self.at_once.of_tuple
        # Of two numbers next to 0 too.
        sooner = np.minimum(self.train.apart_s, apart_s)
        lasting = np.where(apart_s > 0, 1 - sooner / np.where(apart_s > 0, apart_s, 1.0), 1.0)
        more = self.at_once.of_tuple - 1 + after * lasting
        part = more / np.maximum(self.train.sizes.of_tuple - 1, 1e-12)
        return Batches.between(1 + (self.train.sizes.mean - 1) * part, 1 + more)


def _comes(stream: Stream, before: _Passed, rate_per_s: Floats, made: Floats) -> _Comes | None:
    """None where tuples come one by one."""
    windowed = before.profile.windowed.get(stream.name)
    if windowed is not None:
        if windowed.fires_every_s is None:
            return None
        # All keys, in all instances, at once.
        sizes = Batches.sized(rate_per_s * windowed.fires_every_s)
        return _Comes(sizes, _Train(sizes, np.zeros((1, 1)), np.ones((1, 1))))
    cv2 = before.profile.selectivity_cv2.get(stream.name, 0.0)
    if before.train is None:
        if not (cv2 or (made > 1).any()):
            return None
        sizes = Batches.sized(made, cv2)
        return _Comes(sizes, _Train(sizes, np.zeros((1, 1)), np.zeros((1, 1))))
    at_once, came = Batches.sized(made, cv2), before.train
    kept = came.sizes.thinned(np.minimum(made, 1.0))
    each = np.maximum(made, 1.0)
    sizes = Batches.between(kept.mean * each, at_once.of_tuple + each * (kept.of_tuple - 1))
    return _Comes(at_once, _Train(sizes, came.apart_s / np.maximum(made, 1e-12), came.regular))


def _coupled(trains: Sequence[tuple[Floats, _Train]]) -> _Train:
    """What comes by several streams as one; what comes one by one has the rest of the weight."""
    more = sum(part * (train.sizes.of_tuple - 1) for part, train in trains)
    fewer = sum(part * (1 - 1 / train.sizes.mean) for part, train in trains)
    weights = [part * (train.sizes.of_tuple - 1) / np.maximum(more, 1e-12) for part, train in trains]
    return _Train(
        Batches.between(1 / (1 - np.minimum(fewer, 1 - 1e-12)), np.asarray(1 + more)),
        np.asarray(sum(weight * train.apart_s for weight, (_, train) in zip(weights, trains, strict=True))),
        np.asarray(sum(weight * train.regular for weight, (_, train) in zip(weights, trains, strict=True))),
    )


def senders_and_receivers(
    grouping: Grouping, upstream: npt.ArrayLike, downstream: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Of how many instances before it one gets a stream, and to how many each of those deals it in turn."""
    up, down = np.asarray(upstream, dtype=np.float64), np.asarray(downstream, dtype=np.float64)
    if grouping in ONE_BY_ONE:
        return np.maximum(up // down, 1.0), np.maximum(down // up, 1.0)
    return up, down if grouping in (Grouping.SHUFFLE, Grouping.LOCAL_OR_SHUFFLE) else np.ones_like(down)
