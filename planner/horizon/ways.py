"""The loops of a search over a horizon, compiled: steps on all paths, and ways of plans through them."""

from typing import NamedTuple

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from modeling.compiled import compiled

_ROUNDING_S = 1e-6
"""Lateness up to this is rounding error: a downtime equal to the allowed lag makes nothing late."""
_LESS = 0.95
"""Largest backlog of the next way that is kept, as a fraction of the cheapest way's."""
_MIN_PART = 0.01
"""Smallest such fraction; less counts as nothing."""
LACKING = 1.5
"""Price of missing capacity over what it would have cost: being late is never cheaper."""
_LONG_S = 1e9
"""In place of an infinite time to react, which cannot be multiplied by nothing."""

Recourse = tuple[float, float, float, float, float, bool, float, float, float]
"""What is done beside the schedule, as `ChangeTerms` has it: max_lag_s, react_s, held_s, rescue_utilisation, drain_s
and withholds; then for how many seconds a job is late at the cost of a rescue's two changes, at that of an
instance-hour, and at most.
"""
Speeds = tuple[float, float, float]
"""How fast a plan is in a step: seconds of its first part, downtime included, and the speeds in that and in the rest,
as shares of full speed. A first part as long as the step is the only one.
"""
_FIRST_PART = 0.25
"""Share of a warm-up in which it loses most: a step that holds its end has two parts."""


class CompiledCourse(NamedTuple):
    """A course with its terms and prices, as compiled loops take them.

    rate_per_s, capacity_per_s, running, waiting, free_s, up_s, edges_s, room_s: as in Course. price_h, turn_h: as in
    cost_floors_h. change_h: price of a change between each two plans; lead_s, down_s: its lead time and its downtime;
    each of shape (plans, plans). apart_s: between two changes. lost_by_s: as in speeds_in. violation_h: price of a
    minute; rescale_h: of a change besides the schedule's. rescuers: number of plans, from the smallest on, that a
    rescue may use.
    """

    rate_per_s: Floats
    capacity_per_s: Floats
    price_h: Floats
    change_h: Floats
    turn_h: Floats
    lead_s: Floats
    running: int
    waiting: float
    free_s: float
    up_s: float
    edges_s: Floats
    down_s: Floats
    room_s: Floats
    apart_s: float
    lost_by_s: Floats
    recourse: Recourse
    violation_h: float
    rescale_h: float
    rescuers: int


class CostBounds(NamedTuple):
    """What a search may leave out. carried: whether a plan carries the load of a step on every path, shape (steps,
    plans). floor_h, stop_h: as in cost_floors_h. ceiling_h: dearer ways are dropped.
    """

    carried: Flags
    floor_h: Floats
    stop_h: Floats
    ceiling_h: float


@compiled
def stepped(
    waiting: float, rate_per_s: float, capacity_per_s: float, step_s: float, down_s: float, max_lag_s: float
) -> tuple[float, float]:
    """Tuples that wait after a step of step_s, the job down for its first down_s, and the seconds of the step in which
    the lag exceeded max_lag_s. waiting: tuples before.

    Fluid, first come, first served: while the job is down all arrivals wait; afterwards the spare capacity drains them.
    Lag is the backlog over its arrival rate.
    """
    up_s = step_s - down_s
    stopped = waiting + rate_per_s * down_s
    spare = capacity_per_s - rate_per_s
    after = max(0.0, stopped - spare * up_s)
    if rate_per_s <= 0.0:
        return after, 0.0
    beyond = stopped - max_lag_s * rate_per_s
    # What drains is late until it has come down to the target; what grows, from when it has reached it. Written so that
    # all of it takes one division, which is what a step takes longest for.
    turned_s = (beyond if spare > 0.0 else min(beyond, 0.0)) / spare
    late_s = min(max(turned_s if spare > 0.0 else up_s - turned_s, 0.0), up_s)
    if spare == 0.0:
        late_s = up_s if beyond > 0.0 else 0.0
    if down_s > 0.0:
        late_s += min(max(beyond / rate_per_s, 0.0), down_s)
    return after, late_s


