"""The schedule that keeps its budget on paths that the search has not seen.

A search fits its turns to its own paths, so it expects too few violations. Each of its schedules is judged on other
paths, and its price of a violation rises until one keeps the budget there. Schedules that need no search compete with
all that were tried.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf, isinf

from planner.horizon.budget import MAX_H
from planner.horizon.horizon_search import Found, Turn
from planner.horizon.prices import Prices

Turns = tuple[Turn, ...]


@dataclass(frozen=True)
class Question:
    """search: the best turns within expected violation minutes (None: at the price), from initial prices and by what
    judges expected minutes. adapted: turns with headroom, in several ways; admitted: whether they are within the rules.
    judge: cost and violations of turns on other paths. others: schedules besides the one that was searched.
    """

    search: Callable[[Prices, float | None, Callable[[Found], float]], tuple[Found, Prices]]
    adapted: Callable[[Turns], Iterable[Turns]]
    admitted: Callable[[Turns], bool]
    judge: Callable[[Turns, Prices], Found]
    others: Callable[[Turns], Iterable[Turns]]


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

    def minutes_of(found: Found) -> float:
        several = dict.fromkeys(question.adapted(found.turns))
        tried.update(several)
        return min(question.judge(turns, prices).violation_minutes for turns in several)

    found, now = question.search(prices, allowed, minutes_of)
    several = [found.turns, (), *question.others(found.turns)]
    tried |= dict.fromkeys(turns for each in several for turns in question.adapted(each))
    judged = [question.judge(turns, now) for turns in tried if question.admitted(turns)]

    def rank(one: Found) -> tuple[bool, float]:
        if isinf(one.cost_h):
            return True, inf
        if allowed is not None and one.violation_minutes <= allowed:
            return False, one.cost_h - now.violation_h * one.violation_minutes
        if allowed is not None and one.violation_minutes <= own:
            debt_h = MAX_H * (one.violation_minutes - allowed)
            return False, one.cost_h - now.violation_h * one.violation_minutes + debt_h
        return True, one.cost_h

    return Kept(min(judged, key=rank), now)
