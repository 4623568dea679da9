"""Compares what ran with what would have run: sums over days, like with like."""

from collections.abc import Sequence
from dataclasses import dataclass

from planner.ledger.entries import ShadowDay


@dataclass(frozen=True)
class Comparison:
    """minutes: of all days. real_…: over the minutes that were observed or measured; None without any. The shadow's
    numbers are for the same minutes, or for all if there are none.
    """

    minutes: int
    observed_minutes: int
    measured_minutes: int
    real_instance_hours: float | None
    instance_hours: float
    real_violation_minutes: int | None
    violation_minutes: int
    real_rescales: int | None
    rescales: int

    @property
    def saved_share(self) -> float | None:
        """Of the real instance-hours; negative if the shadow costs more, None if they are unknown or zero."""
        return 1 - self.instance_hours / self.real_instance_hours if self.real_instance_hours else None


def compared(days: Sequence[ShadowDay]) -> Comparison:
    observed = [day for day in days if day.observed_minutes]
    measured = [day for day in days if day.measured_minutes]
    return Comparison(
        minutes=1440 * len(days),
        observed_minutes=sum(day.observed_minutes for day in days),
        measured_minutes=sum(day.measured_minutes for day in days),
        real_instance_hours=sum(day.real_instance_hours for day in observed) if observed else None,
        instance_hours=(
            sum(day.instance_hours_observed for day in observed)
            if observed
            else sum(day.instance_hours for day in days)
        ),
        real_violation_minutes=sum(day.real_violation_minutes for day in measured) if measured else None,
        violation_minutes=(
            sum(day.violation_minutes_measured for day in measured)
            if measured
            else sum(day.violation_minutes for day in days)
        ),
        real_rescales=sum(day.real_rescales for day in observed) if observed else None,
        rescales=sum(day.rescales_observed for day in observed) if observed else sum(day.rescales for day in days),
    )
