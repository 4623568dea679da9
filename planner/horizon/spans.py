"""Spans in which people want at least or at most so many instances ("every Friday evening 12"): schedules keep them.

The search works on plans as they run within each span. What it finds gets turns at the edges of the spans: to what is
asked for so early that it runs when a span begins, and back once it has ended.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from modeling.arrays import Floats, Ints
from planner.decision_basis import BoundedSpan
from planner.horizon.headroom import Rungs
from planner.horizon.horizon_search import Course, Turn
from planner.horizon.ladder import Ladder
from planner.horizon.outlook import Outlook
from planner.limits import within_spans


def plans_within(ladder: Ladder, spans: Sequence[BoundedSpan]) -> list[dict[str, int]]:
    """The plans of a ladder as they are within each combination of spans that overlap."""
    moments = sorted({each.start_s for each in spans})
    together = [[each for each in spans if each.start_s <= at_s < each.end_s] for at_s in moments]
    return [within_spans(plan.parallelism, active) for active in together for plan in ladder.plans]


def as_within(ladder: Ladder, ahead: Outlook, spans: Sequence[BoundedSpan]) -> Ints:
    """For each plan and step of an outlook the plan that runs instead of it, shape (plans, steps)."""
    edges_s = ahead.start_s + ahead.edges_s
    by_active: dict[tuple[int, ...], list[int]] = {}
    columns = []
    for start_s, end_s in zip(edges_s[:-1].tolist(), edges_s[1:].tolist(), strict=True):
        numbers = tuple(number for number, each in enumerate(spans) if each.overlaps(start_s, end_s))
        if numbers not in by_active:
            active = [spans[number] for number in numbers]
            by_active[numbers] = [number_within(ladder, at, active) for at in range(len(ladder.plans))]
        columns.append(by_active[numbers])
    return np.array(columns, dtype=np.int64).T


def number_within(ladder: Ladder, plan: int, active: Sequence[BoundedSpan]) -> int:
    """The plan that runs instead of another one. Where the ladder lacks it, as it has too many instances in all, the
    smallest plan that keeps the bounds; the plan itself if none does.
    """
    wanted = within_spans(ladder.plans[plan].parallelism, active)
    if (number := ladder.number(wanted)) is not None:
        return number
    plans = [dict(each.parallelism) for each in ladder.plans]
    fit = [at for at, each in enumerate(plans) if within_spans(each, active) == each]
    return min(fit, key=lambda at: float(ladder.instances[at]), default=plan)


def bounded_course(course: Course, instead: Ints) -> Course:
    """The course with the capacities of the plans that run instead. instead: as of as_within."""
    plans, _, paths = course.capacity_per_s.shape
    every = np.broadcast_to(course.capacity_per_s, (plans, course.steps, paths))
    capacity: Floats = np.take_along_axis(every, instead[:, :, None], axis=0)
    return replace(course, capacity_per_s=capacity)


@dataclass(frozen=True)
class KeptSpans:
    """Turns that keep spans, on the ladder and course of rungs. admitted: whether they are few enough."""

    rungs: Rungs
    spans: Sequence[BoundedSpan]
    admitted: Callable[[Sequence[Turn]], bool]

    def kept(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """The turns with those that the spans need, within the rules of changes. A span that begins too soon is kept
        from the earliest possible moment on.
        """
        ladder, course, ahead = self.rungs.ladder, self.rungs.course, self.rungs.ahead
        found, running = list[Turn](), course.running
        forced = list[bool]()
        for number, at in enumerate(self._stops):
            start_s = float(ahead.edges_s[at])
            until_s = float(ahead.edges_s[self._stops[number + 1]]) if number + 1 < len(self._stops) else self._end_s
            active = self._active(start_s, until_s + self._down_s)
            wanted = course.running
            for turn in turns:
                if turn.stop_s <= start_s + 1e-6:
                    wanted = turn.plan
            plan = number_within(ladder, wanted, active)
            if plan != running and not self._lowers(running, plan):
                found.append(Turn(plan, start_s, start_s))
                forced.append(plan != wanted)
                running = plan
        return self._few_enough(self.rungs.possible(self._climbed(found, forced)))

    def broken_s(self, turns: Sequence[Turn]) -> float:
        """Seconds within spans whose bounds the running plan breaks."""
        total_s, from_s, running = 0.0, self.rungs.ahead.start_s, self.rungs.course.running
        down_s = self.rungs.course.downtimes_s(self.rungs.terms)
        for turn in (*turns, None):
            until_s = self.rungs.ahead.start_s + self._end_s
            if turn is not None:
                until_s = self.rungs.ahead.start_s + turn.stop_s + float(down_s[running, turn.plan])
            counts = self.rungs.ladder.plans[running].parallelism
            for span in self.spans:
                if passed_spans(counts, from_s, until_s, [span]):
                    total_s += min(until_s, span.end_s) - max(from_s, span.start_s)
            from_s, running = until_s, running if turn is None else turn.plan
        return total_s

    def _few_enough(self, turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        """As few of them as are admitted, without those that the spans need least."""
        while turns and not self.admitted(turns):
            fewer = [self.rungs.possible([*turns[:at], *turns[at + 1 :]]) for at in reversed(range(len(turns)))]
            turns = min(fewer, key=lambda each: (not self.rungs.allows(each), self.broken_s(each)))
        return turns

    def _climbed(self, turns: Sequence[Turn], forced: Sequence[bool]) -> list[Turn]:
        """With the turns between them where one change starts and stops too many instances: before one that a span
        needs, after any other. Without turns that come so shortly before one that a span needs that they would delay
        it.
        """
        kept = list[tuple[Turn, bool]]()
        for turn, needed in zip(turns, forced, strict=True):
            climb = self._climb(kept, turn, before=needed)
            while kept and not kept[-1][1] and self._is_late(kept[-1][0], climb[0], needed=needed):
                kept.pop()
                climb = self._climb(kept, turn, before=needed)
            kept += [(each, needed) for each in climb]
        return [turn for turn, _ in kept]

    def _is_late(self, before: Turn, turn: Turn, *, needed: bool) -> bool:
        """Whether a turn leaves no time for the one before it."""
        return turn.stop_s - before.stop_s < (self._spacing_s(before.plan, turn.plan) if needed else 1e-6)

    def _climb(self, kept: Sequence[tuple[Turn, bool]], turn: Turn, *, before: bool) -> list[Turn]:
        """The changes that lead to a turn's plan, each of few enough instances; the last, or the first, at its moment.
        The turn alone if no plans lie between.
        """
        way = self._way(kept[-1][0].plan if kept else self.rungs.course.running, turn.plan)
        stops_s = self.rungs.ahead.edges_s[self._stops]
        at_s = [turn.stop_s]
        for plan, after in pairwise(reversed(way) if before else way):
            spacing_s = self._spacing_s(after, plan) if before else self._spacing_s(plan, after)
            possible = stops_s[stops_s <= at_s[-1] - spacing_s] if before else stops_s[stops_s >= at_s[-1] + spacing_s]
            if not possible.size:
                break
            at_s.append(float(possible[-1] if before else possible[0]))
        if before:
            at_s = [*[0.0] * (len(way) - len(at_s)), *reversed(at_s)]
        return [Turn(plan, stop_s, stop_s) for plan, stop_s in zip(way, at_s, strict=False)]

    def _way(self, running: int, plan: int) -> list[int]:
        """The fewest plans that lead from one to another, the last included."""
        if self.rungs.may_change[running, plan]:
            return [plan]
        usable = self.rungs.may_stop.any(axis=0)
        ways, reached = [[running]], {running}
        for way in ways:
            for after in np.flatnonzero(self.rungs.may_change[way[-1]] & usable).tolist():
                if after == plan:
                    return [*way[1:], plan]
                if after not in reached:
                    reached.add(after)
                    ways.append([*way, after])
        return [plan]

    def _spacing_s(self, before: int, plan: int) -> float:
        plans, terms = self.rungs.ladder.plans, self.rungs.terms
        return self._down_s + terms.apart_s + terms.stops_after_s(plans[before], plans[plan])

    def _lowers(self, running: int, plan: int) -> bool:
        """Whether a change stops instances where none may be stopped."""
        before, after = (self.rungs.ladder.plans[each].parallelism for each in (running, plan))
        return self.rungs.terms.only_out and any(after[name] < count for name, count in before.items())

    def _active(self, start_s: float, end_s: float) -> list[BoundedSpan]:
        from_s = self.rungs.ahead.start_s
        return [each for each in self.spans if each.overlaps(from_s + start_s, from_s + end_s)]

    @cached_property
    def _stops(self) -> list[int]:
        """Steps at whose beginning the job may stop for some plan. Before a closed span, a plan is for all of it."""
        room = self.rungs.has_room(self.rungs.terms.lead_s, self._down_s)
        return [int(at) for at in np.flatnonzero(self.rungs.may_stop.any(axis=1) & room)]

    @cached_property
    def _down_s(self) -> float:
        """The longest downtime of a change."""
        return float(self.rungs.course.downtimes_s(self.rungs.terms).max())

    @property
    def _end_s(self) -> float:
        return float(self.rungs.ahead.edges_s[-1])


def passed_spans(
    plan: Mapping[str, int], start_s: float, end_s: float, spans: Sequence[BoundedSpan]
) -> list[tuple[BoundedSpan, str, int, int]]:
    """Where a plan that runs from start_s to end_s breaks bounds: span, operator, its instances and the bound."""
    found = []
    for span in spans:
        if not span.overlaps(start_s, end_s):
            continue
        for name, count in plan.items():
            least, most = span.least.get(name, 0), span.most.get(name, count)
            if count < least or count > max(most, least):
                found.append((span, name, count, least if count < least else most))
    return found
