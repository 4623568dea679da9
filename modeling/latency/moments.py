"""End-to-end latency of many plans under many scenarios: three moments through the graph, percentiles from these.

Quicker than modeling/latency/distribution.py by orders of magnitude, and less exact: the wait of an instance is the
closed form of modeling/queueing/queues.py and a sum of ladder heights where that solves the queue, and a percentile is
that of a distribution of three moments where that adds whole distributions. Variability passes from operator to
operator as in modeling/latency/variability.py, for both.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.flow.kinds import ALIKE
from modeling.flow.rates import OperatorFlow, rows_of
from modeling.inputs.topology import Topology
from modeling.latency.stream_delays import ManyDelays
from modeling.latency.variability import Arriving, KindLoads, Variability
from modeling.queueing.ladder_heights import even_heights, poisson_heights
from modeling.queueing.queues import UNSTABLE, klb_waits_s
from modeling.queueing.three_moments import TINY, ThreeMoments, mixture_quantile_s

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CELLS = 2**15
"""Plans x kinds of instances x scenarios that are worked on at once, so that they stay in a core's cache."""

_NEARLY_FULL = 1 - 1e-9
_SELDOM = 0.02
"""Lower bound on P(wait > 0) as a part of the utilisation: the closed form may come to 0 where some still wait."""


@dataclass(frozen=True)
class SinkTimes:
    """Of the tuples at one sink; arrays of one shape. weight: their part of the tuples at all sinks."""

    weight: Floats
    times: ThreeMoments

    @classmethod
    def of(cls, weight: Floats, mean_s: Floats, deviation_s: Floats, skewness: Floats) -> "SinkTimes":
        return cls(weight, ThreeMoments(mean_s, deviation_s, skewness))

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What `of` makes the same of."""
        return self.weight, self.times.mean_s, self.times.deviation_s, self.times.skewness


@dataclass(frozen=True)
class ManyLatencies:
    """Seconds from arrival until the last service at a sink, UNSTABLE where the plan does not carry the load.

    All of one shape: that of utilisation without its last axis. stable: where the load is carried. unknown: where
    the plan does not fit, all is NaN.
    """

    sinks: Mapping[str, SinkTimes]
    stable: Flags
    unknown: Flags

    def map(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> "ManyLatencies":
        """Every array in another shape."""
        sinks = {name: SinkTimes.of(*(change(each) for each in sink.arrays)) for name, sink in self.sinks.items()}
        return ManyLatencies(sinks, change(self.stable), change(self.unknown))

    @cached_property
    def mean_s(self) -> Floats:
        """Of a tuple at any sink."""
        return self._where_stable(np.asarray(sum(sink.weight * sink.times.mean_s for sink in self.sinks.values())))

    @property
    def p50_s(self) -> Floats:
        return self.quantile_s(0.5)

    @property
    def p95_s(self) -> Floats:
        return self.quantile_s(0.95)

    @property
    def p99_s(self) -> Floats:
        return self.quantile_s(0.99)

    def quantile_s(self, share: float, sink: str | None = None) -> Floats:
        """What `share` of the tuples at a sink, or at any of them, do not exceed. Raises ModelError for a share outside
        (0, 1) and an unknown sink.
        """
        if not 0 < share < 1:
            raise ModelError(f"quantile {share} is not between 0 and 1; 0.99 is the p99")
        if sink is not None and sink not in self.sinks:
            raise ModelError(f"{sink!r} is no sink; sinks are {', '.join(self.sinks)}")
        if sink not in self._known.setdefault(share, {}):
            some = list(self.sinks.values()) if sink is None else [self.sinks[sink]]
            # Each sink keeps its shape: some sinks are often much slower than others.
            self._known[share][sink] = self._where_stable(_in_blocks(share, some, self.stable.shape))
        return self._known[share][sink]

    @cached_property
    def _known(self) -> dict[float, dict[str | None, Floats]]:
        return {}

    def _where_stable(self, times_s: Floats) -> Floats:
        return np.where(self.stable, times_s, np.where(self.unknown, np.nan, UNSTABLE))


def _in_blocks(share: float, sinks: Sequence[SinkTimes], shape: tuple[int, ...]) -> Floats:
    """mixture_quantile_s of arrays of one shape, so many at once as stay in a core's cache."""
    flat = [[np.broadcast_to(each, shape).reshape(-1) for each in sink.arrays] for sink in sinks]
    found = np.empty(flat[0][0].size)
    for begin in range(0, found.size, CELLS):
        at = slice(begin, begin + CELLS)
        found[at] = mixture_quantile_s(share, [(w[at], ThreeMoments(m[at], d[at], s[at])) for w, m, d, s in flat])
    return found.reshape(shape)


