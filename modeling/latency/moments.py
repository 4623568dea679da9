"""End-to-end latency of many plans under many scenarios: three moments through the graph, percentiles from these.

Faster than modeling/latency/distribution.py by orders of magnitude, and less exact: waits come from the closed form of
modeling/queueing/queues.py and a sum of ladder heights, instead of solving the queue, and percentiles from three
moments, instead of whole distributions. Both propagate variability by modeling/latency/variability.py.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats, Ints
from modeling.flow.kinds import ALIKE
from modeling.flow.rates import OperatorFlow, rows_of
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.pauses import Pauses
from modeling.inputs.topology import Topology
from modeling.latency.kind_loads import KindLoads
from modeling.latency.leaving import Leaving, leaving
from modeling.latency.sink_times import CELLS, SinkTimes
from modeling.latency.stream_delays import ManyDelays
from modeling.latency.variability import Arriving, Variability, kinds_of_plans
from modeling.queueing.batches import firing_waits, poll_waits
from modeling.queueing.bursts import Arrivals
from modeling.queueing.ladder_heights import even_heights, poisson_heights
from modeling.queueing.pauses import pause_waits
from modeling.queueing.queues import NEARLY_FULL, UNSTABLE
from modeling.queueing.service_shape import ServiceShape
from modeling.queueing.three_moments import TINY, EvenTimes, ThreeMoments
from modeling.queueing.two_moments import third_moment

_SELDOM = 0.02
"""Lower bound on P(wait > 0) as a fraction of utilisation: the closed form may give 0 although some tuples wait."""


@dataclass(frozen=True)
class Moments:
    """Raw moments of a time: E[T], E[T²], E[T³]; of a time that only some tuples have, times their share, `chance`,
    which is None for those of all tuples.
    """

    first: Floats
    second: Floats
    third: Floats
    chance: Floats | None = None

    @property
    def arrays(self) -> tuple[Floats, ...]:
        return (self.first, self.second, self.third, *([] if self.chance is None else [self.chance]))

    def __add__(self, other: "Moments") -> "Moments":
        """Moments of the sum of two independent times."""
        if self.chance is not None or other.chance is not None:
            return self._of_some(other)
        return Moments(
            self.first + other.first,
            self.second + 2 * self.first * other.first + other.second,
            self.third + 3 * (self.second * other.first + self.first * other.second) + other.third,
        )

    def less(self, other: "Moments") -> "Moments":
        """The other part of a sum of independent times, none below 0."""
        some = 1.0 if self.chance is None else self.chance
        first = np.maximum(self.first - some * other.first, 0.0)
        second = np.maximum(self.second - 2 * first * other.first - some * other.second, 0.0)
        third = self.third - 3 * (second * other.first + first * other.second) - some * other.third
        return Moments(first, second, np.maximum(third, 0.0), self.chance)

    def _of_some(self, other: "Moments") -> "Moments":
        one, two = (1.0 if each.chance is None else each.chance for each in (self, other))
        return Moments(
            self.first * two + other.first * one,
            self.second * two + 2 * self.first * other.first + other.second * one,
            self.third * two + 3 * (self.second * other.first + self.first * other.second) + other.third * one,
            np.asarray(one * two),
        )

    def __mul__(self, weight: Floats) -> "Moments":
        """Weighted moments, which add up to those of a mixture."""
        return Moments(*(each * weight for each in self.arrays))

    def with_chance_of(self, other: "Moments") -> "Moments":
        return Moments(*(one + two for one, two in zip(self.arrays, other.arrays, strict=True)))

    def certain(self) -> "Moments":
        """The same, as those of a share of 1."""
        return self if self.chance is not None else replace(self, chance=np.ones((1, 1)))

    def held_up(self, clear: "Moments") -> tuple[Floats, EvenTimes, ThreeMoments]:
        """Of all tuples the share that is not `clear`, the times of these, and those of the clear ones."""
        some = np.ones((1, 1)) if clear.chance is None else clear.chance
        share = np.maximum(1 - some, 0.0)
        late, others = (
            Moments(*(np.maximum(each, 0.0) / np.maximum(part, 1e-12) for each in parts)).fitted()
            for part, parts in (
                (share, (one - two for one, two in zip(self.arrays, clear.arrays[:3], strict=True))),
                (some, clear.arrays[:3]),
            )
        )
        return share, EvenTimes(*late.arrays), others

    def fitted(self) -> ThreeMoments:
        mean = np.maximum(self.first, TINY)
        relative = np.maximum(self.second / mean**2, 0.0)
        variance = np.maximum(relative - 1, 1e-14)
        third = self.third / mean**3 - 3 * relative + 2
        deviation = np.sqrt(variance)
        known = self.first > TINY
        return ThreeMoments(self.first, np.where(known, deviation * mean, 0.0), third / (variance * deviation))


def two_moment(mean_s: npt.ArrayLike, cv2: npt.ArrayLike, shape: ServiceShape | None = None) -> Moments:
    """Moments of the two-moment distribution of modeling/queueing/two_moments.py, or of one with that shape."""
    mean, spread = np.asarray(mean_s, dtype=np.float64), np.asarray(cv2, dtype=np.float64)
    third = third_moment(spread) if shape is None else shape.moments(spread)[0]
    return Moments(mean, mean**2 * (1 + spread), mean**3 * third)


class LatencyRecursion:
    """Processes operators in topological order, keeping only what later ones need.

    Under bursts, ages of tuples in bursts and of others are kept separate, since a burst delays tuples at each operator
    in turn. So are, behind operators that pause, those of the tuples that no pause has held up: few wait for pauses,
    but for long.
    """

    def __init__(self, topology: Topology, shape: tuple[int, int], arrivals: Arrivals) -> None:
        self._topology = topology
        self._shape = shape
        self._variability = Variability(topology, arrivals)
        self._age: dict[str, _Ages] = {}
        self._clear: dict[str, _Ages] = {}
        self._sinks: dict[str, tuple[Floats, _Ages, _Ages | None]] = {}

    def take(self, flow: OperatorFlow, delays: Mapping[str, ManyDelays]) -> tuple[KindLoads, Arriving]:
        """Input of the operator's instances, and its variability. delays: by input stream, or of a source by its own
        name, if any.
        """
        loads = KindLoads(flow, ALIKE)
        arriving, number = self._variability.take(flow, loads)
        here = _waited(loads, flow.profile, arriving, number, self._shape[1])
        usual = self._departed(flow, loads, delays, arriving, here, None)
        unlike = {
            name: self._departed(flow, loads, delays, arriving, here, of) for name, of in leaving(flow, loads).items()
        }
        for stream in self._topology.inputs(flow.name):
            del self._age[stream.name]
            self._clear.pop(stream.name, None)
        outputs = self._topology.outputs(flow.name)
        if not outputs:
            self._sinks[flow.name] = loads.by_plan(flow.entering_per_s), *usual
        for stream in outputs:
            self._age[stream.name], clear = unlike.get(stream.name, usual)
            if clear is not None:
                self._clear[stream.name] = clear
        return loads, arriving

    def at_sinks(self) -> dict[str, SinkTimes]:
        total = np.asarray(sum(rate for rate, _, _ in self._sinks.values()))
        some = np.where(total > 0, total, 1.0)
        found = {}
        for name, (rate, ages, clear) in self._sinks.items():
            weight, whole = np.where(total > 0, rate / some, 1 / len(self._sinks)), ages.mixed()
            found[name] = SinkTimes(weight, whole.fitted(), None if clear is None else whole.held_up(clear.mixed()))
        return found

    def _departed(
        self,
        flow: OperatorFlow,
        loads: KindLoads,
        delays: Mapping[str, ManyDelays],
        arriving: Arriving,
        spent: tuple[tuple[Moments, ...], tuple[Moments, ...]],
        of: Leaving | None,
    ) -> tuple["_Ages", "_Ages | None"]:
        """Ages of the tuples that leave, and of those that no pause held up, None if none pauses. spent: here, of both.
        of: None for output that all input makes alike.
        """
        here, clear = spent
        weight, names = arriving.burst_weight, [stream.name for stream in self._topology.inputs(flow.name)]
        if of is not None:
            here, clear = (_served_otherwise(ages, loads, of, flow.profile.shape) for ages in spent)
            if weight is not None:
                weight = np.asarray(sum(of.parts[name] * each for name, each in arriving.burst_weights.items()))
        if names:
            parts = {name: loads.part(name) for name in names} if of is None else of.parts
            before = _before(parts, self._age, delays, arriving.burst_weights, weight)
            if clear or any(name in self._clear for name in names):
                ages = {name: self._clear.get(name) or self._age[name].certain() for name in names}
                clear = _sums(_before(parts, ages, delays, arriving.burst_weights, weight), clear or here)
            here = _sums(before, here)
        elif flow.name in delays:
            delay = two_moment(delays[flow.name].mean_s, delays[flow.name].cv2)
            here, clear = (tuple(age + delay for age in ages) for ages in (here, clear))
        return _Ages(here, weight), _Ages(clear, weight) if clear else None


def _before(
    part_of: Mapping[str, Floats],
    ages: Mapping[str, "_Ages"],
    delays: Mapping[str, ManyDelays],
    bursts: Mapping[str, Floats],
    whole: Floats | None,
) -> tuple[Moments, ...]:
    """Age of the tuples of several streams: weighted by their parts, under bursts by those in bursts (bursts: of each
    stream, whole: of all) and by those between.
    """
    mixed: tuple[Moments, ...] | None = None
    for name, part in part_of.items():
        bursting = bursts.get(name)
        ways = ages[name].entering(bursting)
        if (delay := delays.get(name)) is not None:
            ways = tuple(way + two_moment(delay.mean_s, delay.cv2) for way in ways)
        if len(part_of) > 1:
            parts: tuple[Floats, ...] = (part,)
            if bursting is not None and whole is not None:
                parts = (
                    part * bursting / np.maximum(whole, 1e-12),
                    part * (1 - bursting) / np.maximum(1 - whole, 1e-12),
                )
            ways = tuple(way * each for way, each in zip(ways, parts, strict=True))
        mixed = ways if mixed is None else tuple(a.with_chance_of(b) for a, b in zip(mixed, ways, strict=True))
    assert mixed is not None
    return mixed


def _served_otherwise(
    ages: tuple[Moments, ...], loads: KindLoads, of: Leaving, shape: ServiceShape | None
) -> tuple[Moments, ...]:
    """Times with the services of some tuples in place of those of all input."""
    mean_s = loads.by_plan((loads.weight * loads.service_s).sum(axis=1))
    usual, own = (
        two_moment(mean_s, loads.by_plan(loads.cv2[:, 0]), shape),
        two_moment(mean_s * of.work, of.cv2, shape),
    )
    return tuple(age.less(usual) + own for age in ages)


def _sums(before: Sequence[Moments], here: Sequence[Moments]) -> tuple[Moments, ...]:
    return tuple(one + other for one, other in zip(before, here, strict=True))


def busiest_wait_s(flow: OperatorFlow, loads: KindLoads, arriving: Arriving) -> float:
    """Mean queueing delay at the busiest instance, of one plan under one load; UNSTABLE if that is full."""
    worked, taken = flow.worked_s()[0, :, 0], flow.instance_per_s()[0, :, 0]
    if flow.core_wait_s is not None:
        worked = worked + taken * flow.core_wait_s[0, :, 0]
    at, total = int(worked.argmax()), float(flow.entering_per_s[0, 0])
    if worked[at] >= NEARLY_FULL:
        return UNSTABLE
    worked = worked * flow.profile.awake_share
    thin = taken[at] / total if total > 0 else 1 / taken.size
    service_s = worked[at] / taken[at] if taken[at] > 0 else float(loads.service_s.flat[0])
    busy, cs2, service, part, all_of_it = (
        np.full((1, 1, 1), each) for each in (worked[at], loads.cv2.flat[0], service_s, thin, 1.0)
    )
    shape = flow.profile.shape
    queues = _Queues(busy, cs2, service, part, all_of_it, shape=shape)
    waits = _of_kinds(queues, flow.profile, replace(arriving, polled_s=0.0), slice(None))
    for each in flow.profile.all_pauses:
        waits = [wait + _evenly_within(*queues.held_up(each)) for wait in waits]
    ages = _Ages(tuple(waits), arriving.burst_weight)
    return float(ages.mixed().first.flat[0])


@dataclass(frozen=True)
class _Ages:
    """Ages of all tuples; under bursts, of those in bursts and of the others. weight: share in bursts."""

    of: tuple[Moments, ...]
    weight: Floats | None

    def certain(self) -> "_Ages":
        return _Ages(tuple(age.certain() for age in self.of), self.weight)

    def mixed(self) -> Moments:
        if self.weight is None:
            return self.of[0]
        return (self.of[0] * self.weight).with_chance_of(self.of[1] * (1 - self.weight))

    def entering(self, weight: Floats | None) -> tuple[Moments, ...]:
        """Ages on departure: a full operator prolongs bursts, so some tuples from between bursts leave in them."""
        if self.weight is None or weight is None:
            return self.of
        still = np.minimum(self.weight / np.maximum(weight, 1e-12), 1.0)
        return (self.of[0] * still).with_chance_of(self.of[1] * (1 - still)), self.of[1]


class _Queues:
    """Parameters of G/G/1 waits, except for the variability of arrivals.

    Kraemer and Langenbach-Belz (modeling/queueing/queues.py): the share of tuples that wait, and the mean wait as
    Kingman's times an exponential of a negative term. Both are short formulas of a = ca² − 1. All have shape (rows,
    kinds or 1, scenarios or 1). weight: share of all tuples at these queues. shape: of services, beyond their cv².
    """

    def __init__(
        self,
        busy: Floats,
        cs2: Floats,
        service_s: Floats,
        thin: Floats,
        weight: Floats,
        *,
        shape: ServiceShape | None,
    ) -> None:
        busy = np.minimum(busy, NEARLY_FULL)
        idle, busy2 = 1 - busy, busy * busy
        self.busy, self.cs2, self.service_s, self.thin, self.weight = busy, cs2, service_s, thin, weight
        self.some = np.maximum(_SELDOM * busy, 1e-300)
        self.moved = busy * idle
        self.numerator = 2 + busy * cs2
        self.steeply = busy2 * 4
        self.denominator = 1 + busy * (cs2 - 1) + self.steeply + busy2 * cs2
        self.lower = -2 / 3 * idle / np.maximum(busy, 1e-30)
        self.half_wait_s = busy / idle * service_s / 2
        self.varied = 1 + cs2
        self.heights = poisson_heights(cs2, shape)
        self.evener: tuple[Floats, Floats] | None = None
        if shape is None and (cs2 > 1).any():
            twice, thrice = even_heights(busy, cs2)
            self.evener = (self.heights[0] - twice, self.heights[1] - thrice)

    def at(self, row: Ints) -> "_Queues":
        """The queues of these rows; a row may be repeated."""
        some = copy(self)
        for name, each in vars(self).items():
            if each is not None:
                setattr(some, name, tuple(e[row] for e in each) if isinstance(each, tuple) else each[row])
        return some

    def held_up(self, pauses: Pauses) -> tuple[Floats, Floats]:
        return pause_waits(self.busy, pauses.share, pauses.length_s, self.service_s, self.cs2)


def _waited(
    loads: KindLoads,
    profile: OperatorProfile,
    arriving: Arriving,
    number: Ints,
    scenarios: int,
) -> tuple[tuple[Moments, ...], tuple[Moments, ...]]:
    """Moments of wait and service over the instances of an operator, shape (plans, scenarios); under bursts, of tuples
    in bursts and of the others. Then those of the tuples that no pause holds up, nothing without pauses. number: equal
    for plans with equal input.
    """
    shape, pauses = profile.shape, profile.all_pauses
    once, of = rows_of([number])
    rows, given = loads.row[once], arriving.taken(once)
    every = (loads.busy, loads.cv2, loads.service_s, loads.thin, loads.weight)
    # Compute once if many plans share a row; if few do, compute as needed, within a core's cache.
    shared = _Queues(*every, shape=shape) if 2 * len(loads.counts) < len(once) else None
    states = 1 if arriving.levels is None else 2
    found = np.empty((states, 3, len(once), scenarios))
    clear = np.empty((states if pauses else 0, 4, len(once), scenarios))
    block = max(1, CELLS // (loads.thin.shape[1] * scenarios))
    for begin in range(0, len(once), block):
        at = slice(begin, min(len(once), begin + block))
        queues = _Queues(*(each[rows[at]] for each in every), shape=shape) if shared is None else shared.at(rows[at])
        for state, waits in enumerate(_of_kinds(queues, profile, given, at)):
            others = waits.certain()
            for each in pauses:
                chance, longest_s = queues.held_up(each)
                waits, others = waits + _evenly_within(chance, longest_s), others * (1 - chance)
            _over_kinds(waits, queues.weight, found[state, :, at])
            if pauses:
                _over_kinds(others, queues.weight, clear[state, :, at])
    served = two_moment(loads.service_s[rows, 0], loads.cv2[rows, 0], shape)

    def ages(waits: Floats) -> tuple[Moments, ...]:
        some = [Moments(*each) for each in waits]
        if loads.service_s.shape[1] == 1:
            some = [wait + served for wait in some]
        return tuple(Moments(*(each[of] for each in age.arrays)) for age in some)

    return ages(found), ages(clear)


def _over_kinds(moments: Moments, weight: Floats, found: Floats) -> None:
    """Means over kinds of instances, written to `found`, shape (moments, plans, scenarios)."""
    for mean, each in zip(found, moments.arrays, strict=True):
        np.einsum("pkn,pkn->pn", weight, np.broadcast_to(each, weight.shape), out=mean)


def _of_kinds(queues: _Queues, profile: OperatorProfile, arriving: Arriving, at: slice) -> list[Moments]:
    """Moments by kind of instance, shape (plans, kinds, scenarios), without pauses; including service if kinds differ
    in it.
    """
    shape = profile.shape
    more = arriving.at(at, queues.thin, queues.busy, queues.cs2)
    if arriving.batches:
        # Whole batches are the customers.
        size = arriving.batch(at, queues.thin)
        one_by_one = shape if size.max() <= 1 else None
        service_s, cs2 = queues.service_s * size, queues.cs2 / size
        customers = _Queues(queues.busy, cs2, service_s, queues.thin, queues.weight, shape=one_by_one)
        waits = [_wait(customers, (more + 1) / size - 1)]
    else:
        waits = [_wait(queues, more)]
    if (in_bursts := arriving.burst_waits(at, queues.busy, waits[0].first)) is not None:
        moments = [in_bursts.moment(power) for power in (1, 2, 3)]
        waits = [Moments(*(each[state] for each in moments)) for state in (0, 1)]
    if profile.calls is not None:
        batch = arriving.batch(at, queues.thin) if arriving.batches else 1.0
        share = profile.calls.waiting_share(profile.service_s, queues.busy, batch)
        waits = [wait * share for wait in waits]
    if arriving.batches:
        within = (
            _polled(queues, arriving, at) if arriving.polled_s > 0 else _within_batches(queues, profile, arriving, at)
        )
        waits = [wait + within for wait in waits]
    if queues.service_s.shape[1] > 1:
        one = two_moment(queues.service_s, queues.cs2, shape)
        waits = [wait + one for wait in waits]
    return waits


def _evenly_within(chance: Floats, longest_s: Floats) -> Moments:
    """Of a wait that `chance` of the tuples have, uniform between 0 and longest_s."""
    return Moments(chance * longest_s / 2, chance * longest_s**2 / 3, chance * longest_s**3 / 4)


def _polled(queues: _Queues, arriving: Arriving, at: slice) -> Moments:
    """Waits for a source's next poll, and for the tuples of its batch before it."""
    (batches,) = arriving.batches
    size = batches.at(at, queues.thin).of_tuple
    mean_s, variance_s2 = poll_waits(arriving.polled_s, size, queues.service_s, queues.cs2)
    return Moments(mean_s, mean_s**2 + variance_s2, mean_s**3 + 3 * mean_s * variance_s2)


