"""End-to-end latency of many plans under many scenarios: three moments through the graph, percentiles from these.

Quicker than modeling/latency/distribution.py by orders of magnitude, and less exact: the wait of an instance is the
closed form of modeling/queueing/queues.py and a sum of ladder heights where that solves the queue, and a percentile is
that of a distribution of three moments where that adds whole distributions. Variability passes from operator to
operator as in modeling/latency/variability.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from modeling.flow.many_rates import ByPlan, OperatorRates
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.topology import Grouping, Topology
from modeling.latency.delay import Delay
from modeling.latency.variability import ONE_BY_ONE, senders_and_receivers, some_together_ca2
from modeling.queueing.ladder_heights import even_heights, poisson_heights
from modeling.queueing.queues import MERGED, UNSTABLE, selected_ca2
from modeling.queueing.three_moments import TINY, ThreeMoments, mixture_quantile_s

Floats = npt.NDArray[np.float64]

CELLS = 2**15
"""Plans x kinds of instances x scenarios that are worked on at once, so that they stay in a core's cache."""

_NEARLY_FULL = 1 - 1e-9
_SELDOM = 0.02
"""The least share of the tuples that wait, of the utilisation: the closed form may come to 0 where some still wait."""


@dataclass(frozen=True)
class ManyLatencies:
    """Seconds from arrival until the last service at a sink, of a tuple at any of them; UNSTABLE where an operator is.

    All of one shape: that of utilisation without its last axis.
    """

    mean_s: Floats
    p50_s: Floats
    p95_s: Floats
    p99_s: Floats


