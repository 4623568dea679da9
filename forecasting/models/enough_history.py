"""Minimum history of a forecaster, and the messages for too little."""

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.models.time_grid import DAY_S, windows_per_day


def why_too_little(series: ArrivalSeries, days: float, observed_share: float = 0.5) -> str | None:
    """Why the series is too short or too sparse to learn from, or None if it is not."""
    windows_per_day(series.window_s)
    have_days = series.span_s / DAY_S
    if have_days < days:
        return f"{have_days:.2f} days of history, {days:g} are needed; wait for more, or build older days"
    share = float(np.isfinite(series.counts).mean())
    if share < observed_share:
        return (
            f"{share:.0%} of the windows are observed, {observed_share:.0%} are needed; "
            "restore the missing events, say when the source was alive without any (arrivals.coverage, or "
            "max_silence_s for closed hours), or shorten the training span to where they are complete"
        )
    return None


def why_constant(series: ArrivalSeries) -> str | None:
    """Why there is nothing to fit in a constant series, or None if it varies."""
    if np.nanmin(series.counts) == np.nanmax(series.counts):
        return f"every observed count is {np.nanmin(series.counts):g}; a naive forecaster does as well"
    return None


def refuse_unless(name: str, reason: str | None) -> None:
    """Raises ForecastError with the reason, if there is one."""
    if reason is not None:
        raise ForecastError(f"forecaster {name}: {reason}")