@compiled
def _mean(values: Floats) -> float:
    """Four partial sums, which are independent of each other."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    whole = values.size - values.size % 4
    for at in range(0, whole, 4):
        first += values[at]
        second += values[at + 1]
        third += values[at + 2]
        fourth += values[at + 3]
    for at in range(whole, values.size):
        first += values[at]
    return float((first + second + third + fourth) / values.size)


@compiled
def _rescue_per_s(waiting: float, rate_per_s: float, down_s: float, utilisation: float, drain_s: float) -> float:
    """What a rescue's plan must carry."""
    return rate_per_s / utilisation + (waiting + rate_per_s * down_s) / drain_s


@compiled
def _advanced(
    before: Floats,
    after: Floats,
    told: Floats,
    rate_per_s: Floats,
    carried_per_s: Floats,
    plan: int,
    strongest_per_s: Floats,
    step_s: float,
    down_s: float,
    speeds: Speeds,
    rescue_down_s: float,
    recourse: Recourse,
    price_h: float,
) -> tuple[float, float, float, float]:
    """Advance all paths by one step under a plan, and under what the guard or the next forecast does beside it.

    before, after: state of each path, shape (3, paths), in separate memory. Row 0: waiting tuples. Row 1: seconds for
    which the load has exceeded what runs; negative: seconds for which the plan alone would have carried it. Row 2:
    capacity that runs in place of the plan's, 0 for none; negative if a step that would take it away is withheld.
    told: workspace of shape (4, paths); its first row gets the late seconds that count: half a minute is added if the
    step is not late as a whole, as a minute counts that is partly late. carried_per_s: of each plan, shape (plans,
    paths); strongest_per_s: of the strongest rescuer. down_s: of a change of the schedule, at the beginning of the
    step; speeds: of the schedule's plan in the step, after that; rescue_down_s: downtime of any other change, with what
    its warm-up loses; price_h: of the plan, as in cost_floors_h. Returns means over the paths: late seconds; instances
    added and instances missing, as shares of the plan's; and number of changes besides the schedule's.

    The law of recourse. A path is rescued once its load has exceeded the capacity for react_s (its window, and the time
    until instances are ready) and the lag is about to exceed max_lag_s; or, where whoever reacts weighs late minutes,
    has exceeded it for so long that these cost as much as the rescue: its two changes, and what it adds for held_s. The
    smallest plan then follows that carries the load of that moment at the guard's utilisation and drains what waits,
    within drain_s, with its downtime. That plan stays until the schedule's plan alone has carried the load for held_s
    with nothing waiting; going back to it is another rescale with its downtime. A withheld step follows as soon as its
    plan carries the load.
    """
    max_lag_s, react_s, held_s, utilisation, drain_s, _, turns_worth_s, hour_worth_s, most_s = recourse
    weighs = hour_worth_s > 0.0
    ahead_s = 0.0 if weighs else min(react_s, _LONG_S)
    held_worth_s = hour_worth_s * price_h * min(held_s, _LONG_S) / 3600.0
    parts_s, first_share, then_share = speeds
    paths, rescued = rate_per_s.size, 0.0
    own_per_s = carried_per_s[plan]
    cold = first_share < 1.0
    for path in range(paths if cold else 0):
        rate, other = rate_per_s[path], abs(before[2, path])
        capacity, warm = max(own_per_s[path], other), other > 0.0
        speed, then_speed = (1.0, 1.0) if warm else (first_share, then_share)
        left, late = stepped(before[0, path], rate, capacity * speed, parts_s, 0.0 if warm else down_s, max_lag_s)
        later = 0.0
        if parts_s < step_s:
            left, later = stepped(left, rate, capacity * then_speed, step_s - parts_s, 0.0, max_lag_s)
        after[0, path], told[0, path] = left, late + later
    # Each path by itself, and without a branch: several at once by the processor's vectors.
    for path in range(paths):
        rate, own, clock_s, instead = rate_per_s[path], own_per_s[path], before[1, path], before[2, path]
        other = abs(instead)
        capacity = max(own, other)
        path_down_s = 0.0 if other > 0.0 else down_s
        if cold:
            left, late = after[0, path], told[0, path]
        else:
            left, late = stepped(before[0, path], rate, capacity, step_s, path_down_s, max_lag_s)
        over, fits = rate > capacity, (other > 0.0) & (rate <= own)
        over_s = max(clock_s, 0.0) + step_s - path_down_s if over else 0.0
        fits_s = step_s - min(clock_s, 0.0) if fits else 0.0
        added = max(0.0, _rescue_per_s(left, rate, rescue_down_s, utilisation, drain_s) - capacity) / own
        worth_s = min(turns_worth_s + held_worth_s * added, most_s)
        beyond = left + (rate - capacity) * (ahead_s - worth_s) > max_lag_s * rate
        helped = over & (over_s >= react_s) & beyond & (capacity < strongest_per_s[path])
        back = fits & (left <= 0.0) & ((instead < 0.0) | (fits_s >= held_s))
        after[0, path] = left
        after[1, path] = over_s - fits_s
        after[2, path] = instead
        told[0, path] = min(late + 30.0, step_s) if late > _ROUNDING_S else 0.0
        told[1, path] = capacity / own - 1.0
        told[2, path] = max(0.0, rate - capacity) / own
        told[3, path] = 1.0 if helped else (-1.0 if back else 0.0)
        rescued += abs(told[3, path])
    for path in range(paths if rescued > 0.0 else 0):
        turns = told[3, path]
        if turns == 0.0:
            continue
        rate, own, instead = rate_per_s[path], own_per_s[path], before[2, path]
        capacity, over_s = max(own, abs(instead)), after[1, path]
        after[1, path], after[2, path] = 0.0, 0.0
        if turns < 0.0:
            after[0, path] = rate * rescue_down_s
            late = max(0.0, rescue_down_s - max_lag_s) if rate > 0.0 else 0.0
            told[0, path] = told[0, path] + late + 30.0 if late > _ROUNDING_S else told[0, path]
            told[3, path] = 1.0 if instead > 0.0 else 0.0
            continue
        path_down_s = 0.0 if abs(instead) > 0.0 else down_s
        speed = 1.0 if abs(instead) > 0.0 else then_share
        since_s = over_s - react_s
        if weighs:
            left = after[0, path]
            added = max(0.0, _rescue_per_s(left, rate, rescue_down_s, utilisation, drain_s) - capacity) / own
            worth_s = min(turns_worth_s + held_worth_s * added, most_s)
            since_s = min(since_s, (left - max_lag_s * rate) / (rate - capacity) - worth_s)
        first_s = min(max(step_s - since_s, path_down_s), step_s)
        waits, late = stepped(before[0, path], rate, capacity * speed, first_s, path_down_s, max_lag_s)
        need = _rescue_per_s(waits, rate, rescue_down_s, utilisation, drain_s)
        sized = strongest_per_s[path]
        for number in range(carried_per_s.shape[0]):
            if need <= carried_per_s[number, path] < sized:
                sized = carried_per_s[number, path]
        # What of the downtime does not fit into the step is added to it.
        then_s = max(step_s - first_s, rescue_down_s)
        after[0, path], later = stepped(waits, rate, sized, then_s, rescue_down_s, max_lag_s)
        late += later
        after[2, path] = sized
        part = (step_s - first_s) / step_s
        told[0, path] = late + 30.0 if late > _ROUNDING_S else 0.0
        told[1, path] = ((1.0 - part) * capacity + part * sized) / own - 1.0
        told[2, path] = ((1.0 - part) * max(0.0, rate - capacity) + part * max(0.0, rate - sized)) / own
    return _mean(told[0]), _mean(told[1]), _mean(told[2]), _mean(told[3])


