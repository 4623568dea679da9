"""From an arrival history to a forecast: backtest, select, fit, calibrate. Pure: no files, no clock, no tracking."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import BacktestTable, backtest
from forecasting.calibration import calibration
from forecasting.deployed import DeployedForecaster
from forecasting.errors import ForecastError
from forecasting.forecast import QUANTILES, Forecast
from forecasting.forecaster import Forecaster
from forecasting.forecasters import all_forecasters
from forecasting.models.enough_history import why_too_little
from forecasting.models.time_grid import DAY_S
from forecasting.one_thread import one_thread
from forecasting.selection import Selection, deployed_peaks_per_s, select

LEAST_DAYS = 2
LONGEST_SILENCE_S = DAY_S


@dataclass(frozen=True)
class MadeForecast:
    """A forecast with what it came from: the history it saw, the deployed forecaster, the backtest and the choice."""

    forecast: Forecast
    history: ArrivalSeries
    deployed: DeployedForecaster
    table: BacktestTable
    selection: Selection


def make_forecast(
    series: ArrivalSeries,
    *,
    issued_at: datetime,
    step_s: int,
    horizon_s: int,
    horizons_s: Sequence[int],
    paths: int,
    origins: int,
    seed: int,
    history_snapshot: str = "",
    forecasters: Sequence[Forecaster] | None = None,
    progress: Callable[[str], None] | None = None,
) -> MadeForecast:
    """The forecast of one source, from what was known at issued_at; nothing later is looked at.

    step_s: width of a step, a multiple of the history's window that divides a day. horizon_s: how far the paths reach.
    horizons_s: within which the peak is asked for; those that are longer than horizon_s or not whole steps are left
    out. history_snapshot: the commit of the store that the series was read from. Same arguments, same forecast. Raises
    ForecastError where the history is too short, too old or too sparse, or where no forecaster can forecast: then hold
    the plan you have.
    """
    steps, horizons = _steps(step_s, horizon_s, horizons_s)
    history = known_history(series, issued_at, step_s)
    competing = tuple(forecasters) if forecasters is not None else all_forecasters()
    with one_thread():
        table = backtest(
            history,
            competing,
            horizons_s=horizons,
            quantiles=QUANTILES,
            origins=origins,
            paths=paths,
            seed=seed,
            progress=progress,
        )
        selection = select(table)
        learnt = calibration(
            deployed_peaks_per_s(table, [selection.chosen[horizon] for horizon in horizons]),
            table.actual_per_s,
            QUANTILES,
        )
        needed = {name for names in selection.chosen.values() for name in names}
        if progress is not None:
            progress(f"fitting {', '.join(sorted(needed))}")
        fitted = {forecaster.name: forecaster.fit(history) for forecaster in competing if forecaster.name in needed}
        deployed = DeployedForecaster(step_s, steps, QUANTILES, dict(selection.chosen), fitted, learnt)
        drawn, peaks = deployed.ask(history, paths, seed)
    forecast = Forecast(
        issued_at=issued_at,
        topology=series.topology,
        source=series.source,
        start=history.end,
        step_s=step_s,
        quantiles=QUANTILES,
        rate_per_s=np.quantile(drawn, QUANTILES, axis=0).T,
        peak_per_s={horizon: peaks[number] for number, horizon in enumerate(horizons)},
        paths_per_s=drawn,
        forecaster={horizon: " + ".join(selection.chosen[horizon]) for horizon in horizons},
        trained_from=history.start,
        trained_to=history.end,
        history_digest=history.digest(),
        seed=seed,
        scores=selection.scores,
        history_snapshot=history_snapshot,
        notes=(*_history_notes(history), *selection.notes),
    )
    return MadeForecast(forecast, history, deployed, table, selection)


def known_history(series: ArrivalSeries, issued_at: datetime, step_s: int) -> ArrivalSeries:
    """The steps that were over at issued_at, up to the last of them; those the history lacks at its end are missing.

    Raises ForecastError where there is less than LEAST_DAYS of it, half of it is missing, or it ends too long ago.
    """
    where = f"source {series.source!r} of topology {series.topology!r}"
    if issued_at.tzinfo is None:
        raise ForecastError(f"{where}: issued_at {issued_at} has no time zone; give it in UTC")
    if issued_at <= series.start:
        raise ForecastError(f"{where}: history starts at {series.start}, after issued_at {issued_at}; nothing is known")
    history = series.between(series.start, min(series.end, issued_at)).resampled(step_s)
    silent = int((issued_at - history.end).total_seconds() // step_s)
    counts = np.concatenate([history.counts, np.full(max(0, silent), np.nan)])
    history = ArrivalSeries(series.topology, series.source, history.start, step_s, counts)
    seen = np.flatnonzero(np.isfinite(counts))
    if not seen.size:
        raise ForecastError(f"{where}: every window of the history is missing; restore events, and hold the plan")
    unknown_s = (counts.size - 1 - int(seen[-1])) * step_s
    if unknown_s >= LONGEST_SILENCE_S:
        raise ForecastError(
            f"{where}: nothing was observed in the last {unknown_s / 3600:.1f} h before {issued_at}, at most "
            f"{LONGEST_SILENCE_S / 3600:.0f} h are bridged; restore the feed, and hold the plan until then"
        )
    # What lies before the first observation is no history.
    history = history.between(history.start + timedelta(seconds=int(seen[0]) * step_s), history.end)
    if reason := why_too_little(history, LEAST_DAYS):
        raise ForecastError(f"{where}: {reason}; hold the plan until then")
    return history


def _steps(step_s: int, horizon_s: int, horizons_s: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    if step_s <= 0 or DAY_S % step_s:
        raise ForecastError(f"step_s {step_s} does not divide a day; use for example 300, 900 or 3600")
    if horizon_s < step_s:
        raise ForecastError(f"horizon_s {horizon_s} is shorter than a step of {step_s} s; give at least one step")
    horizons = tuple(sorted({h for h in horizons_s if step_s <= h <= horizon_s and h % step_s == 0}))
    if not horizons:
        raise ForecastError(
            f"none of the horizons {tuple(horizons_s)} s is a whole number of steps of {step_s} s and at most "
            f"{horizon_s} s; name one that is"
        )
    return horizon_s // step_s, horizons


def _history_notes(history: ArrivalSeries) -> tuple[str, ...]:
    missing = int(np.isnan(history.counts).sum())
    if not missing:
        return ()
    return (f"{missing} of {history.counts.size} windows ({missing / history.counts.size:.1%}) were missing",)
