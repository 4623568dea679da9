"""Which plan from when, over the whole horizon at once: dynamic programming over time and plan on sample paths.

A way is a plan that runs at a moment, with its cost so far and its backlog on each path. Of the ways with the same plan
at the same moment a few are kept: the cheapest, the cheapest of those that may change earlier, and the cheapest with
ever smaller backlogs. Ways that a lower bound on the rest of the horizon shows to be too expensive are dropped. The
search is exact except where more ways than these would matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from modeling.arrays import Flags, Floats
from planner.errors import PlanError
from planner.horizon.floors import cost_floors_h, least_parts
from planner.horizon.prices import ChangeTerms, Prices
from planner.horizon.ways import LACKING, CompiledCourse, CostBounds, best_turns, followed

ROUGH_PATHS, ROUGH = 32, (2, 1)
"""Size of the search that finds the bound for the full one: paths, and ways kept that stayed and that turned."""
FINE = (8, 6)


@dataclass(frozen=True)
class Course:
    """The load and the capacities that a search works on.

    edges_s: where steps begin, in seconds from the start, and where the last one ends, shape (steps + 1,). rate_per_s:
    over all sources, shape (steps, paths). capacity_per_s: for the mix of sources at that moment on that path, shape
    (plans, steps, paths), or (plans, 1, paths) if constant. instances: shape (plans,). running: index of the plan at
    the start; waiting: tuples then. free_s: seconds from the start until a change may be requested. turn_h: price of a
    stop for a plan at the beginning of a step, besides that of the change, in instance-hours, shape (steps, plans);
    infinite where forbidden, negative where wanted. counts: instances of each operator, shape (plans, operators), which
    bound changes and decide their lead time; None: `instances` are used. price_h: of each plan for an hour, in
    instance-hours, shape (plans,); None: its instances. moved_gib: state that changes its instance between each two
    plans, shape (plans, plans); None: no state moves. restore_s: time to restore state in each change, of the same
    shape, added to the downtime of the terms. room_s: seconds from the closed span before the beginning of a step, and
    to the one after it, within which a change is requested and over, shape (steps, 2); negative within one. announced:
    turns of an earlier plan that are still to come; they give the search an early bound. up_s: when the running plan
    began to run, in seconds from the start. weighed_h: as price_h, what decides between plans; None: the price does.
    rescuers: number of plans, from the smallest on, that a rescue may use; None: all.
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
    up_s: float = -inf
    weighed_h: Floats | None = None
    rescuers: int | None = None

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
            ("weighed prices of plans", self.weighed_h, (plans,)),
            ("state that moves", self.moved_gib, (plans, plans)),
            ("seconds to read state", self.restore_s, (plans, plans)),
            ("room between closed spans", self.room_s, (steps, 2)),
        ):
            if of is not None and of.shape != shape:
                raise PlanError(f"{what} of shape {of.shape} for {plans} plans and {steps} steps; give shape {shape}")

    @property
    def prices_h(self) -> Floats:
        """price_h, or instances."""
        return self.instances if self.price_h is None else self.price_h

    @property
    def weights_h(self) -> Floats:
        """weighed_h, or prices_h."""
        return self.prices_h if self.weighed_h is None else self.weighed_h

    def downtimes_s(self, terms: ChangeTerms) -> Floats:
        """Of a change between each two plans, shape (plans, plans)."""
        plans = self.instances.size
        return np.full((plans, plans), terms.downtime_s) + (0.0 if self.restore_s is None else self.restore_s)

    @property
    def steps(self) -> int:
        return int(self.rate_per_s.shape[0])

    @property
    def paths(self) -> int:
        return int(self.rate_per_s.shape[1])

    def least_parts(self, terms: ChangeTerms) -> tuple[Floats, Floats, Floats]:
        """As in `planner.horizon.floors`; cached, as a search within a budget needs them at many prices."""
        down_s = self.downtimes_s(terms)
        others_s = down_s[~np.eye(len(down_s), dtype=bool)]
        key = float(others_s.min()) if others_s.size else 0.0, float(terms.max_lag_s), float(terms.react_s)
        if key not in self._least_parts:
            capacity_per_s = np.ascontiguousarray(self.capacity_per_s)
            self._least_parts[key] = least_parts(self.rate_per_s, capacity_per_s, self.edges_s, *key)
        return self._least_parts[key]

    @cached_property
    def _least_parts(self) -> dict[tuple[float, float, float], tuple[Floats, Floats, Floats]]:
        return {}

    def compiled(self, terms: ChangeTerms, prices: Prices) -> CompiledCourse:
        """As the compiled search takes it. The last is kept, as many turns are judged at the same terms and prices."""
        if not self._compiled or self._compiled[-1][:2] != (terms, prices):
            self._compiled[:] = [(terms, prices, _compiled(self, terms, prices))]
        return self._compiled[-1][2]

    @cached_property
    def _compiled(self) -> list[tuple[ChangeTerms, Prices, CompiledCourse]]:
        return []

    @cached_property
    def apart(self) -> tuple[Floats, Flags, Flags]:
        """Of a change between each two plans: instances that it starts and stops, and whether any operator gets more,
        and fewer; each of shape (plans, plans).
        """
        counts = self.instances[:, None] if self.counts is None else self.counts
        more = counts[None, :, :] - counts[:, None, :]
        grows: Flags = np.any(more > 0, axis=2)
        shrinks: Flags = np.any(more < 0, axis=2)
        return np.abs(more).sum(axis=2), grows, shrinks


