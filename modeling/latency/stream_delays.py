"""Delays added by a site, by stream: network, buffers, serialisation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.flow.crossing import Crossing
from modeling.flow.rates import OperatorFlow
from modeling.flow.routing import POINTWISE
from modeling.flow.scenarios import Scenarios
from modeling.flow.throughput import Capacity
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placed import Placed
from modeling.inputs.site import Site
from modeling.inputs.topology import Grouping, Stream, Topology
from modeling.latency.delay import Delay

BUFFER_BYTES = 32 * 1024
"""Default size of Flink's network buffers: a full one is sent before its timeout."""

HOPS = 32
"""Number of classes of delays between nodes."""


@dataclass(frozen=True)
class ManyDelays:
    """Delay of many plans under many scenarios: mean in seconds and variance in seconds², shape (plans or 1, scenarios
    or 1). parts: of `first`.
    """

    mean_s: Floats
    variance_s2: Floats
    parts: tuple[tuple[float, Delay], ...] = ()

    def plus(self, mean_s: Floats, variance_s2: Floats) -> "ManyDelays":
        """With a further delay that all tuples have."""
        more = Delay(float(mean_s.flat[0]), float(variance_s2.flat[0]))
        parts = tuple((share, each + more) for share, each in self.parts)
        return ManyDelays(self.mean_s + mean_s, self.variance_s2 + variance_s2, parts)

    @property
    def cv2(self) -> Floats:
        some = np.where(self.mean_s > 0, self.mean_s, 1.0)
        return np.where(self.mean_s > 0, self.variance_s2 / some / some, 0.0)

    def first(self) -> Delay:
        """The delay of the first plan under the first scenario."""
        return Delay(float(self.mean_s.flat[0]), float(self.variance_s2.flat[0]), self.parts)


class StreamDelays:
    """added: delays of streams in addition to the site, by `a->b`, and waits before a source, by its name.

    A buffer is sent after buffer_timeout_s or, if bytes_per_tuple are known, as soon as it is full: a tuple waits
    uniformly between 0 and that time. Chained operators have no buffer between them, but plans do not show chaining.
    calls: whether to include the time of an operator's calls, as far as it is not in its queue. Raises ModelError for
    an added delay of neither a stream nor a source.
    """

    def __init__(
        self, topology: Topology, plans: Placed, site: Site, added: Mapping[str, Delay], *, calls: bool = True
    ) -> None:
        if unknown := sorted(set(added) - {stream.name for stream in topology.streams} - set(topology.sources)):
            raise ModelError(f"delay of {unknown[0]}, which is no stream and no source; streams are named `a->b`")
        self._topology = topology
        self._plans = plans
        self._site = site
        self._added = added
        self._calls = calls

    def of(self, flow: OperatorFlow, crossings: Sequence[tuple[str, Crossing]]) -> dict[str, ManyDelays]:
        """Delays of an operator's input streams, by name, or of a source by its own name, if any.

        crossings: of the same streams, if nodes are known.
        """
        crossed = dict(crossings)
        found = {s.name: self._of_stream(s, flow, crossed.get(s.name)) for s in self._topology.inputs(flow.name)}
        if not found:
            before = self._added.get(flow.name, Delay())
            found[flow.name] = ManyDelays(np.full((1, 1), before.mean_s), np.full((1, 1), before.variance_s2))
        if self._calls and (calls := flow.profile.calls) is not None:
            called_s = calls.beside_s(flow.profile.service_s)
            variance_s2 = calls.beside_variance_s2(flow.profile.service_s, flow.profile.service_cv2)
            waited_s = _beside_s(flow)
            found = {name: each.plus(called_s + waited_s, variance_s2 + waited_s**2) for name, each in found.items()}
        return {name: each for name, each in found.items() if (each.mean_s > 0).any()}

    def _of_stream(self, stream: Stream, flow: OperatorFlow, crossed: Crossing | None) -> ManyDelays:
        site = self._site
        fixed = self._added.get(stream.name, Delay()) + Delay(site.serialisation_s.get(stream.name, 0.0))
        found = ManyDelays(np.zeros((1, 1)), np.zeros((1, 1)))
        if crossed is not None and site.network is not None:
            # Variance over tuples: from the choice of node pair, and from the jitter of each.
            delay_s, jitter_s = site.network.delay_ms / 1e3, site.network.jitter_ms / 1e3
            hop_s = crossed.mean(delay_s)
            variance_s2 = np.maximum(crossed.mean(delay_s**2 + jitter_s**2) - hop_s**2, 0.0)
            found = ManyDelays(hop_s, variance_s2, _hops(crossed.of_first_plan(), delay_s, jitter_s))
        found = found.plus(np.full((1, 1), fixed.mean_s), np.full((1, 1), fixed.variance_s2))
        if site.buffer_timeout_s > 0:
            waits_s = self._buffered_s(stream, flow)
            found = found.plus(waits_s / 2, waits_s**2 / 12)
        return found

    def _buffered_s(self, stream: Stream, flow: OperatorFlow) -> Floats:
        """Seconds until a buffer is sent."""
        site = self._site
        size = site.bytes_per_tuple.get(stream.name, 0.0)
        if size == 0:
            return np.full((1, 1), site.buffer_timeout_s)
        senders, receivers = (self._plans.parallelism[end] for end in (stream.upstream, stream.downstream))
        match stream.grouping:
            case Grouping.ALL | Grouping.GLOBAL:
                channels = senders  # each sender's whole stream goes to every receiver, or to the one
            case grouping if grouping in POINTWISE:
                channels = np.maximum(senders, receivers)
            case _:
                channels = senders * receivers
        bytes_per_s = flow.stream_per_s[stream.name][flow.row] * size / channels[:, None]
        with np.errstate(divide="ignore"):
            return np.minimum(site.buffer_timeout_s, BUFFER_BYTES / bytes_per_s)


