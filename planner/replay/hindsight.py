"""The best that could have been done, knowing all that came: dynamic programming over time, plan and lag.

Plans change at the beginnings of minutes, and lag counts at their ends. What a backlog will cost is interpolated
between the lags of a grid; the backlog itself is carried exactly when the plans are followed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from planner.replay.capacity import capacity_per_s
from planner.replay.load import MINUTE_S, Load
from planner.replay.need import Need
from planner.replay.reality import Reality

NEVER = 1e6
"""Price of a violation minute in instance-hours at which none is accepted that can be avoided."""

_SMALL_S = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
FINE = 32
"""Lags of the grid from there up to the one that is allowed."""
_COARSE = 16
"""Lags from the one that is allowed to LONGEST_LAG_S."""
LONGEST_LAG_S = 4 * 3600.0
MOST_PLANS = 48


@dataclass(frozen=True)
class Hindsight:
    """instance_hours, violation_minutes: of the optimum. changes: plans by the moment at which the job stops for them;
    the first one runs from the beginning.
    """

    instance_hours: float
    violation_minutes: float
    changes: tuple[tuple[float, Mapping[str, int]], ...]


def plan_ladder(need: Need, load: Load) -> list[Mapping[str, int]]:
    """The cheapest plans of all loads that come, ascending in instances, at most MOST_PLANS of them; the largest one
    carries the peak twice.
    """
    rates = np.column_stack([load.rate_per_s[source] for source in need.topology.sources])
    total = rates.sum(axis=1)
    order = np.argsort(total, kind="stable")
    picked = order[np.unique(np.linspace(0, order.size - 1, 400).astype(int))]
    some = [rates[at] for at in picked]
    some += [rates[order[-1]] * factor for factor in (1.1, 1.25, 1.5, 2.0)]
    plans = {}
    for each in some:
        plan = need.plan(dict(zip(need.topology.sources, each.tolist(), strict=True)))
        plans[tuple(plan.values())] = plan
    ladder = sorted(plans.values(), key=lambda plan: (sum(plan.values()), tuple(plan.values())))
    if len(ladder) > MOST_PLANS:
        kept = np.unique(np.linspace(0, len(ladder) - 1, MOST_PLANS).round().astype(int))
        ladder = [ladder[at] for at in kept]
    return ladder


def hindsight(
    load: Load,
    reality: Reality,
    ladder: Sequence[Mapping[str, int]],
    max_lag_s: float,
    price_instance_hours: float = NEVER,
    fine: int = FINE,
) -> Hindsight:
    """The plans with the fewest instance-hours, where a violation minute costs so many of them.

    fine: lags of the grid up to max_lag_s. A way that needs a lag between two of them may be missed, in favour of one
    that is safe.
    """
    return _Search(load, reality, ladder, max_lag_s, price_instance_hours, fine).best()


class _Search:
    """State: the plan that runs, and the lag at the beginning of a minute, of a grid. Minutes beyond the end, which a
    downtime may reach into, bring nothing and cost nothing.
    """

    def __init__(
        self,
        load: Load,
        reality: Reality,
        ladder: Sequence[Mapping[str, int]],
        max_lag_s: float,
        price_h: float,
        fine: int,
    ) -> None:
        self._ladder, self._start_s, self._minutes, self._price_h = ladder, load.start_s, load.minutes, price_h
        terms = reality.terms
        self._whole = int(terms.downtime_s // MINUTE_S)
        self._rest = terms.downtime_s / MINUTE_S - self._whole
        self._span = self._whole + (self._rest > 0)
        again_s = terms.checkpoints.replayed_s(0.0) if terms.checkpoints else 0.0
        rates = np.column_stack([load.rate_per_s[source] for source in reality.topology.sources])
        self._came = np.concatenate([rates.sum(axis=1) * MINUTE_S, np.zeros(self._span + 1)])
        self._again = self._came * again_s / MINUTE_S
        drained = [capacity_per_s(reality.network(plan, load.start_s), rates) * MINUTE_S for plan in ladder]
        self._drained = np.pad(np.array(drained), ((0, 0), (0, self._span + 1)))
        self._cost_h = np.array([sum(plan.values()) for plan in ladder]) / 60.0
        small_s = [lag_s for lag_s in _SMALL_S if lag_s < max_lag_s]
        lags_s = [*small_s, *np.linspace(small_s[-1], max_lag_s, fine)[1:]]
        self._allowed = len(lags_s) - 1
        lags_s += np.geomspace(max_lag_s + 1.0, max(LONGEST_LAG_S, 4 * max_lag_s), _COARSE).tolist()
        self._lags_min = np.array(lags_s) / MINUTE_S
        # Before the start it was as in the first minute.
        early = math.ceil(float(self._lags_min[-1])) + 1
        self._edges = np.arange(-early, self._came.size + 1, dtype=np.float64)
        self._cumulated = np.concatenate(
            [[0.0], np.cumsum(np.concatenate([np.full(early, self._came[0]), self._came]))]
        )

    def best(self) -> Hindsight:
        plans, states = len(self._ladder), self._lags_min.size
        # later[n][k, g]: least cost from n + 1 minutes on, under plan k with lag g.
        later = [np.zeros((plans, states)) for _ in range(max(1, self._span))]
        stays, chosen = (
            np.zeros((self._minutes, plans, states), dtype=bool),
            np.zeros((self._minutes, states), np.int16),
        )
        for at in range(self._minutes - 1, -1, -1):
            backlog = self._backlogs(at)
            stay = self._stayed(at, backlog, later[0])
            change = stay if not self._span else self._changed(at, backlog, later[self._span - 1])
            chosen[at] = change.argmin(axis=0)
            least = change.min(axis=0)
            stays[at] = stay <= least * (1 + 1e-12)
            later = [np.minimum(stay, least), *later[:-1]]
        return self._followed(int(later[0][:, 0].argmin()), stays, chosen)

    def _backlogs(self, at: float) -> Floats:
        """Tuples that wait at the beginning of a minute for each lag of the grid: those that came within it."""
        before = np.interp(at - self._lags_min, self._edges, self._cumulated)
        return np.asarray(np.interp(at, self._edges, self._cumulated) - before)

    def _after(self, at: int, waiting: Floats, value: Floats) -> Floats:
        """What it costs from the beginning of a minute on with so many tuples waiting, and that they wait too long.

        waiting: shape (plans or 1, states). value: of the lags of the grid, shape (plans, states).
        """
        known = self._backlogs(at)
        above = np.searchsorted(known, waiting).clip(1, known.size - 1)
        width = known[above] - known[above - 1]
        part = np.where(width > 0, (waiting - known[above - 1]) / np.where(width > 0, width, 1.0), 1.0).clip(0.0, 1.0)
        above, part = (np.broadcast_to(each, value.shape) for each in (above, part))
        low, high = (np.take_along_axis(value, number, axis=1) for number in (above - 1, above))
        return np.asarray((1 - part) * low + part * high + self._price_h * self._late(at, waiting))

    def _late(self, at: float, waiting: Floats) -> npt.NDArray[np.bool_]:
        """Whether what waits at a moment, in minutes, waits too long."""
        if at > self._minutes:
            return np.zeros(waiting.shape, dtype=np.bool_)
        return np.asarray(waiting > self._backlogs(at)[self._allowed] * (1 + 1e-9) + 1e-9)

    def _stayed(self, at: int, backlog: Floats, later: Floats) -> Floats:
        """Cost from a minute on under the plan that runs, shape (plans, states)."""
        waiting = np.maximum(0.0, backlog + self._came[at] - self._drained[:, at : at + 1])
        return self._cost_h[:, None] + self._after(at + 1, waiting, later)

    def _changed(self, at: int, backlog: Floats, later: Floats) -> Floats:
        """Cost from a minute on where each plan takes over, which is paid from the stop on."""
        waiting = (backlog + self._again[at])[None, :]
        cost = np.asarray(min(self._span, self._minutes - at) * self._cost_h[:, None])
        for minute in range(at, at + self._span):
            waiting, late = self._stopped(minute, at, waiting, self._drained)
            if minute < at + self._span - 1:
                cost = cost + self._price_h * late
        # The last minute's lag counts once, at its end or where it was longest.
        last = self._price_h * (late & ~self._late(at + self._span, waiting))
        return cost + last + self._after(at + self._span, waiting, later)

    def _stopped(
        self, minute: int, stop: int, waiting: Floats, drained: Floats
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """What waits after a minute of a downtime, in the last of which the job may run again for a part, and whether
        it waits too long before that.
        """
        if not self._rest or minute < stop + self._span - 1:
            waiting = waiting + self._came[minute]
            return waiting, self._late(minute + 1, waiting)
        longest = waiting + self._rest * self._came[minute]
        left = waiting + self._came[minute] - (1 - self._rest) * drained[:, minute : minute + 1]
        return np.maximum(0.0, left), self._late(minute + self._rest, longest)

    def _followed(self, plan: int, stays: npt.NDArray[np.bool_], chosen: npt.NDArray[np.int16]) -> Hindsight:
        """The optimum from the beginning on: what it costs, and when it changes."""
        at, waiting, cost_h, violations = 0, np.zeros((1, 1)), 0.0, 0
        changes: list[tuple[float, Mapping[str, int]]] = [(float(self._start_s), self._ladder[plan])]
        while at < self._minutes:
            # The lag of the grid above: what is done there is safe here.
            known = self._backlogs(at) * (1 + 1e-9) + 1e-9
            lag = min(int(np.searchsorted(known, float(waiting[0, 0]))), self._lags_min.size - 1)
            drained = self._drained[plan : plan + 1]
            if stays[at, plan, lag]:
                waiting = np.maximum(0.0, waiting + self._came[at] - drained[:, at : at + 1])
                at, cost_h = at + 1, cost_h + float(self._cost_h[plan])
                violations += int(self._late(at, waiting)[0, 0])
                continue
            plan = int(chosen[at, lag])
            changes.append((float(self._start_s + at * MINUTE_S), self._ladder[plan]))
            waiting, stop = waiting + self._again[at], at
            for minute in range(stop, stop + self._span):
                waiting, late = self._stopped(minute, stop, waiting, self._drained[plan : plan + 1])
                if minute < self._minutes:
                    cost_h += float(self._cost_h[plan])
                    violations += int((late | self._late(minute + 1, waiting))[0, 0])
            at = stop + self._span
        return Hindsight(cost_h, float(violations), tuple(changes))
