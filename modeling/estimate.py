"""The model's estimate of a plan under a load."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from modeling.arrays import Floats
from modeling.flow.key_assignment import Unplaced
from modeling.flow.limits import ContainerLimit, Limit, SiteLimit
from modeling.flow.resources import Resources
from modeling.queueing.queues import UNSTABLE
from modeling.rescaling.plan_change import RescaleEstimate
from modeling.rescaling.recovery import newest_wait_s, time_to_violation_s


@dataclass(frozen=True)
class OperatorEstimate:
    """One operator under the offered load (not the throughput).

    arrival_rate_per_s: tuples in. instance_utilisation: shape (parallelism,); 1 and more is unstable.
    wait_s: mean queueing delay, UNSTABLE if the busiest instance is. headroom_factor: factor by which the whole load
    could grow until this operator's busiest instance saturates.
    """

    operator: str
    parallelism: int
    arrival_rate_per_s: float
    instance_utilisation: Floats
    wait_s: float
    headroom_factor: float

    @property
    def utilisation(self) -> float:
        """Utilisation of the busiest instance, which saturates first."""
        return float(self.instance_utilisation.max())


@dataclass(frozen=True)
class LatencyEstimate:
    """Seconds from arrival to the last service at a sink, including queues and the site's delays: over the tuples at
    all sinks, and the p95 at the slowest sink. UNSTABLE if that share never arrives.
    """

    mean_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    slowest_sink: str
    slowest_p95_s: float

    @classmethod
    def unstable(cls, slowest_sink: str) -> "LatencyEstimate":
        """Beyond saturation, where the backlog and all latencies grow."""
        return cls(UNSTABLE, UNSTABLE, UNSTABLE, UNSTABLE, slowest_sink, UNSTABLE)


@dataclass(frozen=True)
class Estimate:
    """The predicted behaviour of a plan under a load.

    throughput_per_s: actual intake of each source. mst_per_s: maximum sustainable throughput per source, at the load's
    mix of sources. bottleneck: the operator, container or link that saturates first. headroom_factor: mst / load.
    latency_s: mean end-to-end seconds from arrival to the last service at a sink, over the tuples at all sinks,
    including the site's delays, as in evaluate_many; UNSTABLE above saturation. latency: from whole distributions, with
    percentiles, if requested. excess_per_s: growth of the backlog per source (0 when stable). bounds: keyed streams
    whose busiest instance is only bounded or expected, and why. resources: of instances
    and containers. other_limits: factor by which the load could grow until each container's cores, or the fullest link,
    are used up. rescale: cost of replacing the running plan, if given. notes: what the numbers leave out.
    """

    plan_id: str
    load_per_s: Mapping[str, float]
    throughput_per_s: Mapping[str, float]
    mst_per_s: Mapping[str, float]
    headroom_factor: float
    bottleneck: Limit
    operators: Mapping[str, OperatorEstimate]
    latency_s: float
    excess_per_s: Mapping[str, float]
    resources: Resources
    bounds: Mapping[str, Unplaced] = field(default_factory=dict)
    latency: LatencyEstimate | None = None
    other_limits: Mapping[SiteLimit, float] = field(default_factory=dict)
    rescale: RescaleEstimate | None = None
    notes: tuple[str, ...] = ()

    @property
    def stable(self) -> bool:
        return self.headroom_factor > 1.0

    @property
    def utilisation(self) -> float:
        return max(operator.utilisation for operator in self.operators.values())

    @property
    def fullest(self) -> float:
        """Used share of the fullest operator, container or link under the offered load; above 1 if overloaded."""
        return max([self.utilisation, *(1 / scale for scale in self.other_limits.values() if scale > 0)])

    @property
    def bottleneck_text(self) -> str:
        """What saturates first, a container with its cores: `container 3: 2 of 2 cores`."""
        limit = self.bottleneck
        where = self.resources.containers.get(limit.id) if isinstance(limit, ContainerLimit) else None
        cores = None if where is None else where.cores_limit
        return str(limit) if cores is None else f"{limit}: {cores:g} of {cores:g} cores"

    def time_to_violation_s(self, max_lag_s: float, backlog: Mapping[str, float] | None = None) -> float:
        """Seconds until a tuple arrives that will wait longer than max_lag_s at its source; infinite if none will.

        backlog: tuples already waiting at each source.
        """
        waiting = backlog or {}
        times_s = [
            float(time_to_violation_s(rate, self._capacity_per_s(source), max_lag_s, backlog=waiting.get(source, 0.0)))
            for source, rate in self.load_per_s.items()
            if rate > 0
        ]
        return min(times_s, default=float("inf"))

    def drain_wait_s(self, backlog: Mapping[str, float]) -> float:
        """Wait of a tuple arriving now behind this backlog, for the worst source. It adds to the latency until the
        backlog is gone.
        """
        waits_s = [
            float(newest_wait_s(backlog.get(source, 0.0), self._capacity_per_s(source)))
            for source, rate in self.load_per_s.items()
            if rate > 0
        ]
        return max(waits_s, default=0.0)

    def _capacity_per_s(self, source: str) -> float:
        # A throttled source takes in its throughput, whatever its own operators could do; an unthrottled one takes in
        # at least its load, even if others are throttled.
        held_back = self.excess_per_s[source] > 0
        most = max(self.mst_per_s[source], self.load_per_s[source])
        return min(self.throughput_per_s[source] if held_back else most, 1e15)
