"""A second opinion on the search over a horizon: every sequence of changes, followed by a fluid queue of its own.

It shares no code with planner/horizon, on purpose: where the two look alike, one is to catch the other's mistakes.
Sequences that can no longer become the cheapest are cut off by a lower bound, in which no tuple waits and no change
takes time, and where another one that costs no more left every path as it is; so its answer is exact.
"""

from collections.abc import Sequence

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.compiled import compiled
from planner.horizon.horizon_search import Course, Turn
from planner.horizon.prices import ChangeTerms, Prices

KEPT = 100
"""Sequences that are kept for each step and plan."""


@compiled
def _beyond_s(lag_s: float, slope: float, span_s: float, max_lag_s: float) -> float:
    """Seconds of a span in which a lag that begins at lag_s and grows by slope a second is above max_lag_s."""
    end_s = lag_s + slope * span_s
    if max(lag_s, end_s) <= max_lag_s:
        return 0.0
    if min(lag_s, end_s) >= max_lag_s:
        return span_s
    crossed_s = (max_lag_s - lag_s) / slope
    return crossed_s if lag_s > max_lag_s else span_s - crossed_s


@compiled
def _queue(
    waiting: float, rate: float, capacity: float, step_s: float, down_s: float, max_lag_s: float
) -> tuple[float, float]:
    """What waits after a step, and its late seconds: the job stands still first, then the queue drains or grows."""
    up_s = step_s - down_s
    if rate <= 0.0:
        return max(0.0, waiting - capacity * up_s), 0.0
    lag_s, slope = waiting / rate, 1.0 - capacity / rate
    late_s = _beyond_s(lag_s, 1.0, down_s, max_lag_s)
    lag_s += down_s
    empty_s = -lag_s / slope if slope < 0.0 else np.inf
    late_s += _beyond_s(lag_s, slope, min(empty_s, up_s), max_lag_s)
    return (0.0 if empty_s <= up_s else rate * (lag_s + slope * up_s)), late_s


@compiled
def _after(
    waiting: float,
    over_s: float,
    fits_s: float,
    runs: float,
    rate: float,
    carried: Floats,
    plan: int,
    step_s: float,
    down_s: float,
    rescue_s: float,
    max_lag_s: float,
    react_s: float,
    withheld: bool,
) -> tuple[float, float, float, float, bool, float, float, float]:
    """Of a path after a step: what waits; for how long it has been over, and within its plan; the capacity that runs in
    place of the plan's, 0 for none, and whether it withholds a step. Then late seconds; instances that were added, or
    half more than were lacking, as a part of the plan's; and changes beside the schedule's.

    carried: of all plans. down_s: of the schedule's change, rescue_s: of any other. What is added carries the load at
    85 % and drains what waits within 600 s; it is taken back after half an hour.
    """
    own, capacity = carried[plan], max(carried[plan], runs)
    stands_s = down_s if runs == 0.0 else 0.0
    left, late_s = _queue(waiting, rate, capacity, step_s, stands_s, max_lag_s)
    if rate > capacity:
        over_s, fits_s = over_s + step_s - stands_s, 0.0
    elif runs > 0.0 and rate <= own:
        over_s, fits_s = 0.0, fits_s + step_s
    else:
        over_s, fits_s = 0.0, 0.0
    more = max(0.0, capacity / own - 1.0) + 1.5 * max(0.0, rate - capacity) / own
    counts_s = min(step_s, late_s + 30.0) if late_s > 1e-6 else 0.0
    if runs > 0.0 and rate <= own and left <= 0.0 and (withheld or fits_s >= 1800.0):
        again_s = max(0.0, rescue_s - max_lag_s) if rate > 0.0 else 0.0
        counts_s += again_s + 30.0 if again_s > 1e-6 else 0.0
        return rate * rescue_s, 0.0, 0.0, 0.0, False, counts_s, more, 0.0 if withheld else 1.0
    if not (rate > capacity and over_s >= react_s and capacity < carried.max()):
        return left, over_s, fits_s, runs, withheld, counts_s, more, 0.0
    if left + (rate - capacity) * react_s <= max_lag_s * rate:
        return left, over_s, fits_s, runs, withheld, counts_s, more, 0.0
    at_s = min(step_s, max(stands_s, step_s - (over_s - react_s)))
    waiting, late_s = _queue(waiting, rate, capacity, at_s, stands_s, max_lag_s)
    enough = [each for each in carried if each >= rate / 0.85 + (waiting + rate * rescue_s) / 600.0]
    sized = carried.max()
    for each in enough:
        sized = min(sized, each)
    left, then_s = _queue(waiting, rate, sized, max(rescue_s, step_s - at_s), rescue_s, max_lag_s)
    late_s += then_s
    more = 0.0
    for span_s, runs in ((at_s, capacity), (step_s - at_s, sized)):
        more += span_s / step_s * (runs / own - 1.0 + 1.5 * max(0.0, rate - runs) / own)
    return left, 0.0, 0.0, sized, False, late_s + 30.0 if late_s > 1e-6 else 0.0, more, 1.0


