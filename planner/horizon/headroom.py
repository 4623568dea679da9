"""Headroom: how busy a plan may be at the planned quantile of its peak, whatever the budget would allow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import inf

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from planner.horizon.capacity_use import CapacityUse
from planner.horizon.horizon_search import Course, Turn, allowed_changes
from planner.horizon.ladder import Ladder
from planner.horizon.outlook import Outlook
from planner.horizon.prices import ChangeTerms
from planner.horizon.ways import has_room
from planner.limits import FULL, MAX_UTILISATION, Limits

ROUNDS = 6
"""Of relief: a turn that cannot be requested in time comes later, and its plan may lack headroom anew."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Headroom:
    """most: of a plan's capacity in the ladder, used at this quantile while it runs: of the peak of its span, or
    (each_moment) of the load of each moment by itself, which leaves spikes to whoever adds instances.
    """

    quantile: float
    most: float
    each_moment: bool = False

    @classmethod
    def of(cls, limits: Limits, quantile: float) -> "Headroom":
        """The default where the limits leave none."""
        return cls(quantile, _most(limits))

    @classmethod
    def of_usual_load(cls, limits: Limits) -> "Headroom":
        """At the median load of each moment."""
        return cls(0.5, _most(limits), each_moment=True)


def _most(limits: Limits) -> float:
    return MAX_UTILISATION if limits.max_utilisation == FULL else 1.0


