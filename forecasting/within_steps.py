"""Bursts that return each hour and are shorter than a forecast's step: the step's mean hides them."""

import numpy as np

from forecasting.arrivals.history import ArrivalSeries

HOUR_S = 3600
RISE = 1.25
"""Times a step's mean: less is within the headroom of plans."""
SURE, LEAST_HOURS, LEAST_EVENTS = 4.0, 24, 5
"""Standard errors above RISE; hours that show it; mean events a window, below which a ratio says nothing."""


def hidden_burst(series: ArrivalSeries, step_s: int) -> tuple[float, float] | None:
    """How many times its step's mean the highest window of the hour is, by its mean over all hours, and when in the
    hour it begins, in minutes. None where no window is surely above RISE, or steps are no whole part of the hour.
    """
    of_step, per_hour = step_s // series.window_s, HOUR_S // series.window_s
    if of_step < 2 or step_s % series.window_s or HOUR_S % step_s:
        return None
    skipped = (-int(series.start.timestamp()) % HOUR_S) // series.window_s
    hours = (series.counts.size - skipped) // per_hour
    if hours < LEAST_HOURS:
        return None
    steps = series.counts[skipped : skipped + hours * per_hour].reshape(hours, per_hour // of_step, of_step)
    mean = steps.mean(axis=2, keepdims=True)
    ratio = np.divide(steps, mean, out=np.full_like(steps, np.nan), where=mean >= LEAST_EVENTS)
    known = np.isfinite(ratio)
    number = np.maximum(1, known.sum(axis=0))
    factor = np.where(known, ratio, 0.0).sum(axis=0) / number
    error = np.sqrt(np.where(known, (ratio - factor) ** 2, 0.0).sum(axis=0) / number / number)
    sure = np.where((number >= LEAST_HOURS) & (factor - SURE * error > RISE), factor, 0.0).reshape(-1)
    highest = int(sure.argmax())
    return (float(sure[highest]), highest * series.window_s / 60) if sure[highest] else None