@compiled
def _rests(state: Floats) -> bool:
    """Whether nothing waits on any path, and nothing but the plan runs or is about to."""
    for row in range(state.shape[0]):
        for path in range(state.shape[1]):
            if state[row, path] != 0.0:
                return False
    return True


@compiled
def _turned(
    state: Floats,
    kept: Floats,
    rests: bool,
    rate_per_s: Floats,
    before_per_s: Floats,
    after_per_s: Floats,
    withholds: bool,
) -> None:
    """Put into state what each path has as the job stops for another plan. kept: its state before; rests: that it is
    zero. before_per_s, after_per_s: capacities of both plans. A path whose load the plan does not carry withholds it,
    if what runs there carries more.
    """
    for path in range(rate_per_s.size):
        runs = max(before_per_s[path], 0.0 if rests else abs(kept[2, path]))
        held = withholds and after_per_s[path] < min(rate_per_s[path], runs)
        state[0, path] = 0.0 if rests else kept[0, path]
        state[1, path] = 0.0
        state[2, path] = -runs if held else 0.0


@compiled
def over_at(edges_s: Floats, at: int, downtime_s: float) -> int:
    """The step at whose beginning a downtime that begins with step `at` has ended; at least one step later."""
    steps, until = edges_s.size - 1, at + 1
    while until < steps and edges_s[until] < edges_s[at] + downtime_s - 1e-9:
        until += 1
    return until