def _within_batches(queues: _Queues, profile: OperatorProfile, arriving: Arriving, at: slice) -> Moments:
    """Waits for members of a tuple's own batch, and waits of other tuples for a regular batch."""
    besides = 0.0 if profile.calls is None else profile.calls.besides(profile.service_s)
    busy, service_s, cs2 = queues.busy, queues.service_s, queues.cs2
    third = two_moment(1.0, cs2, profile.shape).third
    own: list[tuple[Floats, Moments]] = []
    beside: list[Moments] = []
    rest: Floats = np.ones((1, 1, 1))
    for each in arriving.batches:
        sizes = each.at(at, queues.thin)
        part, regular = kinds_of_plans(each.part, at), kinds_of_plans(each.regular, at)
        share, behind = sizes.beyond(besides)
        own.append((part, Moments(*behind.waited(service_s, 1 + cs2, third)) * share))
        used = busy * part * regular
        chance, longest_s = firing_waits(sizes.of_tuple, service_s, used, busy - used)
        beside.append(_evenly_within(chance, longest_s))
        rest = rest - part
    # Tuples outside batches may wait for all batches, those of a batch for the others.
    mixed = reduce(add, beside) * rest
    for number, (part, within) in enumerate(own):
        mixed = mixed.with_chance_of(reduce(add, [within, *beside[:number], *beside[number + 1 :]]) * part)
    return mixed


