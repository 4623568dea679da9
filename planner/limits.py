"""Limits on plans: what a plan must achieve and may use, in every search and schedule."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

FULL = 0.999
"""Highest utilisation for planners that add no headroom."""


@dataclass(frozen=True)
class Limits:
    """Bounds on any plan.

    max_utilisation: of the busiest instance, below 1 to leave headroom. max_latency_s: mean end to end;
    max_p95_latency_s: its p95; None for no bound. max_instances: over all operators. max_parallelism: per operator, in
    addition to the topology's.
    """

    max_utilisation: float = 0.85
    max_latency_s: float | None = None
    max_instances: int = 64
    max_parallelism: Mapping[str, int] = field(default_factory=dict)
    max_p95_latency_s: float | None = None

    @property
    def latency_bounds_s(self) -> dict[float | None, float]:
        """By quantile of the latency, None for the mean; empty if latency is unbounded."""
        bounds_s = {None: self.max_latency_s, 0.95: self.max_p95_latency_s}
        return {share: bound for share, bound in bounds_s.items() if bound is not None}

    def with_free_latency(self) -> "Limits":
        return replace(self, max_latency_s=None, max_p95_latency_s=None)


def raised_within(running: Mapping[str, int], wanted: Mapping[str, int], max_instances: int) -> dict[str, int]:
    """The running plan raised towards the wanted one, within max_instances. The operator that lacks the largest share
    comes first; no operator gets fewer instances than it has.
    """
    plan = dict(running)
    room = max(0, max_instances - sum(running.values()))
    lacking = sum(max(0, count - running[name]) for name, count in wanted.items())
    for _ in range(min(room, lacking)):
        name = max((each for each in plan if plan[each] < wanted[each]), key=lambda each: wanted[each] / plan[each])
        plan[name] += 1
    return plan