def _hops(share: Floats, delay_s: Floats, jitter_s: Floats) -> tuple[tuple[float, Delay], ...]:
    """Delays of tuples by their pairs of nodes, in classes of about the same delay; none if all are in one."""
    used = share > 0
    if not used.any():
        return ()
    weight, mean_s = share[used], delay_s[used]
    width_s = np.ptp(mean_s) / HOPS
    at = np.minimum((mean_s - mean_s.min()) / (width_s or 1.0), HOPS - 1).astype(np.int64)
    total, first_s, second_s2 = (
        np.bincount(at, weight * each) for each in (1.0, mean_s, mean_s**2 + jitter_s[used] ** 2)
    )
    parts = [
        (float(part), Delay(float(first / part), max(float(second / part - (first / part) ** 2), 0.0)))
        for part, first, second in zip(total, first_s, second_s2, strict=True)
        if part > 0
    ]
    return tuple((part / float(total.sum()), each) for part, each in parts) if len(parts) > 1 else ()


def _beside_s(flow: OperatorFlow) -> Floats:
    """Mean wait for a core while calls bound the instance, about exponential, shape (plans or 1, scenarios or 1)."""
    if flow.core_wait_beside_s is None:
        return np.zeros((1, 1))
    taken = flow.instance_per_s()
    total = taken.sum(axis=1)
    return np.asarray((taken * flow.core_wait_beside_s).sum(axis=1) / np.where(total > 0, total, 1.0))


def plan_delays(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, load_per_s: Mapping[str, float], site: Site
) -> dict[str, Delay]:
    """Delays added by the site to each stream, under one plan and load."""
    capacity = Capacity(topology, profiles, [plan], site)
    delays = StreamDelays(topology, capacity.placed, site, {}, calls=False)
    found: dict[str, Delay] = {}

    def visit(flow: OperatorFlow, crossings: Sequence[tuple[str, Crossing]]) -> None:
        if topology.inputs(flow.name):
            found.update({name: each.first() for name, each in delays.of(flow, crossings).items()})

    capacity.used(Scenarios(np.array([[load_per_s[source] for source in topology.sources]])), visit)
    return found
