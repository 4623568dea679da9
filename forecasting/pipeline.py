"""From an arrival history to a forecast, in a slow and a fast part. Pure: no files, no clock, no tracking.

The slow part backtests, selects, fits and calibrates; every 6 to 12 hours will do. The fast part asks what was learnt
from the newest counts, in milliseconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import backtest, refusal
from forecasting.deployed import DeployedForecaster
from forecasting.errors import ForecastError
from forecasting.forecast import QUANTILES, Forecast
from forecasting.forecaster import FittedForecaster, Forecaster
from forecasting.forecasters import all_forecasters
from forecasting.models.borrowed_forecaster import BORROWED
from forecasting.models.borrowed_forecaster import MIN_DAYS as MIN_BORROWED_DAYS
from forecasting.models.enough_history import why_too_little
from forecasting.models.first_days_forecaster import FIRST_DAYS
from forecasting.models.first_days_forecaster import MAX_DAYS as MAX_FIRST_DAYS
from forecasting.models.open_hours import EXPECTED_EVENTS
from forecasting.models.time_grid import DAY_S, WEEK_S
from forecasting.one_thread import one_thread
from forecasting.peaks import path_quantiles
from forecasting.selection import Ensemble, Selection, select
from forecasting.siblings import NOTHING_LENT, Lent, LentShape
from forecasting.surprise import STAND_IN
from forecasting.terms import ForecastTerms
from forecasting.trained import Trained

MIN_DAYS = 1.0
SIBLINGS = "siblings"
"""First word of notes on siblings, for readers."""
MAX_SILENCE_S = DAY_S

SURPRISE = "the load just measured is held for about as long again"
"""Part of the note on a load that exceeds what was expected of it."""

Progress = Callable[[str], None]


def train(
    series: ArrivalSeries,
    *,
    issued_at: datetime,
    terms: ForecastTerms,
    history_snapshot: str = "",
    forecasters: Sequence[Forecaster] | None = None,
    lent: Lent = NOTHING_LENT,
    progress: Progress | None = None,
) -> Trained:
    """The slow part: choose and calibrate forecasters by a backtest, using nothing after issued_at.

    history_snapshot: the store's commit that the series was read from. forecasters: None for all.
    lent: shapes that they may borrow. Raises ForecastError if the history is too short, too old or too sparse, or no
    forecaster can forecast: then hold the plan you have.
    """
    days = least_days(lent.shapes)
    history = since_launch(known_history(series, issued_at, terms.step_s, days), days)
    if forecasters is None:
        forecasters = all_forecasters(prophet=terms.prophet, siblings=lent.series)
    competing = {each.name: each for each in forecasters}
    if history.span_s > MAX_FIRST_DAYS * DAY_S:
        # It is outgrown, which needs no note.
        competing.pop(FIRST_DAYS, None)
    with one_thread():
        table = backtest(
            history,
            tuple(competing.values()),
            horizons_s=terms.horizons_s,
            quantiles=QUANTILES,
            origins=terms.origins,
            paths=terms.drawn_paths,
            seed=terms.seed,
            progress=progress,
            least_history_s=days * DAY_S,
        )
        refusals = {name: reason for name, each in competing.items() if (reason := each.unsuitable_because(history))}
        while True:
            selection = select(table, set(competing) - set(refusals), refusals)
            fitted, failed = _fitted(competing, selection, history, progress)
            if not failed:
                break
            refusals |= failed
    ensemble = selection.ensemble
    return Trained(
        series.topology,
        series.source,
        terms,
        DeployedForecaster(terms.step_s, terms.steps, terms.horizons_s, QUANTILES, ensemble, fitted),
        selection.scores,
        (
            *selection.notes,
            *(f"{name} takes no part: {reason}" for name, reason in refusals.items()),
        ),
        history.start,
        history.end,
        history.digest(),
        history_snapshot,
        siblings=lent.shapes,
        sibling_notes=(*borrowed_notes(lent.shapes, ensemble, terms.horizons_s), *lent.notes),
    )


def issue(trained: Trained, series: ArrivalSeries, *, issued_at: datetime, history_snapshot: str = "") -> Forecast:
    """The fast part: forecast with the trained model from the newest counts complete at issued_at.

    Raises ForecastError if these are too old or too sparse: then hold the plan you have.
    """
    terms = trained.terms
    history = known_history(series, issued_at, terms.step_s, least_days(trained.siblings))
    # What was before the launch when it was trained still is.
    history = history.between(max(history.start, trained.trained_from), history.end)
    with one_thread():
        excess_s = trained.deployed.excess_s(history, terms.seed)
        drawn, peaks = trained.deployed.drawn(history, terms.drawn_paths, terms.seed, excess_s)
    # Seven digits, of which a file has half the size.
    drawn = drawn.astype(np.float32).astype(np.float64)
    surprise = (f"every rate of the last {excess_s / 60:.0f} min exceeded its p99: {SURPRISE}",) if excess_s else ()
    made = forecast_of(history, drawn, peaks, terms, issued_at=issued_at, forecaster=trained.deployed.names())
    return replace(
        made,
        trained_from=trained.trained_from,
        trained_to=trained.trained_to,
        scores=trained.scores,
        model_version=trained.model_version,
        history_snapshot=history_snapshot,
        notes=(*_history_notes(history), *_paths_notes(terms), *surprise, *trained.notes),
        sibling_notes=trained.sibling_notes,
    )


def forecast_of(
    history: ArrivalSeries,
    paths_per_s: Floats,
    peaks_per_s: Floats,
    terms: ForecastTerms,
    *,
    issued_at: datetime,
    forecaster: Mapping[int, str],
) -> Forecast:
    """The forecast given by sample paths that start at the end of a history and were drawn from that history alone.

    paths_per_s: shape (paths, steps). peaks_per_s: shape (horizons, quantiles). forecaster: by horizon.
    """
    return Forecast(
        issued_at=issued_at,
        topology=history.topology,
        source=history.source,
        start=history.end,
        step_s=terms.step_s,
        quantiles=QUANTILES,
        rate_per_s=path_quantiles(paths_per_s, QUANTILES),
        peak_per_s=dict(zip(terms.horizons_s, peaks_per_s, strict=True)),
        paths_per_s=paths_per_s,
        forecaster=forecaster,
        trained_from=history.start,
        trained_to=history.end,
        history_digest=history.digest(),
        seed=terms.seed,
    )


def _fitted(
    competing: dict[str, Forecaster], selection: Selection, history: ArrivalSeries, progress: Progress | None
) -> tuple[dict[str, FittedForecaster], dict[str, str]]:
    """The chosen forecasters and their fallbacks, fitted, and the reasons of failed fits."""
    needed = {name for weights in selection.ensemble.weights for name in weights} | set(selection.ensemble.naive)
    # It costs nothing, and takes over after a surprise.
    needed |= {STAND_IN} & set(competing)
    if progress is not None:
        progress(f"fitting {', '.join(sorted(needed))}")
    fitted, failed = {}, {}
    for name in sorted(needed):
        try:
            fitted[name] = competing[name].fit(history)
        except Exception as error:  # noqa: BLE001 - logged, and named as its refusal
            failed[name] = refusal(name, error)
    return fitted, failed


def least_days(siblings: Sequence[LentShape]) -> float:
    """Minimum history of a forecast: hours if siblings lend their shape."""
    return MIN_BORROWED_DAYS if siblings else MIN_DAYS


def borrowed_notes(siblings: Sequence[LentShape], ensemble: Ensemble, horizons_s: Sequence[int]) -> tuple[str, ...]:
    """Notes on lenders of shapes, and the borrowed shape's weight at each horizon."""
    if not siblings:
        return ()
    lenders = ", ".join(sibling.description() for sibling in siblings)
    shares = {
        h: weights[BORROWED] for h, weights in zip(horizons_s, ensemble.weights, strict=True) if BORROWED in weights
    }
    if not shares:
        return (f"{SIBLINGS}: no shape is borrowed from {lenders} any more: its own record is better",)
    shares_text = ", ".join(f"{share:.0%} at {horizon_s} s" for horizon_s, share in shares.items())
    return (f"{SIBLINGS}: shape borrowed from {lenders} until its own record is better; it counts {shares_text}",)


