"""What is recorded of an edit: who changed which step, the limits that this overrode, and the expected effect."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from planner.errors import PlanError


class LimitKind(StrEnum):
    """Limits of the topology file that a person may override, by their setting in the section `planning`."""

    MIN_PARALLELISM = "min_parallelism"
    MAX_STEP = "max_step"
    SCALE_OUT_ONLY = "scale_out_only"
    MAX_RESCALES_A_DAY = "max_rescales_a_day"
    FREEZE = "freeze"
    WINDOWS = "windows"


@dataclass(frozen=True)
class LimitPassed:
    """A limit that a change exceeds. value, bound: counts, of instances or rescales; for a freeze epoch seconds of the
    request and of the freeze's end. operator: for MIN_PARALLELISM and WINDOWS. before, plan: parallelism, for limits of
    one change. since: start of the freeze, or of the window; until: end of the window.
    """

    limit: LimitKind
    value: float
    bound: float
    operator: str = ""
    before: Mapping[str, int] = field(default_factory=dict)
    plan: Mapping[str, int] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None

    def __str__(self) -> str:
        match self.limit:
            case LimitKind.MIN_PARALLELISM:
                excess = f"{self.value:g} instances of operator {self.operator!r} < planning.{self.limit} of"
                return f"{excess} {self.bound:g}"
            case LimitKind.WINDOWS if self.since is not None and self.until is not None:
                sign = "<" if self.value < self.bound else ">"
                span = f"from {utc_minute(self.since.timestamp())} to {utc_minute(self.until.timestamp())}"
                return (
                    f"{self.value:g} instances of operator {self.operator!r} {sign} {self.bound:g} of "
                    f"planning.{self.limit}, {span}"
                )
            case LimitKind.MAX_STEP:
                return (
                    f"{self._change} {self.value:g} instances start or stop > planning.{self.limit} of {self.bound:g}"
                )
            case LimitKind.SCALE_OUT_ONLY:
                return f"{self._change} {self.value:g} instances stop, and planning.{self.limit} stops none"
            case LimitKind.MAX_RESCALES_A_DAY:
                return f"{self.value:g} rescales within 24 hours > planning.{self.limit} of {self.bound:g}"
        span = f"from {utc_minute(self.since.timestamp())} " if self.since else ""
        return f"{utc_minute(self.value)} is within planning.{self.limit}, {span}to {utc_minute(self.bound)}"

    @property
    def _change(self) -> str:
        return f"from {brief(self.before)} to {brief(self.plan)}"


@dataclass(frozen=True)
class ExpectedValues:
    """Expected values over the whole horizon. violation_probability: that any minute of it is in violation. price: in
    the currency of the prices, None if no prices are known.
    """

    instance_hours: float
    violation_minutes: float
    violation_probability: float
    price: float | None = None


@dataclass(frozen=True)
class Edit:
    """An edit by a person. why: the person's words. in_place_of: id of the edited schedule; step: number of the edited
    step, from 1, 0 if unknown. was_at, was_plan: time and parallelism of that step before. overridden: limits that this
    edit is the first to exceed; overridden_before: those of earlier edits. before, after: expected without and with the
    edit; None in schedules of versions that did not record them.
    """

    by: str
    why: str
    in_place_of: str
    step: int = 0
    was_at: datetime | None = None
    was_plan: Mapping[str, int] = field(default_factory=dict)
    overridden: tuple[LimitPassed, ...] = ()
    overridden_before: tuple[LimitPassed, ...] = ()
    before: ExpectedValues | None = None
    after: ExpectedValues | None = None

    @property
    def all_overridden(self) -> tuple[LimitPassed, ...]:
        return (*self.overridden_before, *self.overridden)


def brief(parallelism: Mapping[str, int]) -> str:
    """As PhysicalPlan.brief."""
    return " · ".join(f"{operator} {count}" for operator, count in parallelism.items())


def utc_minute_from(at_s: float) -> str:
    """The first whole minute that is not before it. at_s: epoch seconds.

    >>> utc_minute_from(60.5)
    '1970-01-01 00:02 UTC'
    """
    return utc_minute(60 * math.ceil(at_s / 60))


def utc_minute(at_s: float) -> str:
    """at_s: epoch seconds.

    >>> utc_minute(60.0)
    '1970-01-01 00:01 UTC'
    """
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M} UTC"


class OverrideError(PlanError):
    """An edit passes limits that only a person may override. passed: the limits."""

    def __init__(self, message: str, passed: Sequence[LimitPassed] = ()) -> None:
        super().__init__(message)
        self.passed = tuple(passed)
