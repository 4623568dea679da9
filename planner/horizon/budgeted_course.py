"""The course that stays within a budget of violation minutes, by the price of a minute at which the search keeps it."""

from collections.abc import Callable
from dataclasses import replace
from math import inf

from planner.horizon.budget import LAST_H, MAX_H, MIN_H
from planner.horizon.horizon_search import Course, Found, best_course
from planner.horizon.prices import ChangeTerms, Prices


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
