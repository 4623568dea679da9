"""The ladder of fallbacks: the basis of a schedule, why it is no better, and what is recorded when there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from modeling.inputs.physical_plan import PhysicalPlan
from planner.scaling_schedule import ScalingSchedule

MAX_NEEDED = timedelta(hours=6)
"""A forecast that reaches this far ahead is enough; a shorter one needs half of its span left."""
HELD = timedelta(hours=1)
"""Length of a schedule that only holds the plan; by its end the situation is assessed again."""
RUNG, CALIBRATION = "rung", "calibration"
"""Keys of a schedule's `derived_from`: its rung, and problems with the calibration of its operator profiles."""


class Rung(StrEnum):
    """Bases for a schedule, best first."""

    FORECAST = "forecast"
    PROFILE = "profile"
    GUARD = "guard"
    HOLD = "hold"

    @property
    def words(self) -> str:
        return _WORDS[self]

    @property
    def plans(self) -> bool:
        """Whether this rung has a load to plan for."""
        return self in (Rung.FORECAST, Rung.PROFILE)


_WORDS = {
    Rung.FORECAST: "forecast",
    Rung.PROFILE: "time-of-week profile",
    Rung.GUARD: "guard alone",
    Rung.HOLD: "hold",
}


@dataclass(frozen=True)
class Footing:
    """The basis of a schedule. causes: why it is no better rung, and other problems with its inputs. Every rung but the
    first has one.
    """

    rung: Rung = Rung.FORECAST
    causes: tuple[str, ...] = ()

    @property
    def cause(self) -> str:
        return "; ".join(self.causes)

    @property
    def summary(self) -> str:
        """Empty if nothing is wrong."""
        return f"{self.rung.words}: {self.cause}" if self.causes else ""

    def derived_from(self) -> dict[str, str]:
        """The entries for a schedule's `derived_from`."""
        return {RUNG: self.summary} if self.summary else {}

    @classmethod
    def of(cls, derived_from: Mapping[str, str]) -> "Footing":
        """Read back from a schedule, with its calibration problems. A schedule older than rungs counts as made from a
        forecast.
        """
        words, _, cause = derived_from.get(RUNG, "").partition(": ")
        rung = next((rung for rung, name in _WORDS.items() if name == words), Rung.FORECAST)
        calibration = derived_from.get(CALIBRATION, "")
        causes = (cause, f"calibration: {calibration}" if calibration else "")
        return cls(rung, tuple(filter(None, causes)))


def why_stale(issued_at: datetime, end: datetime, now: datetime, stale: timedelta) -> str:
    """Why a forecast that ends at `end` is too old or too short; empty if it is neither."""
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
    """A schedule without steps that holds the running plan, with the cause. Its violations are unknown (NaN)."""
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
        why=f"no basis for a plan: the running plan is held and {who}: {footing.cause}",
        violation_minutes=float("nan"),
        violation_probability=float("nan"),
    )


def _hours(span: timedelta) -> str:
    hours = span.total_seconds() / 3600
    return f"{hours:.2g} h" if hours < 99.5 else f"{hours / 24:.0f} d"
