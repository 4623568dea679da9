"""What the model says a plan would do under a load."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from modeling.arrays import Floats
from modeling.flow.limits import Limit, SiteLimit
from modeling.flow.resources import Resources
from modeling.rescaling.plan_change import RescaleEstimate
from modeling.rescaling.recovery import newest_wait_s, time_to_violation_s


@dataclass(frozen=True)
class OperatorEstimate:
    """One operator under the offered load (not under what the plan lets through).

    arrival_rate_per_s: tuples in. instance_utilisation: shape (parallelism,); 1 and more is unstable.
    wait_s: mean queueing delay, UNSTABLE where the busiest instance is. headroom_factor: by what factor the whole
    load could grow until this operator's busiest instance saturates.
    """

    operator: str
    parallelism: int
    arrival_rate_per_s: float
    instance_utilisation: Floats
    wait_s: float
    headroom_factor: float

    @property
    def utilisation(self) -> float:
        """Of the busiest instance: it is what saturates."""
        return float(self.instance_utilisation.max())


@dataclass(frozen=True)
class LatencyEstimate:
    """Seconds from arrival to the last service at a sink, with queues and what the site adds: of tuples at any sink,
    and the p95 at the sink where that is longest. UNSTABLE where that share never arrives.
    """

    mean_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    slowest_sink: str
    slowest_p95_s: float


@dataclass(frozen=True)
class Estimate:
    """What a plan would do under a load.

    throughput_per_s: what each source would really take in. mst_per_s: maximum sustainable throughput per source, at
    the load's mix of sources. bottleneck: what saturates first, an operator, a container or a link. headroom_factor:
    mst / load. latency_s: mean end-to-end seconds from arrival to the last service at a sink, over the tuples at all of
    them, with what the site adds, as evaluate_many says it; UNSTABLE above saturation. latency: of whole distributions,
    with percentiles, where they were asked for. excess_per_s: per source, how fast its backlog grows (0 when stable).
    bounds: keyed streams of which not all keys are known, or not what the engine does with them: their busiest instance
    is only bounded. resources: of instances and containers. other_limits: by what factor the load could grow until each
    container's cores, or the fullest link, are used up. rescale: what replacing the running plan costs, where that was
    given. notes: what is not in the numbers.
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
    bounds: tuple[str, ...] = ()
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

    def time_to_violation_s(self, max_lag_s: float, backlog: Mapping[str, float] | None = None) -> float:
        """Seconds until a tuple comes that will wait longer than max_lag_s at its source; infinite while none does.

        backlog: tuples that wait at each source already.
        """
        waiting = backlog or {}
        times_s = [
            float(time_to_violation_s(rate, self._capacity_per_s(source), max_lag_s, backlog=waiting.get(source, 0.0)))
            for source, rate in self.load_per_s.items()
            if rate > 0
        ]
        return min(times_s, default=float("inf"))

    def drain_wait_s(self, backlog: Mapping[str, float]) -> float:
        """What a tuple waits that comes now, behind that many at each source: the longest of them. It adds to the
        latency until the backlog is gone.
        """
        waits_s = [
            float(newest_wait_s(backlog.get(source, 0.0), self._capacity_per_s(source)))
            for source, rate in self.load_per_s.items()
            if rate > 0
        ]
        return max(waits_s, default=0.0)

    def _capacity_per_s(self, source: str) -> float:
        # A source that is held back takes in what it does, whatever its own operators could; one that is not takes in
        # at least its load, even where others are held back.
        held_back = self.excess_per_s[source] > 0
        most = max(self.mst_per_s[source], self.load_per_s[source])
        return min(self.throughput_per_s[source] if held_back else most, 1e15)
