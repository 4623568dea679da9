"""What a plan must hold and may use: the terms that every search and schedule works under."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

FULL = 0.999
"""Utilisation up to which those plan who add no headroom."""


@dataclass(frozen=True)
class Limits:
    """Bounds on any plan.

    max_utilisation: of the busiest instance, so that headroom is left. max_latency_s: mean end to end, None to leave it
    free; max_p95_latency_s: its p95. max_instances: over all operators. max_parallelism: per operator, beside the
    operator's own.
    """

    max_utilisation: float = 0.85
    max_latency_s: float | None = None
    max_instances: int = 64
    max_parallelism: Mapping[str, int] = field(default_factory=dict)
    max_p95_latency_s: float | None = None

    @property
    def latency_bounds_s(self) -> dict[float | None, float]:
        """By the share of the tuples that are to be within each, None for the mean; empty where latency is free."""
        told = {None: self.max_latency_s, 0.95: self.max_p95_latency_s}
        return {share: bound for share, bound in told.items() if bound is not None}

    def with_free_latency(self) -> "Limits":
        return replace(self, max_latency_s=None, max_p95_latency_s=None)


def raised_within(running: Mapping[str, int], wanted: Mapping[str, int], max_instances: int) -> dict[str, int]:
    """The running plan raised to the wanted one as far as max_instances go. Whoever lacks most of what it needs comes
    first; no operator gets fewer than it runs with.
    """
    plan = dict(running)
    room = max(0, max_instances - sum(running.values()))
    lacking = sum(max(0, count - running[name]) for name, count in wanted.items())
    for _ in range(min(room, lacking)):
        name = max((each for each in plan if plan[each] < wanted[each]), key=lambda each: wanted[each] / plan[each])
        plan[name] += 1
    return plan
