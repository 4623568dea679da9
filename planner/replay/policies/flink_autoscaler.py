"""The autoscaler of Flink's Kubernetes operator, release 1.10: DS2's model with target utilisation, backlog and delays.

A test compares every decision with the library's own code.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from modeling.inputs.topology import Grouping
from planner.errors import PlanError
from planner.replay.policies.true_rates import MINUTE_S, means, records_in_per_s, whole_minutes
from planner.replay.policy import Decision, MinuteMetrics, Seen
from planner.true_rates import target_rates_per_s, true_rate_per_s


@dataclass(frozen=True)
class FlinkAutoscalerSettings:
    """Named after the options below `job.autoscaler`, with the defaults of release 1.10; in seconds and fractions.

    stabilization_s: time without scaling after a start. window_s: metrics.window. target_utilisation,
    utilisation_boundary: target.utilization, and its distance to both ends of the band without action. catch_up_s: time
    in which a backlog should be gone, 0 to ignore it. restart_s: assumed length of a restart. backlog_lag_s:
    backlog-processing.lag-threshold. observed_lag_s, observed_switch, observed_least: lag-threshold, switch-threshold
    and min-observations of observed-true-processing-rate.
    """

    stabilization_s: float = 300.0
    window_s: float = 900.0
    target_utilisation: float = 0.7
    utilisation_boundary: float = 0.3
    catch_up_s: float = 1800.0
    restart_s: float = 300.0
    scale_down_interval_s: float = 3600.0
    max_scale_down_factor: float = 0.6
    max_scale_up_factor: float = 100_000.0
    min_parallelism: int = 1
    max_parallelism: int = 200
    backlog_lag_s: float = 300.0
    observed_lag_s: float = 30.0
    observed_switch: float = 0.15
    observed_least: int = 2

    def __post_init__(self) -> None:
        if not self.window_s >= MINUTE_S:
            raise PlanError(f"Flink's autoscaler: window_s {self.window_s} < 60; give at least the 60 s of one metric")
        if not 0 < self.target_utilisation <= 1:
            raise PlanError(
                f"Flink's autoscaler: target_utilisation {self.target_utilisation}; give more than 0 and at most 1"
            )


TUNED = FlinkAutoscalerSettings(
    # Five samples smooth the noise of a minute; fifteen would see a rise ten minutes later.
    window_s=300.0,
    # A job whose load is known needs half the default's spare capacity, so it scales at 0.9, not when it is saturated.
    target_utilisation=0.8,
    utilisation_boundary=0.1,
    # State is restored before the job runs, so its metrics are steady after a minute.
    stabilization_s=60.0,
    # A job with little state restarts within a minute; the default assumes five.
    restart_s=60.0,
    # The lag should be gone in ten minutes, not in half an hour.
    catch_up_s=600.0,
    # Half an hour outlasts dips between two peaks and keeps half of the surplus that an hour keeps.
    scale_down_interval_s=1800.0,
)


@dataclass(frozen=True)
class Vertex:
    """What the autoscaler knows about an operator, over the metrics window.

    groups: key groups of a keyed operator, or known partitions of a source, which its instances share evenly; 0 for
    none. target_per_s: tuples per second needed to keep up. catch_up_per_s: additional tuples per second to work off
    the backlog. true_rate_per_s: what its instances could process.
    """

    parallelism: int
    max_parallelism: int
    groups: int
    target_per_s: float
    catch_up_per_s: float
    true_rate_per_s: float


def new_parallelism(vertex: Vertex, settings: FlinkAutoscalerSettings) -> int:
    """Instances that carry the target rate at the target utilisation, and work off the backlog and that of a
    restart.
    """
    factor = _capacity_per_s(vertex, settings, settings.target_utilisation, restart=True) / vertex.true_rate_per_s
    factor = min(max(factor, 1 - settings.max_scale_down_factor), 1 + settings.max_scale_up_factor)
    lower = min(vertex.parallelism, settings.min_parallelism)
    upper = min(vertex.max_parallelism, max(vertex.parallelism, settings.max_parallelism))
    count = min(max(lower, math.ceil(factor * vertex.parallelism)), upper)
    return _aligned(count, vertex.groups, lower, upper) if vertex.groups else count


def within_bounds(vertex: Vertex, settings: FlinkAutoscalerSettings, backlog: bool) -> bool:
    """Whether the utilisation is in the band without action; with a backlog the band has no lower end."""
    most = 1.0 if backlog else settings.target_utilisation + settings.utilisation_boundary
    least = 0.0 if backlog else settings.target_utilisation - settings.utilisation_boundary
    from_per_s = _capacity_per_s(vertex, settings, most, restart=False)
    return from_per_s <= vertex.true_rate_per_s <= _capacity_per_s(vertex, settings, least, restart=True)


def _capacity_per_s(vertex: Vertex, settings: FlinkAutoscalerSettings, utilisation: float, restart: bool) -> float:
    utilisation = min(max(0.0, utilisation), 1.0)
    if utilisation == 0:
        return math.inf
    downtime_per_s = 0.0
    if restart and settings.catch_up_s:
        downtime_per_s = vertex.target_per_s * settings.restart_s / settings.catch_up_s
    return math.floor(vertex.catch_up_per_s + downtime_per_s + vertex.target_per_s / utilisation + 0.5)


def _aligned(count: int, groups: int, lower: int, upper: int) -> int:
    """The next count that divides the groups; else the smallest with the same largest number of groups per instance."""
    most = min(groups if count > groups // 2 else groups // 2, upper)
    for above in range(count, most + 1):
        if groups % above == 0:
            return above
    below = next(each for each in range(count, 0, -1) if groups // each > groups // count)
    return max(below if groups % below == 0 else below + 1, lower)


class FlinkAutoscaler:
    """The decisions of the operator's loop, once a minute.

    A minute's row stands for Flink's sample at its end. Rates come from the counts after the window's first sample,
    utilisation is the mean over all samples. `busiest` is busyTimeMsPerSecond, the maximum over subtasks, as in the
    default aggregator; Flink reads it in whole milliseconds. `suspended` is backPressuredTimeMsPerSecond. A minute with
    some downtime gives no sample, where Flink may have one.

    Left out, as off by default: detection of ineffective scaling, tracked restart times, memory tuning, quotas and
    excluded periods. Left out, as not measured: the stop under memory pressure. Operators whose number of instances the
    topology fixes are excluded from scaling. This release scales down to the newest result; later ones to the largest
    of the interval.

    partitions: of sources for which Flink knows their number (Kafka, Pulsar).
    """

    every_s = MINUTE_S
    first: Mapping[str, int] | None = None

    def __init__(
        self,
        settings: FlinkAutoscalerSettings | None = None,
        name: str = "Flink autoscaler",
        partitions: Mapping[str, int] | None = None,
    ) -> None:
        self.name = name
        self._settings = settings or FlinkAutoscalerSettings()
        self._partitions = partitions or {}
        self._surplus_since_s: dict[str, float] = {}
        self._observed = _ObservedRates(self._settings)

    def decide(self, seen: Seen) -> Decision | None:
        samples = whole_minutes(seen.measured, seen.running_since_s)
        if seen.changing or not samples.minutes:
            return None
        settings = self._settings
        self._observed.add(samples, seen.running_since_s)
        ends_s = samples.start_s + MINUTE_S
        now_s = float(ends_s[-1])
        stable = int(np.searchsorted(ends_s, seen.running_since_s + settings.stabilization_s))
        if stable == samples.minutes or now_s < ends_s[stable] + settings.window_s:
            return None
        window = samples.taken(slice(int(np.searchsorted(ends_s, now_s - settings.window_s)), None))
        self._observed.keep(window.minutes)
        vertices = self._vertices(seen.plan, window)
        backlog = _catching_up(window, settings)
        plan, reasons = dict(seen.plan), list[str]()
        for name, vertex in vertices.items():
            count = plan[name] = new_parallelism(vertex, settings)
            if count >= vertex.parallelism:
                self._surplus_since_s.pop(name, None)
            else:
                since_s = self._surplus_since_s.setdefault(name, now_s)
                if now_s < since_s + settings.scale_down_interval_s:
                    continue
            if count != vertex.parallelism and not within_bounds(vertex, settings, backlog):
                reasons.append(
                    f"{name} {vertex.parallelism} → {count}: {vertex.target_per_s:.4g}/s to process and "
                    f"{vertex.catch_up_per_s:.4g}/s to catch up, {vertex.true_rate_per_s:.4g}/s possible"
                )
        if not reasons:
            return None
        self._surplus_since_s.clear()
        return Decision(plan, "; ".join(reasons))

    def _vertices(self, plan: Mapping[str, int], window: MinuteMetrics) -> dict[str, Vertex]:
        topology = window.topology
        counted = window.taken(slice(1, None))
        records_in = records_in_per_s(counted)
        ratios = _edge_ratios(counted, records_in)
        span_s = MINUTE_S * counted.minutes
        growth = ((window.backlog[-1] - window.backlog[0]) / span_s).tolist()
        arriving = {n: max(0.0, records_in[n] + per_s) for n, per_s in zip(topology.sources, growth, strict=True)}
        catch_up_s = self._settings.catch_up_s
        extra = (window.backlog[-1] / catch_up_s if catch_up_s else 0.0 * window.backlog[-1]).tolist()
        target = target_rates_per_s(topology, arriving, ratios, _thousandths)
        catch_up = target_rates_per_s(topology, dict(zip(topology.sources, extra, strict=True)), ratios, _thousandths)
        busy = dict(zip(topology.order, means(window.busiest), strict=True))
        vertices = {}
        for name in topology.order:
            if name not in topology.given_parallelism:
                true_rate = self._observed.preferred(name, true_rate_per_s(records_in[name], busy[name]))
                most = topology.max_parallelism[name]
                keyed = any(stream.grouping is Grouping.FIELDS for stream in topology.inputs(name))
                groups = self._partitions.get(name, most if keyed else 0)
                vertices[name] = Vertex(plan[name], most, groups, target[name], catch_up[name], _thousandths(true_rate))
        return vertices


class _ObservedRates:
    """True rates of sources as seen while they catch up: what they take in, over the time in which they are not
    blocked.

    Between such times the mean of the window continues, as in Flink, so a rate is remembered until the job restarts.
    """

    def __init__(self, settings: FlinkAutoscalerSettings) -> None:
        self._settings = settings
        self._since_s = self._until_s = -math.inf
        self._rates: dict[str, list[float]] = {}

    def add(self, samples: MinuteMetrics, since_s: float) -> None:
        """Add the new minutes; those before a restart are dropped."""
        topology = samples.topology
        if since_s != self._since_s:
            self._since_s, self._until_s, self._rates = since_s, -math.inf, {name: [] for name in topology.sources}
        new = samples.taken(slice(int(np.searchsorted(samples.start_s, self._until_s)), None))
        if not new.minutes:
            return
        self._until_s = float(new.start_s[-1]) + MINUTE_S
        for at, name in enumerate(topology.sources):
            suspended = new.suspended[:, topology.order.index(name)].tolist()
            rows = zip(new.taken_per_s[:, at].tolist(), new.backlog[:, at].tolist(), suspended, strict=True)
            for taken_per_s, lag, share in rows:
                if taken_per_s == 0:
                    rate = math.inf
                elif lag >= self._settings.observed_lag_s * taken_per_s and share < 1:
                    rate = taken_per_s / (1 - share)
                else:
                    rate = self._mean(name)
                self._rates[name].append(_thousandths(rate))

    def keep(self, number: int) -> None:
        """Keep only the newest."""
        self._rates = {name: rates[-number:] for name, rates in self._rates.items()}

    def preferred(self, name: str, by_busy_time: float) -> float:
        """The observed rate if the one by busy time is unknown or far above it."""
        observed = self._mean(name)
        if math.isnan(observed) or by_busy_time <= observed * (1 + self._settings.observed_switch):
            return by_busy_time
        return observed

    def _mean(self, name: str) -> float:
        """NaN if too little was observed; infinite if there were no tuples throughout."""
        rates = [rate for rate in self._rates.get(name, ()) if not math.isnan(rate)]
        finite = [rate for rate in rates if math.isfinite(rate)]
        if rates and not finite:
            return math.inf
        return sum(finite) / len(finite) if len(finite) >= self._settings.observed_least else math.nan


def _thousandths(value: float) -> float:
    """Rounded as Flink stores its metrics; values that would become 0 are kept."""
    return math.floor(value * 1000 + 0.5) / 1000 or value if math.isfinite(value) else value


def _catching_up(window: MinuteMetrics, settings: FlinkAutoscalerSettings) -> bool:
    """Whether a source's backlog exceeds backlog_lag_s of its intake."""
    taken_per_s = means(window.taken_per_s[1:])
    sources = zip(window.backlog[-1].tolist(), taken_per_s, strict=True)
    return any(waits > settings.backlog_lag_s * taken for waits, taken in sources)


def _edge_ratios(minutes: MinuteMetrics, records_in: Mapping[str, float]) -> dict[tuple[str, str], float]:
    """Tuples along each edge per tuple into its upstream operator.

    As in Flink, which has no counts by stream: the input of the downstream operator, minus what its other inputs emit,
    if they feed nothing else; otherwise everything that the upstream operator emits.
    """
    topology = minutes.topology
    given_out = dict.fromkeys(topology.order, 0.0)
    for stream, rate_per_s in zip(topology.streams, means(minutes.streams_per_s), strict=True):
        given_out[stream.upstream] += rate_per_s
    ratios = {}
    for upstream, name in topology.edges:
        others = [other for other in topology.senders(name) if other != upstream]
        along = given_out[upstream]
        if all(len(topology.readers(other)) == 1 for other in others):
            along = records_in[name] - sum(given_out[other] for other in others)
        ratios[upstream, name] = along / records_in[upstream] if records_in[upstream] > 0 and along > 0 else 0.0
    return ratios
