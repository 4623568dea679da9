"""The peak within any span of a forecast, not only its horizons: from its paths, calibrated between horizons.

Backtests calibrate the peak within each horizon from the forecast's start. Between two horizons the correction of the
paths' own peak is interpolated linearly in the logarithm of time.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrays import Floats
from forecasting.errors import ForecastError
from forecasting.forecast import Forecast


def peaks_until_per_s(forecast: Forecast, quantile: float) -> Floats:
    """A quantile of the largest rate from the forecast's start to the end of each step, shape (steps,).

    At its horizons it equals the forecast's own peak; a later end never gives less. Raises ForecastError without paths,
    or for a quantile outside the forecast's range.
    """
    _check(forecast, quantile)
    horizons_s = np.array(sorted(forecast.peak_per_s), dtype=np.float64)
    peaks = _forecast_peaks_per_s(forecast, horizons_s, quantile)
    ends_s = forecast.step_s * np.arange(1.0, forecast.paths_per_s.shape[1] + 1)
    own = np.quantile(np.maximum.accumulate(forecast.paths_per_s, axis=1), quantile, axis=0)
    curve = own * _factors(own, peaks, horizons_s, ends_s)
    # At most the peak within the next horizon, at least that within the last one.
    after = np.searchsorted(horizons_s, ends_s)
    most = np.append(peaks, np.inf)[after]
    exact = np.append(horizons_s, np.inf)[after] == ends_s
    return np.asarray(np.maximum.accumulate(np.where(exact, most, np.minimum(curve, most))))


def peak_between_per_s(forecast: Forecast, start: datetime, end: datetime, quantile: float) -> float:
    """A quantile of the largest rate of the steps that a span touches. It never exceeds that of a longer span.

    Raises ForecastError like `peaks_until_per_s`, and for a span that the forecast does not cover.
    """
    own, factor = _own_peak_per_s(forecast, start, end, quantile)
    return own * factor


def joint_peak_between_per_s(
    forecasts: Mapping[str, Forecast], start: datetime, end: datetime, quantile: float
) -> float:
    """The same for the total of several sources, which need not peak at once: for the sum of their paths, each
    corrected like its own peak. Paths are paired by index (`forecasting.joined_paths`).
    """
    factors = {source: _own_peak_per_s(each, start, end, quantile)[1] for source, each in forecasts.items()}
    grids = {(each.start, each.step_s, each.paths_per_s.shape) for each in forecasts.values()}
    if len(grids) > 1:
        raise ForecastError(f"forecasts of {', '.join(forecasts)} are on different grids; forecast them together")
    first, last = _steps(next(iter(forecasts.values())), start, end)
    together = np.sum([factors[s] * each.paths_per_s[:, first:last] for s, each in forecasts.items()], axis=0)
    return float(np.quantile(together.max(axis=1), quantile))


def _own_peak_per_s(forecast: Forecast, start: datetime, end: datetime, quantile: float) -> tuple[float, float]:
    """The quantile from the paths, and its correction, which is that of the peak from the start to the same end."""
    _check(forecast, quantile)
    first, last = _steps(forecast, start, end)
    whole, own = (np.quantile(forecast.paths_per_s[:, at:last].max(axis=1), quantile) for at in (0, first))
    calibrated = peaks_until_per_s(forecast, quantile)[last - 1]
    return float(own), float(calibrated / whole) if whole > 0 else 1.0


def _steps(forecast: Forecast, start: datetime, end: datetime) -> tuple[int, int]:
    """The first step of a span, and the one after its last."""
    where = f"forecast of source {forecast.source!r} of topology {forecast.topology!r}"
    if end <= start:
        raise ForecastError(f"the span from {start} to {end} is empty; let it end after it begins")
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
        raise ForecastError(f"{where} has no sample paths, which other spans need; forecast again")
    low, high = forecast.quantiles[0], forecast.quantiles[-1]
    if not low <= quantile <= high:
        raise ForecastError(f"{where} has quantiles from {low:g} to {high:g}, not {quantile:g}; ask for one of these")


def _forecast_peaks_per_s(forecast: Forecast, horizons_s: Floats, quantile: float) -> Floats:
    """The quantile of the peak within each horizon, ascending with them."""
    every = [np.interp(quantile, forecast.quantiles, forecast.peak_per_s[int(horizon_s)]) for horizon_s in horizons_s]
    return np.asarray(np.maximum.accumulate(every))


def _factors(own: Floats, peaks: Floats, horizons_s: Floats, ends_s: Floats) -> Floats:
    """Calibrated over own peak at each end."""
    reached = horizons_s <= ends_s[-1]
    if not reached.any():
        return np.ones_like(own)
    at = np.searchsorted(ends_s, horizons_s[reached])
    ratios = np.where(own[at] > 0, peaks[reached] / np.where(own[at] > 0, own[at], 1.0), 1.0)
    return np.asarray(np.interp(np.log(ends_s), np.log(horizons_s[reached]), ratios))
