"""End-to-end latency as a distribution: from a source to its sinks, over the whole graph at once.

Along a path times add up (assumed independent); at an operator each tuple enters by one of its streams. On transforms
these are products and weighted sums, so each operator is visited once, however many paths there are. One inverse
transform per sink gives percentiles.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.flow.kinds import EXACTLY
from modeling.flow.rates import OperatorFlow
from modeling.inputs.pauses import Pauses
from modeling.inputs.topology import Topology
from modeling.latency.delay import Delay
from modeling.latency.kind_loads import KindLoads
from modeling.latency.leaving import Leaving, leaving
from modeling.latency.variability import Variability
from modeling.queueing.batches import Batches, as_customers, firing_waits, poll_waits
from modeling.queueing.bursts import Arrivals, BurstWaits, Levels, burst_waits
from modeling.queueing.exact_wait import exact_wait
from modeling.queueing.lattice import Lattice, lattice_of_excess, mixture, two_moment_lattice
from modeling.queueing.pauses import pause_waits
from modeling.queueing.queues import klb_waits_s
from modeling.queueing.service_shape import ServiceShape, service_lattice
from modeling.queueing.two_moments import tail_s

SIZE = 2**14
"""Steps of the lattice for the slowest path."""

BURST_SIZE = 2**13
"""Steps of the lattice for a wait under bursts."""

Transform = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class StationBatches:
    """Batches in which tuples of one stream arrive. part: share of all tuples. regular: share of them at regular times.
    sizes: at one instance of each kind, arrays of shape (kinds,).
    """

    part: float
    regular: float
    sizes: Batches


@dataclass(frozen=True)
class Station:
    """One operator as a queueing station: the parameters of the wait at each kind of its instances.

    per_s: tuples per second into all instances. parts: their shares by input stream. weights: share of all instances of
    a kind. service_s: mean seconds per tuple; kinds differ by node or by mix of streams. service_cv2: of single tuples,
    equal in all instances. shape: their distribution beyond service_cv2. batches: in which tuples arrive. batch:
    E[X²]/E[X] of batches at random times. Arrays by kind have shape (kinds,). levels, squares: of the fluctuating rate
    of work and, where streams have unlike service times, of squared ones, as single values. burst_weight: share of the
    tuples that arrive in bursts, None without bursts; burst_weights: of those of each stream. pauses: of each instance.
    waiting: share of those who would wait for one server that do, by kind; less than 1 where several calls are at once,
    besides: how many others then begin with a tuple's.
    leaving: of the output streams that inputs make unlike numbers of. polled_s: interval of a source's polls.
    """

    per_s: float
    parts: Mapping[str, float]
    weights: Floats
    utilisation: Floats
    ca2: Floats
    service_s: Floats
    service_cv2: float
    shape: ServiceShape | None = None
    batch: Floats | None = None
    batches: tuple[StationBatches, ...] = ()
    levels: Levels | None = None
    squares: Levels | None = None
    burst_weight: float | None = None
    burst_weights: Mapping[str, float] = field(default_factory=dict)
    pauses: tuple[Pauses, ...] = ()
    waiting: Floats | None = None
    leaving: Mapping[str, Leaving] = field(default_factory=dict)
    polled_s: float = 0.0
    besides: float = 0.0

    def waits(self) -> "list[Kind]":
        """Waits and services at each kind of instance."""
        return [self._kind(number) for number in range(self.weights.size)]

    def _kind(self, number: int) -> "Kind":
        rho, service_s = float(self.utilisation[number]), float(self.service_s[number])
        size = 1.0 if self.batch is None else float(self.batch[number])
        customer_s, ca2, cs2 = map(float, as_customers(size, service_s, self.ca2[number], self.service_cv2))
        shape = self.shape if size <= 1 else None
        if self.levels is None or rho >= 1:
            waits = (exact_wait(rho, customer_s, ca2, cs2, shape),) * (1 if self.levels is None else 2)
        else:
            wait_s = float(klb_waits_s(rho, customer_s, ca2, cs2))
            waits = _burst_lattices(burst_waits(rho, wait_s * (1 - rho) / max(rho, 1e-12), self.levels, self.squares))
        if self.waiting is not None:
            waits = tuple(_seldom(wait, float(self.waiting[number])) for wait in waits)
        sizes = tuple(
            (each.part, each.regular, Batches(each.sizes.mean[number], each.sizes.of_tuple[number]))
            for each in self.batches
        )
        held_up = [
            pause_waits(rho, each.share, each.length_s, service_s, self.service_cv2) for each in self.pauses if rho < 1
        ]
        pauses = tuple((float(chance), float(longest_s)) for chance, longest_s in held_up)
        return Kind(
            float(self.weights[number]),
            rho,
            service_s,
            self.service_cv2,
            self.shape,
            waits,
            sizes,
            pauses,
            self.polled_s,
            self.besides,
        )


@dataclass(frozen=True)
class Kind:
    """Equal instances. waits: of a tuple or its batch, in and between bursts if there are any. batches: in which tuples
    arrive, with the fields of StationBatches. pauses: share of the tuples held up by each, and the longest wait.
    polled_s, besides: as of the station.
    """

    weight: float
    utilisation: float
    service_s: float
    service_cv2: float
    shape: ServiceShape | None
    waits: tuple[Lattice, ...]
    batches: tuple[tuple[float, float, Batches], ...]
    pauses: tuple[tuple[float, float], ...] = ()
    polled_s: float = 0.0
    besides: float = 0.0

    @property
    def longest_s(self) -> float:
        """Seconds that contain nearly all services, and the work of a batch."""
        within = 14 * tail_s(self.service_s, max(self.service_cv2, 1.0))
        if self.shape is not None:
            within = max(within, self.shape.largest * self.service_s)
        for _, _, sizes in self.batches:
            size, varied = float(sizes.of_tuple), float(sizes.of_tuple - sizes.mean)
            within += (size + 8 * np.sqrt(size) + 12 * varied) * self.service_s
        return within + self.polled_s + sum(longest_s for _, longest_s in self.pauses)

    def passed(self, step_s: float, of: Leaving | None = None) -> list[Transform]:
        """Transforms of wait plus service, one per wait. of: the tuples that pass; None: all."""
        service = self._service(step_s, self.service_s, self.service_cv2)
        spent = service if of is None else self._service(step_s, self.service_s * _one(of.work), _one(of.cv2))
        if self.polled_s > 0:
            spent = spent * self._polled(step_s)
        elif self.batches:
            spent = spent * self._within_batches(service, step_s)
        for chance, longest_s in self.pauses:
            spent = spent * _evenly_within(chance, longest_s, step_s)
        return [np.fft.rfft(wait.on(step_s, SIZE).mass) * spent for wait in self.waits]

    def _service(self, step_s: float, mean_s: float, cv2: float) -> Transform:
        return np.fft.rfft(service_lattice(mean_s, cv2, self.shape, step_s, SIZE).mass)

    def _polled(self, step_s: float) -> Transform:
        """Waits for a source's next poll, and for the tuples of its batch before it: uniform, unless services vary so
        much that it could begin below 0.
        """
        size = max((float(sizes.of_tuple) for _, _, sizes in self.batches), default=1.0)
        mean_s, variance_s2 = map(float, poll_waits(self.polled_s, size, self.service_s, self.service_cv2))
        half_s = np.sqrt(3 * variance_s2)
        if half_s > mean_s:
            return np.fft.rfft(two_moment_lattice(mean_s, variance_s2 / mean_s**2, step_s, SIZE).mass)
        begin, end = (min(round(each / step_s), SIZE - 1) for each in (mean_s - half_s, mean_s + half_s))
        evenly = np.zeros(SIZE)
        evenly[begin : end + 1] = 1 / (end + 1 - begin)
        return np.asarray(np.fft.rfft(evenly))

    def _within_batches(self, service: Transform, step_s: float) -> Transform:
        """Waits for members of the tuple's own batch, and waits of other tuples for a regular batch."""
        beside = []
        for part, regular, sizes in self.batches:
            used = self.utilisation * part * regular
            chance, longest_s = firing_waits(sizes.of_tuple, self.service_s, used, self.utilisation - used)
            beside.append(_evenly_within(float(chance), float(longest_s), step_s))
        found = (1 - sum(part for part, _, _ in self.batches)) * np.prod(beside, axis=0)
        for number, (part, _, sizes) in enumerate(self.batches):
            others = [each for at, each in enumerate(beside) if at != number]
            share, behind = sizes.beyond(self.besides)
            within = 1 - share + share * behind.transform(service)
            found = found + part * within * np.prod(others, axis=0)
        return np.asarray(found)