@compiled
def _never_less_h(
    rate: Floats,
    capacity: Floats,
    price_h: Floats,
    change_h: Floats,
    edges_s: Floats,
    max_lag_s: float,
    react_s: float,
    violation_h: float,
) -> Floats:
    """What the rest of the horizon costs at least, by step and the plan that runs then; shape (steps + 1, plans)."""
    plans, steps, paths = capacity.shape
    least_h = np.zeros((steps + 1, plans))
    for step in range(steps - 1, -1, -1):
        step_s = edges_s[step + 1] - edges_s[step]
        stayed_h = np.zeros(plans)
        for plan in range(plans):
            stayed_h[plan] = price_h[plan] * step_s / 3600.0 + least_h[step + 1, plan]
            for path in range(paths):
                came, carried = rate[step, path], capacity[plan, step, path]
                late_h = violation_h / 60.0 * min(react_s, _queue(0.0, came, carried, step_s, 0.0, max_lag_s)[1])
                more_h = price_h[plan] * max(0.0, came / carried - 1.0) * step_s / 3600.0
                lacking_h = late_h + 1.5 * more_h
                stayed_h[plan] += (min(lacking_h, more_h) if react_s < np.inf else lacking_h) / paths
        for plan in range(plans):
            least_h[step, plan] = (stayed_h + change_h[plan]).min()
    return least_h


@compiled
def _is_no_better(state: Floats, than: Floats) -> bool:
    """Whether another one costs no more, may change and runs again no later, and left every path as it is. state, than:
    these three, and then what waits and all else that `_after` goes by.
    """
    for number in range(state.size):
        if than[number] > state[number] or (number >= 3 and than[number] < state[number]):
            return False
    return True


@compiled
def _cheapest(
    rate: Floats,
    capacity: Floats,
    price_h: Floats,
    change_h: Floats,
    lead_s: Floats,
    running: int,
    waiting: float,
    free_s: float,
    edges_s: Floats,
    down_s: Floats,
    closed: Floats,
    apart_s: float,
    max_lag_s: float,
    react_s: float,
    violation_h: float,
    rescale_h: float,
    known_h: float,
) -> tuple[float, Ints]:
    """Cost of the cheapest sequence and its plans by step, depth first; known_h and none where nothing costs less."""
    plans, steps, paths = capacity.shape
    least_h = _never_less_h(rate, capacity, price_h, change_h, edges_s, max_lag_s, react_s, violation_h)
    waits, overs = np.zeros((steps + 1, paths)), np.zeros((steps + 1, paths))
    fits, instead, withheld = np.zeros_like(waits), np.zeros_like(waits), np.zeros(waits.shape, np.bool_)
    waits[0] = waiting
    cost_h, free, back_s = np.zeros(steps + 1), np.full(steps + 1, free_s), np.full(steps + 1, -np.inf)
    plan, tried = np.full(steps + 1, running), np.zeros(steps + 1, np.int64)
    best_h, best, at = known_h, np.empty(0, np.int64), 0
    state, longest_s = np.zeros(3 + 5 * paths), lead_s.max()
    kept, count = np.empty((steps + 1, plans, KEPT, state.size)), np.zeros((steps + 1, plans), np.int64)
    while at >= 0:
        if at == steps or tried[at] == plans:
            if at == steps:
                best_h, best = cost_h[at], plan[1:].copy()
            at -= 1
            continue
        # First the plan that runs: what is good and found early cuts off more.
        to = (plan[at] + tried[at]) % plans
        tried[at] += 1
        spent_h, from_s, until_s = cost_h[at], free[at], back_s[at]
        if to != plan[at]:
            if edges_s[at] < until_s - 1e-9 or edges_s[at] - lead_s[plan[at], to] < from_s - 1e-9:
                continue
            asked_s, until_s = edges_s[at] - lead_s[plan[at], to], edges_s[at] + down_s[plan[at], to]
            if ((asked_s < closed[:, 1] - 1e-6) & (until_s > closed[:, 0] + 1e-6)).any():
                continue
            spent_h += change_h[plan[at], to]
            from_s = until_s + apart_s
        if spent_h + least_h[at, to] >= best_h:
            continue
        step_s = edges_s[at + 1] - edges_s[at]
        stands_s = min(step_s, max(0.0, until_s - edges_s[at]))
        spent_h += price_h[to] * step_s / 3600.0
        for path in range(paths):
            carried, came = capacity[:, at, path], rate[at, path]
            over_s, fits_s, runs, waits_on = overs[at, path], fits[at, path], instead[at, path], withheld[at, path]
            if to != plan[at]:
                runs = max(runs, carried[plan[at]])
                waits_on = react_s < np.inf and carried[to] < came and carried[to] < runs
                over_s, fits_s, runs = 0.0, 0.0, runs if waits_on else 0.0
            (
                waits[at + 1, path],
                overs[at + 1, path],
                fits[at + 1, path],
                instead[at + 1, path],
                withheld[at + 1, path],
                late_s,
                more,
                rescued,
            ) = _after(
                waits[at, path],
                over_s,
                fits_s,
                runs,
                came,
                carried,
                to,
                step_s,
                stands_s,
                down_s[to].max(),
                max_lag_s,
                react_s,
                waits_on,
            )
            more_h = price_h[to] * more * step_s / 3600.0
            spent_h += (violation_h / 60.0 * late_s + rescale_h * rescued + more_h) / paths
        if spent_h + least_h[at + 1, to] >= best_h:
            continue
        at += 1
        state[0], state[1], state[2] = spent_h, max(from_s, edges_s[at] - longest_s), max(until_s, edges_s[at])
        for path in range(paths):
            first = 3 + 5 * path
            state[first], state[first + 1], state[first + 2] = waits[at, path], instead[at, path], withheld[at, path]
            if react_s < np.inf:
                state[first + 3], state[first + 4] = overs[at, path], fits[at, path]
        known = False
        for number in range(min(KEPT, count[at, to])):
            known = known or _is_no_better(state, kept[at, to, number])
        if known:
            at -= 1
            continue
        kept[at, to, count[at, to] % KEPT] = state
        count[at, to] += 1
        cost_h[at], free[at], back_s[at], plan[at], tried[at] = spent_h, from_s, until_s, to, 0
    return best_h, best


