"""Lower bounds on the cost of the rest of a horizon, compiled: they prune ways that cannot become the cheapest."""

import numpy as np

from modeling.arrays import Floats
from modeling.compiled import compiled


@compiled
def least_parts(
    rate_per_s: Floats,
    capacity_per_s: Floats,
    edges_s: Floats,
    downtime_s: float,
    max_lag_s: float,
    react_s: float,
) -> tuple[Floats, Floats, Floats]:
    """Price-independent lower bounds for each step under each plan, as if nothing waited at its beginning.

    Returns three arrays of shape (steps, plans), means over the paths: missing instances as a share of the plan's; late
    seconds; and late seconds if the job stops for the plan when the step begins. With a finite react_s, lateness can be
    bought off at the price of the missing instances, so the second array is zero.
    """
    steps, paths = rate_per_s.shape
    plans, moments = capacity_per_s.shape[0], capacity_per_s.shape[1]
    lacking, late_s, stopped_s = np.zeros((steps, plans)), np.zeros((steps, plans)), np.zeros((steps, plans))
    by_path = np.empty((paths, plans))
    for at in range(steps):
        if at < moments:
            for plan in range(plans):
                for path in range(paths):
                    by_path[path, plan] = capacity_per_s[plan, at, path]
        step_s = edges_s[at + 1] - edges_s[at]
        down_s = min(downtime_s, step_s)
        up_s = step_s - down_s
        for path in range(paths):
            rate = rate_per_s[at, path]
            beyond_s = rate * down_s / rate - max_lag_s if rate > 0.0 else -max_lag_s
            again_s = min(max(beyond_s, 0.0), down_s)
            # The plans in one loop without branches, so that it is vectorised; sums stay in the order of the paths.
            for plan in range(plans):
                capacity = by_path[path, plan]
                over_per_s = rate - capacity
                over = over_per_s > 0.0
                lacking[at, plan] += over_per_s / capacity if over else 0.0
                # As in `stepped`, for a step before which nothing waited.
                turned_s = (min(beyond_s, 0.0) if over else beyond_s) * rate / -over_per_s
                drained_s = min(max(up_s - turned_s if over else turned_s, 0.0), up_s)
                if over_per_s == 0.0:
                    drained_s = up_s if beyond_s > 0.0 else 0.0
                # With a reaction, a path that needs more may withhold the stop.
                withheld = over & (react_s < np.inf)
                stopped_s[at, plan] += drained_s + again_s if (rate > 0.0) & (not withheld) else 0.0
            if react_s == np.inf:
                for plan in range(plans):
                    over_per_s = rate - by_path[path, plan]
                    late_s[at, plan] += max(0.0, step_s - max_lag_s * rate / over_per_s) if over_per_s > 0.0 else 0.0
    return lacking / paths, late_s / paths, stopped_s / paths


@compiled
def cost_floors_h(
    lacking: Floats,
    late_s: Floats,
    stopped_s: Floats,
    price_h: Floats,
    change_h: Floats,
    turn_h: Floats,
    edges_s: Floats,
    violation_h: float,
    lacking_price: float,
) -> tuple[Floats, Floats]:
    """Lower bounds on the cost of the rest of the horizon from a step on, as if nothing waited at the beginning of any
    step.

    Returns two arrays in instance-hours: under the running plan, shape (steps + 1, plans); and if the job stops for a
    plan then, including turn_h but not the price of the change, shape (steps, plans). lacking, late_s, stopped_s: from
    least_parts. turn_h: price of a stop for a plan at a step, shape (steps, plans). price_h: of a plan for an hour, in
    instance-hours; lacking_price: price of a missing share of a plan over that of the same share of it.
    """
    steps, plans = lacking.shape
    floor_h, stop_h, stayed_h = np.zeros((steps + 1, plans)), np.zeros((steps, plans)), np.zeros(plans)
    late_h = violation_h / 60.0
    for at in range(steps - 1, -1, -1):
        step_s = edges_s[at + 1] - edges_s[at]
        may_stop = False
        for plan in range(plans):
            own_h = price_h[plan] * step_s / 3600.0
            after_h = own_h + floor_h[at + 1, plan]
            over_h = late_h * late_s[at, plan] + lacking_price * own_h * lacking[at, plan]
            stayed_h[plan] = after_h + over_h
            stop_h[at, plan] = after_h + late_h * stopped_s[at, plan] + turn_h[at, plan]
            may_stop |= stop_h[at, plan] < np.inf
        for plan in range(plans):
            least_h = stayed_h[plan]
            if may_stop:
                for other in range(plans):
                    least_h = min(least_h, change_h[plan, other] + stop_h[at, other])
            floor_h[at, plan] = least_h
    return floor_h, stop_h