@dataclass(frozen=True)
class Moments:
    """Raw moments of a time: E[T], E[T²], E[T³]."""

    first: Floats
    second: Floats
    third: Floats

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.first, self.second, self.third

    def __add__(self, other: "Moments") -> "Moments":
        """Of the sum of two independent times."""
        return Moments(
            self.first + other.first,
            self.second + 2 * self.first * other.first + other.second,
            self.third + 3 * (self.second * other.first + self.first * other.second) + other.third,
        )

    def __mul__(self, weight: Floats) -> "Moments":
        """Weighed, so that weighed moments add up to those of a mixture."""
        return Moments(self.first * weight, self.second * weight, self.third * weight)

    def with_chance_of(self, other: "Moments") -> "Moments":
        return Moments(self.first + other.first, self.second + other.second, self.third + other.third)

    def fitted(self) -> ThreeMoments:
        mean = np.maximum(self.first, TINY)
        relative = np.maximum(self.second / mean**2, 0.0)
        variance = np.maximum(relative - 1, 1e-14)
        third = self.third / mean**3 - 3 * relative + 2
        deviation = np.sqrt(variance)
        known = self.first > TINY
        return ThreeMoments(self.first, np.where(known, deviation * mean, 0.0), third / (variance * deviation))


def two_moment(mean_s: npt.ArrayLike, cv2: npt.ArrayLike) -> Moments:
    """Of the distribution that modeling/queueing/two_moments.py lays through a mean and a squared variation."""
    mean, spread = np.asarray(mean_s, dtype=np.float64), np.asarray(cv2, dtype=np.float64)
    return Moments(mean, mean**2 * (1 + spread), mean**3 * _third(spread))


def _third(cv2: Floats) -> Floats:
    """E[T³] over E[T]³: of a gamma up to 1, of a hyper-exponential with balanced means above."""
    return np.where(cv2 <= 1, (1 + cv2) * (1 + 2 * cv2), 3 * cv2 * (1 + cv2))


class LatencyRecursion:
    """Takes one operator after the other, in topological order, and keeps only what later ones need."""

    def __init__(self, topology: Topology, shape: tuple[int, int], arrival_cv2: float) -> None:
        self._topology = topology
        self._shape = shape
        self._variability = Variability(topology, arrival_cv2)
        self._age: dict[str, Moments] = {}
        self._readers = {name: len(topology.outputs(name)) for name in topology.order}
        self._sinks: dict[str, tuple[Floats, Moments]] = {}

    def take(self, flow: OperatorFlow, delays: Mapping[str, ManyDelays]) -> tuple[KindLoads, Arriving]:
        """What its instances are given, and how evenly. delays: by stream that enters, or of a source by its own name;
        where there are any.
        """
        name = flow.name
        loads = KindLoads(flow, ALIKE)
        arriving, number = self._variability.take(flow, loads)
        age = _waited(loads, arriving, number, self._shape[1])
        if self._topology.inputs(name):
            age = self._before(flow, loads, delays) + age
        elif name in delays:
            age = age + two_moment(delays[name].mean_s, delays[name].cv2)
        if self._topology.outputs(name):
            self._age[name] = age
        else:
            self._sinks[name] = loads.by_plan(flow.entering_per_s), age
        for stream in self._topology.inputs(name):
            self._readers[stream.upstream] -= 1
            if not self._readers[stream.upstream]:
                del self._age[stream.upstream]
        return loads, arriving

    def at_sinks(self) -> dict[str, SinkTimes]:
        total = np.asarray(sum(rate for rate, _ in self._sinks.values()))
        some = np.where(total > 0, total, 1.0)
        return {
            name: SinkTimes(np.where(total > 0, rate / some, 1 / len(self._sinks)), age.fitted())
            for name, (rate, age) in self._sinks.items()
        }

    def _before(self, flow: OperatorFlow, loads: KindLoads, delays: Mapping[str, ManyDelays]) -> Moments:
        """Age of the tuples that enter: the streams weighed by rate."""
        mixed: Moments | None = None
        streams = self._topology.inputs(flow.name)
        for stream in streams:
            way = self._age[stream.upstream]
            if (delay := delays.get(stream.name)) is not None:
                way = way + two_moment(delay.mean_s, delay.cv2)
            if len(streams) > 1:
                way = way * loads.part(stream.name)
            mixed = way if mixed is None else mixed.with_chance_of(way)
        assert mixed is not None
        return mixed


