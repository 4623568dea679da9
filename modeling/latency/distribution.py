"""End-to-end latency as a distribution: from a source to its sinks, over the whole graph at once.

Along a path times add up (taken as independent), into an operator come tuples by one of its streams each. Both are
cheap on transforms, products and weighted sums, so each operator is visited once, however many paths there are. One
inverse transform a sink gives percentiles.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.flow.kinds import EXACTLY
from modeling.flow.rates import OperatorFlow
from modeling.inputs.topology import Topology
from modeling.latency.delay import Delay
from modeling.latency.variability import KindLoads, Variability
from modeling.queueing.exact_wait import exact_wait
from modeling.queueing.lattice import Lattice, mixture, two_moment_lattice
from modeling.queueing.two_moments import tail_s

Floats = npt.NDArray[np.float64]

SIZE = 2**14
"""Steps of the lattice that holds the slowest path."""

Transform = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class Station:
    """One operator as a place to wait and be served: what decides the wait of each kind of its instances.

    per_s: tuples per second into all instances; streams_per_s: on each stream that enters, before it is dealt. weights:
    part of them that all instances of a kind are given. service_s: mean seconds per tuple; kinds differ where their
    nodes do, or what they are given by which stream. service_cv2: of single tuples, in all instances alike. What is of
    kinds has the shape (kinds,).
    """

    per_s: float
    streams_per_s: Mapping[str, float]
    weights: Floats
    utilisation: Floats
    ca2: Floats
    service_s: Floats
    service_cv2: float

    def waits(self) -> list[tuple[float, float, Lattice]]:
        """Weight, service time and wait of each kind."""
        return [
            (weight, service_s, exact_wait(utilisation, service_s, ca2, self.service_cv2))
            for weight, utilisation, ca2, service_s in zip(
                *(each.tolist() for each in (self.weights, self.utilisation, self.ca2, self.service_s)), strict=True
            )
        ]


@dataclass(frozen=True)
class LatencyDistribution:
    """Seconds from arrival at a source until the last service at a sink, queues and delays included.

    of_tuples: of a tuple at any sink, sinks weighed by their rates. at_sink: of the tuples at each sink. Probability at
    infinity is that of a way through an unstable operator.
    """

    of_tuples: Lattice
    at_sink: Mapping[str, Lattice] = field(default_factory=dict)

    def quantile_s(self, share: float) -> float:
        """What `share` of the tuples do not exceed, whatever their sink."""
        return self.of_tuples.quantile_s(share)

    def slowest_sink_quantile_s(self, share: float) -> float:
        """What `share` of the tuples do not exceed at the sink where that is longest."""
        return max(lattice.quantile_s(share) for lattice in self.at_sink.values())


def stations(topology: Topology, flows: Iterable[OperatorFlow], arrival_cv2: float = 1.0) -> dict[str, Station]:
    """Every operator's instances. flows: of one plan under one load, in topological order. arrival_cv2: of the arrivals
    to each source; 1 is Poisson.
    """
    variability = Variability(topology, arrival_cv2)
    found: dict[str, Station] = {}
    for flow in flows:
        loads = KindLoads(flow, EXACTLY)
        ca2 = variability.take(flow, loads)[0].ca2(loads)
        weight, busy, ca2, service_s = (
            _first(each, loads.thin.shape[1]) for each in (loads.weight, loads.busy, ca2, loads.service_s)
        )
        streams_per_s = {name: float(per_s[0, 0]) for name, per_s in flow.stream_per_s.items()}
        total_per_s, cv2 = float(flow.entering_per_s[0, 0]), float(loads.cv2.flat[0])
        found[flow.name] = Station(total_per_s, streams_per_s, weight, busy, ca2, service_s, cv2)
    return found


def _first(of_kinds: Floats, kinds: int) -> Floats:
    """Of the only plan under the only load, shape (kinds,)."""
    return np.asarray(np.broadcast_to(of_kinds[0, :, 0], (kinds,)), dtype=np.float64)


def latency_distribution(
    topology: Topology,
    operators: Mapping[str, Station],
    delays: Mapping[str, Delay] | None = None,
) -> LatencyDistribution:
    """Distribution of the end-to-end latency. delays: by stream name (`a->b`), or by source where tuples wait before
    it; none where not given.

    A tuple that an operator makes of one carries that one's age on. Sojourns along a path are taken as independent:
    exact for Poisson arrivals and exponential services (Reich 1957), an approximation elsewhere. A wait is exact for
    its two moments but for the variability of arrivals, which is handed on by two moments only.
    Raises ModelError for a delay of an unknown stream.
    """
    added = dict(delays or {})
    if unknown := sorted(set(added) - {stream.name for stream in topology.streams} - set(topology.sources)):
        raise ModelError(f"delay of {unknown[0]}, which is no stream and no source; streams are named `a->b`")
    own = {name: operators[name].waits() for name in topology.order}
    step_s = _longest_s(topology, operators, own, added) / SIZE
    reached: dict[str, Transform] = {}
    for name in topology.order:
        station = operators[name]
        before = [
            (station.streams_per_s[stream.name], _delayed(reached[stream.upstream], added.get(stream.name), step_s))
            for stream in topology.inputs(name)
        ]
        # An instance that is slower makes tuples wait longer and serves them longer.
        passed: list[tuple[float, Transform]] = []
        for weight, service_s, wait in own[name]:
            served = two_moment_lattice(service_s, station.service_cv2, step_s, SIZE)
            passed.append((weight, np.fft.rfft(wait.on(step_s, SIZE).mass) * np.fft.rfft(served.mass)))
        reached[name] = _delayed(_mixed(before), added.get(name), step_s) * _mixed(passed)
    sinks = [name for name in topology.order if not topology.outputs(name)]
    # Where nothing comes nothing is slow.
    sinks = [name for name in sinks if operators[name].per_s > 0] or sinks
    at_sink = {name: Lattice(step_s, np.maximum(np.fft.irfft(reached[name], SIZE), 0.0)) for name in sinks}
    return LatencyDistribution(mixture([(operators[name].per_s, at_sink[name]) for name in sinks]), at_sink)


def _mixed(before: Sequence[tuple[float, Transform]]) -> Transform:
    """Streams, or instances, weighed by rate; 1, no time at all, where there are none."""
    if not before:
        return np.ones(SIZE // 2 + 1, dtype=complex)
    total = sum(rate for rate, _ in before)
    weights = [rate / total if total > 0 else 1 / len(before) for rate, _ in before]
    return np.asarray(sum(weight * way for weight, (_, way) in zip(weights, before, strict=True)))


def _delayed(way: Transform, delay: Delay | None, step_s: float) -> Transform:
    if delay is None or delay.mean_s == 0:
        return way
    return np.asarray(way * np.fft.rfft(two_moment_lattice(delay.mean_s, delay.cv2, step_s, SIZE).mass))


def _longest_s(
    topology: Topology,
    operators: Mapping[str, Station],
    waits: Mapping[str, list[tuple[float, float, Lattice]]],
    delays: Mapping[str, Delay],
) -> float:
    """Seconds that hold all but some millionth of the slowest path: its means, and the tail of its longest part.

    What were beyond would come back at 0, since transforms go round.
    """
    means: dict[str, float] = {}
    tails: list[float] = []
    for name in topology.order:
        station = operators[name]
        stable = [wait for _, _, wait in waits[name] if not wait.lost]
        longest_s = max(service_s for _, service_s, _ in waits[name])
        wait_s = max((wait.mean_s for wait in stable), default=0.0)
        tails += [wait.quantile_s(1 - 1e-6) - wait.mean_s for wait in stable]
        tails.append(14 * tail_s(longest_s, max(station.service_cv2, 1.0)))
        own = delays.get(name, Delay())
        before = own.mean_s
        tails.append(14 * tail_s(own.mean_s, max(own.cv2, 1.0)))
        for stream in topology.inputs(name):
            delay = delays.get(stream.name, Delay())
            before = max(before, means[stream.upstream] + delay.mean_s)
            tails.append(14 * tail_s(delay.mean_s, max(delay.cv2, 1.0)) if delay.cv2 > 0 else delay.mean_s / 100)
        means[name] = before + wait_s + longest_s
    # Tails that are independent add up as squares do; the largest has its say alone.
    return max(means.values()) + max(max(tails), float(np.sqrt(np.sum(np.square(tails))))) + 1e-9
