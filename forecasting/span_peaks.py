"""The peak within any span of a forecast, not its four horizons alone: read off its paths, calibrated between horizons.

Backtests calibrate the peak within each horizon from the forecast's start. Between two of them the paths' own peak is
corrected by what both horizons taught, in straight lines over the logarithm of the time.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrays import Floats
from forecasting.errors import ForecastError
from forecasting.forecast import Forecast


def peaks_until_per_s(forecast: Forecast, quantile: float) -> Floats:
    """A quantile of the largest rate from the forecast's start to the end of each of its steps, shape (steps,).

    At its horizons it is the forecast's own peak; a later end never gives less. Raises ForecastError where the forecast
    has no paths, or for a quantile outside of those that it has.
    """
    _check(forecast, quantile)
    horizons_s = np.array(sorted(forecast.peak_per_s), dtype=np.float64)
    told = _told_per_s(forecast, horizons_s, quantile)
    ends_s = forecast.step_s * np.arange(1.0, forecast.paths_per_s.shape[1] + 1)
    own = np.quantile(np.maximum.accumulate(forecast.paths_per_s, axis=1), quantile, axis=0)
    curve = own * _factors(own, told, horizons_s, ends_s)
    # No more than within the next horizon, and no less than within the last one.
    after = np.searchsorted(horizons_s, ends_s)
    most = np.append(told, np.inf)[after]
    exact = np.append(horizons_s, np.inf)[after] == ends_s
    return np.asarray(np.maximum.accumulate(np.where(exact, most, np.minimum(curve, most))))


def peak_between_per_s(forecast: Forecast, start: datetime, end: datetime, quantile: float) -> float:
    """A quantile of the largest rate of the steps that a span touches. It is no more than that of a longer span.

    Raises ForecastError as `peaks_until_per_s`, and for a span that the forecast does not cover.
    """
    own, factor = _own_peak_per_s(forecast, start, end, quantile)
    return own * factor


def joint_peak_between_per_s(
    forecasts: Mapping[str, Forecast], start: datetime, end: datetime, quantile: float
) -> float:
    """The same of what comes to several sources together, which need not peak at once: of the sum of their paths, each
    corrected as its own peak is. Paths go together by their number (`forecasting.joined_paths`).
    """
    factors = {source: _own_peak_per_s(each, start, end, quantile)[1] for source, each in forecasts.items()}
    grids = {(each.start, each.step_s, each.paths_per_s.shape) for each in forecasts.values()}
    if len(grids) > 1:
        raise ForecastError(f"forecasts of {', '.join(forecasts)} are on different grids; forecast them together")
    first, last = _steps(next(iter(forecasts.values())), start, end)
    together = np.sum([factors[s] * each.paths_per_s[:, first:last] for s, each in forecasts.items()], axis=0)
    return float(np.quantile(together.max(axis=1), quantile))


def _own_peak_per_s(forecast: Forecast, start: datetime, end: datetime, quantile: float) -> tuple[float, float]:
    """The quantile as the paths have it, and its correction: that of what comes from the start to the same end."""
    _check(forecast, quantile)
    first, last = _steps(forecast, start, end)
    whole, own = (np.quantile(forecast.paths_per_s[:, at:last].max(axis=1), quantile) for at in (0, first))
    calibrated = peaks_until_per_s(forecast, quantile)[last - 1]
    return float(own), float(calibrated / whole) if whole > 0 else 1.0


def _steps(forecast: Forecast, start: datetime, end: datetime) -> tuple[int, int]:
    """The first step of a span, and the one after its last."""
    where = f"forecast of source {forecast.source!r} of topology {forecast.topology!r}"
    if end <= start:
        raise ForecastError(f"a span from {start} to {end} is none; let it end after it begins")
    if start < forecast.start or end > forecast.end:
        raise ForecastError(
            f"{where} is for {forecast.start:%Y-%m-%d %H:%M} to {forecast.end:%Y-%m-%d %H:%M} UTC, not for "
            f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}; ask within, or raise forecast.horizon_s and forecast "
            "again"
        )
    width = timedelta(seconds=forecast.step_s)
    first, last = (start - forecast.start) // width, -((forecast.start - end) // width)
    return first, last


def _check(forecast: Forecast, quantile: float) -> None:
    where = f"forecast of source {forecast.source!r} of topology {forecast.topology!r}"
    if not forecast.paths_per_s.size or not forecast.peak_per_s:
        raise ForecastError(f"{where} has no sample paths, by which alone other spans are known; forecast again")
    low, high = forecast.quantiles[0], forecast.quantiles[-1]
    if not low <= quantile <= high:
        raise ForecastError(f"{where} tells quantiles from {low:g} to {high:g}, not {quantile:g}; ask for one of these")


def _told_per_s(forecast: Forecast, horizons_s: Floats, quantile: float) -> Floats:
    """The quantile of the peak within each horizon, ascending with them."""
    every = [np.interp(quantile, forecast.quantiles, forecast.peak_per_s[int(horizon_s)]) for horizon_s in horizons_s]
    return np.asarray(np.maximum.accumulate(every))


def _factors(own: Floats, told: Floats, horizons_s: Floats, ends_s: Floats) -> Floats:
    """Calibrated over own peak at each end."""
    reached = horizons_s <= ends_s[-1]
    if not reached.any():
        return np.ones_like(own)
    at = np.searchsorted(ends_s, horizons_s[reached])
    ratios = np.where(own[at] > 0, told[reached] / np.where(own[at] > 0, own[at], 1.0), 1.0)
    return np.asarray(np.interp(np.log(ends_s), np.log(horizons_s[reached]), ratios))