def cheapest_course(
    course: Course,
    terms: ChangeTerms,
    prices: Prices,
    known_h: float = np.inf,
    closed: Sequence[tuple[float, float]] = (),
) -> tuple[float, tuple[Turn, ...]]:
    """Cost and turns of the cheapest sequence of changes there is; known_h and no turns where none costs less. closed:
    spans, in seconds from the beginning, in which none is asked for and the job is not down.
    """
    counts = course.instances[:, None] if course.counts is None else course.counts
    started, grows = np.zeros(2 * (len(counts),)), np.zeros(2 * (len(counts),), dtype=bool)
    for operator in counts.T:
        started += np.abs(operator[None, :] - operator[:, None])
        grows |= operator[None, :] > operator[:, None]
    lead_s = np.where(grows, terms.lead_s, 0.0)
    change_h = prices.rescale_h + prices.started_h * started
    if course.moved_gib is not None:
        change_h = change_h + prices.moved_gib_h * course.moved_gib
    capacity = np.ascontiguousarray(
        np.broadcast_to(course.capacity_per_s, (course.instances.size, course.steps, course.paths))
    )
    cost_h, plans = _cheapest(
        course.rate_per_s,
        capacity,
        course.instances if course.price_h is None else course.price_h,
        np.where(np.eye(len(counts)) > 0, 0.0, change_h),
        lead_s,
        course.running,
        course.waiting,
        course.free_s,
        course.edges_s,
        _down_s(course, terms),
        np.array(closed, dtype=np.float64).reshape(-1, 2),
        terms.apart_s,
        terms.max_lag_s,
        terms.react_s,
        prices.violation_h,
        prices.rescale_h,
        known_h,
    )
    turns, now = [], course.running
    for stop_s, plan in zip(course.edges_s.tolist(), plans.tolist(), strict=False):
        if plan != now:
            turns.append(Turn(plan, stop_s - float(lead_s[now, plan]), stop_s))
            now = plan
    return cost_h, tuple(turns)


def _down_s(course: Course, terms: ChangeTerms) -> Floats:
    plans = course.instances.size
    down_s = np.full((plans, plans), terms.downtime_s)
    return down_s if course.restore_s is None else down_s + course.restore_s


def late_minutes(course: Course, terms: ChangeTerms, turns: tuple[Turn, ...]) -> Floats:
    """Minutes that count as late under given turns, by path."""
    found, told, down_s = np.zeros(course.paths), course.capacity_per_s.shape[1], _down_s(course, terms)
    for path in range(course.paths):
        waiting, over_s, fits_s, runs, withheld = course.waiting, 0.0, 0.0, 0.0, False
        plan, back_s, ahead = course.running, -np.inf, list(turns)
        for at, (begin_s, end_s) in enumerate(zip(course.edges_s[:-1], course.edges_s[1:], strict=True)):
            rate, carried = course.rate_per_s[at, path], course.capacity_per_s[:, min(at, told - 1), path].copy()
            if ahead and ahead[0].stop_s < end_s - 1e-9:
                before, plan = plan, ahead.pop(0).plan
                back_s = begin_s + float(down_s[before, plan])
                runs = max(runs, carried[before])
                withheld = terms.react_s < np.inf and carried[plan] < rate and carried[plan] < runs
                over_s, fits_s, runs = 0.0, 0.0, runs if withheld else 0.0
            step_s, stands_s = end_s - begin_s, min(end_s - begin_s, max(0.0, back_s - begin_s))
            waiting, over_s, fits_s, runs, withheld, late_s, _, _ = _after(
                waiting,
                over_s,
                fits_s,
                runs,
                rate,
                carried,
                plan,
                step_s,
                stands_s,
                down_s[plan].max(),
                terms.max_lag_s,
                terms.react_s,
                withheld,
            )
            found[path] += late_s / 60.0
    return found
