"""Recovery under a constant load: backlog and time of a rescale. Recovery time = downtime + catch-up.

For a load that changes while the backlog drains see `modeling.rescaling.drain`.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.rescaling.warm_up import WARM, WarmUp

NEWTON_STEPS = 40


@dataclass(frozen=True)
class Recovery:
    """The cost of a rescale; every array has the broadcast shape of the arguments.

    backlog: tuples waiting when processing resumes. peak_backlog, peak_lag_s: the maximum number of waiting tuples, and
    the longest wait; infinite if the load exceeds the capacity.
    """

    downtime_s: Floats
    backlog: Floats
    catch_up_s: Floats
    peak_backlog: Floats
    peak_lag_s: Floats

    @property
    def recovery_s(self) -> Floats:
        return self.downtime_s + self.catch_up_s


def catch_up_s(
    arrival_rate_per_s: float, capacity_per_s: float, downtime_s: float, warm_up: WarmUp = WARM, backlog: float = 0.0
) -> float:
    """Seconds to drain the backlog and the arrivals of the downtime: (B + λ·D) / (μ − λ); infinite if capacity does not
    exceed arrivals. Backlog and warm-up are as in `recovery`.

    >>> catch_up_s(10.0, 15.0, 30.0)  # 300 waiting, drained at 5 a second
    60.0
    """
    if min(arrival_rate_per_s, capacity_per_s, downtime_s) < 0 or math.isnan(arrival_rate_per_s + capacity_per_s):
        raise ModelError(
            f"catch-up of arrivals {arrival_rate_per_s}/s at capacity {capacity_per_s}/s after {downtime_s} s: "
            "none may be negative or NaN"
        )
    if warm_up.takes_time:
        terms = (arrival_rate_per_s, capacity_per_s, downtime_s)
        return float(recovery(*terms, backlog=backlog, warm_up=warm_up).catch_up_s)
    waiting = backlog + arrival_rate_per_s * downtime_s
    if waiting == 0:
        return 0.0
    spare_per_s = capacity_per_s - arrival_rate_per_s
    return waiting / spare_per_s if spare_per_s > 0 else math.inf


def recovery(
    arrival_rate_per_s: npt.ArrayLike,
    capacity_per_s: npt.ArrayLike,
    downtime_s: npt.ArrayLike,
    *,
    backlog: npt.ArrayLike = 0.0,
    replayed_s: npt.ArrayLike = 0.0,
    warm_up: WarmUp = WARM,
) -> Recovery:
    """Recovery of many plans or loads at once; the arguments broadcast.

    backlog: tuples waiting when processing stopped, which arrived at the same rate. replayed_s: seconds of arrivals
    before the stop that are replayed (from the last checkpoint; 0 with a savepoint). Their lag counts from their
    arrival, since a transactional sink shows them only after the next checkpoint.
    A FIFO fluid queue: with B₀ + λ·r tuples before the stop, B = B₀ + λ·(r + D) wait at the end of the downtime and
    drain at μ − λ; the oldest is then D + r + B₀/λ old, which is the peak lag if λ ≤ μ. With a warm-up, μ times its
    lost seconds drain later, and the backlog peaks when the speed reaches λ/μ.

    >>> one = recovery(100.0, 160.0, 40.0, replayed_s=20.0)  # 60 s of arrivals, drained at 60 a second
    >>> float(one.backlog), float(one.catch_up_s), float(one.recovery_s), float(one.peak_lag_s)
    (6000.0, 100.0, 140.0, 60.0)
    >>> cold = recovery(100.0, 160.0, 40.0, replayed_s=20.0, warm_up=WarmUp(0.25, 120.0))  # 22.1 s of work are lost
    >>> round(float(cold.catch_up_s), 1), 100 + 160 * 22.1 / 60
    (158.9, 158.93333333333334)
    """
    arrivals, capacity, down_s, before, again_s = checked_numbers(
        "recovery",
        arrival_rate_per_s=arrival_rate_per_s,
        capacity_per_s=capacity_per_s,
        downtime_s=downtime_s,
        backlog=backlog,
        replayed_s=replayed_s,
    )
    waiting = before + arrivals * (again_s + down_s)
    spare_per_s = capacity - arrivals
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        draining_s = np.where(waiting == 0, 0.0, np.where(spare_per_s > 0, waiting / spare_per_s, np.inf))
        age_s = down_s + np.where(arrivals > 0, again_s + before / arrivals, 0.0)
    none = (waiting == 0) & (arrivals <= capacity)
    peak, peak_lag_s = waiting, np.where(none, 0.0, age_s)
    if warm_up.takes_time:
        draining_s = _drained_s(waiting, arrivals, capacity, warm_up)
        with np.errstate(divide="ignore", invalid="ignore"):
            fullest_s = warm_up.below_s(np.where(capacity > 0, arrivals / capacity, np.inf))
            peak = np.maximum(waiting, _waiting_at(fullest_s, waiting, arrivals, capacity, warm_up))
            peak_lag_s = np.maximum(peak_lag_s, np.where(arrivals > 0, peak / arrivals, 0.0))
    return Recovery(
        downtime_s=np.array(down_s),
        backlog=waiting,
        catch_up_s=draining_s,
        peak_backlog=np.where(arrivals > capacity, np.inf, peak),
        peak_lag_s=np.where(arrivals > capacity, np.inf, peak_lag_s),
    )


def _waiting_at(up_s: Floats, waiting: Floats, arrivals: Floats, capacity: Floats, warm_up: WarmUp) -> Floats:
    """Tuples that wait so long after a start, below 0 once none do. waiting: at the start."""
    return np.asarray(waiting + arrivals * up_s - capacity * (up_s - warm_up.lost_s(up_s)))


def _drained_s(waiting: Floats, arrivals: Floats, capacity: Floats, warm_up: WarmUp) -> Floats:
    """Seconds from a start until nothing waits.

    What waits is a concave function of time, so Newton's method comes down to its last zero from where it ends if all
    seconds of a warm-up are lost.
    """
    spare_per_s = capacity - arrivals
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        at_s = np.where(spare_per_s > 0, (waiting + capacity * warm_up.whole_lost_s) / spare_per_s, 0.0)
        for _ in range(NEWTON_STEPS):
            falls_per_s = capacity * warm_up.share(at_s) - arrivals
            beyond_s = -_waiting_at(at_s, waiting, arrivals, capacity, warm_up) / falls_per_s
            at_s = np.where((falls_per_s > 0) & (beyond_s > 0), np.maximum(0.0, at_s - beyond_s), at_s)
        idle = (waiting == 0) & (capacity * warm_up.start_share >= arrivals)
        return np.where(idle, 0.0, np.where(spare_per_s > 0, at_s, np.inf))


def newest_wait_s(backlog: npt.ArrayLike, capacity_per_s: npt.ArrayLike) -> Floats:
    """Wait of a tuple that arrives behind a backlog while processing runs: B/μ, FIFO.

    This is the queueing part of its latency while a backlog drains; in steady state the backlog is negligible and
    `modeling.queueing.queues` gives the wait.
    """
    waiting, capacity = checked_numbers("wait behind a backlog", backlog=backlog, capacity_per_s=capacity_per_s)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(waiting == 0, 0.0, waiting / capacity)


def time_to_violation_s(
    arrival_rate_per_s: npt.ArrayLike,
    capacity_per_s: npt.ArrayLike,
    max_lag_s: npt.ArrayLike,
    *,
    backlog: npt.ArrayLike = 0.0,
) -> Floats:
    """Seconds until a tuple arrives that will wait longer than max_lag_s: (T·μ − B₀)/(λ − μ); infinite if none does.

    The *measured* lag exceeds max_lag_s at most max_lag_s later, when that tuple is processed.

    >>> float(time_to_violation_s(120.0, 100.0, 30.0))  # 3000 may wait, 20 more every second
    150.0
    """
    arrivals, capacity, lag_s, waiting = checked_numbers(
        "time to violation",
        arrival_rate_per_s=arrival_rate_per_s,
        capacity_per_s=capacity_per_s,
        max_lag_s=max_lag_s,
        backlog=backlog,
    )
    room = lag_s * capacity - waiting
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        growing = np.where(arrivals > capacity, np.maximum(0.0, room) / (arrivals - capacity), np.inf)
    return np.where(room < 0, 0.0, growing)


def check_numbers(
    what: str, name: str, values: npt.ArrayLike, remedy: str = "give a finite number, not below 0"
) -> None:
    """Raises ModelError for a number that is negative or not finite."""
    given = np.asarray(values, dtype=np.float64)
    if (wrong := given[~(np.isfinite(given) & (given >= 0))]).size:
        raise ModelError(f"{what}: {name} is {wrong[0]}; {remedy}")


def checked_numbers(what: str, **values: npt.ArrayLike) -> tuple[Floats, ...]:
    """The values in one shape. Raises ModelError like check_numbers."""
    for name, each in values.items():
        check_numbers(what, name, each)
    return np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in values.values()))