@dataclass(frozen=True)
class Moments:
    """Raw moments of a time: E[T], E[T²], E[T³]."""

    first: Floats
    second: Floats
    third: Floats

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

    def __init__(
        self,
        topology: Topology,
        profiles: Profiles,
        shape: tuple[int, int],
        arrival_cv2: float,
        delays: Mapping[str, Delay],
        service_cv2: Mapping[str, Floats],
    ) -> None:
        self._topology = topology
        self._profiles = profiles
        self._shape = shape
        self._arrival_cv2 = arrival_cv2
        self._delays = delays
        self._cv2 = service_cv2
        self._together: dict[str, Floats] = {}
        self._alone: dict[str, Floats] = {}
        self._senders: dict[str, Floats] = {}
        self._age: dict[str, Moments] = {}
        self._taken: dict[str, ByPlan] = {}
        self._readers = {name: len(topology.outputs(name)) for name in topology.order}
        self._sinks: list[tuple[Floats, Moments]] = []

    def take(self, operator: OperatorRates) -> None:
        name = operator.name
        waiting = _Waiting(operator)
        arriving, pooled = self._arriving(operator, waiting)
        waited = waiting.waited(arriving, self._shape)
        if self._topology.inputs(name):
            age = self._before(operator, waiting) + waited
        elif (before := self._delays.get(name)) is not None and before.mean_s > 0:
            age = waited + two_moment(before.mean_s, before.cv2)
        else:
            age = waited
        taken = ByPlan(operator.row, operator.total_per_s)
        if outputs := self._topology.outputs(name):
            self._age[name], self._taken[name], self._senders[name] = age, taken, waiting.parallelism
            cs2 = self._cv2.get(name, np.asarray(self._profiles[name].service_cv2))
            self._together[name] = waiting.together(pooled, cs2)
            if any(stream.grouping in ONE_BY_ONE for stream in outputs):
                self._alone[name] = waiting.alone(arriving, cs2)
        else:
            self._sinks.append((taken.every(), age))
        for stream in self._topology.inputs(name):
            self._readers[stream.upstream] -= 1
            if not self._readers[stream.upstream]:
                for kept in (self._age, self._taken, self._senders, self._together, self._alone):
                    kept.pop(stream.upstream, None)

    def latencies(self, stable: npt.NDArray[np.bool_]) -> ManyLatencies:
        """stable: shape (plans, scenarios)."""
        total = np.asarray(sum(rate for rate, _ in self._sinks))
        weights = [
            np.where(total > 0, rate / np.where(total > 0, total, 1.0), 1 / len(self._sinks)) for rate, _ in self._sinks
        ]
        mean_s = sum(weight * age.first for weight, (_, age) in zip(weights, self._sinks, strict=True))
        # Each sink keeps its shape: some sinks are often much slower than others.
        parts = [(weight, age.fitted()) for weight, (_, age) in zip(weights, self._sinks, strict=True)]
        told = (np.asarray(mean_s), *(mixture_quantile_s(share, parts) for share in (0.5, 0.95, 0.99)))
        return ManyLatencies(*(np.where(stable, each, UNSTABLE) for each in told))

    def _arriving(self, operator: OperatorRates, waiting: "_Waiting") -> tuple["_Arriving", Floats]:
        """At the instances, and of all of them together over long spans (ca²)."""
        streams = self._topology.inputs(operator.name)
        arriving = _Arriving()
        if not streams:
            arriving.kept = (self._arrival_cv2 - 1) / waiting.parallelism
            return arriving, np.full((1, 1), self._arrival_cv2)
        pooled: Floats = np.zeros((1, 1))
        squares: Floats = np.zeros((1, 1))
        for stream in streams:
            up = stream.upstream
            part = waiting.part(stream.name)
            taken, out = self._taken[up].every(), waiting.by_plan(operator.stream_per_s[stream.name])
            made = np.where(taken > 0, out / np.where(taken > 0, taken, 1.0), 1.0)
            whole = selected_ca2(self._together[up], made)
            pooled = pooled + part * whole
            senders, receivers = senders_and_receivers(stream.grouping, self._senders[up], waiting.parallelism)
            given = whole
            if stream.grouping in ONE_BY_ONE:
                of_some = some_together_ca2(self._alone[up], self._together[up], senders, self._senders[up])
                given = selected_ca2(of_some, made)
            squares = squares + part**2 / senders
            batched = bool((made > 1).any())
            batch = np.maximum(made, 1.0) if batched else np.ones((1, 1))
            if stream.grouping is Grouping.FIELDS:
                arriving.add_hashed(part * (given - batch), part * (batch - 1) if batched else None)
            else:
                short = np.maximum(batch / receivers, 1.0)
                arriving.add_kept(part * (given / receivers - short), part * (short - 1) if batched else None)
        arriving.several = 1 / squares - 1
        return arriving, pooled

    def _before(self, operator: OperatorRates, waiting: "_Waiting") -> Moments:
        """Age of the tuples that enter: the streams weighed by rate."""
        mixed: Moments | None = None
        streams = self._topology.inputs(operator.name)
        for stream in streams:
            way = self._age[stream.upstream]
            if (delay := self._delays.get(stream.name)) is not None and delay.mean_s > 0:
                way = way + two_moment(delay.mean_s, delay.cv2)
            if len(streams) > 1:
                way = way * waiting.part(stream.name)
            mixed = way if mixed is None else mixed.with_chance_of(way)
        assert mixed is not None
        return mixed


