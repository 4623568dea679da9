"""The loops of a search over a horizon, compiled: steps on all paths, and ways of plans through them."""

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.compiled import compiled


@compiled
def stepped(
    waiting: float, rate_per_s: float, capacity_per_s: float, step_s: float, down_s: float, max_lag_s: float
) -> tuple[float, float]:
    """Tuples that wait after a step of step_s, the job down for its first down_s, and the seconds of it in which the
    lag was beyond max_lag_s. waiting: tuples before.

    Fluid, first come first served: while the job is down all that comes waits; after that what waits is worked off at
    what capacity leaves. Lag is what waits over the rate at which it came.
    """
    up_s = step_s - down_s
    stopped = waiting + rate_per_s * down_s
    spare = capacity_per_s - rate_per_s
    after = max(0.0, stopped - spare * up_s)
    if rate_per_s <= 0.0:
        return after, 0.0
    beyond_s = stopped / rate_per_s - max_lag_s
    late_s = 0.0
    if spare > 0.0:
        # What drains is late until it has come down to the target; what grows, from when it has reached it.
        late_s = min(max(beyond_s * rate_per_s / spare, 0.0), up_s)
    elif spare < 0.0:
        late_s = min(max(up_s - min(beyond_s, 0.0) * rate_per_s / spare, 0.0), up_s)
    elif beyond_s > 0.0:
        late_s = up_s
    return after, late_s + min(max(beyond_s, 0.0), down_s)


@compiled
def _step(
    before: Floats,
    after: Floats,
    late_s: Floats,
    rate_per_s: Floats,
    capacity_per_s: Floats,
    step_s: float,
    down_s: float,
    max_lag_s: float,
    react_s: float,
) -> tuple[float, float, float]:
    """A step on all paths. before, after: of each the tuples that wait, and for how long more has come than is carried,
    shape (2, paths); they may be the same. late_s: gets the seconds that count as late: a minute counts that is late
    for a part of it, half a minute more where the step is not late as a whole. Given back, as means over the paths: how
    many seconds are late, how many instances more than the plan's are needed, as a part of these, and how many paths
    are rescued.

    A path that is over for react_s is rescued, at the price of being late for as long: from then on all that comes is
    carried until it is less again.
    """
    paths = late_s.size
    late_in_all_s, more, rescued = 0.0, 0.0, 0.0
    for path in range(paths):
        rate, capacity, over_s = rate_per_s[path], capacity_per_s[path], before[1, path]
        left, late = 0.0, 0.0
        if over_s >= react_s:
            more += max(0.0, rate / capacity - 1.0)
            over_s = react_s if rate > capacity else 0.0
        else:
            left, late = stepped(before[0, path], rate, capacity, step_s, down_s, max_lag_s)
            late = min(late + 30.0, step_s) if 0.0 < late < step_s else late
            over_s = over_s + step_s - down_s if rate > capacity else 0.0
            if over_s >= react_s:
                left, late, rescued = 0.0, react_s, rescued + 1.0
        after[0, path], after[1, path], late_s[path] = left, over_s, late
        late_in_all_s += late
    return late_in_all_s / paths, more / paths, rescued / paths