@compiled
def most_steps(edges_s: Floats, downtime_s: float) -> int:
    """Most steps that any downtime can reach into."""
    most = 1
    for at in range(edges_s.size - 1):
        most = max(most, over_at(edges_s, at, downtime_s) - at)
    return most


@compiled
def has_room(room_s: Floats, lead_s: float, downtime_s: float) -> bool:
    """Whether a change fits between the closed spans around its stop. room_s: from the one before and to the next."""
    return bool(lead_s <= room_s[0] + _ROUNDING_S and downtime_s <= room_s[1] + _ROUNDING_S)


@compiled
def down_within_s(edges_s: Floats, step: int, stop_s: float, downtime_s: float) -> float:
    """Seconds of a step in which a job that stopped at or before its beginning is down."""
    step_s = edges_s[step + 1] - edges_s[step]
    return float(min(step_s, max(0.0, stop_s + downtime_s - edges_s[step])))


@compiled
def speeds_in(edges_s: Floats, step: int, up_s: float, lost_by_s: Floats) -> Speeds:
    """Of a plan that runs since up_s, once it is up. lost_by_s: seconds of work at full speed that its warm-up has lost
    by each second after that (WarmUp.lost_by_second).
    """
    begin_s, end_s, warms_s = edges_s[step], edges_s[step + 1], lost_by_s.size - 1
    from_s = max(begin_s, up_s)
    if from_s >= min(up_s + warms_s, end_s):
        return end_s - begin_s, 1.0, 1.0
    lost_s = _lost_at(from_s - up_s, lost_by_s)
    then_s = up_s + _FIRST_PART * warms_s
    if not from_s < then_s < end_s:
        share = 1.0 - (_lost_at(end_s - up_s, lost_by_s) - lost_s) / (end_s - from_s)
        return end_s - begin_s, share, share
    first_lost_s = _lost_at(then_s - up_s, lost_by_s)
    rest_lost_s = _lost_at(end_s - up_s, lost_by_s) - first_lost_s
    first_share, then_share = 1.0 - (first_lost_s - lost_s) / (then_s - from_s), 1.0 - rest_lost_s / (end_s - then_s)
    return then_s - begin_s, first_share, then_share


@compiled
def _lost_at(after_s: float, lost_by_s: Floats) -> float:
    """lost_by_s at a moment between whole seconds."""
    if after_s >= lost_by_s.size - 1:
        return float(lost_by_s[-1])
    whole = int(after_s)
    return float(lost_by_s[whole] + (after_s - whole) * (lost_by_s[whole + 1] - lost_by_s[whole]))


@compiled
def shortest_to_s(down_s: Floats) -> Floats:
    """Shortest downtime of a change to each plan, shape (plans,)."""
    plans = down_s.shape[0]
    shortest_s = np.full(plans, np.inf)
    for before in range(plans):
        for plan in range(plans):
            if before != plan:
                shortest_s[plan] = min(shortest_s[plan], down_s[before, plan])
    return shortest_s


