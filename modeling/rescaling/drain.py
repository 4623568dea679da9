"""Recovery under a load that changes while the backlog drains: exact for rates constant within each step.

Backlog and waits are those of a FIFO fluid queue. With X(t) = arrivals − capacity since the start, the backlog is X(t)
− min(0, min X) (Reich 1958). A downtime counts as a backlog of that many seconds of work: a tuple waits for the rest of
it and for earlier tuples.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.rescaling.recovery import check_numbers, checked_numbers
from modeling.rescaling.warm_up import WarmUp

COLD_PARTS, MAX_PARTS = 16, 512
"""Parts of a warm-up, and most parts of a step, in which the lag of a job that warms up is a straight line."""

MAX_WAIT_S = 1e8
"""Three years: a longer wait by the first step's rate means that the earlier rate was different."""


@dataclass(frozen=True)
class Drain:
    """A rescale at time 0 for several plans or loads (leading axes of every array).

    backlog: tuples waiting when processing resumes. catch_up_s: from then until none wait, infinite if never.
    peak_backlog: within the steps. peak_lag_s: longest wait of a tuple that arrived within the steps or was waiting
    before. arrived_s, wait_s: wait by time of arrival, linear in between; the last axis runs over moments, negative
    ones are tuples waiting at the stop.
    """

    downtime_s: Floats
    backlog: Floats
    catch_up_s: Floats
    peak_backlog: Floats
    arrived_s: Floats
    wait_s: Floats

    @property
    def recovery_s(self) -> Floats:
        return self.downtime_s + self.catch_up_s

    @property
    def peak_lag_s(self) -> Floats:
        return np.asarray(self.wait_s.max(axis=-1), dtype=np.float64)

    def violation_s(self, max_lag_s: float) -> Floats:
        """Seconds during which arriving tuples wait longer than max_lag_s."""
        return np.asarray(self._late_s(max_lag_s).sum(axis=-1), dtype=np.float64)

    def time_to_violation_s(self, max_lag_s: float) -> Floats:
        """Arrival of the first tuple that waits longer than max_lag_s, in seconds from the stop; infinite if none does.

        Negative if it was already waiting.
        """
        late_s = self._late_s(max_lag_s)
        rising_s = np.where(
            self.wait_s[..., :-1] > max_lag_s, self.arrived_s[..., :-1], self.arrived_s[..., 1:] - late_s
        )
        first = (late_s > 0).argmax(axis=-1)[..., None]
        return np.where(late_s.any(axis=-1), np.take_along_axis(rising_s, first, -1)[..., 0], np.inf)

    def _late_s(self, max_lag_s: float) -> Floats:
        """Late seconds between two moments."""
        with np.errstate(invalid="ignore"):
            part = share_late(self.wait_s - max_lag_s, np.diff(self.wait_s, axis=-1))
        return np.asarray(part * np.diff(self.arrived_s, axis=-1))


