"""Scalers that people already run, kept to our schedule as a lower bound: their rule, and the plan that is offered.

The rules of the bound are those of `forescale serve` and of the realizer in engines/flink/autoscaler.
"""

from collections.abc import Mapping

from planner.replay.policies.flink_autoscaler import FlinkAutoscaler
from planner.replay.policies.hpa import HorizontalPodAutoscaler
from planner.replay.policies.planned import Planned
from planner.replay.policy import Decision, Seen

HOLD_S = 600.0
"""Before a larger plan no scale-down is carried out by Flink's autoscaler, as docs/keep-your-scaler.md sets it up."""


class PodAutoscalerWithFloor:
    """The planned count is one more metric beside CPU, as of KEDA or an external metric: the largest one decides. It is
    there also while pods are too young for their CPU use to count; then it only scales up.
    """

    every_s = 60.0
    first: Mapping[str, int] | None = None

    def __init__(self, name: str, scaler: HorizontalPodAutoscaler, schedule: Planned) -> None:
        self.name = name
        self._scaler, self._schedule = scaler, schedule

    def decide(self, seen: Seen) -> Decision | None:
        floor = self._schedule.offered(seen).now
        decision = self._scaler.decide(seen, floor)
        if decision is not None or seen.changing:
            return decision
        return _raised(seen, floor)


class FlinkAutoscalerWithFloor:
    """A decision below the plan in effect is raised to it, and no scale-down is carried out below what runs, or what a
    plan within HOLD_S has. Before the autoscaler's first decision nothing is raised.
    """

    every_s = 60.0
    first: Mapping[str, int] | None = None

    def __init__(self, name: str, scaler: FlinkAutoscaler, schedule: Planned) -> None:
        self.name = name
        self._scaler, self._schedule = scaler, schedule
        self._decided: Mapping[str, int] | None = None

    def decide(self, seen: Seen) -> Decision | None:
        offered = self._schedule.offered(seen)
        decision = self._scaler.decide(seen)
        if decision is not None:
            self._decided = decision.plan
        if self._decided is None or seen.changing:
            return None
        soon = offered.until(seen.at_s + HOLD_S)
        floor = {name: max(offered.now.get(name, 0), min(runs, soon.get(name, 0))) for name, runs in seen.plan.items()}
        plan = {name: max(count, floor[name]) for name, count in self._decided.items()}
        if plan == dict(seen.plan):
            return None
        return Decision(plan, "the plan in effect is a lower bound" if decision is None else decision.why)


def _raised(seen: Seen, floor: Mapping[str, int]) -> Decision | None:
    plan = {name: max(count, floor.get(name, 0)) for name, count in seen.plan.items()}
    return None if plan == dict(seen.plan) else Decision(plan, "the plan in effect is a lower bound")