def _one(each: Floats) -> float:
    """The value of one plan under one load."""
    return float(each.flat[0])


def _seldom(wait: Lattice, share: float) -> Lattice:
    """A wait that only a share of the tuples have."""
    mass = wait.mass * share
    mass[0] += 1 - share
    return Lattice(wait.step_s, mass)


def _evenly_within(chance: float, longest_s: float, step_s: float) -> Transform:
    """Of a wait that `chance` of the tuples have, uniform between 0 and longest_s."""
    steps = min(int(np.ceil(longest_s / step_s)), SIZE - 1)
    evenly = np.zeros(SIZE)
    evenly[: steps + 1] = 1 / (steps + 1)
    return np.asarray(1 - chance + chance * np.fft.rfft(evenly))


def _burst_lattices(found: BurstWaits) -> tuple[Lattice, Lattice]:
    """Waits in bursts and between them as lattices, preserving means."""
    step_s = max(16 * float(found.mean_s.max()), 1e-9) / BURST_SIZE
    at = np.arange(BURST_SIZE) * step_s
    lattices = []
    for chance, mean_s in zip(found.chance.reshape(2, 2), found.mean_s.reshape(2, 2), strict=True):
        with np.errstate(under="ignore"):
            excess_s = (chance[:, None] * mean_s[:, None] * np.exp(-at / mean_s[:, None])).sum(axis=0)
        lattices.append(lattice_of_excess(excess_s, step_s))
    return lattices[0], lattices[1]


