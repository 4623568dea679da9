"""The track record of a source: past peak forecasts beside actual peaks, which decide the trust in the next one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import known_peaks_per_s
from forecasting.errors import ForecastError, HistoryError
from forecasting.forecast import Forecast
from forecasting.local_time import moments_before_s
from forecasting.prequential_scores import SEASONS_S


@dataclass(frozen=True)
class TrackRecord:
    """Forecasts of one source in order of time, with the actual peaks of completed horizons.

    issued: starts of their first steps. peak_per_s: shape (forecasts, horizons, quantiles), NaN if a horizon was not
    forecast. naive_per_s: by seasonal naive, the peak of the span a day, or a week, earlier in the source's local time.
    actual_per_s: the actual peak. Both of shape (forecasts, horizons), NaN if the horizon is not complete or the
    history is missing. least_per_s: of the same shape, the peak of what is known to have come, windows known in part
    included; NaN if the horizon is not complete; None if unknown.
    """

    source: str
    issued: tuple[datetime, ...]
    horizons_s: tuple[int, ...]
    quantiles: tuple[float, ...]
    peak_per_s: Floats
    naive_per_s: Mapping[str, Floats]
    actual_per_s: Floats
    least_per_s: Floats | None = None


def in_order(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """By start, then by time of issue: the order of a track record."""
    return sorted(forecasts, key=lambda forecast: (forecast.start, forecast.issued_at))


def track_record(
    forecasts: Sequence[Forecast], history: ArrivalSeries | None, lower_bounds: ArrivalSeries | None = None
) -> TrackRecord:
    """The record of a source's forecasts. history: known by now, None if there is none. lower_bounds: the same with
    what is known of windows known in part; None if unknown.

    Peaks are taken on each forecast's own step grid. For a horizon longer than its season, a naive repeats the season.
    Raises ForecastError without a forecast, or if they are of different sources.
    """
    if not forecasts:
        raise ForecastError("a track record needs at least one forecast; run `forescale forecast` first")
    ordered = in_order(forecasts)
    sources = sorted({(forecast.topology, forecast.source) for forecast in ordered})
    if len(sources) > 1:
        raise ForecastError(f"a track record is of one source, not of {sources[0]} and {sources[1]}; make one for each")
    horizons_s = tuple(sorted({horizon_s for forecast in ordered for horizon_s in forecast.peak_per_s}))
    quantiles = tuple(sorted({quantile for forecast in ordered for quantile in forecast.quantiles}))
    forecast_per_s = np.full((len(ordered), len(horizons_s), len(quantiles)), np.nan)
    for row, forecast in enumerate(ordered):
        columns = [quantiles.index(quantile) for quantile in forecast.quantiles]
        for horizon_s, peak in forecast.peak_per_s.items():
            forecast_per_s[row, horizons_s.index(horizon_s), columns] = peak
    shape = (len(ordered), len(horizons_s))
    least = None if lower_bounds is None else np.full(shape, np.nan)
    known = None if lower_bounds is None else replace(lower_bounds, counts=np.nan_to_num(lower_bounds.counts))
    actual, naive = np.full(shape, np.nan), {name: np.full(shape, np.nan) for name in SEASONS_S}
    for step_s in sorted({forecast.step_s for forecast in ordered}):
        series, bounds = _stepped(history, step_s), _stepped(known, step_s)
        rows = [row for row, forecast in enumerate(ordered) if forecast.step_s == step_s]
        if bounds is not None and least is not None:
            at_s = np.array([(ordered[row].start - bounds.start).total_seconds() for row in rows])
            for column, horizon_s in enumerate(horizons_s):
                least[rows, column] = _peaks_per_s(bounds, at_s, horizon_s)
        if series is None:
            continue
        started_s = np.array([int(ordered[row].start.timestamp()) for row in rows], dtype=np.int64)
        at_s = np.array([(ordered[row].start - series.start).total_seconds() for row in rows])
        for column, horizon_s in enumerate(horizons_s):
            actual[rows, column] = _peaks_per_s(series, at_s, horizon_s)
            for name, season_s in SEASONS_S.items():
                before_s = moments_before_s(started_s, season_s, series.timezone) - started_s
                naive[name][rows, column] = _peaks_per_s(series, at_s + before_s, min(horizon_s, season_s))
    unforecast = np.isnan(forecast_per_s).all(axis=2)
    for peaks in (actual, *naive.values()):
        peaks[unforecast] = np.nan
    starts = tuple(forecast.start for forecast in ordered)
    return TrackRecord(ordered[0].source, starts, horizons_s, quantiles, forecast_per_s, naive, actual, least)


def _stepped(history: ArrivalSeries | None, step_s: int) -> ArrivalSeries | None:
    if history is None:
        return None
    try:
        return history.resampled(step_s)
    except HistoryError:
        # The history is too short for one step, or its windows do not fill one.
        return None


def _peaks_per_s(series: ArrivalSeries, at_s: Floats, horizon_s: int) -> Floats:
    """The peak of the span from each moment, in seconds after the start of the series; NaN if unknown."""
    peaks = np.full(at_s.size, np.nan)
    on_grid = (at_s >= 0) & (at_s % series.window_s == 0)
    at = (at_s[on_grid] // series.window_s).astype(int).tolist()
    steps = horizon_s // series.window_s
    if at and steps:
        peaks[on_grid] = known_peaks_per_s(series, at, [steps])[:, 0]
    return peaks