@compiled
def best_turns(course: CompiledCourse, bounds: CostBounds, stayed: int, turned: int) -> tuple[bool, Ints, Ints]:
    """Whether there are turns that cost less than bounds.ceiling_h; the steps at whose beginnings the job stops for
    another plan; and these plans.

    stayed, turned: number of ways of one plan at a moment that are kept, and of ways that turn to it that are followed.
    Ways are stored by moment, plan and place: first those that stayed, then those that turned. Kept are the cheapest,
    the cheapest of those that may change earlier, and the cheapest with ever smaller backlogs.
    """
    rate_per_s, capacity_per_s, edges_s, down_s = (
        course.rate_per_s,
        course.capacity_per_s,
        course.edges_s,
        course.down_s,
    )
    running, ceiling_h = course.running, bounds.ceiling_h
    steps, paths = rate_per_s.shape
    plans, moments = capacity_per_s.shape[0], capacity_per_s.shape[1]
    places = stayed + turned
    before = np.full((steps + 1, plans, places), -1, np.int32)  # the way before it, by its number
    # All else is known of a few moments, each at its number modulo kept, and of places whose cost is finite.
    kept = 1 + most_steps(edges_s, down_s.max())
    cost_h = np.full((kept, plans, places), np.inf)
    free = np.empty((kept, plans, places))
    up = np.empty((kept, plans, places))  # when a way's plan began to run
    states = np.empty((kept, plans, places, 3, paths))  # as _advanced takes them
    waits = np.empty((kept, plans, places))  # mean over the paths
    calm = np.zeros((kept, plans, places), np.bool_)  # whether a state is zero; then it may not be written down
    reached = np.zeros((kept, plans), np.bool_)  # whether a plan has a way
    zero, state, moved, told = np.zeros((3, paths)), np.zeros((3, paths)), np.zeros((3, paths)), np.zeros((4, paths))
    cost_h[0, running, 0], free[0, running, 0], reached[0, running] = 0.0, course.free_s, True
    up[0, running, 0] = course.up_s
    states[0, running, 0] = 0.0
    states[0, running, 0, 0] = course.waiting
    waits[0, running, 0] = course.waiting
    live = np.full((plans, stayed), -1)
    of_plan, of_place = np.empty(plans * stayed, np.int64), np.empty(plans * stayed, np.int64)
    way_h, way_free_s, way_waits = np.empty(plans * stayed), np.empty(plans * stayed), np.empty(plans * stayed)
    from_way = np.empty(plans * stayed, np.int64)
    from_h, from_waits = np.empty(plans * stayed), np.empty(plans * stayed)
    chosen, unmet_per_s = np.full(turned, -1), np.zeros(plans)
    late_h = course.violation_h / 60.0
    strongest_per_s = _strongest_per_s(capacity_per_s[: course.rescuers])
    shortest_s, longest_s = shortest_to_s(down_s), _longest_s(down_s) + course.lost_by_s[-1]
    for at in range(steps):
        here, step_s = at % kept, edges_s[at + 1] - edges_s[at]
        after = (at + 1) % kept
        for plan in range(plans):
            live[plan] = -1
            if reached[here, plan]:
                for place in range(places):
                    if cost_h[here, plan, place] + bounds.floor_h[at, plan] >= ceiling_h:
                        cost_h[here, plan, place] = np.inf
                _pick(cost_h[here, plan], free[here, plan], waits[here, plan], live[plan])
        for plan in range(plans):
            for place in range(stayed if reached[here, plan] else 0):
                kind = live[plan, place]
                if kind < 0:
                    continue
                late, more, lacking, rescued, rests = 0.0, 0.0, 0.0, 0.0, calm[here, plan, kind]
                warm = edges_s[at] >= up[here, plan, kind] + course.lost_by_s.size - 1
                if not (rests and bounds.carried[at, plan] and warm):
                    now = states[after, plan, place]
                    late, more, lacking, rescued = _advanced(
                        zero if rests else states[here, plan, kind],
                        now,
                        told,
                        rate_per_s[at],
                        capacity_per_s[:, min(at, moments - 1)],
                        plan,
                        strongest_per_s[min(at, moments - 1)],
                        step_s,
                        0.0,
                        speeds_in(edges_s, at, up[here, plan, kind], course.lost_by_s),
                        longest_s[plan],
                        course.recourse,
                        course.price_h[plan],
                    )
                    waits[after, plan, place] = _mean(now[0])
                    rests = waits[after, plan, place] == 0.0 and _rests(now)
                else:
                    waits[after, plan, place] = 0.0
                calm[after, plan, place] = rests
                hours = course.price_h[plan] * (1.0 + more + LACKING * lacking) * step_s / 3600.0
                hours += late_h * late + course.rescale_h * rescued
                cost_h[after, plan, place], reached[after, plan] = cost_h[here, plan, kind] + hours, True
                free[after, plan, place] = free[here, plan, kind]
                up[after, plan, place] = up[here, plan, kind]
                before[at + 1, plan, place] = (at * plans + plan) * places + kind
        ways = 0
        for plan in range(plans):
            for place in range(stayed):
                if live[plan, place] >= 0:
                    kind = live[plan, place]
                    of_plan[ways], of_place[ways] = plan, kind
                    way_h[ways], way_free_s[ways] = cost_h[here, plan, kind], free[here, plan, kind]
                    way_waits[ways] = waits[here, plan, kind]
                    ways += 1
        came_per_s = rate_per_s[at].mean()
        for plan in range(plans):
            unmet_per_s[plan] = _unmet_per_s(rate_per_s[at], capacity_per_s[plan, min(at, moments - 1)])
        for plan in range(plans):
            count, cheapest, cheapest_h, fewest = 0, -1, np.inf, np.inf
            left_h = ceiling_h - bounds.stop_h[at, plan]
            for way in range(ways if bounds.stop_h[at, plan] < np.inf else 0):
                other = of_plan[way]
                turned_h = way_h[way] + course.change_h[other, plan]
                if turned_h >= left_h or other == plan:
                    continue
                if way_free_s[way] + course.lead_s[other, plan] > edges_s[at] + 1e-9:
                    continue
                if not has_room(course.room_s[at], course.lead_s[other, plan], down_s[other, plan]):
                    continue
                # A longer downtime leaves more waiting.
                longer_s = down_s[other, plan] - shortest_s[plan]
                its_waits = way_waits[way] + came_per_s * longer_s
                if course.recourse[5]:
                    # Where the plan is withheld, what ran before it leaves less to wait.
                    its_waits += min(unmet_per_s[plan], unmet_per_s[other]) * (edges_s[at + 1] - edges_s[at])
                fewest = min(fewest, its_waits)
                if turned_h < cheapest_h or (turned_h == cheapest_h and its_waits < from_waits[cheapest]):
                    cheapest, cheapest_h = count, turned_h
                from_way[count], from_h[count], from_waits[count] = way, turned_h + course.turn_h[at, plan], its_waits
                count += 1
            if not count:
                continue
            if from_waits[cheapest] <= fewest:
                chosen[:] = -1
                chosen[0] = cheapest
            else:
                _cheapest(from_h[:count], from_waits[:count], chosen)
            for number in chosen:
                if number < 0:
                    continue
                other, kind, spent_h = of_plan[from_way[number]], of_place[from_way[number]], from_h[number]
                until, runs_s = over_at(edges_s, at, down_s[other, plan]), edges_s[at] + down_s[other, plan]
                # A change takes away what made a path too slow; it is seen anew under the other plan.
                moment = min(at, moments - 1)
                _turned(
                    state,
                    states[here, other, kind],
                    calm[here, other, kind],
                    rate_per_s[at],
                    capacity_per_s[other, moment],
                    capacity_per_s[plan, moment],
                    course.recourse[5],
                )
                for step in range(at, until):
                    step_s = edges_s[step + 1] - edges_s[step]
                    late, more, lacking, rescued = _advanced(
                        state,
                        moved,
                        told,
                        rate_per_s[step],
                        capacity_per_s[:, min(step, moments - 1)],
                        plan,
                        strongest_per_s[min(step, moments - 1)],
                        step_s,
                        down_within_s(edges_s, step, edges_s[at], down_s[other, plan]),
                        speeds_in(edges_s, step, runs_s, course.lost_by_s),
                        longest_s[plan],
                        course.recourse,
                        course.price_h[plan],
                    )
                    state, moved = moved, state
                    spent_h += course.price_h[plan] * (1.0 + more + LACKING * lacking) * step_s / 3600.0
                    spent_h += late_h * late + course.rescale_h * rescued
                if spent_h + bounds.floor_h[until, plan] >= ceiling_h:
                    continue
                then = until % kept
                place = stayed + int(cost_h[then, plan, stayed:].argmax())
                if spent_h < cost_h[then, plan, place]:
                    states[then, plan, place] = state
                    waits[then, plan, place] = _mean(state[0])
                    calm[then, plan, place] = _rests(state)
                    cost_h[then, plan, place], reached[then, plan] = spent_h, True
                    free[then, plan, place] = edges_s[at] + down_s[other, plan] + course.apart_s
                    up[then, plan, place] = runs_s
                    before[until, plan, place] = (at * plans + other) * places + kind
        cost_h[here], reached[here] = np.inf, False
    return _turns(cost_h[steps % kept], before, ceiling_h, stayed)