@dataclass(frozen=True)
class Rungs:
    """A ladder over a horizon, and what a change between its plans takes. may_stop: whether the job may stop for a plan
    when a step begins, shape (steps, plans). rescale_h: price of a rescale, in instance-hours. instead: as in
    CapacityUse.
    """

    ahead: Outlook
    ladder: Ladder
    course: Course
    terms: ChangeTerms
    may_stop: Flags
    rescale_h: float = 0.0
    instead: Ints | None = None

    @cached_property
    def use(self) -> CapacityUse:
        return CapacityUse(self.ahead, self.ladder, self.instead)

    def carrying(self, used: Floats, share: float, among: Flags | None = None) -> int:
        """The cheapest plan that uses at most a share of its capacity; the least used one if none does. used: of each
        plan, shape (plans,). among: the plans that may be chosen, all if absent.
        """
        may = self.may_stop.any(axis=0) if among is None else self.may_stop.any(axis=0) & among
        fit = np.flatnonzero((used <= share * (1 + _ROUNDING)) & may)
        if not fit.size:
            return int(np.where(may, used, inf).argmin())
        return int(fit[self.course.weights_h[fit].argmin()])

    def _used(self, start_s: float, end_s: float, headroom: Headroom, plans: slice = slice(None)) -> Floats:
        """Share of each plan's capacity that must be within the headroom if it runs in this span; shape (plans,)."""
        first, last = self.ahead.span(start_s, end_s)
        return self.use.of(headroom.quantile, first, last, each_moment=headroom.each_moment, plans=plans)

    def at_once(self, plan: int) -> tuple[Turn, ...]:
        """The earliest possible turn to a plan, alone; none if it runs, or the horizon ends before it."""
        return self.possible([Turn(plan, 0.0, 0.0)])

    def possible(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """The turns at the earliest possible moments that are not before their own, each requested in time and apart
        from closed spans; without those for which the horizon, or the span until the next one, is too short.
        """
        edges_s, counts = self.ahead.edges_s[:-1], self.ladder.plans
        down_s = self.course.downtimes_s(self.terms)
        free_s, running, done = self.course.free_s, self.course.running, list[Turn]()
        for number, turn in enumerate(turns):
            if turn.plan == running:
                continue
            until_s = turns[number + 1].stop_s if number + 1 < len(turns) else float(self.ahead.edges_s[-1])
            lead_s = self.terms.stops_after_s(counts[running], counts[turn.plan])
            may = self.may_stop[:, turn.plan] & (edges_s >= max(turn.stop_s, free_s + lead_s) - _ROUNDING)
            may = may & self.has_room(lead_s, float(down_s[running, turn.plan]))
            if not may.any() or (stop_s := float(edges_s[may.argmax()])) >= until_s - _ROUNDING:
                continue
            done.append(Turn(turn.plan, stop_s - lead_s, stop_s))
            free_s, running = stop_s + float(down_s[running, turn.plan]) + self.terms.apart_s, turn.plan
        return tuple(done)

    def has_room(self, lead_s: float, downtime_s: float) -> Flags:
        """Whether a change that stops the job with a step is apart from closed spans, shape (steps,)."""
        room_s = self.course.room_s
        if room_s is None:
            return np.ones(self.course.steps, dtype=np.bool_)
        return np.array([has_room(each, lead_s, downtime_s) for each in room_s], dtype=np.bool_)

    def with_headroom(self, turns: tuple[Turn, ...], headroom: Headroom) -> list[tuple[Turn, ...]]:
        """The turns with headroom at the peaks of their spans, in two ways: larger plans at the same moments; and where
        that costs less, other moments. Turns that have it are unchanged.
        """
        several = []
        for moved in (False, True):
            better = turns
            for _ in range(ROUNDS):
                before, better = better, self.possible(self._relieved(better, headroom, moved=moved))
                if better == before:
                    break
            several.append(better if self.allows(better) else turns)
        return several

    def _relieved(self, turns: tuple[Turn, ...], headroom: Headroom, *, moved: bool) -> tuple[Turn, ...]:
        """Where a plan lacks headroom, a larger plan; or, if turns may be moved, the cheapest of that, the plan before
        it for longer, and the plan after it sooner.
        """
        at = 0
        while at < len(turns):
            end_s = self._end_s(turns, at)
            larger = self.carrying(
                self._used(turns[at].stop_s, end_s, headroom), headroom.most, self._between(turns, at)
            )
            if not self._has(turns[at], end_s, headroom) and larger != turns[at].plan:
                ways = [(*turns[:at], replace(turns[at], plan=larger), *turns[at + 1 :])]
                if moved:
                    ways += [*self._later(turns, at, headroom), *self._sooner(turns, at, headroom)]
                turns = min(ways, key=self._spent_h)
            at += 1
        return turns

    def _between(self, turns: Sequence[Turn], at: int) -> Flags:
        """Its own plan, and those to which a change may lead from the turn before, and from these to the turn after."""
        before = turns[at - 1].plan if at else self.course.running
        among: Flags = self.may_change[before].copy()
        if at + 1 < len(turns):
            among &= self.may_change[:, turns[at + 1].plan]
        among[turns[at].plan] = True
        return among

    def allows(self, turns: Sequence[Turn]) -> bool:
        """Whether each turn starts and stops few enough instances."""
        return all(
            self.may_change[one, other]
            for one, other in pairwise([self.course.running, *(turn.plan for turn in turns)])
        )

    @cached_property
    def may_change(self) -> Flags:
        return allowed_changes(self.course, self.terms)

    def _later(self, turns: tuple[Turn, ...], at: int, headroom: Headroom) -> Iterator[tuple[Turn, ...]]:
        """The turn at the first moment from which its plan has headroom, if the plan before it has it until then."""
        turn, end_s, edges_s = turns[at], self._end_s(turns, at), self.ahead.edges_s[:-1]
        before = turns[at - 1] if at else Turn(self.course.running, 0.0, 0.0)
        for stop_s in edges_s[self.may_stop[:, turn.plan] & (edges_s > turn.stop_s) & (edges_s < end_s)].tolist():
            if not self._has(before, stop_s, headroom):
                return
            later = replace(turn, stop_s=stop_s)
            if self._has(later, end_s, headroom):
                yield (*turns[:at], later, *turns[at + 1 :])
                return

    def _sooner(self, turns: tuple[Turn, ...], at: int, headroom: Headroom) -> Iterator[tuple[Turn, ...]]:
        """The next turn at the last moment until which the plan before it has headroom, if it can be requested then."""
        if at + 1 == len(turns):
            return
        turn, after, edges_s = turns[at], turns[at + 1], self.ahead.edges_s[:-1]
        before = turns[at - 1].plan if at else self.course.running
        down_s = float(self.course.downtimes_s(self.terms)[before, turn.plan])
        lead_s = self.terms.stops_after_s(self.ladder.plans[turn.plan], self.ladder.plans[after.plan])
        first_s = turn.stop_s + down_s + self.terms.apart_s + lead_s - _ROUNDING
        may = self.may_stop[:, after.plan] & (edges_s > turn.stop_s) & (edges_s >= first_s) & (edges_s < after.stop_s)
        for stop_s in edges_s[may][::-1].tolist():
            if self._has(turn, stop_s, headroom):
                yield (*turns[: at + 1], replace(after, stop_s=stop_s), *turns[at + 2 :])
                return

    def _has(self, turn: Turn, end_s: float, headroom: Headroom) -> bool:
        """Whether a plan that runs until end_s has headroom."""
        (used,) = self._used(turn.stop_s, end_s, headroom, slice(turn.plan, turn.plan + 1))
        return bool(used <= headroom.most * (1 + _ROUNDING))

    def _end_s(self, turns: Sequence[Turn], at: int) -> float:
        return turns[at + 1].stop_s if at + 1 < len(turns) else float(self.ahead.edges_s[-1])

    def _spent_h(self, turns: Sequence[Turn]) -> float:
        """On instances and rescales over the horizon, in instance-hours."""
        stops_s = np.array([0.0, *(turn.stop_s for turn in turns), float(self.ahead.edges_s[-1])])
        plans = [self.course.running, *(turn.plan for turn in turns)]
        changes = int(np.count_nonzero(np.diff(plans)))
        return float(np.diff(stops_s) @ self.course.weights_h[plans] / 3600.0) + self.rescale_h * changes

    def raised(self, turns: Sequence[Turn], factor: float) -> tuple[Turn, ...]:
        """The same turns to the cheapest plans with at least so many times the capacity."""
        capacity = self.course.capacity_per_s.mean(axis=(1, 2))
        usable = self.may_stop.any(axis=0)
        raised = []
        for turn in turns:
            fit = np.flatnonzero((capacity >= factor * capacity[turn.plan]) & usable)
            plan = int(fit[self.course.weights_h[fit].argmin()]) if fit.size else int((capacity * usable).argmax())
            raised.append(replace(turn, plan=plan))
        return self.possible(raised)
