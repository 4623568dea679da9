"""Rolling-origin backtest: each forecaster's past peak forecasts, using only the data known then.

Nothing looks ahead: a forecaster is fitted on data before the first origin of a day (slow ones less often) and, as in
operation, forecasts from the newest counts at the following origins.
"""

import logging
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecaster import FittedForecaster, Forecaster
from forecasting.models.time_grid import DAY_S, newest, oldest
from forecasting.peaks import actual_peak_per_s, peak_quantiles_per_s

log = logging.getLogger(__name__)

Progress = Callable[[str], None]

APART_S = 14 * 3600
"""Usual time between origins: twelve origins cover every other hour of the day and every weekday."""
MAX_SPREAD_S = 14 * DAY_S
FIRST_TRAINING_S = 2 * DAY_S


@dataclass(frozen=True)
class BacktestTable:
    """Peak forecasts beside actual peaks.

    origins: moments of forecasting. peak_per_s: per forecaster, shape (origins, horizons, quantiles), NaN where it
    could not forecast. actual_per_s: shape (origins, horizons), NaN if unknown. refusals: reasons by forecaster that
    could not take part.
    """

    origins: tuple[datetime, ...]
    horizons_s: tuple[int, ...]
    quantiles: tuple[float, ...]
    actual_per_s: Floats
    peak_per_s: dict[str, Floats]
    naive: frozenset[str]
    refusals: dict[str, str] = field(default_factory=dict)


