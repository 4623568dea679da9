"""Grants: how many instances each topology may be planned for, so that no quota is exceeded at any moment.

The most urgent topologies get what their own schedules ask for. The others are planned again with fewer instances over
their whole horizon, never fewer than they run now. This always ends: if every topology stays at what runs now, every
quota that holds now is kept.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from modeling.arrays import Floats, Ints
from planner.fleet.holding import Holding, moments_s
from planner.fleet.terms import Quota
from planner.scaling_schedule import ScalingSchedule

Replanned = Callable[[Mapping[str, int]], Mapping[str, ScalingSchedule]]
"""Schedules of topologies under these maximum instance counts; a missing one keeps the running plan."""


@dataclass(frozen=True)
class Grants:
    """holdings: with schedules that fit together, in the order of the wishes. at_most: instances that a topology was
    planned for, for those granted fewer than they wished.
    """

    holdings: tuple[Holding, ...]
    at_most: Mapping[str, int]


def granted(wishes: Sequence[Holding], quotas: Sequence[Quota], replanned: Replanned) -> Grants:
    """wishes: one per topology, with the schedule that it would have alone.

    Repeats planning for all topologies that exceed what is left for them; budgets only shrink. Each quota is kept if
    running plans and fixed schedules are within it; otherwise it is exceeded as little as possible.
    """
    if not quotas:
        return Grants(tuple(wishes), {})
    order = sorted(wishes, key=lambda each: (-each.urgency(), each.name))
    now, at_most = {each.name: each for each in order}, dict[str, int]()
    firm = {each.name for each in order if each.fixed}
    while lower := _lowered([now[each.name] for each in order], quotas, at_most, firm):
        at_most |= lower
        made = replanned(lower)
        for name in lower:
            schedule = made.get(name)
            if schedule is None:
                schedule = replace(now[name].schedule, steps=())
                firm.add(name)
            now[name] = now[name].with_schedule(schedule)
    for name in _fit_after_all([each for each in order if each.name in at_most and each.name not in firm], now, quotas):
        del at_most[name]
    return Grants(tuple(now[each.name] for each in wishes), at_most)


def totals(holdings: Sequence[Holding], quotas: Sequence[Quota], at_s: Floats) -> Ints:
    """Instances held within each quota, shape (quotas, moments)."""
    found = np.zeros((len(quotas), at_s.size), dtype=np.int64)
    for each in holdings:
        of = [number for number, quota in enumerate(quotas) if each.name in quota.topologies]
        found[of] += each.held(at_s)
    return found


def _fit_after_all(wishes: Sequence[Holding], now: dict[str, Holding], quotas: Sequence[Quota]) -> list[str]:
    """Topologies whose wishes fit after all, as more urgent ones use less than was reserved for them. Puts them into
    `now`.
    """
    at_s = moments_s([*wishes, *now.values()])
    held, fit = totals(list(now.values()), quotas, at_s), []
    most = np.array([[quota.instances] for quota in quotas])
    for wish in wishes:
        of = [number for number, quota in enumerate(quotas) if wish.name in quota.topologies]
        more = wish.held(at_s) - now[wish.name].held(at_s)
        if ((held[of] + more <= most[of]) | (more <= 0)).all():
            held[of] += more
            now[wish.name] = wish
            fit.append(wish.name)
    return fit


def _lowered(
    order: Sequence[Holding], quotas: Sequence[Quota], at_most: Mapping[str, int], firm: set[str]
) -> dict[str, int]:
    """Budgets that must shrink, with the most urgent topology first in order; empty if everything fits."""
    at_s = moments_s(order)
    steady: set[str] = set()
    while True:
        found, more = _walked(order, quotas, at_s, firm, steady)
        if not more - steady:
            return {name: count for name, count in found.items() if count < at_most.get(name, count + 1)}
        # Some need what their schedules would have given back: reserve that for them, and distribute again.
        steady |= more


def _walked(
    order: Sequence[Holding], quotas: Sequence[Quota], at_s: Floats, firm: set[str], steady: set[str]
) -> tuple[dict[str, int], set[str]]:
    """Budgets of topologies that hold more than is left for them; and the names of those left less than they run now.

    For less urgent topologies what they run now is reserved, or less where their schedules give it back, except for
    steady ones.
    """
    held = {each.name: each.held(at_s) for each in order}
    aside = {each.name: _aside(each, held[each.name], firm, steady) for each in order}
    of = {each.name: [number for number, q in enumerate(quotas) if each.name in q.topologies] for each in order}
    left = np.array([np.full(at_s.size, quota.instances) for quota in quotas])
    for name, set_aside in aside.items():
        left[of[name]] -= set_aside
    found, more = dict[str, int](), set[str]()
    for each in order:
        name = each.name
        if name in firm or not of[name]:
            continue
        room = left[of[name]].min(axis=0) + aside[name]
        taken, over = held[name], held[name] > room
        if over.any():
            if room[over].min() < each.running:
                more.add(name)
            found[name] = max(each.running, int(room[over].min()))
            taken = np.minimum(taken, found[name])
        left[of[name]] -= taken - aside[name]
    return found, more


def _aside(holding: Holding, held: Ints, firm: set[str], steady: set[str]) -> Ints:
    if holding.name in firm:
        return held
    running = np.full_like(held, holding.running)
    return running if holding.name in steady else np.minimum(held, running)
