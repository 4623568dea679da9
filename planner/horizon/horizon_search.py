"""Which plan from when, over the whole horizon at once: dynamic programming over time and plan on sample paths.

A way is a plan that runs at a moment, with what it cost so far and what waits then on each path. Of the ways that run
the same plan at the same moment a few go on: the cheapest, the cheapest of those that may change earlier, and the
cheapest of those with less and less waiting. Left are those that cannot become cheaper than what is known, by a lower
bound on the rest of the horizon. So it is exact but for the ways of which there are more than go on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from modeling.arrays import Floats
from planner.errors import PlanError
from planner.horizon.floors import cost_floors_h, least_parts
from planner.horizon.prices import ChangeTerms, Prices
from planner.horizon.ways import LACKING, best_turns, followed

ROUGH_PATHS, ROUGH = 32, (2, 1)
"""Of the search that finds what others are held to."""
FINE = (8, 4)


@dataclass(frozen=True)
class Course:
    """What comes. edges_s: where steps begin, in seconds from the beginning, and where the last ends, shape (steps +
    1,). rate_per_s: over all sources, shape (steps, paths). capacity_per_s: in the mix and on the path of that moment,
    shape (plans, steps, paths), or (plans, 1, paths) where it is always the same. instances: shape (plans,). running:
    the plan that runs at the beginning; waiting: tuples then. free_s: seconds from the beginning until a change may be
    asked for. turn_h: price of a stop for a plan at the beginning of a step, beside that of the change, in
    instance-hours, shape (steps, plans); infinite where none may be, negative where one is wanted. counts: instances of
    each operator, shape (plans, operators), by which changes are bounded and wait; their sums where there are none.
    price_h: of each plan for an hour, in instance-hours, shape (plans,); its instances where there is none. moved_gib:
    state that changes its instance from each plan to each, shape (plans, plans); none moves where there is none.
    restore_s: for which a change from each plan to each reads state again, of the same shape, beside the downtime of
    the terms. room_s: seconds since the closed span before the beginning of a step, and to the one after it, between
    which a change is asked for and over, shape (steps, 2); negative within one. announced: turns of an earlier plan
    that are still to come, by which a search knows sooner what is too dear.
    """

    edges_s: Floats
    rate_per_s: Floats
    capacity_per_s: Floats
    instances: Floats
    running: int
    waiting: float = 0.0
    free_s: float = 0.0
    turn_h: Floats | None = None
    counts: Floats | None = None
    price_h: Floats | None = None
    moved_gib: Floats | None = None
    restore_s: Floats | None = None
    room_s: Floats | None = None
    announced: "tuple[Turn, ...]" = ()

    def __post_init__(self) -> None:
        plans, (steps, paths) = self.instances.size, self.rate_per_s.shape
        if not 0 <= self.running < plans:
            raise PlanError(f"plan {self.running} runs, and the ladder has plans 0 to {plans - 1}; give one of them")
        if (
            self.capacity_per_s.shape not in ((plans, steps, paths), (plans, 1, paths))
            or self.edges_s.size != steps + 1
        ):
            raise PlanError(
                f"capacities of shape {self.capacity_per_s.shape} and {self.edges_s.size} edges for {plans} plans, "
                f"{steps} steps and {paths} paths; give ({plans}, {steps} or 1, {paths}), and an edge more than steps"
            )
        if self.turn_h is not None and self.turn_h.shape != (steps, plans):
            raise PlanError(f"prices of stops of shape {self.turn_h.shape}; give ({steps}, {plans}), a plan each step")
        for what, of, shape in (
            ("prices of plans", self.price_h, (plans,)),
            ("state that moves", self.moved_gib, (plans, plans)),
            ("seconds to read state", self.restore_s, (plans, plans)),
            ("room between closed spans", self.room_s, (steps, 2)),
        ):
            if of is not None and of.shape != shape:
                raise PlanError(f"{what} of shape {of.shape} for {plans} plans and {steps} steps; give shape {shape}")

    @property
    def turns_h(self) -> Floats:
        """turn_h, and zeros where there is none."""
        return np.zeros((self.steps, self.instances.size)) if self.turn_h is None else self.turn_h

    @property
    def prices_h(self) -> Floats:
        """price_h, and instances where there is none."""
        return self.instances if self.price_h is None else self.price_h

    @property
    def rooms_s(self) -> Floats:
        """room_s, and no closed span where there is none."""
        return np.full((self.steps, 2), inf) if self.room_s is None else self.room_s

    def downtimes_s(self, terms: ChangeTerms) -> Floats:
        """Of a change from each plan to each, shape (plans, plans)."""
        plans = self.instances.size
        return np.full((plans, plans), terms.downtime_s) + (0.0 if self.restore_s is None else self.restore_s)

    @property
    def steps(self) -> int:
        return int(self.rate_per_s.shape[0])

    @property
    def paths(self) -> int:
        return int(self.rate_per_s.shape[1])

    def least_parts(self, terms: ChangeTerms) -> tuple[Floats, Floats, Floats]:
        """Of `planner.horizon.floors`: a search within a budget asks for them at one price after the other."""
        told = _shortest_s(self.downtimes_s(terms)), terms.max_lag_s, terms.react_s
        if told not in self._least_parts:
            self._least_parts[told] = least_parts(self.rate_per_s, self.capacity_per_s, self.edges_s, *told)
        return self._least_parts[told]

    @cached_property
    def _least_parts(self) -> dict[tuple[float, float, float], tuple[Floats, Floats, Floats]]:
        return {}


@dataclass(frozen=True)
class Turn:
    """The job stops at a moment, in seconds from the beginning, for a plan that was asked for at another."""

    plan: int
    asked_s: float
    stop_s: float


@dataclass(frozen=True)
class Found:
    """turns in their order. instance_hours, their price paid_h in the same unit, and violation_minutes as expected over
    the paths, of the whole horizon; cost_h: all of it at its prices. late_minutes: by path, shape (paths,).
    """

    turns: tuple[Turn, ...]
    instance_hours: float
    paid_h: float
    violation_minutes: float
    cost_h: float
    late_minutes: Floats


def best_course(course: Course, terms: ChangeTerms, prices: Prices, also: Sequence[Turn] | None = None) -> Found:
    """The turns that cost least, violations and changes at their prices. also: turns that may be taken, as a search at
    other prices has found them: what these cost now bounds this one. Without them a search on few paths finds some.
    """
    if also is None:
        rough = _thinned(course)
        ceiling_h = min(followed_course(rough, turns, terms, prices).cost_h for turns in ((), course.announced))
        also = _best_turns(rough, terms, prices, ceiling_h * (1 + 1e-9), ROUGH)
    known = followed_course(course, also or (), terms, prices)
    turns = _best_turns(course, terms, prices, known.cost_h * (1 - 1e-9), FINE)
    return known if turns is None else followed_course(course, turns, terms, prices)


def _thinned(course: Course) -> Course:
    at = np.arange(ROUGH_PATHS) * course.paths // ROUGH_PATHS if course.paths > ROUGH_PATHS else slice(None)
    rate_per_s, capacity_per_s = course.rate_per_s[:, at], course.capacity_per_s[:, :, at]
    return replace(
        course,
        rate_per_s=np.ascontiguousarray(rate_per_s),
        capacity_per_s=np.ascontiguousarray(capacity_per_s),
    )


def _best_turns(
    course: Course, terms: ChangeTerms, prices: Prices, ceiling_h: float, kept: tuple[int, int]
) -> tuple[Turn, ...] | None:
    """None where none cost less than ceiling_h. kept: of ways of one plan at a moment those that go on, and those that
    turn to it.
    """
    change_h, lead_s = _between(course, terms, prices)
    turn_h, parts = course.turns_h, course.least_parts(terms)
    # Where somebody reacts, what is lacking is added, at the price of any other instance.
    lacking_price = LACKING if terms.react_s == inf else 1.0
    floor_h, stop_h = cost_floors_h(
        *parts, course.prices_h, change_h, turn_h, course.edges_s, prices.violation_h, lacking_price
    )
    found, turned_at, turned_to = best_turns(
        course.rate_per_s,
        course.capacity_per_s,
        course.prices_h,
        change_h,
        turn_h,
        lead_s,
        course.running,
        course.waiting,
        course.free_s,
        course.edges_s,
        course.downtimes_s(terms),
        course.rooms_s,
        terms.apart_s,
        terms.max_lag_s,
        terms.react_s,
        terms.held_s,
        prices.violation_h,
        prices.rescale_h,
        parts[0] == 0.0,
        floor_h,
        stop_h,
        ceiling_h,
        *kept,
    )
    if not found:
        return None
    turns, running = list[Turn](), course.running
    for stop_s, plan in zip(course.edges_s[turned_at].tolist(), turned_to.tolist(), strict=True):
        turns.append(Turn(plan, stop_s - float(lead_s[running, plan]), stop_s))
        running = plan
    return tuple(turns)


def followed_course(course: Course, turns: Sequence[Turn], terms: ChangeTerms, prices: Prices) -> Found:
    """What given turns cost and violate; each begins with the step that it falls into."""
    change_h, lead_s = _between(course, terms, prices)
    plans = np.array([turn.plan for turn in turns], dtype=np.int64)
    steps = np.searchsorted(course.edges_s, [turn.stop_s + 1e-9 for turn in turns]) - 1
    instance_hours, paid_h, changes_h, late_s = followed(
        course.rate_per_s,
        course.capacity_per_s,
        course.instances,
        course.prices_h,
        change_h,
        course.turns_h,
        course.running,
        course.waiting,
        course.edges_s,
        lead_s,
        course.downtimes_s(terms),
        course.rooms_s,
        terms.max_lag_s,
        terms.react_s,
        terms.held_s,
        prices.rescale_h,
        steps,
        plans,
    )
    minutes = late_s / 60.0
    violation_minutes = float(minutes.mean())
    cost_h = paid_h + changes_h + prices.violation_h * violation_minutes
    return Found(tuple(turns), instance_hours, paid_h, violation_minutes, cost_h, minutes)


def _shortest_s(down_s: Floats) -> float:
    """Of the downtimes of all changes: what none goes below."""
    others = down_s[~np.eye(len(down_s), dtype=bool)]
    return float(others.min()) if others.size else 0.0


def _between(course: Course, terms: ChangeTerms, prices: Prices) -> tuple[Floats, Floats]:
    """Price of a change from each plan to each, and its lead time as `ChangeTerms` says, shape (plans, plans)."""
    counts = course.instances[:, None] if course.counts is None else course.counts
    more = counts[None, :, :] - counts[:, None, :]
    apart = np.abs(more).sum(axis=2)
    change_h = prices.rescale_h + prices.started_h * apart
    if course.moved_gib is not None:
        change_h = change_h + prices.moved_gib_h * course.moved_gib
    if terms.only_out:
        change_h = np.where((more < 0).any(axis=2), inf, change_h)
    return np.where(apart > terms.max_step, inf, change_h), np.where((more > 0).any(axis=2), terms.lead_s, 0.0)
