"""A plan that never changes: for the peak, or for half of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from planner.replay.policy import Decision, Seen


@dataclass(frozen=True)
class StaticPlan:
    """What most teams run. In its best form it knows the coming peak."""

    name: str
    first: Mapping[str, int]
    every_s: float = 86400.0

    def decide(self, seen: Seen) -> Decision | None:
        return None