def backtest_origins(
    series: ArrivalSeries, count: int, longest_horizon_s: int, least_history_s: float = DAY_S
) -> list[int]:
    """Indices of the first windows to be forecast at each origin, ascending; at most `count`.

    They go back from the last one whose longest horizon is complete, APART_S apart, or closer if they would span more
    than MAX_SPREAD_S or leave less than two days of training data. In a history too short for that they lie in its
    second half, and late origins lack the longer horizons. least_history_s: minimum history before any origin.
    """
    last = series.counts.size - longest_horizon_s // series.window_s
    first = max(last - MAX_SPREAD_S // series.window_s, FIRST_TRAINING_S // series.window_s)
    if first >= last:
        first = max(series.counts.size // 2, int(least_history_s // series.window_s))
        last = series.counts.size - 1
    if first > last:
        return []
    apart = min(APART_S / series.window_s, (last - first) / max(1, count - 1))
    return sorted({max(first, last - round(number * apart)) for number in range(count)})


def backtest(
    series: ArrivalSeries,
    forecasters: Sequence[Forecaster],
    *,
    horizons_s: Sequence[int],
    quantiles: Sequence[float],
    origins: int,
    paths: int,
    seed: int,
    progress: Progress | None = None,
    least_history_s: float = DAY_S,
) -> BacktestTable:
    """Each forecaster's peak quantiles at each origin, beside the actual peak.

    least_history_s: minimum history before any origin.
    """
    at = backtest_origins(series, origins, max(horizons_s), least_history_s)
    table = empty_table(series, forecasters, at, horizons_s, quantiles, {})
    horizon_steps = [horizon_s // series.window_s for horizon_s in horizons_s]
    drawn = replayed(series, forecasters, at, max(horizon_steps), paths, seed, table.refusals, progress)
    for row, given, _ in drawn:
        # One forecaster's paths at a time: with windows of a second they are the largest part of the memory.
        for name, paths_per_s in given:
            table.peak_per_s[name][row] = peak_quantiles_per_s(paths_per_s, horizon_steps, quantiles)
    return table


def empty_table(
    series: ArrivalSeries,
    forecasters: Sequence[Forecaster],
    at: Sequence[int],
    horizons_s: Sequence[int],
    quantiles: Sequence[float],
    refusals: dict[str, str],
) -> BacktestTable:
    """A table with the actual peaks at these origins and no forecasts yet."""
    shape = (len(at), len(horizons_s), len(quantiles))
    return BacktestTable(
        tuple(series.start + timedelta(seconds=series.window_s * origin) for origin in at),
        tuple(horizons_s),
        tuple(quantiles),
        known_peaks_per_s(series, at, [horizon_s // series.window_s for horizon_s in horizons_s]),
        {forecaster.name: np.full(shape, np.nan) for forecaster in forecasters},
        frozenset(forecaster.name for forecaster in forecasters if forecaster.naive),
        refusals,
    )


def replayed(
    series: ArrivalSeries,
    forecasters: Sequence[Forecaster],
    at: Sequence[int],
    steps: int,
    paths: int,
    seed: int,
    refusals: dict[str, str],
    progress: Progress | None = None,
    longest_s: float | None = None,
) -> Iterator[tuple[int, Iterator[tuple[str, Floats]], dict[str, FittedForecaster]]]:
    """Yields, per origin, its number, each forecaster's name and joint paths, drawn as they are taken, and the fitted
    forecasters.

    at: indices of the first windows to be forecast, ascending. refusals: receives the reasons of failures. longest_s:
    maximum history given to forecasters, None for all.
    """
    learnt: dict[str, tuple[FittedForecaster, datetime]] = {}
    for day in _days_of(at, series.window_s):
        train = recent_at(series, at[day[0]], longest_s)
        if progress is not None:
            progress(f"backtest: {len(day)} origins from {train.end:%Y-%m-%d %H:%M}")
        for forecaster in forecasters:
            known = learnt.get(forecaster.name)
            if known is None or (train.end - known[1]).total_seconds() >= forecaster.refit_after_s:
                fitted, at_end = _fitted(forecaster, None, train, refusals), train.end
            elif train.end > known[1]:
                fitted, at_end = _fitted(forecaster, known[0], train, refusals), known[1]
            else:
                continue
            learnt.pop(forecaster.name, None)
            if fitted is not None:
                learnt[forecaster.name] = fitted, at_end
        for row in day:
            recent = recent_at(series, at[row], longest_s)
            able = {name: fitted for name, (fitted, _) in learnt.items()}
            yield row, _drawn(able, recent, steps, paths, seed, row, refusals), able


def _drawn(
    able: Mapping[str, FittedForecaster],
    recent: ArrivalSeries,
    steps: int,
    paths: int,
    seed: int,
    row: int,
    refusals: dict[str, str],
) -> Iterator[tuple[str, Floats]]:
    for name, fitted in able.items():
        try:
            paths_per_s = fitted.paths_per_s(recent, steps, paths, forecaster_rng(seed, name, row))
        except Exception as error:  # noqa: BLE001 - logged, and named as its refusal
            refusals[name] = refusal(name, error)
        else:
            yield name, paths_per_s


def recent_at(series: ArrivalSeries, origin: int, longest_s: float | None) -> ArrivalSeries:
    """The history known at an origin, at most longest_s of it."""
    known = oldest(series, origin)
    return known if longest_s is None else newest(known, int(longest_s // series.window_s))


def refusal(name: str, error: Exception) -> str:
    """The reason for leaving out a forecaster: one failure must not stop the others."""
    if isinstance(error, ForecastError):
        return str(error)
    log.error("forecaster %s failed", name, exc_info=error)
    return f"forecaster {name} failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}"


def known_peaks_per_s(series: ArrivalSeries, at: Sequence[int], horizon_steps: Sequence[int]) -> Floats:
    """The peak within each horizon of each origin, NaN if unknown; shape (origins, horizons)."""
    rates_per_s = series.rate_per_s()
    peaks = [[_peak_after(rates_per_s, origin, steps) for steps in horizon_steps] for origin in at]
    return np.array(peaks).reshape(len(at), len(horizon_steps))


def forecaster_rng(seed: int, name: str, number: int) -> np.random.Generator:
    """A separate random stream per forecaster and origin, so that adding a forecaster does not change the others'
    paths.
    """
    return np.random.default_rng([seed, zlib.crc32(name.encode()), number])


def _peak_after(rates_per_s: Floats, origin: int, steps: int) -> float:
    if origin + steps > rates_per_s.size:
        return float("nan")
    return actual_peak_per_s(rates_per_s[origin : origin + steps])


def _days_of(at: Sequence[int], window_s: int) -> list[list[int]]:
    """Numbers of the origins, grouped within a day of each group's first."""
    days: list[list[int]] = []
    for number, origin in enumerate(at):
        if days and (origin - at[days[-1][0]]) * window_s < DAY_S:
            days[-1].append(number)
        else:
            days.append([number])
    return days


def _fitted(
    forecaster: Forecaster, known: FittedForecaster | None, train: ArrivalSeries, refusals: dict[str, str]
) -> FittedForecaster | None:
    """The forecaster fitted anew, or the known fit refreshed; None if it refuses or fails."""
    reason = forecaster.unsuitable_because(train)
    if reason is None:
        try:
            return forecaster.fit(train) if known is None else known.refreshed(train)
        except Exception as error:  # noqa: BLE001 - logged, and named as its refusal
            reason = refusal(forecaster.name, error)
    refusals[forecaster.name] = reason
    return None