def drained(
    arrival_rates_per_s: npt.ArrayLike,
    step_s: float,
    capacity_per_s: npt.ArrayLike,
    downtime_s: npt.ArrayLike,
    *,
    backlog: npt.ArrayLike = 0.0,
) -> Drain:
    """The backlog of a rescale at time 0 and its draining.

    arrival_rates_per_s: shape (…, steps), each for step_s seconds; the last one continues for ever. capacity_per_s (of
    the new plan), downtime_s and backlog (tuples waiting at the stop, including those to be replayed) broadcast over
    the leading axes. Tuples waiting at the stop are assumed to have arrived at the first step's rate (just now, if that
    is nearly zero).

    >>> one = drained([100.0, 40.0], 60.0, 90.0, 30.0)
    >>> float(one.backlog)  # 3000 after 30 s; 3300 after the first step; drained at 50/s in 66 s of the second
    3000.0
    >>> float(one.catch_up_s), float(one.peak_backlog)
    (96.0, 3300.0)
    """
    rates = np.atleast_1d(np.asarray(arrival_rates_per_s, dtype=np.float64))
    if rates.shape[-1] == 0 or not np.isfinite(step_s) or step_s <= 0:
        raise ModelError(f"drain: {rates.shape[-1]} steps of {step_s} s; give at least one, of finite seconds above 0")
    check_numbers("drain", "arrival_rates_per_s", rates)
    numbers = checked_numbers("drain", capacity_per_s=capacity_per_s, downtime_s=downtime_s, backlog=backlog)
    shape = np.broadcast_shapes(rates.shape[:-1], numbers[0].shape)
    capacity, down_s, before = (np.broadcast_to(each, shape)[..., None] for each in numbers)
    # One further step, if the downtime lasts beyond the others.
    rates = np.broadcast_to(np.concatenate([rates, rates[..., -1:]], axis=-1), (*shape, rates.shape[-1] + 1))
    steps = np.full(rates.shape, step_s)
    steps[..., -1] = np.maximum(0.0, down_s[..., 0] - step_s * (rates.shape[-1] - 1))
    edges = np.concatenate([np.zeros((*shape, 1)), np.cumsum(steps, axis=-1)], axis=-1)
    backlog_after = before[..., 0] + (rates * np.clip(down_s - edges[..., :-1], 0.0, steps)).sum(axis=-1)
    # Waiting tuples plus those that could have been processed during the rest of the downtime.
    owed = reflected(before[..., 0] + (capacity * down_s)[..., 0], (rates - capacity) * steps)
    peak = np.maximum(backlog_after, np.where(edges >= down_s, owed, 0.0).max(axis=-1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Waits have a kink where the backlog ends.
        empty_s = edges[..., :-1] + np.where(rates < capacity, owed[..., :-1] / (capacity - rates), np.inf)
        beyond_s = edges[..., -1:] + np.where(rates < capacity, owed[..., 1:] / (capacity - rates), np.inf)[..., -1:]
        known = (before > 0) & (before <= rates[..., :1] * MAX_WAIT_S)
        begun_s = np.where(known, -before / rates[..., :1], 0.0)
        wait_s = np.where(capacity > 0, owed / capacity, np.inf)
        first_s = wait_s[..., :1] + np.where(known & (capacity > 0), begun_s * (rates[..., :1] / capacity - 1), 0.0)
    inside = empty_s <= edges[..., 1:]
    caught_up_s = np.minimum(np.where(inside, empty_s, np.inf).min(axis=-1), beyond_s[..., 0])
    arrived_s = np.concatenate([begun_s, edges, np.where(inside, empty_s, edges[..., 1:])], axis=-1)
    wait_s = np.concatenate([first_s, wait_s, np.where(inside, 0.0, wait_s[..., 1:])], axis=-1)
    order = np.argsort(arrived_s, axis=-1, kind="stable")
    arrived_s, wait_s = (np.take_along_axis(each, order, -1) for each in (arrived_s, wait_s))
    catch_up_s = np.where(backlog_after > 0, np.maximum(0.0, caught_up_s - down_s[..., 0]), 0.0)
    return Drain(down_s[..., 0].copy(), backlog_after, catch_up_s, peak, arrived_s, wait_s)


def lags_s(busy: npt.ArrayLike, step_s: float, waiting_s: npt.ArrayLike = 0.0) -> Floats:
    """Wait in the backlog, in seconds, of a tuple arriving at each edge of the steps, shape (…, steps + 1).

    busy: utilisation of each step's load, possibly above 1, shape (…, steps). waiting_s: at time 0, from downtime and
    backlog.

    >>> lags_s([1.5, 0.5], 60.0, 10.0).tolist()  # half a second more each second, then half a second less
    [10.0, 40.0, 10.0]
    """
    return reflected(waiting_s, (np.asarray(busy, dtype=np.float64) - 1) * step_s)


def share_late_cold(
    busy: Floats, step_s: float, down_s: Floats, queued_s: Floats, warm_up: WarmUp, max_lag_s: float
) -> Floats:
    """Share of each step in which arriving tuples wait longer than max_lag_s for a job that is down and then warms up.

    busy: as in lags_s, shape (…, steps). down_s, queued_s: downtime and seconds of work waiting at time 0, shape (…). A
    tuple waits for the rest of the downtime, the work before it, and what the warm-up loses until that is done.
    """
    lost_s = warm_up.whole_lost_s
    # As if all were lost before the start: exact once the job is warm.
    waiting_s = down_s + queued_s + lost_s
    late = share_late(lags_s(busy, step_s, waiting_s) - max_lag_s, (busy - 1) * step_s)
    steps = min(busy.shape[-1], int(np.ceil((float(down_s.max()) + warm_up.warm_s) / step_s)))
    count = int(np.clip(np.ceil(step_s / warm_up.warm_s * COLD_PARTS), 1, MAX_PARTS))
    parts, fine_s = np.repeat(busy[..., :steps], count, axis=-1), step_s / count
    come_s = reflected(queued_s, parts * fine_s)
    lag_s = np.maximum(lags_s(parts, fine_s, waiting_s) - lost_s + warm_up.lost_in_work_s(come_s), 0.0)
    fine = share_late(lag_s - max_lag_s, np.diff(lag_s, axis=-1))
    late[..., :steps] = fine.reshape(*late.shape[:-1], steps, count).mean(axis=-1)
    return late


def reflected(begun: npt.ArrayLike, change: Floats) -> Floats:
    """The level at each edge of the steps, given its change in each step; never below 0."""
    first = np.broadcast_to(np.asarray(begun, dtype=np.float64), change.shape[:-1])[..., None]
    free = np.concatenate([first, first + np.cumsum(change, axis=-1)], axis=-1)
    return np.asarray(free - np.minimum(0.0, np.minimum.accumulate(free, axis=-1)))


def share_late(over_s: Floats, change_s: Floats) -> Floats:
    """Share of each step in which arriving tuples wait too long. over_s: excess at the edges. change_s: of the wait
    within the step, a straight line that continues below 0 once nothing waits.
    """
    begin, end, slope = over_s[..., :-1], over_s[..., 1:], np.maximum(np.abs(change_s), 1e-300)
    with np.errstate(over="ignore"):
        falls, rises = (np.clip(each / slope, 0.0, 1.0) for each in (begin, end))
    return np.where(change_s < 0, falls, np.where(change_s > 0, rises, (begin > 0).astype(np.float64)))
