"""Past deployments replayed: at every origin, selection and calibration use only what was complete by then.

The forecasters run once over all origins. Each origin's selection then uses only earlier data, so that a whole trace
costs hardly more than one backtest.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import APART_S, empty_table, recent_at, replayed
from forecasting.deployed import joint_forecast
from forecasting.errors import ForecastError
from forecasting.events.calendar import EventCalendar
from forecasting.events.recurring_days import with_past_days
from forecasting.forecast import HORIZONS_S
from forecasting.forecaster import Forecaster
from forecasting.models.time_grid import DAY_S, oldest
from forecasting.one_thread import one_thread
from forecasting.peaks import path_quantiles, peak_quantiles_per_s
from forecasting.selection import DEPLOYED, Ensembles, Weights
from forecasting.surprise import STAND_IN, excess_s, lasting

TOLD_S = 14 * DAY_S
TEACHING_ORIGINS = 60
MIN_HISTORY_S = DAY_S
MAX_HISTORY_S = 56 * DAY_S
"""Eight weeks, the topology file's default: older habits mislead more than they teach."""


@dataclass(frozen=True)
class Predicted:
    """All candidates' predictions at one origin, rates in events per second.

    origin: index of the first forecast window. peak_per_s: by candidate, shape (horizons, quantiles). rate_per_s: by
    candidate, pointwise quantiles of its paths, shape (steps, quantiles). chosen: deployed weights per horizon.
    """

    origin: int
    peak_per_s: dict[str, Floats]
    rate_per_s: dict[str, Floats]
    chosen: tuple[Weights, ...]


@dataclass(frozen=True)
class Origins:
    """Indices of the first forecast windows, ascending; origins before told_from are for training only."""

    at: tuple[int, ...]
    told_from: int


def prequential_horizons_s(series: ArrivalSeries) -> tuple[int, ...]:
    """The usual horizons that are whole windows and leave a day to learn from. Raises ForecastError if none does."""
    fit = tuple(h for h in HORIZONS_S if h % series.window_s == 0 and series.span_s - h > MIN_HISTORY_S)
    if not fit:
        raise ForecastError(
            f"{series.source} has {series.counts.size} windows of {series.window_s} s: of the horizons "
            f"{', '.join(map(str, HORIZONS_S))} s none is a whole number of windows and leaves a day to learn from; "
            "give a longer trace, or resample it"
        )
    return fit


def prequential_origins(series: ArrivalSeries, count: int, longest_horizon_s: int) -> Origins:
    """`count` origins over the last two weeks, or the last half of a shorter series, and training origins before them.

    Every horizon of every origin lies within the series. Raises ForecastError if the series is too short.
    """
    size = series.counts.size
    last = size - longest_horizon_s // series.window_s
    least = MIN_HISTORY_S // series.window_s
    if last <= least:
        raise ForecastError(
            f"{series.source} spans {series.span_s / DAY_S:.2f} days; a day to learn from and "
            f"{longest_horizon_s / 3600:g} h to forecast are needed; give a longer trace, or shorter horizons"
        )
    span = min(TOLD_S // series.window_s, size // 2, last - least)
    first = last - span
    scored = {first + round(number * span / max(1, count - 1)) for number in range(count)}
    apart = APART_S // series.window_s
    teaching = {first - number * apart for number in range(1, TEACHING_ORIGINS + 1) if first - number * apart >= least}
    return Origins(tuple(sorted(scored | teaching)), first)


def prequential_calendar(calendar: EventCalendar, series: ArrivalSeries, origins: Origins) -> EventCalendar:
    """The calendar with what days before the first reported origin say; ratios are of those that no origin learns from.

    calendar: of the series.
    """
    known = oldest(series, origins.told_from)
    start = max(series.start, oldest(series, origins.at[0]).end - timedelta(seconds=MAX_HISTORY_S))
    return with_past_days(calendar, known, start, series.end).calendar


def prequential(
    series: ArrivalSeries,
    forecasters: Sequence[Forecaster],
    origins: Origins,
    *,
    horizons_s: Sequence[int],
    quantiles: Sequence[float],
    paths: int,
    seed: int,
    refusals: dict[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
    look_at: Callable[[int, Floats], None] | None = None,
) -> Iterator[Predicted]:
    """Predictions of all candidates, and of `deployed`, at each reported origin, in order of time.

    refusals: receives the reasons why forecasters could not take part. look_at: gets each origin with the joint paths
    of `deployed`, shape (paths, steps) up to the longest horizon.
    """
    at = origins.at
    horizon_steps = [horizon_s // series.window_s for horizon_s in horizons_s]
    table = empty_table(series, forecasters, at, horizons_s, quantiles, {} if refusals is None else refusals)
    ensembles = Ensembles(table)
    with one_thread():
        for row, drawn_paths, fitted in replayed(
            series, forecasters, at, max(horizon_steps), paths, seed, table.refusals, progress, MAX_HISTORY_S
        ):
            given = dict(drawn_paths)
            for name, drawn in given.items():
                table.peak_per_s[name][row] = peak_quantiles_per_s(drawn, horizon_steps, quantiles)
            if not table.naive.intersection(given):
                continue
            ensemble = ensembles.take(row, given)
            if at[row] < origins.told_from:
                continue
            recent = recent_at(series, at[row], MAX_HISTORY_S)
            lasted_s = excess_s(fitted, recent, seed) if STAND_IN in given else 0.0
            above = lasting(given[STAND_IN], lasted_s, recent.window_s, seed) if lasted_s else None
            joint, peaks = joint_forecast(given, ensemble, horizon_steps, quantiles, above)
            if look_at is not None:
                look_at(at[row], joint)
            yield Predicted(
                at[row],
                {name: table.peak_per_s[name][row] for name in given} | {DEPLOYED: peaks},
                {name: path_quantiles(drawn, quantiles) for name, drawn in (given | {DEPLOYED: joint}).items()},
                ensemble.weights,
            )