@dataclass
class _Arriving:
    """ca² − 1 at the instances, as modeling/latency/variability.py has it, by what decides it; shape (plans or 1,
    scenarios).

    hashed: of hashed streams, as if all went to one instance; kept: of the others at each instance. Both are what long
    spans have more than short ones; what these have, where tuples come in batches, is in the other two. several: how
    many streams come together, less one.
    """

    hashed: Floats | None = None
    kept: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    hashed_batches: Floats | None = None
    kept_batches: Floats | None = None
    several: Floats = field(default_factory=lambda: np.zeros((1, 1)))

    def add_hashed(self, more: Floats, batches: Floats | None) -> None:
        self.hashed = _sum(self.hashed, more)
        self.hashed_batches = _sum(self.hashed_batches, batches)

    def add_kept(self, more: Floats, batches: Floats | None) -> None:
        self.kept = self.kept + more
        self.kept_batches = _sum(self.kept_batches, batches)

    def at(self, plans: slice, thin: Floats, idle2: Floats) -> Floats:
        """Shape (plans or 1, kinds or 1, scenarios or 1), of these plans.

        thin: part of all that enters which an instance of each kind is given. idle2: its idle part, squared.
        """

        def of(each: Floats) -> Floats:
            return (each[plans] if each.shape[0] > 1 else each)[:, None]

        found = of(self.kept)
        if self.hashed is not None:
            found = thin * of(self.hashed) + found
        if (self.several > 0).any():
            found = found / (1 + idle2 * (MERGED * of(self.several)))
        if self.kept_batches is not None:
            found = found + of(self.kept_batches)
        if self.hashed_batches is not None:
            found = found + thin * of(self.hashed_batches)
        return found


def _sum(one: Floats | None, other: Floats | None) -> Floats | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