@compiled
def best_turns(
    rate_per_s: Floats,
    capacity_per_s: Floats,
    instances: Floats,
    change_h: Floats,
    lead_s: Floats,
    running: int,
    waiting: float,
    free_s: float,
    edges_s: Floats,
    downtime_s: float,
    apart_s: float,
    max_lag_s: float,
    react_s: float,
    violation_h: float,
    rescale_h: float,
) -> tuple[Ints, Ints]:
    """Steps at whose beginnings the job stops for another plan, and the plans.

    Ways are kept by the moment, by plan, and by how they came there: 0 and 1 stayed, 2 turned. Of those of one plan the
    cheapest goes on, and the cheapest of those that may change earlier.
    """
    steps, paths = rate_per_s.shape
    plans, told = capacity_per_s.shape[0], capacity_per_s.shape[1]
    cost_h = np.full((steps + 1, plans, 3), np.inf)
    free = np.zeros((steps + 1, plans, 3))
    before = np.full((steps + 1, plans, 3, 3), -1)  # step, plan and kind of the way before it
    over = _over(edges_s, downtime_s)
    kept = 1 + (over - np.arange(steps)).max()
    states = np.zeros((kept, plans, 3, 2, paths))  # as _step takes them, of a moment at its number modulo kept
    turned, late_s = np.zeros((2, paths)), np.zeros(paths)
    cost_h[0, running, 0], free[0, running, 0] = 0.0, free_s
    for path in range(paths):
        states[0, running, 0, 0, path] = waiting
    live = np.full((plans, 2), -1)
    late_h = violation_h / 60.0
    for at in range(steps):
        here, step_s = at % kept, edges_s[at + 1] - edges_s[at]
        for plan in range(plans):
            _pick(cost_h[at, plan], free[at, plan], live[plan])
        for plan in range(plans):
            for place in range(2):
                kind = live[plan, place]
                if kind < 0:
                    continue
                late, more, rescued = _step(
                    states[here, plan, kind],
                    states[(at + 1) % kept, plan, place],
                    late_s,
                    rate_per_s[at],
                    capacity_per_s[plan, min(at, told - 1)],
                    step_s,
                    0.0,
                    max_lag_s,
                    react_s,
                )
                hours = instances[plan] * (1.0 + more) * step_s / 3600.0 + late_h * late + rescale_h * rescued
                cost_h[at + 1, plan, place] = cost_h[at, plan, kind] + hours
                free[at + 1, plan, place] = free[at, plan, kind]
                _note(before[at + 1, plan, place], at, plan, kind)
        until = over[at]
        for plan in range(plans):
            least_h, way, way_kind = np.inf, -1, -1
            for other in range(plans):
                for place in range(2):
                    kind = live[other, place]
                    if kind < 0 or other == plan or free[at, other, kind] + lead_s[other, plan] > edges_s[at] + 1e-9:
                        continue
                    turned_h = cost_h[at, other, kind] + change_h[other, plan]
                    if turned_h < least_h:
                        least_h, way, way_kind = turned_h, other, kind
            if way < 0:
                continue
            # A change takes away what made a path too slow; it is seen anew under the other plan.
            for path in range(paths):
                turned[0, path], turned[1, path] = states[here, way, way_kind, 0, path], 0.0
            for step in range(at, until):
                step_s = edges_s[step + 1] - edges_s[step]
                late, more, rescued = _step(
                    turned,
                    turned,
                    late_s,
                    rate_per_s[step],
                    capacity_per_s[plan, min(step, told - 1)],
                    step_s,
                    _down_s(edges_s, step, edges_s[at], downtime_s),
                    max_lag_s,
                    react_s,
                )
                least_h += instances[plan] * (1.0 + more) * step_s / 3600.0 + late_h * late + rescale_h * rescued
            if least_h < cost_h[until, plan, 2]:
                for path in range(paths):
                    states[until % kept, plan, 2, 0, path] = turned[0, path]
                    states[until % kept, plan, 2, 1, path] = turned[1, path]
                cost_h[until, plan, 2] = least_h
                free[until, plan, 2] = edges_s[at] + downtime_s + apart_s
                _note(before[until, plan, 2], at, way, way_kind)
    return _turns(cost_h, before)


@compiled
def _note(before: Ints, at: int, plan: int, kind: int) -> None:
    before[0], before[1], before[2] = at, plan, kind


@compiled
def _over(edges_s: Floats, downtime_s: float) -> Ints:
    """Of each step, the one at whose beginning a downtime that begins with it is over; one more than it at least."""
    steps = edges_s.size - 1
    over = np.empty(steps, np.int64)
    for at in range(steps):
        until = at + 1
        while until < steps and edges_s[until] < edges_s[at] + downtime_s - 1e-9:
            until += 1
        over[at] = until
    return over