@dataclass(frozen=True)
class LatencyDistribution:
    """Seconds from arrival at a source until the last service at a sink, queues and delays included.

    of_tuples: of a tuple at any sink, sinks weighted by their rates. at_sink: of the tuples at each sink. Mass at
    infinity is the probability of a path through an unstable operator.
    """

    of_tuples: Lattice
    at_sink: Mapping[str, Lattice] = field(default_factory=dict)

    def quantile_s(self, share: float) -> float:
        """Quantile `share` over the tuples at all sinks."""
        return self.of_tuples.quantile_s(share)


def stations(
    topology: Topology, flows: Iterable[OperatorFlow], arrival_cv2: float | Arrivals = 1.0
) -> dict[str, Station]:
    """Stations of all operators. flows: of one plan under one load, in topological order. arrival_cv2: of the arrivals
    at each source, 1 is Poisson; or their full description.
    """
    variability = Variability(topology, Arrivals.of(arrival_cv2))
    found: dict[str, Station] = {}
    for flow in flows:
        loads = KindLoads(flow, EXACTLY)
        arriving, _ = variability.take(flow, loads)
        thin = loads.by_plan(loads.thin)

        def of_kinds(each: npt.ArrayLike, like: Floats = thin) -> Floats:
            return np.array(np.broadcast_to(np.asarray(each, dtype=float), like.shape)[0, :, 0])

        batch = of_kinds(arriving.batch(slice(None), thin)) if arriving.batches else None
        calls, service_s = flow.profile.calls, flow.profile.service_s
        batches = tuple(
            StationBatches(
                float(each.part.flat[0]),
                float(each.regular.flat[0]),
                Batches(*(of_kinds(size) for size in (sizes.mean, sizes.of_tuple))),
            )
            for each in arriving.batches
            if (sizes := each.at(slice(None), thin)).of_tuple.max() > 1
        )
        found[flow.name] = Station(
            float(flow.entering_per_s[0, 0]),
            {name: float(each[0, 0]) for name, each in loads.parts.items()},
            of_kinds(loads.weight),
            of_kinds(loads.busy),
            of_kinds(arriving.ca2(loads)),
            of_kinds(loads.service_s),
            float(loads.cv2.flat[0]),
            flow.profile.shape,
            batch,
            batches,
            arriving.levels,
            arriving.of_squares,
            None if arriving.burst_weight is None else float(arriving.burst_weight.flat[0]),
            {name: float(each.flat[0]) for name, each in arriving.burst_weights.items()},
            flow.profile.all_pauses,
            None
            if calls is None
            else calls.waiting_share(service_s, of_kinds(loads.busy), 1.0 if batch is None else batch),
            leaving(flow, loads),
            arriving.polled_s,
            0.0 if calls is None else calls.besides(service_s),
        )
    return found