class _Waiting:
    """What of one operator's waits does not depend on the variability of its arrivals: worked out once a row."""

    def __init__(self, operator: OperatorRates) -> None:
        kinds = operator.kinds
        assert kinds is not None
        self._row = operator.row
        total = operator.total_per_s[:, None]
        some = np.where(total > 0, total, 1.0)
        self._counts = operator.parallelism[:, None].astype(np.float64)
        even = 1 / self._counts[:, :, None]
        self._thin = np.where(total > 0, kinds.taken_per_s / some, even)
        self._weight = kinds.number[:, :, None] * self._thin
        self._busy = np.minimum(kinds.busy, _NEARLY_FULL)
        given = np.stack([operator.stream_per_s[of] for of in operator.stream_per_s])
        whole = given.sum(axis=0)
        parts = np.where(whole > 0, given / np.where(whole > 0, whole, 1.0), 1 / len(given))
        self._streams = dict(zip(operator.stream_per_s, parts, strict=True))
        self._idle2 = (1 - self._busy) ** 2
        self._service_s = kinds.service_s
        self._cv2 = np.broadcast_to(kinds.service_cv2, (len(self._counts), kinds.service_cv2.shape[1]))[:, None]
        cs2 = self._cv2
        self._heights = poisson_heights(cs2)
        self._evener: tuple[Floats, Floats] | None = None
        if (cs2 > 1).any():
            twice, thrice = even_heights(self._busy, cs2)
            self._evener = (self._heights[0] - twice, self._heights[1] - thrice)
        self._half_wait_s = self._busy / (1 - self._busy) * self._service_s / 2

    @property
    def parallelism(self) -> Floats:
        """Of each plan, shape (plans, 1)."""
        return self._counts[self._row]

    def by_plan(self, rows: Floats) -> Floats:
        return rows if rows.shape[0] == 1 else rows[self._row]

    def part(self, stream: str) -> Floats:
        """Of all that enters, by rate; shape (plans or 1, scenarios)."""
        return self.by_plan(self._streams[stream])

    def together(self, pooled: Floats, cs2: Floats) -> Floats:
        """Squared variation of the departures of all instances together over long spans, shape (plans, scenarios)."""
        busy2 = self.by_plan((self._weight * self._busy**2).sum(axis=1))
        return pooled + busy2 * (cs2 - pooled)

    def alone(self, arriving: "_Arriving", cs2: Floats) -> Floats:
        """Squared variation of the gaps between departures of the busiest instance, shape (plans, scenarios)."""
        largest = self._thin.argmax(axis=1)[:, None]
        thin, busy = (self.by_plan(np.take_along_axis(each, largest, 1)) for each in (self._thin, self._busy))
        ca2 = 1 + arriving.at(slice(None), thin, (1 - busy) ** 2)[:, 0]
        return np.asarray(ca2 + busy[:, 0] ** 2 * (cs2 - ca2))

    def waited(self, arriving: "_Arriving", shape: tuple[int, int]) -> Moments:
        """Moments of wait and service over instances, shape (plans, scenarios)."""
        plans, scenarios = shape
        found = np.empty((3, plans, scenarios))
        kinds = self._thin.shape[1]
        block = max(1, CELLS // (kinds * scenarios))
        for begin in range(0, plans, block):
            at = slice(begin, min(plans, begin + block))
            row = self._row[at]
            self._waited(row, arriving.at(at, self._thin[row], self._idle2[row]), found[:, at])
        waits = Moments(found[0], found[1], found[2])
        if self._service_s.shape[1] > 1:
            return waits
        return waits + two_moment(self.by_plan(self._service_s[:, 0]), self.by_plan(self._cv2[:, 0]))

    def _waited(self, row: npt.NDArray[np.int64], arriving: Floats, into: Floats) -> None:
        """arriving: ca² − 1, shape (plans or 1, kinds or 1, scenarios or 1)."""
        busy, weight, cs2 = self._busy[row], self._weight[row], self._cv2[row]
        varying = np.maximum(arriving + (1 + cs2), 1e-200)
        delayed, exponent = _even(busy, arriving, cs2, varying)
        if (arriving > 0).any():
            bursty = arriving > 0
            delayed_too, exponent_too = _bursty(busy, arriving, cs2)
            delayed, exponent = np.where(bursty, delayed_too, delayed), np.where(bursty, exponent_too, exponent)
        with np.errstate(under="ignore"):
            wait_s = self._half_wait_s[row] * varying * np.exp(exponent)
        delayed = np.clip(delayed, np.maximum(_SELDOM * busy, 1e-300), 1.0)
        # Moments of a sum of ladder heights, as many as a geometric number of them.
        height_s = wait_s * (1 - delayed) / delayed
        twice, thrice = self._heights[0][row], self._heights[1][row]
        if self._evener is not None:
            even = np.clip(-arriving, 0.0, 1.0)
            twice, thrice = twice - even * self._evener[0][row], thrice - even * self._evener[1][row]
        spread = height_s * twice
        second = wait_s * (spread + 2 * wait_s)
        third = wait_s * (height_s * height_s * thrice + 3 * (spread * wait_s + second))
        if self._service_s.shape[1] > 1:
            one = Moments(wait_s, second, third) + two_moment(self._service_s[row], cs2)
            wait_s, second, third = one.first, one.second, one.third
        for moment, each in zip(into, (wait_s, second, third), strict=True):
            np.einsum("pkn,pkn->pn", weight, each, out=moment)


def _even(busy: Floats, arriving: Floats, cs2: Floats, varying: Floats) -> tuple[Floats, Floats]:
    """Share that waits, and the logarithm of what lowers Kingman's wait, where ca² <= 1."""
    idle = 1 - busy
    busy2 = busy * busy
    least = busy2 * 4
    spread = 1 + busy * (cs2 - 1) + least + busy2 * cs2
    delayed = busy + arriving * busy * idle * (2 + busy * cs2 + arriving) / np.maximum(
        spread + least * arriving, 1e-100
    )
    exponent = -2 / 3 * idle / np.maximum(busy, 1e-30) * (arriving * arriving / varying)
    return delayed, exponent


def _bursty(busy: Floats, arriving: Floats, cs2: Floats) -> tuple[Floats, Floats]:
    """The same where ca² > 1."""
    idle = 1 - busy
    ca2 = np.maximum(arriving, 0.0) + 1
    busy2 = busy * busy
    delayed = busy + 4 * arriving * busy2 * idle / (ca2 + busy2 * (4 * ca2 + cs2))
    return delayed, -idle * arriving / np.maximum(ca2 + 4 * cs2, 1.0)
