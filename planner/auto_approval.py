"""Bounds within which a step is approved without asking a person."""

from dataclasses import dataclass

from modeling.inputs.physical_plan import PhysicalPlan
from planner.scaling_schedule import AlternativeKind, ScalingSchedule
from planner.step_cause import ReviewCause, ReviewCauseKind, StepCause, StepCauseKind


@dataclass(frozen=True)
class ApprovalBounds:
    """Bounds on a step and its schedule; None leaves a bound unchecked.

    max_step: instances that one step starts or stops, over all operators. max_cost_instance_hours: cost of the schedule
    above that of holding the running plan. max_violation_probability: probability of any violation within the horizon.
    max_cost_price: as max_cost_instance_hours, in the currency of the prices; without known prices no schedule is
    within it.
    """

    max_step: int | None = None
    max_cost_instance_hours: float | None = None
    max_violation_probability: float | None = None
    max_cost_price: float | None = None

    def schedule_beyond(self, schedule: ScalingSchedule) -> ReviewCause | None:
        """The bound that the schedule exceeds; None if it is within all."""
        most_h, more_h, more = self.max_cost_instance_hours, _more_h(schedule), _more_price(schedule)
        if most_h is not None and more_h > most_h:
            return ReviewCause(ReviewCauseKind.COST, more_h, most_h, more)
        if self.max_cost_price is not None and more is None:
            return ReviewCause(ReviewCauseKind.UNPRICED, bound=self.max_cost_price)
        if self.max_cost_price is not None and more is not None and more > self.max_cost_price:
            return ReviewCause(ReviewCauseKind.PRICE, more, self.max_cost_price)
        most, probability = self.max_violation_probability, schedule.violation_probability
        if most is not None and probability > most:
            return ReviewCause(ReviewCauseKind.PROBABILITY, probability, most)
        return None

    def step_beyond(self, replaces: PhysicalPlan, plan: PhysicalPlan) -> ReviewCause | None:
        """The bound that the step exceeds; None if it is within all."""
        changes = instances_changed(replaces, plan)
        if self.max_step is not None and changes > self.max_step:
            return ReviewCause(ReviewCauseKind.MAX_STEP, changes, self.max_step)
        return None

    def within(self, schedule: ScalingSchedule) -> StepCause:
        """How a schedule stays within the bounds."""
        kept = []
        if self.max_step is not None:
            kept.append(ReviewCause(ReviewCauseKind.MAX_STEP, bound=self.max_step))
        if self.max_cost_instance_hours is not None:
            kept.append(ReviewCause(ReviewCauseKind.COST, _more_h(schedule), self.max_cost_instance_hours))
        if self.max_cost_price is not None and (more := _more_price(schedule)) is not None:
            kept.append(ReviewCause(ReviewCauseKind.PRICE, more, self.max_cost_price))
        if self.max_violation_probability is not None:
            probability = schedule.violation_probability
            kept.append(ReviewCause(ReviewCauseKind.PROBABILITY, probability, self.max_violation_probability))
        return StepCause(StepCauseKind.WITHIN_BOUNDS, bounds=tuple(kept))


def instances_changed(replaces: PhysicalPlan, plan: PhysicalPlan) -> int:
    """
    >>> instances_changed(PhysicalPlan("t", {"a": 3, "b": 2}), PhysicalPlan("t", {"a": 1, "b": 3}))
    3
    """
    return sum(abs(count - replaces.parallelism[name]) for name, count in plan.parallelism.items())


def _more_h(schedule: ScalingSchedule) -> float:
    """Instance-hours above those of holding; the full cost if holding was not costed."""
    held = [other.cost_instance_hours for other in schedule.alternatives if other.kind is AlternativeKind.HOLD]
    return schedule.cost_instance_hours - (held[0] if held else 0.0)


def _more_price(schedule: ScalingSchedule) -> float | None:
    """The same in the currency of the prices; None where they are unknown."""
    held = [other.price for other in schedule.alternatives if other.kind is AlternativeKind.HOLD]
    if schedule.price is None or (held and held[0] is None):
        return None
    return schedule.price - ((held[0] or 0.0) if held else 0.0)
