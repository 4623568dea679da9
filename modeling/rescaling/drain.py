"""Recovery under a load that changes while the backlog drains: exact for rates that are constant within each step.

Backlog and waits are those of a fluid queue, first come, first served. With X(t) = arrivals − capacity since the
start, the backlog is X(t) − min(0, min X) (Reich 1958); a tuple that comes at u is done when the capacity since u
equals the backlog it found.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.rescaling.recovery import check_numbers

Floats = npt.NDArray[np.float64]

LONGEST_WAIT_S = 1e8
"""Three years: what would have waited longer by the first step's rate says that the rate was another one before."""


@dataclass(frozen=True)
class Drain:
    """A rescale at time 0 of each of several plans or loads (leading axes of every array).

    backlog: tuples that wait when processing goes on. catch_up_s: from then until none does, infinite where it never
    comes to that. peak_backlog: within the steps. peak_lag_s: the longest that a tuple waits which came within the
    steps or waited before. arrived_s, wait_s: what a tuple waits that comes at arrived_s, linear in between; the last
    axis runs over moments, negative ones belong to tuples that waited at the stop.
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
        """Over how many seconds tuples came that waited longer than max_lag_s."""
        begin, end = self.wait_s[..., :-1] - max_lag_s, self.wait_s[..., 1:] - max_lag_s
        higher, lower = np.maximum(begin, end), np.minimum(begin, end)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(lower >= 0, higher > 0, np.where(higher <= 0, 0.0, higher / (higher - lower)))
        part = np.where(np.isinf(higher) & (lower < 0), 1.0, part)
        return np.asarray((part * np.diff(self.arrived_s, axis=-1)).sum(axis=-1), dtype=np.float64)

    def time_to_violation_s(self, max_lag_s: float) -> Floats:
        """When the first tuple comes that waits longer than max_lag_s, in seconds from the stop; infinite if none does.

        Negative for one that waited before.
        """
        over = self.wait_s > max_lag_s
        first = over.argmax(axis=-1)[..., None]
        at = np.take_along_axis(self.arrived_s, first, -1)[..., 0]
        above = np.take_along_axis(self.wait_s, first, -1)[..., 0] - max_lag_s
        earlier = np.maximum(first - 1, 0)
        below = max_lag_s - np.take_along_axis(self.wait_s, earlier, -1)[..., 0]
        since_s = at - np.take_along_axis(self.arrived_s, earlier, -1)[..., 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = at - np.where((first[..., 0] > 0) & np.isfinite(above), since_s * above / (above + below), 0.0)
        return np.where(over.any(axis=-1), crossing, np.inf)


def drained(
    arrival_rates_per_s: npt.ArrayLike,
    step_s: float,
    capacity_per_s: npt.ArrayLike,
    downtime_s: npt.ArrayLike,
    *,
    backlog: npt.ArrayLike = 0.0,
) -> Drain:
    """The backlog of a rescale at time 0, and how it drains.

    arrival_rates_per_s: shape (…, steps), each for step_s seconds; the last goes on for ever. capacity_per_s: of the
    new plan, downtime_s, and backlog (tuples waiting at the stop, with those to be processed again) broadcast over the
    leading axes. What waited at the stop is taken to have come at the first step's rate (just now, where that is
    nearly zero).

    >>> one = drained([100.0, 40.0], 60.0, 90.0, 30.0)
    >>> float(one.backlog)  # 3000 after 30 s; 3300 after the first step; drained at 50/s in 66 s of the second
    3000.0
    >>> float(one.catch_up_s), float(one.peak_backlog)
    (96.0, 3300.0)
    """
    rates = np.atleast_1d(np.asarray(arrival_rates_per_s, dtype=np.float64))
    if rates.shape[-1] == 0 or not np.isfinite(step_s) or step_s <= 0:
        raise ModelError(f"drain: {rates.shape[-1]} steps of {step_s} s; give at least one, of finite seconds above 0")
    capacity, down_s, before = (np.asarray(v, dtype=np.float64) for v in (capacity_per_s, downtime_s, backlog))
    for name, values in {
        "arrival_rates_per_s": rates,
        "capacity_per_s": capacity,
        "downtime_s": down_s,
        "backlog": before,
    }.items():
        check_numbers("drain", name, values)
    shape = np.broadcast_shapes(rates.shape[:-1], capacity.shape, down_s.shape, before.shape)
    rows = [
        _one(*row)
        for row in zip(
            np.broadcast_to(rates, (*shape, rates.shape[-1])).reshape(-1, rates.shape[-1]),
            [step_s] * int(np.prod(shape)),
            *(np.broadcast_to(values, shape).ravel().tolist() for values in (capacity, down_s, before)),
            strict=True,
        )
    ]
    scalars = (np.array([row[k] for row in rows], dtype=np.float64).reshape(shape) for k in range(3))
    curves = (np.array([row[k] for row in rows]).reshape(*shape, -1) for k in (3, 4))
    return Drain(np.broadcast_to(down_s, shape).copy(), *scalars, *curves)


def _one(
    rates: Floats, step_s: float, capacity_per_s: float, downtime_s: float, before: float
) -> tuple[float, float, float, Floats, Floats]:
    """Backlog at resume, catch-up, peak backlog; arrival moments and waits. One plan under one load."""
    # What waited at the stop came before it, at the first rate: a longer downtime that began earlier.
    known = before <= rates[0] * LONGEST_WAIT_S
    begun_s = -before / rates[0] if known and before > 0 else 0.0
    edges = np.arange(rates.size + 1) * step_s
    end_s = max(float(edges[-1]), downtime_s)
    times = np.sort(np.concatenate([[begun_s], edges, [downtime_s, end_s]]))
    start = 0.0 if known else before

    def filled(times: Floats) -> tuple[Floats, Floats, Floats]:
        """What is served, what would wait if capacity were owed too, and what waits, at each of the times."""
        middles, widths = (times[1:] + times[:-1]) / 2, np.diff(times)
        arriving = rates[np.clip(middles // step_s, 0, rates.size - 1).astype(np.int64)] * widths
        serving = np.where(middles > downtime_s, capacity_per_s, 0.0) * widths
        served = np.concatenate([[0.0], np.cumsum(serving)])
        free = start + np.concatenate([[0.0], np.cumsum(arriving)]) - served
        return served, free, free - np.minimum(0.0, np.minimum.accumulate(free))

    _, free, backlog = filled(times)
    # Waits bend too where nothing waits any more; as many moments are added whether it comes to that or not.
    falling = (backlog[:-1] > 0) & (backlog[1:] == 0)
    part = np.where(falling, backlog[:-1] / np.where(falling, free[:-1] - free[1:], 1.0), 1.0)
    times = np.sort(np.concatenate([times, times[:-1] + np.diff(times) * part]))
    widths = np.diff(times)
    served, free, backlog = filled(times)
    resumes = int(np.searchsorted(times, downtime_s, side="right")) - 1
    at_resume = float(backlog[resumes])

    below = np.flatnonzero(free[resumes:] <= 0)
    if at_resume == 0:
        catch_up = 0.0
    elif below.size:
        k = resumes + int(below[0])
        catch_up = float(times[k - 1] + widths[k - 1] * free[k - 1] / (free[k - 1] - free[k])) - downtime_s
    else:
        spare_per_s = capacity_per_s - float(rates[-1])
        catch_up = float(times[-1]) - downtime_s + float(free[-1]) / spare_per_s if spare_per_s > 0 else np.inf

    # A tuple at u is done when the capacity used or left idle reaches served(u) + backlog(u). Waits bend where rates
    # change and where tuples come that are done at such a moment.
    due = served + backlog
    arrived = np.sort(np.concatenate([times, np.interp(served, due, times)]))
    target = np.interp(arrived, times, due)
    done = np.interp(target, served, times)
    beyond = target > served[-1]
    if capacity_per_s > 0:
        done[beyond] = times[-1] + (target[beyond] - served[-1]) / capacity_per_s
    else:
        done[:] = np.inf
    waits = np.maximum(0.0, done - arrived)
    return at_resume, catch_up, float(backlog.max()), arrived, waits