def latency_distribution(
    topology: Topology,
    operators: Mapping[str, Station],
    delays: Mapping[str, Delay] | None = None,
) -> LatencyDistribution:
    """Distribution of the end-to-end latency. delays: by stream name (`a->b`), or by source for waits before it;
    default none.

    A tuple made from another inherits its age. Sojourns along a path are assumed independent: exact for Poisson
    arrivals and exponential services (Reich 1957), otherwise an approximation. A wait is exact given two moments,
    except for the variability of arrivals, which is propagated by two moments only.
    Raises ModelError for a delay of an unknown stream.
    """
    added = dict(delays or {})
    if unknown := sorted(set(added) - {stream.name for stream in topology.streams} - set(topology.sources)):
        raise ModelError(f"delay of {unknown[0]}, which is no stream and no source; streams are named `a->b`")
    own = {name: operators[name].waits() for name in topology.order}
    step_s = _longest_s(topology, own, added) / SIZE
    reached: dict[str, list[Transform]] = {}
    for name in topology.order:
        station = operators[name]

        def departed(of: Leaving | None, name: str = name, station: Station = station) -> list[Transform]:
            before = []
            for stream in topology.inputs(name):
                part = station.parts[stream.name] if of is None else _one(of.parts[stream.name])
                bursting = station.burst_weights.get(stream.name)
                ways = _entering(reached[stream.name], operators[stream.upstream].burst_weight, bursting)
                rates = (part,) if bursting is None else (part * bursting, part * (1 - bursting))
                before.append((rates, [_delayed(way, added.get(stream.name), step_s) for way in ways]))
            # A slower instance has both longer waits and longer services.
            passed = _mixed([((kind.weight,) * len(kind.waits), kind.passed(step_s, of)) for kind in own[name]])
            if not before:
                return [_delayed(way, added.get(name), step_s) for way in passed]
            return [one * other for one, other in zip(_mixed(before), passed, strict=True)]

        usual = departed(None)
        reached[name] = usual
        for stream in topology.outputs(name):
            unlike = station.leaving.get(stream.name)
            reached[stream.name] = usual if unlike is None else departed(unlike)
    sinks = [name for name in topology.order if not topology.outputs(name)]
    # Without arrivals there is no delay.
    sinks = [name for name in sinks if operators[name].per_s > 0] or sinks
    at_sink = {}
    for name in sinks:
        weight, ways = operators[name].burst_weight, reached[name]
        whole = ways[0] if weight is None else weight * ways[0] + (1 - weight) * ways[1]
        at_sink[name] = Lattice(step_s, np.maximum(np.fft.irfft(whole, SIZE), 0.0))
    return LatencyDistribution(mixture([(operators[name].per_s, at_sink[name]) for name in sinks]), at_sink)


def _entering(ways: list[Transform], were: float | None, are: float | None) -> list[Transform]:
    """A full operator prolongs bursts, so some tuples from between bursts leave in them. were, are: shares of its
    tuples in bursts on arrival and on departure.
    """
    if were is None or are is None:
        return ways
    still = min(were / max(are, 1e-12), 1.0)
    return [still * ways[0] + (1 - still) * ways[1], ways[1]]


def _mixed(parts: Sequence[tuple[tuple[float, ...], list[Transform]]]) -> list[Transform]:
    """Mixture of streams, or instances, weighted by rate: one rate for each way, in and between bursts."""
    mixed = []
    for state in range(len(parts[0][1])):
        total = sum(rates[state] for rates, _ in parts)
        weights = [rates[state] / total if total > 0 else 1 / len(parts) for rates, _ in parts]
        mixed.append(np.asarray(sum(weight * ways[state] for weight, (_, ways) in zip(weights, parts, strict=True))))
    return mixed


def _delayed(way: Transform, delay: Delay | None, step_s: float) -> Transform:
    if delay is None or delay.mean_s == 0:
        return way
    parts = [(share, two_moment_lattice(each.mean_s, each.cv2, step_s, SIZE)) for share, each in delay.ways]
    return np.asarray(way * np.fft.rfft(mixture(parts).mass))


def _longest_s(topology: Topology, own: Mapping[str, list[Kind]], delays: Mapping[str, Delay]) -> float:
    """Seconds that contain all but about a millionth of the slowest path: its means, and the tail of its longest part.

    Mass beyond would reappear at 0, since transforms are cyclic.
    """
    means: dict[str, float] = {}
    tails: list[float] = []
    for name in topology.order:
        stable = [wait for kind in own[name] for wait in kind.waits if not wait.lost]
        wait_s = max((wait.mean_s for wait in stable), default=0.0)
        tails += [wait.quantile_s(1 - 1e-6) - wait.mean_s for wait in stable]
        tails.append(max(kind.longest_s for kind in own[name]))
        before = delays.get(name, Delay())
        reached_s = before.mean_s
        tails.append(14 * tail_s(before.mean_s, max(before.cv2, 1.0)))
        for stream in topology.inputs(name):
            for _, delay in delays.get(stream.name, Delay()).ways:
                reached_s = max(reached_s, means[stream.upstream] + delay.mean_s)
                # That of a gamma, which is as short as a normal one's where delays hardly vary.
                spread = 6 * delay.cv2**0.5 + 14 * delay.cv2 if delay.cv2 < 1 else 14 * tail_s(1.0, delay.cv2)
                tails.append(delay.mean_s * max(spread, 0.01))
        means[name] = reached_s + wait_s + max(kind.service_s for kind in own[name])
    # Independent tails add up in squares; the largest dominates.
    return max(means.values()) + max(max(tails), float(np.sqrt(np.sum(np.square(tails))))) + 1e-9