@compiled
def _down_s(edges_s: Floats, step: int, stop_s: float, downtime_s: float) -> float:
    """Seconds of a step in which the job is down that stopped at or before its beginning."""
    step_s = edges_s[step + 1] - edges_s[step]
    return float(min(step_s, max(0.0, stop_s + downtime_s - edges_s[step])))


@compiled
def _pick(cost_h: Floats, free_s: Floats, live: Ints) -> None:
    """Put the kind of the cheapest way into live, and that of the cheapest that may change before it; -1 for none."""
    live[:] = -1
    for kind in range(cost_h.size):
        if np.isfinite(cost_h[kind]) and (
            live[0] < 0
            or cost_h[kind] < cost_h[live[0]]
            or (cost_h[kind] == cost_h[live[0]] and free_s[kind] < free_s[live[0]])
        ):
            live[0] = kind
    for kind in range(cost_h.size):
        if (
            np.isfinite(cost_h[kind])
            and free_s[kind] < free_s[live[0]]
            and (live[1] < 0 or cost_h[kind] < cost_h[live[1]])
        ):
            live[1] = kind


@compiled
def _turns(cost_h: Floats, before: Ints) -> tuple[Ints, Ints]:
    """Of the cheapest way that reaches the end."""
    at, plans = cost_h.shape[0] - 1, cost_h.shape[1]
    plan, kind = 0, 0
    for other in range(plans):
        for way in range(3):
            if cost_h[at, other, way] < cost_h[at, plan, kind]:
                plan, kind = other, way
    turned_at, turned_to, found = np.empty(at, np.int64), np.empty(at, np.int64), 0
    while before[at, plan, kind, 0] >= 0:
        earlier, way, its_kind = before[at, plan, kind]
        if kind == 2:
            turned_at[found], turned_to[found] = earlier, plan
            found += 1
        at, plan, kind = earlier, way, its_kind
    return turned_at[:found][::-1].copy(), turned_to[:found][::-1].copy()


@compiled
def followed(
    rate_per_s: Floats,
    capacity_per_s: Floats,
    instances: Floats,
    change_h: Floats,
    running: int,
    waiting: float,
    edges_s: Floats,
    downtime_s: float,
    max_lag_s: float,
    react_s: float,
    rescale_h: float,
    turned_at: Ints,
    turned_to: Ints,
) -> tuple[float, float, Floats]:
    """Instance-hours, the price of the changes, and seconds that count as late by path."""
    steps, paths = rate_per_s.shape
    told = capacity_per_s.shape[1]
    state, late_s, late_in_all_s = np.zeros((2, paths)), np.zeros(paths), np.zeros(paths)
    state[0] = waiting
    over = _over(edges_s, downtime_s)
    hours, changes_h, plan, next_turn, stop_s, until = 0.0, 0.0, running, 0, -np.inf, 0
    for at in range(steps):
        if next_turn < turned_at.size and at >= turned_at[next_turn] and at >= until:
            changes_h += change_h[plan, turned_to[next_turn]]
            plan, stop_s, until = turned_to[next_turn], edges_s[at], over[at]
            next_turn += 1
            state[1] = 0.0
        step_s = edges_s[at + 1] - edges_s[at]
        _, more, rescued = _step(
            state,
            state,
            late_s,
            rate_per_s[at],
            capacity_per_s[plan, min(at, told - 1)],
            step_s,
            _down_s(edges_s, at, stop_s, downtime_s),
            max_lag_s,
            react_s,
        )
        late_in_all_s += late_s
        changes_h += rescale_h * rescued
        hours += instances[plan] * (1.0 + more) * step_s / 3600.0
    return hours, changes_h, late_in_all_s
