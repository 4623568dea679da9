"""The budget of violation minutes, and the price of a minute at which a plan stays within it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from math import inf

from planner.horizon.horizon_search import Course, Found, best_course
from planner.horizon.prices import ChangeTerms, Prices

MIN_H, MAX_H = 0.1, 30.0
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

    def priced(self, prices: Prices) -> Prices:
        return prices if self.price_h is None else replace(prices, violation_h=self.price_h)


def allowed_minutes(allowed_share: float, horizon_minutes: float, past_minutes: float, used_minutes: float) -> float:
    """Allowed violation minutes over the horizon. past_minutes: over which the share has been paced so far;
    used_minutes: those of them in violation.

    >>> allowed_minutes(0.005, 1440, 4320, 20)  # 7.2 of its own, and 1.6 of 21.6 are left
    8.8
    """
    own = allowed_share * horizon_minutes
    left = own + allowed_share * past_minutes - used_minutes
    return round(min(max(left, MIN_PART * own), MAX_PARTS * own), 9)


def course_within(
    course: Course,
    terms: ChangeTerms,
    prices: Prices,
    allowed: float | None,
    minutes_of: Callable[[Found], float] = lambda found: found.violation_minutes,
) -> tuple[Found, Prices]:
    """The best course at the lowest price of a violation minute that keeps the expected minutes within `allowed`, and
    that price; the course at MAX_H if no price up to LAST_H does. The price is found by halving and doubling the given
    one. With allowed=None the given price is used. minutes_of: expected minutes of what is found, by default on the
    searched paths, where they are too few: the search fits its turns to them.
    """
    if allowed is None:
        return best_course(course, terms, prices), prices
    now = replace(prices, violation_h=min(MAX_H, max(MIN_H, prices.violation_h)))
    found = best_course(course, terms, now)
    minutes = minutes_of(found)
    if minutes > allowed:
        while minutes > allowed and now.violation_h < MAX_H:
            now = replace(now, violation_h=min(MAX_H, 2 * now.violation_h))
            found = best_course(course, terms, now, found.turns)
            minutes = minutes_of(found)
        if minutes <= allowed:
            return found, now
        return _at_any_price(course, terms, now, allowed, found, minutes_of)
    while now.violation_h > MIN_H:
        lower = replace(now, violation_h=max(MIN_H, now.violation_h / 2))
        cheaper = best_course(course, terms, lower, found.turns)
        if minutes_of(cheaper) > allowed:
            break
        found, now = cheaper, lower
    return found, now


def _at_any_price(
    course: Course,
    terms: ChangeTerms,
    prices: Prices,
    allowed: float,
    found: Found,
    minutes_of: Callable[[Found], float],
) -> tuple[Found, Prices]:
    """The course at a higher price that keeps the allowed minutes; the given course and price if none does."""
    fewer, minutes, now = found, inf, prices
    while minutes > allowed and now.violation_h < LAST_H:
        now = replace(now, violation_h=min(LAST_H, 2 * now.violation_h))
        fewer = best_course(course, terms, now, fewer.turns)
        minutes = minutes_of(fewer)
    return (fewer, now) if minutes <= allowed else (found, prices)
