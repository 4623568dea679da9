"""The optimum with full knowledge of the arrivals: dynamic programming over time, plan and lag.

Plans change at the beginnings of minutes. A minute is late if its lag is too long at its beginning, at its end, or
where a downtime ends within it. The future cost of a backlog is interpolated between the lags of a grid; the backlog
itself is exact when the plans are followed.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from modeling.compiled import compiled
from modeling.inputs.physical_plan import PhysicalPlan
from planner.replay.capacity import capacity_per_s
from planner.replay.load import MINUTE_S, Load
from planner.replay.need import Need
from planner.replay.reality import Reality

NEVER = 1e6
"""Price of a violation minute, in instance-hours, at which every avoidable one is avoided."""

_PRICES = 0.01, 100.0
"""Range in which the price of a violation minute is bisected."""

_SMALL_S = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
FINE = 32
"""Lags of the grid from there up to the allowed one."""
_COARSE = 16
"""Lags from the allowed one to MAX_LAG_S."""
MAX_LAG_S = 4 * 3600.0
MAX_PLANS = 48


@dataclass(frozen=True)
class Hindsight:
    """cost_h, violation_minutes: of the optimum. changes: plans by the moment at which the job stops for them; the
    first runs from the start.
    """

    cost_h: float
    violation_minutes: float
    changes: tuple[tuple[float, Mapping[str, int]], ...]


def plan_ladder(need: Need, load: Load, loads: int = 400) -> list[Mapping[str, int]]:
    """The cheapest plans for `loads` samples of the load, ascending in instances, at most MAX_PLANS; the largest
    carries twice the peak.
    """
    rates = np.column_stack([load.rate_per_s[source] for source in need.topology.sources])
    total = rates.sum(axis=1)
    order = np.argsort(total, kind="stable")
    picked = order[np.unique(np.linspace(0, order.size - 1, loads).astype(int))]
    some = [rates[at] for at in picked]
    some += [rates[order[-1]] * factor for factor in (1.1, 1.25, 1.5, 2.0)]
    plans = {}
    # In this order, loads between two with the same plan come from the cache.
    for each in map(some.__getitem__, _ends_first(len(some))):
        plan = need.plan(dict(zip(need.topology.sources, each.tolist(), strict=True)))
        plans[tuple(plan.values())] = plan
    ladder = sorted(plans.values(), key=lambda plan: (sum(plan.values()), tuple(plan.values())))
    if len(ladder) > MAX_PLANS:
        kept = np.unique(np.linspace(0, len(ladder) - 1, MAX_PLANS).round().astype(int))
        ladder = [ladder[at] for at in kept]
    return ladder


def _ends_first(count: int) -> Iterator[int]:
    """0 to count - 1 by bisection: the ends, the middle between them, the middles of the halves, and so on.

    >>> list(_ends_first(6))
    [0, 5, 2, 1, 3, 4]
    """
    yield from dict.fromkeys((0, count - 1))
    spans = deque([(0, count - 1)])
    while spans:
        first, last = spans.popleft()
        if (middle := (first + last) // 2) > first:
            yield middle
            spans += [(first, middle), (middle, last)]


def hindsight(
    load: Load,
    reality: Reality,
    ladder: Sequence[Mapping[str, int]],
    max_lag_s: float,
    price_instance_hours: float = NEVER,
    fine: int = FINE,
    hourly_h: Floats | None = None,
) -> Hindsight:
    """The plans that cost least when a violation minute costs price_instance_hours.

    hourly_h: cost of each plan for an hour, in instance-hours, shape (plans,); its instances if absent. fine: lags of
    the grid up to max_lag_s. A solution that needs a lag between two of them may be missed, in favour of a safe one.
    """
    return _Case.of(load, reality, ladder, max_lag_s, fine, hourly_h).best(price_instance_hours)


def hindsight_within(
    load: Load,
    reality: Reality,
    ladder: Sequence[Mapping[str, int]],
    max_lag_s: float,
    allowed_share: float,
    tries: int = 6,
    hourly_h: Floats | None = None,
) -> Hindsight:
    """The plans that cost least among those that violate in at most allowed_share of the minutes. hourly_h: as above.

    Bisects the price of a violation minute. Solutions between two prices are not found: the result is the optimum for
    its own share of violations, which is at most the allowed one.
    """
    best = hindsight(load, reality, ladder, max_lag_s, hourly_h=hourly_h)
    coarse = _Case.of(load, reality, ladder, max_lag_s, _COARSE, hourly_h)
    low, high = _PRICES
    for _ in range(tries if best.violation_minutes < allowed_share * load.minutes else 0):
        price = math.sqrt(low * high)
        found = coarse.best(price)
        if found.violation_minutes > allowed_share * load.minutes:
            low = price
        else:
            high = price
            best = min(best, found, key=lambda each: each.cost_h)
    return best


class _Flow(NamedTuple):
    """Arrivals and capacities by minute. Minutes after the end, which a downtime may reach into, have no arrivals.

    came, again: tuples of each minute, and tuples read again after a stop at its beginning, shape (more,): the minutes
    and those that a downtime reaches into. drained: capacity of a plan in a minute, shape (plans, more). cost_h: of a
    minute, shape (plans,). grid: waiting tuples at the beginning of a minute for each lag, shape (more, lags). allowed:
    how many may wait there; resumed: the same at the moment within that minute at which the downtime of a change to a
    plan ends, shape (plans, more). span: minutes that such a downtime reaches into; rest: the part of the last one, 0
    for a whole one; both of shape (plans,).
    """

    came: Floats
    again: Floats
    drained: Floats
    cost_h: Floats
    grid: Floats
    allowed: Floats
    resumed: Floats
    minutes: int
    span: Ints
    rest: Floats


@dataclass(frozen=True)
class _Case:
    ladder: Sequence[Mapping[str, int]]
    start_s: int
    flow: _Flow

    @staticmethod
    def of(
        load: Load,
        reality: Reality,
        ladder: Sequence[Mapping[str, int]],
        max_lag_s: float,
        fine: int,
        hourly_h: Floats | None,
    ) -> "_Case":
        terms = reality.terms
        instances = np.array([sum(plan.values()) for plan in ladder])
        down_min = _downtimes_s(reality, ladder) / MINUTE_S
        rest = down_min - np.floor(down_min)
        span = np.ceil(down_min).astype(np.int64)
        longest_span = int(span.max())
        rates = np.column_stack([load.rate_per_s[source] for source in reality.topology.sources])
        came = np.concatenate([rates.sum(axis=1) * MINUTE_S, np.zeros(longest_span + 1)])
        drained = [capacity_per_s(reality.network(plan, load.start_s), rates) * MINUTE_S for plan in ladder]
        lags_min, longest = _lags_min(max_lag_s, fine)
        again_s = terms.checkpoints.replayed_s(0.0) if terms.checkpoints else 0.0
        moments = np.arange(came.size, dtype=np.float64)
        grid = _waiting(came, moments, lags_min)
        several, of_plan = np.unique(rest, return_inverse=True)
        resumed = np.array([_waiting(came, moments + part, lags_min[longest : longest + 1])[:, 0] for part in several])
        ends = moments + several[:, None]
        flow = _Flow(
            came=came,
            again=came * again_s / MINUTE_S,
            drained=np.pad(np.array(drained), ((0, 0), (0, longest_span + 1))),
            cost_h=(instances if hourly_h is None else hourly_h) / 60.0,
            grid=grid,
            allowed=np.where(moments > load.minutes, np.inf, grid[:, longest] * (1 + 1e-9) + 1e-9),
            resumed=np.where(ends > load.minutes, np.inf, resumed * (1 + 1e-9) + 1e-9)[of_plan],
            minutes=load.minutes,
            span=span,
            rest=rest,
        )
        return _Case(ladder, load.start_s, flow)

    def best(self, price_h: float) -> Hindsight:
        """The optimum at this price of a violation minute, in instance-hours."""
        first, stays, chosen = _decided(self.flow, price_h)
        cost_h, late, stops, plans = _followed(self.flow, first, stays, chosen)
        moments = [float(self.start_s), *(float(self.start_s + at * MINUTE_S) for at in stops.tolist())]
        changes = zip(moments, (self.ladder[plan] for plan in [first, *plans.tolist()]), strict=True)
        return Hindsight(cost_h, float(late), tuple(changes))


def _downtimes_s(reality: Reality, ladder: Sequence[Mapping[str, int]]) -> Floats:
    """Shortest downtime of a change to each plan, over all other plans; shape (plans,)."""
    plans = [PhysicalPlan(reality.topology.name, dict(plan)) for plan in ladder]
    restore_s = reality.terms.restore.between_s(reality.topology, plans)
    np.fill_diagonal(restore_s, np.inf if len(plans) > 1 else 0.0)
    # What a warm-up loses counts as lost before it begins.
    stopped_s = reality.terms.downtime_s + reality.terms.warm_up.whole_lost_s
    return np.asarray(stopped_s + restore_s.min(axis=0))


def _lags_min(max_lag_s: float, fine: int) -> tuple[Floats, int]:
    """The grid of lags in minutes, and the index of the allowed one."""
    small_s = [lag_s for lag_s in _SMALL_S if lag_s < max_lag_s]
    lags_s = [*small_s, *np.linspace(small_s[-1], max_lag_s, fine)[1:]]
    above_s = np.geomspace(max_lag_s + 1.0, max(MAX_LAG_S, 4 * max_lag_s), _COARSE).tolist()
    return np.array([*lags_s, *above_s]) / MINUTE_S, len(lags_s) - 1


def _waiting(came: Floats, moments: Floats, lags_min: Floats) -> Floats:
    """Waiting tuples at moments, in minutes, for each lag: shape (moments, lags)."""
    # Before the start, assume the rate of the first minute.
    early = math.ceil(float(lags_min[-1])) + 1
    edges = np.arange(-early, came.size + 1, dtype=np.float64)
    cumulated = np.concatenate([[0.0], np.cumsum(np.concatenate([np.full(early, came[0]), came]))])
    before = np.interp(moments[:, None] - lags_min, edges, cumulated)
    return np.asarray(np.interp(moments, edges, cumulated)[:, None] - before)


@compiled
def _decided(flow: _Flow, price_h: float) -> tuple[int, Flags, Ints]:
    """The first plan; whether to stay, by minute, plan and lag; the plan to change to, by minute and lag."""
    plans, lags = flow.cost_h.size, flow.grid.shape[1]
    depth = max(1, flow.span.max())
    # least_h[minute % depth]: least cost from a minute on, by plan and lag, for the minutes that are still needed.
    least_h = np.zeros((depth, plans, lags))
    stays, chosen = np.zeros((flow.minutes, plans, lags), np.bool_), np.zeros((flow.minutes, lags), np.int64)
    stay_h, change_h = np.empty((plans, lags)), np.empty(lags)
    stopped, stopped_late = np.empty(lags), np.empty(lags, np.int64)
    for at in range(flow.minutes - 1, -1, -1):
        # Make views once, outside the loops.
        here, after = flow.grid[at], flow.grid[at + 1]
        came, allowed, allowed_after = flow.came[at], flow.allowed[at], flow.allowed[at + 1]
        for plan in range(plans):
            drained, cost_h, later_h, above = (
                flow.drained[plan, at],
                flow.cost_h[plan],
                least_h[(at + 1) % depth, plan],
                1,
            )
            for lag in range(lags):
                waiting, late = _stayed(here[lag], came, drained, allowed, allowed_after)
                above = _above(after, waiting, above)
                stay_h[plan, lag] = cost_h + price_h * late + _between(after, later_h, waiting, above)
        change_h[:] = np.inf
        stopped_for = -1
        for plan in range(plans):
            span, rest = flow.span[plan], flow.rest[plan]
            if not span:
                for lag in range(lags):
                    if stay_h[plan, lag] < change_h[lag]:
                        change_h[lag], chosen[at, lag] = stay_h[plan, lag], plan
                continue
            whole = span - int(rest > 0)
            if whole != stopped_for:
                # While the job is down, all plans give the same result.
                for lag in range(lags):
                    stopped[lag], stopped_late[lag] = _stopped(flow, at, whole, here[lag])
                stopped_for = whole
            last, running = at + span - 1, min(span, flow.minutes - at)
            ended, came_last = flow.grid[last + 1], flow.came[last]
            allowed_after, resumed = flow.allowed[last + 1], flow.resumed[plan, last]
            drained, cost_h = flow.drained[plan, last], running * flow.cost_h[plan]
            later_h, above = least_h[(at + span) % depth, plan], 1
            for lag in range(lags):
                waiting, late = stopped[lag], stopped_late[lag]
                if rest > 0:
                    waiting, late = _resumed(waiting, late, rest, came_last, drained, allowed_after, resumed)
                above = _above(ended, waiting, above)
                told_h = cost_h + price_h * late + _between(ended, later_h, waiting, above)
                if told_h < change_h[lag]:
                    change_h[lag], chosen[at, lag] = told_h, plan
        for plan in range(plans):
            for lag in range(lags):
                stays[at, plan, lag] = stay_h[plan, lag] <= change_h[lag] * (1 + 1e-12)
                least_h[at % depth, plan, lag] = min(stay_h[plan, lag], change_h[lag])
    return int(least_h[0, :, 0].argmin()), stays, chosen


@compiled
def _stayed(waiting: float, came: float, drained: float, allowed: float, allowed_after: float) -> tuple[float, int]:
    """Waiting tuples after a minute, and 1 if it is late at its beginning or its end."""
    after = max(0.0, waiting + came - drained)
    return after, int(waiting > allowed or after > allowed_after)


@compiled
def _stopped(flow: _Flow, at: int, whole: int, waiting: float) -> tuple[float, int]:
    """Waiting tuples after `whole` minutes of a downtime that begins with minute `at`, and how many of them are
    late.
    """
    waiting, late = waiting + flow.again[at], 0
    for minute in range(at, at + whole):
        waiting = max(0.0, waiting + flow.came[minute])
        late += int(waiting > flow.allowed[minute + 1])
    return waiting, late


@compiled
def _resumed(
    waiting: float, late: int, rest: float, came: float, drained: float, allowed_after: float, resumed: float
) -> tuple[float, int]:
    """The same after the last minute of a downtime, of which it takes the part `rest`; then a plan runs again."""
    longest = waiting + rest * came
    waiting = max(0.0, waiting + came - (1 - rest) * drained)
    return waiting, late + int(waiting > allowed_after or longest > resumed)


@compiled
def _above(known: Floats, waiting: float, above: int) -> int:
    """Index of the first value, from `above` on, that is not below `waiting`; at most the last."""
    while above < known.size - 1 and known[above] < waiting:
        above += 1
    return above


@compiled
def _between(known: Floats, values: Floats, waiting: float, above: int) -> float:
    """Linear interpolation between the value at an index and the one before it."""
    width = known[above] - known[above - 1]
    if width <= 0 or waiting >= known[above]:
        return float(values[above])
    if waiting <= known[above - 1]:
        return float(values[above - 1])
    part = (waiting - known[above - 1]) / width
    return float((1 - part) * values[above - 1] + part * values[above])


@compiled
def _followed(flow: _Flow, plan: int, stays: Flags, chosen: Ints) -> tuple[float, int, Ints, Ints]:
    """The optimum from the start on: instance-hours, late minutes, and the minutes and plans of the stops."""
    at, waiting, cost_h, late = 0, 0.0, 0.0, 0
    stops, plans, found = np.empty(flow.minutes, np.int64), np.empty(flow.minutes, np.int64), 0
    while at < flow.minutes:
        # Round the lag up to the grid: a decision for a longer lag is safe for this one.
        lag = 0
        while lag < flow.grid.shape[1] - 1 and flow.grid[at, lag] * (1 + 1e-9) + 1e-9 < waiting:
            lag += 1
        stay = stays[at, plan, lag]
        if not stay:
            plan = chosen[at, lag]
            stops[found], plans[found] = at, plan
            found += 1
        span, rest = flow.span[plan], flow.rest[plan]
        if stay or not span:
            waiting, now_late = _stayed(
                waiting, flow.came[at], flow.drained[plan, at], flow.allowed[at], flow.allowed[at + 1]
            )
            until = at + 1
        else:
            waiting, now_late = _stopped(flow, at, span - int(rest > 0), waiting)
            if rest > 0:
                last = at + span - 1
                waiting, now_late = _resumed(
                    waiting,
                    now_late,
                    rest,
                    flow.came[last],
                    flow.drained[plan, last],
                    flow.allowed[last + 1],
                    flow.resumed[plan, last],
                )
            until = at + span
        cost_h += (min(until, flow.minutes) - at) * flow.cost_h[plan]
        at, late = until, late + now_late
    return cost_h, late, stops[:found], plans[:found]