def _wait(queues: _Queues, arriving: Floats) -> Moments:
    """arriving: a, shape (plans or 1, kinds or 1, scenarios or 1)."""
    busy, varying = queues.busy, np.maximum(arriving + queues.varied, 1e-200)
    delayed = queues.numerator + arriving
    delayed *= arriving
    delayed *= queues.moved
    delayed /= np.maximum(queues.denominator + queues.steeply * arriving, 1e-100)
    delayed += busy
    exponent = queues.lower * (arriving * arriving / varying)
    if (arriving > 0).any():
        bursty = arriving > 0
        delayed_too, exponent_too = _bursty(busy, arriving, queues.cs2)
        delayed, exponent = np.where(bursty, delayed_too, delayed), np.where(bursty, exponent_too, exponent)
    with np.errstate(under="ignore"):
        wait_s = np.exp(exponent)
        wait_s *= queues.half_wait_s
        wait_s *= varying
    np.maximum(delayed, queues.some, out=delayed)
    np.minimum(delayed, 1.0, out=delayed)
    # Moments of a sum of a geometric number of ladder heights.
    height_s = wait_s / delayed
    height_s -= wait_s
    twice, thrice = queues.heights
    if queues.evener is not None:
        even = np.clip(-arriving, 0.0, 1.0)
        twice, thrice = twice - even * queues.evener[0], thrice - even * queues.evener[1]
    spread = height_s * twice + wait_s
    second = wait_s * (spread + wait_s)
    # wait · (height² · thrice + 6 · spread · wait)
    third = spread * wait_s
    third *= 6.0
    height_s *= height_s
    height_s *= thrice
    third += height_s
    third *= wait_s
    return Moments(wait_s, second, third)


def _bursty(busy: Floats, arriving: Floats, cs2: Floats) -> tuple[Floats, Floats]:
    """Share that waits, and the logarithm of the factor on Kingman's wait, for ca² > 1."""
    idle = 1 - busy
    ca2 = np.maximum(arriving, 0.0) + 1
    busy2 = busy * busy
    delayed = busy + 4 * arriving * busy2 * idle / (ca2 + busy2 * (4 * ca2 + cs2))
    return delayed, -idle * arriving / np.maximum(ca2 + 4 * cs2, 1.0)
