"""The schedule that keeps its budget on paths that the search has not seen.

A search fits its turns to its own paths, so it expects too few violations. Each of its schedules is judged on other
paths, and its price of a violation rises until one keeps the budget there. Schedules that need no search compete with
all that were tried.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf, isinf

from planner.horizon.budget import LAST_H, MAX_H, MIN_H
from planner.horizon.horizon_search import Course, Found, Turn, best_course
from planner.horizon.prices import ChangeTerms, Prices

Turns = tuple[Turn, ...]
Minutes = Callable[[Found, Prices], float]
"""Expected minutes in violation of what was found, at these prices: they decide when it is rescued."""


@dataclass(frozen=True)
class Question:
    """search: the best turns within expected violation minutes (None: at the price), from initial prices and by what
    judges expected minutes. adapted: turns with headroom, in several ways; admitted: whether they are within the rules.
    judge: cost and violations of turns on other paths. others: schedules besides the one that was searched. fewer: the
    turns without one of them, for each. broken_s: seconds in which turns leave what people want within spans.
    """

    search: Callable[[Prices, float | None, Minutes], tuple[Found, Prices]]
    adapted: Callable[[Turns], Iterable[Turns]]
    admitted: Callable[[Turns], bool]
    judge: Callable[[Turns, Prices], Found]
    others: Callable[[Turns], Iterable[Turns]]
    fewer: Callable[[Turns], Iterable[Turns]]
    broken_s: Callable[[Turns], float] = lambda _: 0.0


@dataclass(frozen=True)
class Kept:
    """found: on the paths that judge. prices: of the last search."""

    found: Found
    prices: Prices


def best_kept(question: Question, prices: Prices, allowed: float | None, own: float = 0.0) -> Kept:
    """The cheapest schedule that keeps the allowed minutes by judgement. If none does, or each minute has a price, the
    one that costs least with its violations at their price.

    own: minutes that the horizon would be allowed if the past had used no more than its share. What the past has used
    of them is paid back as long as a minute costs no more than MAX_H: a rescale that is late for two minutes would
    otherwise never be worth it, however large the plan that runs.
    """
    tried = dict[Turns, None]()

    def minutes_of(found: Found, at: Prices) -> float:
        several = dict.fromkeys(question.adapted(found.turns))
        tried.update(several)
        return min(question.judge(turns, at).violation_minutes for turns in several)

    found, now = question.search(prices, allowed, minutes_of)
    several = [found.turns, (), *question.others(found.turns)]
    tried |= dict.fromkeys(turns for each in several for turns in question.adapted(each))
    # Without a change no limit is passed.
    tried |= {(): None}
    judged = [question.judge(turns, now) for turns in tried if question.admitted(turns)]

    def rank(one: Found) -> tuple[float, bool, float]:
        if isinf(one.cost_h):
            return inf, True, inf
        broken_s = question.broken_s(one.turns)
        if allowed is not None and one.violation_minutes <= allowed:
            return broken_s, False, one.cost_h - now.violation_h * one.violation_minutes
        if allowed is not None and one.violation_minutes <= own:
            debt_h = MAX_H * (one.violation_minutes - allowed)
            return broken_s, False, one.cost_h - now.violation_h * one.violation_minutes + debt_h
        return broken_s, True, one.cost_h

    best = min(judged, key=rank)
    # Headroom, and paths that the search has not seen, can leave a turn without a purpose.
    while True:
        without = dict.fromkeys(turns for each in question.fewer(best.turns) for turns in question.adapted(each))
        fewer = (question.judge(turns, now) for turns in without if turns not in tried and question.admitted(turns))
        better = min(fewer, key=rank, default=best)
        if not rank(better) < rank(best):  # a cost may be NaN, where a plan carries any load
            return Kept(best, now)
        best = better


def course_within(
    course: Course,
    terms: ChangeTerms,
    prices: Prices,
    allowed: float | None,
    minutes_of: Minutes = lambda found, _: found.violation_minutes,
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
    minutes = minutes_of(found, now)
    if minutes > allowed:
        while minutes > allowed and now.violation_h < MAX_H:
            now = replace(now, violation_h=min(MAX_H, 2 * now.violation_h))
            found = best_course(course, terms, now, found.turns)
            minutes = minutes_of(found, now)
        if minutes <= allowed:
            return found, now
        return _at_any_price(course, terms, now, allowed, found, minutes_of)
    while now.violation_h > MIN_H:
        lower = replace(now, violation_h=max(MIN_H, now.violation_h / 2))
        cheaper = best_course(course, terms, lower, found.turns)
        if minutes_of(cheaper, lower) > allowed:
            break
        found, now = cheaper, lower
    return found, now


def _at_any_price(
    course: Course,
    terms: ChangeTerms,
    prices: Prices,
    allowed: float,
    found: Found,
    minutes_of: Minutes,
) -> tuple[Found, Prices]:
    """The course at a higher price that keeps the allowed minutes; the given course and price if none does."""
    fewer, minutes, now = found, inf, prices
    while minutes > allowed and now.violation_h < LAST_H:
        now = replace(now, violation_h=min(LAST_H, 2 * now.violation_h))
        fewer = best_course(course, terms, now, fewer.turns)
        minutes = minutes_of(fewer, now)
    return (fewer, now) if minutes <= allowed else (found, prices)