def known_history(series: ArrivalSeries, issued_at: datetime, step_s: int, days: float = MIN_DAYS) -> ArrivalSeries:
    """The complete steps up to issued_at; steps that the history lacks at its end are missing.

    days: minimum length. Raises ForecastError if it is shorter, half missing, or ends too long ago.
    """
    where = f"source {series.source!r} of topology {series.topology!r}"
    if issued_at.tzinfo is None:
        raise ForecastError(f"{where}: issued_at {issued_at} has no time zone; give it in UTC")
    if issued_at <= series.start:
        raise ForecastError(f"{where}: history starts at {series.start}, after issued_at {issued_at}; nothing is known")
    history = series.between(series.start, min(series.end, issued_at)).resampled(step_s)
    silent = int((issued_at - history.end).total_seconds() // step_s)
    counts = np.concatenate([history.counts, np.full(max(0, silent), np.nan)])
    history = replace(history, counts=counts)
    seen = np.flatnonzero(np.isfinite(counts))
    if not seen.size:
        raise ForecastError(
            f"{where}: no window of the history was observed; `forescale history check {series.topology}` says what "
            "they are instead and what helps; hold the plan until then"
        )
    unknown_s = (counts.size - 1 - int(seen[-1])) * step_s
    if unknown_s >= MAX_SILENCE_S:
        raise ForecastError(
            f"{where}: nothing was observed in the last {unknown_s / 3600:.1f} h before "
            f"{issued_at:%Y-%m-%d %H:%M %Z}, at most "
            f"{MAX_SILENCE_S / 3600:.0f} h are bridged; restore the feed, and hold the plan until then"
        )
    # Windows before the first observation do not count as history.
    history = history.between(history.start + timedelta(seconds=int(seen[0]) * step_s), history.end)
    if reason := why_too_little(history, days):
        raise ForecastError(f"{where}: {reason}; hold the plan until then")
    return history


def since_launch(history: ArrivalSeries, days: float = MIN_DAYS) -> ArrivalSeries:
    """Without the empty weeks before a load began: they are not the history of a load.

    days: minimum that must remain, else all of it counts. Less than a week may be closed hours.
    """
    busy = np.flatnonzero(history.counts > 0)
    if not busy.size or busy[0] * history.window_s < WEEK_S:
        return history
    since = history.between(history.start + timedelta(seconds=int(busy[0]) * history.window_s), history.end)
    rare = float(np.nanmean(since.counts)) * np.isfinite(history.counts[: busy[0]]).sum() < EXPECTED_EVENTS
    return history if rare or since.span_s < days * DAY_S else since


def _paths_notes(terms: ForecastTerms) -> tuple[str, ...]:
    if terms.drawn_paths == terms.paths:
        return ()
    return (
        f"{terms.drawn_paths} instead of {terms.paths} paths, since they have {terms.steps} steps; a longer step_s or "
        "a shorter horizon_s allows more",
    )


def _history_notes(history: ArrivalSeries) -> tuple[str, ...]:
    unknown, of = int(np.isnan(history.counts).sum()), history.counts.size
    if not unknown:
        return ()
    return (f"{unknown} of {of} windows ({unknown / of:.1%}) have no whole count: missing, partial or throttled",)
