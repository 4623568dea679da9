"""Which steps are small enough that nobody needs to be asked, by the bounds that somebody has set."""

from dataclasses import dataclass

from modeling.inputs.physical_plan import PhysicalPlan
from planner.scaling_schedule import ScalingSchedule
from planner.schedule import HOLD


@dataclass(frozen=True)
class ApprovalBounds:
    """Each is None where it does not matter. max_step: instances that one step starts or stops, over all operators.
    max_cost_instance_hours: of a schedule, more than holding the plan that runs would cost. max_violation_probability:
    that any minute of its horizon is in violation.
    """

    max_step: int | None = None
    max_cost_instance_hours: float | None = None
    max_violation_probability: float | None = None

    def schedule_beyond(self, schedule: ScalingSchedule) -> str:
        """Which bound the schedule as a whole passes, in words; empty where it is within all."""
        most_h, more_h = self.max_cost_instance_hours, _more_h(schedule)
        if most_h is not None and more_h > most_h:
            return (
                f"the schedule costs {more_h:.3g} instance-hours more than holding, planning.auto_approve allows "
                f"{most_h:.3g}"
            )
        most, probability = self.max_violation_probability, schedule.violation_probability
        if most is not None and probability > most:
            return (
                f"a violation is expected with a probability of {probability:.0%}, planning.auto_approve allows "
                f"{most:.0%}"
            )
        return ""

    def step_beyond(self, replaces: PhysicalPlan, plan: PhysicalPlan) -> str:
        """Which bound a step passes, in words; empty where it is within all."""
        changes = instances_changed(replaces, plan)
        if self.max_step is not None and changes > self.max_step:
            return f"it starts or stops {changes} instances, planning.auto_approve allows {self.max_step}"
        return ""

    def within(self, schedule: ScalingSchedule) -> str:
        """In words, by what a schedule is within the bounds."""
        told = []
        if self.max_step is not None:
            told.append(f"at most {self.max_step} instances a step")
        if self.max_cost_instance_hours is not None:
            told.append(f"{_more_h(schedule):.3g} of {self.max_cost_instance_hours:.3g} instance-hours over holding")
        if self.max_violation_probability is not None:
            told.append(f"violation with {schedule.violation_probability:.0%} of {self.max_violation_probability:.0%}")
        return f"within planning.auto_approve: {', '.join(told)}"


def instances_changed(replaces: PhysicalPlan, plan: PhysicalPlan) -> int:
    """
    >>> instances_changed(PhysicalPlan("t", {"a": 3, "b": 2}), PhysicalPlan("t", {"a": 1, "b": 3}))
    3
    """
    return sum(abs(count - replaces.parallelism[name]) for name, count in plan.parallelism.items())


def _more_h(schedule: ScalingSchedule) -> float:
    """Than holding; than nothing where that was not costed."""
    held = [other.cost_instance_hours for other in schedule.alternatives if other.name == HOLD]
    return schedule.cost_instance_hours - (held[0] if held else 0.0)