@compiled
def _unmet_per_s(rate_per_s: Floats, capacity_per_s: Floats) -> float:
    """Mean over the paths of what exceeds a capacity."""
    unmet = 0.0
    for path in range(rate_per_s.size):
        unmet += max(0.0, rate_per_s[path] - capacity_per_s[path])
    return unmet / rate_per_s.size


@compiled
def _longest_s(down_s: Floats) -> Floats:
    """Longest downtime of a change from each plan, shape (plans,)."""
    longest_s = np.empty(down_s.shape[0])
    for plan in range(down_s.shape[0]):
        longest_s[plan] = down_s[plan].max()
    return longest_s


@compiled
def _strongest_per_s(capacity_per_s: Floats) -> Floats:
    """Largest capacity of any plan, shape (steps or 1, paths)."""
    strongest: Floats = capacity_per_s[0].copy()
    for plan in range(1, capacity_per_s.shape[0]):
        strongest = np.maximum(strongest, capacity_per_s[plan])
    return strongest


@compiled
def _pick(cost_h: Floats, free_s: Floats, waits: Floats, live: Ints) -> None:
    """Put the places of the ways to keep into live, with the one that may change earlier second; -1 for none."""
    _cheapest(cost_h, waits, live[1:])
    live[0], live[1] = live[1], -1
    if live[0] < 0:
        return
    for place in range(cost_h.size):
        if free_s[place] < free_s[live[0]] and cost_h[place] < (cost_h[live[1]] if live[1] >= 0 else np.inf):
            live[1] = place
    for at in range(2, live.size):
        if live[at] == live[1]:
            live[at] = -1