def busiest_wait_s(flow: OperatorFlow, loads: KindLoads, arriving: Arriving) -> float:
    """Mean queueing delay at the busiest instance, of one plan under one load; UNSTABLE where that is full (Kraemer and
    Langenbach-Belz).
    """
    worked, taken = flow.worked_s()[0, :, 0], flow.instance_per_s()[0, :, 0]
    at, total = int(worked.argmax()), float(flow.entering_per_s[0, 0])
    thin = taken[at] / total if total > 0 else 1 / taken.size
    excess = arriving.at(slice(None), np.full((1, 1, 1), thin), np.full((1, 1, 1), max(0.0, 1 - worked[at]) ** 2))
    service_s = worked[at] / taken[at] if taken[at] > 0 else float(loads.service_s.flat[0])
    return float(klb_waits_s(worked[at], service_s, 1 + float(excess.flat[0]), float(loads.cv2.flat[0])))


class _Queues:
    """G/G/1 queues, of which all is known but how evenly tuples arrive: what their waits need of them.

    Kraemer and Langenbach-Belz (modeling/queueing/queues.py): a share of the tuples waits, and on average for Kingman's
    wait times the exponential of something below 0. With a = ca² − 1 both are short formulas of a. All have the shape
    (rows, kinds or 1, scenarios or 1); weight: the part of all tuples that comes to these.
    """

    def __init__(self, busy: Floats, cs2: Floats, service_s: Floats, thin: Floats, weight: Floats) -> None:
        busy = np.minimum(busy, _NEARLY_FULL)
        idle, busy2 = 1 - busy, busy * busy
        self.busy, self.cs2, self.service_s, self.thin, self.weight = busy, cs2, service_s, thin, weight
        self.idle2 = idle * idle
        self.some = np.maximum(_SELDOM * busy, 1e-300)
        self.moved = busy * idle
        self.numerator = 2 + busy * cs2
        self.steeply = busy2 * 4
        self.denominator = 1 + busy * (cs2 - 1) + self.steeply + busy2 * cs2
        self.lower = -2 / 3 * idle / np.maximum(busy, 1e-30)
        self.half_wait_s = busy / idle * service_s / 2
        self.varied = 1 + cs2
        self.heights = poisson_heights(cs2)
        self.evener: tuple[Floats, Floats] | None = None
        if (cs2 > 1).any():
            twice, thrice = even_heights(busy, cs2)
            self.evener = (self.heights[0] - twice, self.heights[1] - thrice)

    def at(self, row: npt.NDArray[np.int64]) -> "_Queues":
        """Of these rows; a row may come several times."""
        some = copy(self)
        for name, each in vars(self).items():
            if each is not None:
                setattr(some, name, tuple(e[row] for e in each) if isinstance(each, tuple) else each[row])
        return some


def _waited(loads: KindLoads, arriving: Arriving, number: npt.NDArray[np.int64], scenarios: int) -> Moments:
    """Moments of wait and service over the instances of an operator, shape (plans, scenarios). number: the same for
    plans that are given the same.
    """
    once, of = rows_of([number])
    rows, given = loads.row[once], arriving.taken(once)
    every = (loads.busy, loads.cv2, loads.service_s, loads.thin, loads.weight)
    # Worked out once where many share a row; where few do, as they are needed, in a core's cache.
    shared = _Queues(*every) if 2 * len(loads.counts) < len(once) else None
    found = np.empty((3, len(once), scenarios))
    block = max(1, CELLS // (loads.thin.shape[1] * scenarios))
    for begin in range(0, len(once), block):
        at = slice(begin, min(len(once), begin + block))
        queues = _Queues(*(each[rows[at]] for each in every)) if shared is None else shared.at(rows[at])
        _wait(queues, given.at(at, queues.thin, queues.idle2), found[:, at])
    if loads.service_s.shape[1] == 1:
        served = two_moment(loads.service_s[rows, 0], loads.cv2[rows, 0])
        found[:] = (Moments(*found) + served).arrays
    return Moments(*found[:, of])


def _wait(queues: _Queues, arriving: Floats, into: Floats) -> None:
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
    # Moments of a sum of ladder heights, as many as a geometric number of them.
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
    if queues.service_s.shape[1] > 1:
        one = Moments(wait_s, second, third) + two_moment(queues.service_s, queues.cs2)
        wait_s, second, third = one.arrays
    for moment, each in zip(into, (wait_s, second, third), strict=True):
        np.einsum("pkn,pkn->pn", queues.weight, each, out=moment)


def _bursty(busy: Floats, arriving: Floats, cs2: Floats) -> tuple[Floats, Floats]:
    """Share that waits, and the logarithm of what lowers Kingman's wait, where ca² > 1."""
    idle = 1 - busy
    ca2 = np.maximum(arriving, 0.0) + 1
    busy2 = busy * busy
    delayed = busy + 4 * arriving * busy2 * idle / (ca2 + busy2 * (4 * ca2 + cs2))
    return delayed, -idle * arriving / np.maximum(ca2 + 4 * cs2, 1.0)