@dataclass(frozen=True)
class Turn:
    """The job stops for a plan at stop_s, requested at asked_s; both in seconds from the start."""

    plan: int
    asked_s: float
    stop_s: float


@dataclass(frozen=True)
class Found:
    """turns: in order. instance_hours, their price paid_h in the same unit, and violation_minutes: expected over the
    paths, for the whole horizon; cost_h: total at all prices. late_minutes: by path, shape (paths,).
    """

    turns: tuple[Turn, ...]
    instance_hours: float
    paid_h: float
    violation_minutes: float
    cost_h: float
    late_minutes: Floats


def best_course(course: Course, terms: ChangeTerms, prices: Prices, also: Sequence[Turn] | None = None) -> Found:
    """The turns of least total cost, with violations and changes at their prices. also: turns found at other prices,
    whose cost bounds this search; None: a search on few paths finds some.
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
    """None if none cost less than ceiling_h. kept: number of ways kept of one plan at a moment: those that stayed, and
    those that turn to it.
    """
    compiled, parts = course.compiled(terms, prices), course.least_parts(terms)
    # With a reaction, missing instances are added at the price of any other.
    lacking_price = LACKING if terms.react_s == inf else 1.0
    floor_h, stop_h = cost_floors_h(
        *parts,
        compiled.price_h,
        compiled.change_h,
        compiled.turn_h,
        course.edges_s,
        prices.violation_h,
        lacking_price,
    )
    bounds = CostBounds(parts[0] == 0.0, floor_h, stop_h, ceiling_h)
    found, turned_at, turned_to = best_turns(compiled, bounds, *kept)
    if not found:
        return None
    turns, running = list[Turn](), course.running
    for stop_s, plan in zip(course.edges_s[turned_at].tolist(), turned_to.tolist(), strict=True):
        turns.append(Turn(plan, stop_s - float(compiled.lead_s[running, plan]), stop_s))
        running = plan
    return tuple(turns)


def followed_course(course: Course, turns: Sequence[Turn], terms: ChangeTerms, prices: Prices) -> Found:
    """Cost and violations of given turns; each begins with the step that it falls into."""
    plans = np.array([turn.plan for turn in turns], dtype=np.int64)
    steps = np.searchsorted(course.edges_s, [turn.stop_s + 1e-9 for turn in turns]) - 1
    compiled, counted = course.compiled(terms, prices), np.stack([course.instances, course.prices_h])
    instance_hours, paid_h, changes_h, late_s = followed(compiled, counted, steps, plans)
    minutes = late_s / 60.0
    violation_minutes = float(minutes.mean())
    cost_h = paid_h + changes_h + prices.violation_h * violation_minutes
    return Found(tuple(turns), instance_hours, paid_h, violation_minutes, cost_h, minutes)


def _compiled(course: Course, terms: ChangeTerms, prices: Prices) -> CompiledCourse:
    """Whole numbers as floats, and one layout: loops are compiled anew, for seconds, for each mixture of types."""
    change_h, lead_s = _between(course, terms, prices)
    worth = terms.worth_at(prices)
    return CompiledCourse(
        rate_per_s=course.rate_per_s,
        capacity_per_s=np.ascontiguousarray(course.capacity_per_s),
        price_h=course.weights_h,
        change_h=change_h,
        turn_h=np.zeros((course.steps, course.instances.size)) if course.turn_h is None else course.turn_h,
        lead_s=lead_s,
        running=course.running,
        waiting=float(course.waiting),
        free_s=float(course.free_s),
        up_s=float(course.up_s),
        edges_s=course.edges_s,
        down_s=course.downtimes_s(terms),
        room_s=np.full((course.steps, 2), inf) if course.room_s is None else course.room_s,
        apart_s=float(terms.apart_s),
        lost_by_s=terms.warm_up.lost_by_second(),
        recourse=(*terms.recourse, float(worth.changes_s), float(worth.hour_s), float(worth.most_s)),
        violation_h=float(prices.violation_h),
        rescale_h=float(prices.rescale_h),
        rescuers=course.rescuers or course.instances.size,
    )


def _between(course: Course, terms: ChangeTerms, prices: Prices) -> tuple[Floats, Floats]:
    """Price of a change between each two plans, and its lead time as in `ChangeTerms`, shape (plans, plans)."""
    apart, grows, _ = course.apart
    change_h = prices.rescale_h + prices.started_h * apart
    if course.moved_gib is not None:
        change_h = change_h + prices.moved_gib_h * course.moved_gib
    change_h = np.where(allowed_changes(course, terms), change_h, inf)
    return change_h, np.where(grows, terms.lead_s, 0.0)


def allowed_changes(course: Course, terms: ChangeTerms) -> Flags:
    """Whether one change may lead from a plan to another, within max_step and only_out, shape (plans, plans)."""
    apart, _, shrinks = course.apart
    allowed: Flags = apart <= terms.max_step
    return allowed & ~shrinks if terms.only_out else allowed