@compiled
def _cheapest(cost_h: Floats, waits: Floats, chosen: Ints) -> None:
    """Put into chosen the index of the cheapest way, and of the cheapest with ever smaller backlogs, at geometric
    levels down to the smallest backlog of any; -1 for none.
    """
    chosen[:] = -1
    most, part, fewest = np.inf, _LESS, np.inf
    for number in range(cost_h.size):
        if cost_h[number] < np.inf:
            fewest = min(fewest, waits[number])
    for at in range(chosen.size):
        least_h, least = np.inf, np.inf
        for number in range(cost_h.size):
            of_h, of = cost_h[number], waits[number]
            if of <= most and (of_h < least_h or (of_h == least_h < np.inf and of < least)):
                chosen[at], least_h, least = number, of_h, of
        if chosen[at] < 0 or least <= 0.0:
            return
        if at == 0 and chosen.size > 1:
            part = min(_LESS, max(_MIN_PART, fewest / least) ** (1.0 / (chosen.size - 1)))
        # Rounding must not leave out the one in which least waits.
        most = max(part * least, fewest) if least > fewest else -1.0


@compiled
def _turns(cost_h: Floats, before: Ints, ceiling_h: float, stayed: int) -> tuple[bool, Ints, Ints]:
    """The turns of the cheapest way that reaches the end, as best_turns returns them. cost_h: at the end, shape (plans,
    places).
    """
    plans, places = cost_h.shape
    best = int(cost_h.argmin())
    reached = cost_h[best // places, best % places] < ceiling_h
    at, plan, place = before.shape[0] - 1, best // places, best % places
    turned_at, turned_to, found = np.empty(at, np.int64), np.empty(at, np.int64), 0
    while reached and before[at, plan, place] >= 0:
        way = before[at, plan, place]
        earlier = way // (plans * places)
        if place >= stayed:
            turned_at[found], turned_to[found] = earlier, plan
            found += 1
        at, plan, place = earlier, way // places % plans, way % places
    return reached, turned_at[:found][::-1].copy(), turned_to[:found][::-1].copy()


@compiled
def followed(
    course: CompiledCourse, counted: Floats, turned_at: Ints, turned_to: Ints
) -> tuple[float, float, float, Floats]:
    """Instance-hours, their price, all else that is weighed, and late seconds that count by path.

    counted: instances and price of each plan, shape (2, plans). turned_at, turned_to: as best_turns returns them.
    """
    rate_per_s, capacity_per_s, edges_s, down_s = (
        course.rate_per_s,
        course.capacity_per_s,
        course.edges_s,
        course.down_s,
    )
    steps, paths = rate_per_s.shape
    moments = capacity_per_s.shape[1]
    state, moved, told = np.zeros((3, paths)), np.zeros((3, paths)), np.zeros((4, paths))
    late_in_all_s = np.zeros(paths)
    state[0] = course.waiting
    hours, paid_h, changes_h, plan, next_turn = 0.0, 0.0, 0.0, course.running, 0
    stop_s, downtime_s, until, up_s = -np.inf, 0.0, 0, course.up_s
    strongest_per_s = _strongest_per_s(capacity_per_s[: course.rescuers])
    longest_s = _longest_s(down_s) + course.lost_by_s[-1]
    for at in range(steps):
        if next_turn < turned_at.size and at >= turned_at[next_turn] and at >= until:
            to = turned_to[next_turn]
            changes_h += course.change_h[plan, to] + course.turn_h[at, to]
            if not has_room(course.room_s[at], course.lead_s[plan, to], down_s[plan, to]):
                changes_h = np.inf
            stop_s, downtime_s = edges_s[at], down_s[plan, to]
            before, plan, until = plan, to, over_at(edges_s, at, downtime_s)
            up_s = stop_s + downtime_s
            next_turn += 1
            moment = min(at, moments - 1)
            _turned(
                moved,
                state,
                False,
                rate_per_s[at],
                capacity_per_s[before, moment],
                capacity_per_s[to, moment],
                course.recourse[5],
            )
            state, moved = moved, state
        step_s = edges_s[at + 1] - edges_s[at]
        _, more, lacking, rescued = _advanced(
            state,
            moved,
            told,
            rate_per_s[at],
            capacity_per_s[:, min(at, moments - 1)],
            plan,
            strongest_per_s[min(at, moments - 1)],
            step_s,
            down_within_s(edges_s, at, stop_s, downtime_s),
            speeds_in(edges_s, at, up_s, course.lost_by_s),
            longest_s[plan],
            course.recourse,
            course.price_h[plan],
        )
        state, moved = moved, state
        late_in_all_s += told[0]
        changes_h += course.rescale_h * rescued + course.price_h[plan] * LACKING * lacking * step_s / 3600.0
        ran_h = (1.0 + more) * step_s / 3600.0
        hours += counted[0, plan] * ran_h
        paid_h += counted[1, plan] * ran_h
        changes_h += (course.price_h[plan] - counted[1, plan]) * ran_h
    return hours, paid_h, changes_h, late_in_all_s
