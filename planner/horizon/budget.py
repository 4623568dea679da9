"""The budget of violation minutes: how many a horizon may have after a past that used some."""

from dataclasses import dataclass, replace
from datetime import timedelta
from math import inf

from planner.guard.terms import SPARE_H
from planner.horizon.prices import Prices

MIN_H, MAX_H = SPARE_H, 30.0
"""Range of the price of a violation minute, in instance-hours, in which the search looks first."""
LAST_H = 60.0
"""Upper end of the search if MAX_H is not enough; paid only if that keeps the budget."""
MIN_PART, MAX_PARTS = 0.25, 3.0
"""Bounds on the allowed minutes, as multiples of the horizon's own: if the past used up more than its share, or left
much.
"""
PACED = timedelta(days=7)
"""Length of the past over which a running job's budget is paced."""


@dataclass(frozen=True)
class Budget:
    """allowed_share: share of the minutes that may be in violation, paced over past_minutes, of which used_minutes were
    used up; or price_h: price of a violation minute in instance-hours, however many were used.
    """

    allowed_share: float = 0.0
    past_minutes: float = 0.0
    used_minutes: float = 0.0
    price_h: float | None = None

    def minutes(self, horizon_minutes: float) -> float | None:
        """Allowed violation minutes of a horizon; None if they have a price instead."""
        if self.price_h is not None:
            return None
        return allowed_minutes(self.allowed_share, horizon_minutes, self.past_minutes, self.used_minutes)

    def own_minutes(self, horizon_minutes: float) -> float:
        """Allowed minutes of a horizon after a past that used its share; 0 if they have a price instead."""
        return 0.0 if self.price_h is not None else self.allowed_share * horizon_minutes

    @property
    def past_allowed_minutes(self) -> float | None:
        """Allowed violation minutes of the past; None if they have a price instead."""
        return None if self.price_h is not None else self.allowed_share * self.past_minutes

    def most_late_s(self, horizon_minutes: float) -> float:
        """How long a job may be late before it is rescued: the least that any horizon is allowed; for any time if
        minutes have a price instead.
        """
        return inf if self.price_h is not None else 60.0 * MIN_PART * self.allowed_share * horizon_minutes

    def priced(self, prices: Prices, horizon_minutes: float) -> Prices:
        """Those of a horizon."""
        violation_h = prices.violation_h if self.price_h is None else self.price_h
        return replace(prices, violation_h=violation_h, most_late_s=self.most_late_s(horizon_minutes))


def allowed_minutes(allowed_share: float, horizon_minutes: float, past_minutes: float, used_minutes: float) -> float:
    """Allowed violation minutes over the horizon. past_minutes: over which the share has been paced so far;
    used_minutes: those of them in violation.

    >>> allowed_minutes(0.005, 1440, 4320, 20)  # 7.2 of its own, and 1.6 of 21.6 are left
    8.8
    """
    own = allowed_share * horizon_minutes
    left = own + allowed_share * past_minutes - used_minutes
    return round(min(max(left, MIN_PART * own), MAX_PARTS * own), 9)
