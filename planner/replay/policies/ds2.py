"""The controller of DS2 (Kalavri et al., "Three steps is all you need", OSDI 2018): all operators in one decision."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from planner.errors import PlanError
from planner.replay.policies.true_rates import MINUTE_S, means, output_ratios, records_in_per_s, whole_minutes
from planner.replay.policy import Decision, MinuteMetrics, Seen
from planner.true_rates import target_rates_per_s, true_rate_per_s

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Ds2Settings:
    """interval_s: interval of evaluations, each on the metrics since the last, a multiple of 60 s.

    warm_up_intervals: intervals after a restart that are ignored. activation_intervals: consecutive evaluations before
    a change, which is to the largest of them. target_rate_ratio: of arrivals over what a source takes in; if it is
    exceeded although no operator needs more instances, all get that many times as many. The defaults are those of the
    authors' published sample configuration, except the interval of 10 s, since our metrics come by the minute, and the
    ratio of 1, which rounding exceeds.
    """

    interval_s: float = 60.0
    warm_up_intervals: int = 2
    activation_intervals: int = 1
    target_rate_ratio: float = 1.01

    def __post_init__(self) -> None:
        if not (self.interval_s >= MINUTE_S and self.interval_s % MINUTE_S == 0):
            raise PlanError(
                f"DS2: interval_s {self.interval_s}; give a multiple of 60 s, as metrics come by the minute"
            )
        if not (self.warm_up_intervals >= 0 and self.activation_intervals >= 1 and self.target_rate_ratio >= 1):
            raise PlanError(f"DS2: {self}; give no negative warm-up, one evaluation or more, and a ratio from 1")


class Ds2:
    """Instances = target rate / true rate of one instance, rounded up; the backlog is ignored.

    Sources, which the paper does not scale, are scaled to their arrivals like other operators. An operator without
    input keeps its instances. As in the published controller, a plan that only removes single instances is not worth a
    restart.
    """

    first: Mapping[str, int] | None = None

    def __init__(self, settings: Ds2Settings | None = None, name: str = "DS2") -> None:
        self.name = name
        self._settings = settings or Ds2Settings()
        self.every_s = self._settings.interval_s
        self._since_s = -math.inf
        self._proposals: list[dict[str, int]] = []

    def decide(self, seen: Seen) -> Decision | None:
        settings = self._settings
        if seen.running_since_s != self._since_s:
            self._since_s, self._proposals = seen.running_since_s, []
        warm_s = seen.running_since_s + settings.warm_up_intervals * settings.interval_s
        minutes = whole_minutes(seen.measured, warm_s).last(settings.interval_s)
        if seen.changing or MINUTE_S * minutes.minutes < settings.interval_s:
            return None
        self._proposals.append(new_plan(minutes, seen.plan, settings.target_rate_ratio))
        considered = self._proposals[-settings.activation_intervals :]
        plan = {name: max(each[name] for each in considered) for name in seen.plan}
        if len(considered) < settings.activation_intervals or not _worth_it(seen.plan, plan):
            return None
        arriving_per_s = sum(means(minutes.arrivals_per_s))
        changes = ", ".join(f"{n} {seen.plan[n]} → {count}" for n, count in plan.items() if count != seen.plan[n])
        return Decision(plan, f"{arriving_per_s:.4g}/s arrive: {changes}")


def new_plan(minutes: MinuteMetrics, plan: Mapping[str, int], target_rate_ratio: float) -> dict[str, int]:
    """One step of DS2 from the plan that ran in those minutes."""
    topology = minutes.topology
    records_in = records_in_per_s(minutes)
    arriving = dict(zip(topology.sources, means(minutes.arrivals_per_s), strict=True))
    target = target_rates_per_s(topology, arriving, output_ratios(minutes))
    busy = dict(zip(topology.order, means(minutes.busy), strict=True))
    wanted = {
        name: plan[name] * target[name] / true_rate_per_s(records_in[name], busy[name])
        if records_in[name] > 0
        else float(plan[name])
        for name in topology.order
    }
    counts = {name: _fit(minutes, name, count) for name, count in wanted.items()}
    behind = max((arriving[name] / records_in[name] for name in arriving if records_in[name] > 0), default=1.0)
    if behind > target_rate_ratio and all(counts[name] <= plan[name] for name in counts):
        counts = {name: _fit(minutes, name, behind * count) for name, count in counts.items()}
    return counts


def _fit(minutes: MinuteMetrics, name: str, wanted: float) -> int:
    topology = minutes.topology
    count = min(max(1, math.ceil(wanted - _ROUNDING)), topology.max_parallelism[name])
    return topology.given_parallelism.get(name, count)


def _worth_it(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    return any(after[name] > count or after[name] < count - 1 for name, count in before.items())
