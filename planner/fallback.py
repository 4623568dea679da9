"""The ladder of fallbacks: when a forecast is too old to plan by, and what is recorded when there is nothing better."""

from datetime import datetime, timedelta

from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import Cause, CauseKind, DecisionBasis
from planner.scaling_schedule import ScalingSchedule

MAX_NEEDED = timedelta(hours=6)
"""A forecast that reaches this far ahead is enough; a shorter one needs half of its span left."""
HELD = timedelta(hours=1)
"""Length of a schedule that only holds the plan; by its end the situation is assessed again."""


def unusable(source: str, issued_at: datetime, end: datetime, now: datetime, stale: timedelta) -> Cause | None:
    """Why a source's forecast that ends at `end` is too old or too short; None if it is neither."""
    age, left = now - issued_at, end - now
    needed = min(MAX_NEEDED, (end - issued_at) / 2)
    if age > stale:
        return Cause(CauseKind.STALE_FORECAST, source, age.total_seconds(), stale.total_seconds())
    if left <= timedelta():
        return Cause(CauseKind.ENDED_FORECAST, source, at=end)
    if left < needed:
        return Cause(CauseKind.SHORT_FORECAST, source, left.total_seconds(), needed.total_seconds())
    return None


def held_schedule(
    topology: str, now: datetime, current: PhysicalPlan, basis: DecisionBasis, quantile: float
) -> ScalingSchedule:
    """A schedule without steps that holds the running plan. Its violations are unknown (NaN)."""
    return ScalingSchedule(
        topology=topology,
        made_at=now,
        start=now,
        end=now + HELD,
        quantile=quantile,
        current=current,
        steps=(),
        cost_instance_hours=current.instances * HELD.total_seconds() / 3600,
        violation_minutes=float("nan"),
        violation_probability=float("nan"),
        basis=basis,
    )
