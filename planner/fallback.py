"""The ladder of fallbacks: what a schedule is planned by, why it is no better, and what is recorded when nothing is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from modeling.inputs.physical_plan import PhysicalPlan
from planner.scaling_schedule import ScalingSchedule

MAX_NEEDED = timedelta(hours=6)
"""A forecast that reaches so far ahead is enough; a short one has to have half of its span left."""
HELD = timedelta(hours=1)
"""What is held without a plan is looked at again by then."""
RUNG, CALIBRATION = "rung", "calibration"
"""Where a schedule's `derived_from` tells its footing, and what is wrong with the profiles of its operators."""


class Rung(StrEnum):
    """From the best down."""

    FORECAST = "forecast"
    PROFILE = "profile"
    GUARD = "guard"
    HOLD = "hold"

    @property
    def words(self) -> str:
        return _WORDS[self]

    @property
    def plans(self) -> bool:
        """Whether there is anything to plan by."""
        return self in (Rung.FORECAST, Rung.PROFILE)


_WORDS = {
    Rung.FORECAST: "forecast",
    Rung.PROFILE: "time-of-week profile",
    Rung.GUARD: "guard alone",
    Rung.HOLD: "hold",
}


@dataclass(frozen=True)
class Footing:
    """What a schedule is planned by. causes: why it is no better rung, and what else is wrong with what it rests on.
    Every rung but the first has one.
    """

    rung: Rung = Rung.FORECAST
    causes: tuple[str, ...] = ()

    @property
    def cause(self) -> str:
        return "; ".join(self.causes)

    @property
    def told(self) -> str:
        """Empty where nothing is wrong."""
        return f"{self.rung.words}: {self.cause}" if self.causes else ""

    def derived_from(self) -> dict[str, str]:
        """As a schedule keeps it."""
        return {RUNG: self.told} if self.told else {}

    @classmethod
    def of(cls, derived_from: Mapping[str, str]) -> "Footing":
        """What a schedule kept, with what its calibration says. One of before rungs were kept is of a forecast."""
        words, _, cause = derived_from.get(RUNG, "").partition(": ")
        rung = next((rung for rung, told in _WORDS.items() if told == words), Rung.FORECAST)
        calibration = derived_from.get(CALIBRATION, "")
        causes = (cause, f"calibration: {calibration}" if calibration else "")
        return cls(rung, tuple(filter(None, causes)))


def why_stale(issued_at: datetime, end: datetime, now: datetime, stale: timedelta) -> str:
    """What is wrong with the age or the reach of a forecast that ends at `end`, empty where nothing is."""
    age, left = now - issued_at, end - now
    needed = min(MAX_NEEDED, (end - issued_at) / 2)
    if age > stale:
        return f"is {_hours(age)} old (planning.stale_s: {_hours(stale)})"
    if left <= timedelta():
        return f"ended at {end:%Y-%m-%d %H:%M} UTC"
    if left < needed:
        return f"reaches {_hours(left)} ahead, {_hours(needed)} are needed"
    return ""


def held_schedule(
    topology: str, now: datetime, current: PhysicalPlan, footing: Footing, quantile: float
) -> ScalingSchedule:
    """The plan that runs and no step, with the cause. What it would miss is not known."""
    who = "only the guard acts" if footing.rung is Rung.GUARD else "nobody acts"
    return ScalingSchedule(
        topology=topology,
        made_at=now,
        start=now,
        end=now + HELD,
        quantile=quantile,
        current=current,
        steps=(),
        cost_instance_hours=current.instances * HELD.total_seconds() / 3600,
        why=f"no basis to plan by: the running plan is held and {who}: {footing.cause}",
        violation_minutes=float("nan"),
        violation_probability=float("nan"),
    )


def _hours(span: timedelta) -> str:
    hours = span.total_seconds() / 3600
    return f"{hours:.2g} h" if hours < 99.5 else f"{hours / 24:.0f} d"
