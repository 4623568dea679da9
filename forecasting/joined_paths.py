"""Pairs the sample paths of several sources by the dependence of their past errors.

Each source is forecast by itself, so the paths with the same number are unrelated. An empirical copula joins them (the
Schaake shuffle, Clark et al. 2004; ensemble copula coupling, Schefzik et al. 2013): paths are reordered so that their
ranks correspond as the ranks of past errors did.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from forecasting.arrays import Floats, Ints
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forecasting.local_time import moments_before_s
from forecasting.models.error_trajectories import drawn
from forecasting.models.time_grid import WEEK_S

MIN_SPANS = 20
"""With fewer spans the dependence cannot be estimated."""
MAX_SPAN_S = 6 * 3600
"""Whole days would give a quarter of the spans. For eight weeks of errors that fade within a day, six hours estimate
the correlation with two thirds of the error of whole days."""

KNOWN_SHARE = 0.8
"""Minimum share of a span's windows with both actual and expected load known."""
LevelErrors = Mapping[int, float]
"""Actual over expected load of a span, by the epoch second at which the span begins."""


@dataclass(frozen=True)
class JoinedForecasts:
    """forecasts: by source. note: why paths are not joined; empty if they are, and for a single source."""

    forecasts: Mapping[str, Forecast]
    note: str = ""


def joined_forecasts(
    forecasts: Mapping[str, Forecast],
    histories: Mapping[str, ArrivalSeries | None],
    past: Mapping[str, Sequence[Forecast]] | None = None,
) -> JoinedForecasts:
    """The same forecasts, reordered so that path m of each source belongs with path m of the others; sets of paths
    stay.

    A path's level is its mean over all steps. histories: known history by source. The dependence is that of past
    forecast errors or, if too few are complete, of the errors of repeating the last week. Deterministic.
    """
    if len(forecasts) < 2:
        return JoinedForecasts(forecasts)
    span_s = compared_s(forecasts)
    errors = _errors_together(forecasts, histories, span_s, past or {})
    spans = next(iter(errors.values())).size
    if spans < MIN_SPANS:
        return JoinedForecasts(
            forecasts,
            f"sample paths of {', '.join(forecasts)} are paired as they come: {spans} spans of {span_s / 3600:g} h are "
            f"known of all of them, {MIN_SPANS} are needed to see how sources err together; a longer history has "
            "them",
        )
    levels = {source: np.asarray(each.paths_per_s.mean(axis=1)) for source, each in forecasts.items()}
    order = joined_order(levels, errors, min(each.seed for each in forecasts.values()))
    return JoinedForecasts(
        {source: replace(each, paths_per_s=each.paths_per_s[order[source]]) for source, each in forecasts.items()}
    )


def compared_s(forecasts: Mapping[str, Forecast]) -> int:
    """Width in seconds of the compared spans: the reach of the paths, at most MAX_SPAN_S."""
    step_s = max(each.step_s for each in forecasts.values())
    reach_s = min(each.step_s * each.rate_per_s.shape[0] for each in forecasts.values())
    return max(step_s, int(min(reach_s, MAX_SPAN_S)) // step_s * step_s)


def joined_order(levels: Mapping[str, Floats], errors: Mapping[str, Floats], seed: int) -> dict[str, Ints]:
    """The order of paths by source, such that the ranks of their levels correspond like those of the errors.

    levels: shape (paths,) per source. errors: shape (spans,), over the same spans for all. Every span gets equally many
    paths as far as possible, in random order, so that the first paths are a fair sample of all.
    """
    rng = np.random.default_rng(seed)
    spans = next(iter(errors.values())).size
    taken = drawn(spans, max(level.size for level in levels.values()), rng)
    found = {}
    for source in sorted(levels):
        ascending = _ascending(levels[source], rng)
        ranks = _ascending(errors[source][taken[: ascending.size]], rng).argsort()
        found[source] = ascending[ranks]
    return found


def _ascending(values: Floats, rng: np.random.Generator) -> Ints:
    """The sorting permutation, with ties broken at random."""
    return np.lexsort((rng.random(values.size), values))


def _errors_together(
    forecasts: Mapping[str, Forecast],
    histories: Mapping[str, ArrivalSeries | None],
    span_s: int,
    past: Mapping[str, Sequence[Forecast]],
) -> dict[str, Floats]:
    """Errors by source, shape (spans,): of past forecasts if there are enough, else of repeating the last week."""
    known = {source: in_steps(histories.get(source), each.step_s) for source, each in forecasts.items()}
    of_forecasts, of_weeks = dict[str, LevelErrors](), dict[str, LevelErrors]()
    for source, history in known.items():
        end = forecasts[source].start
        of_forecasts[source] = {} if history is None else forecast_errors(past.get(source, ()), history, end, span_s)
        of_weeks[source] = {} if history is None else week_errors(history, end, span_s)
    found = common_errors(of_forecasts)
    return found if next(iter(found.values())).size >= MIN_SPANS else common_errors(of_weeks)


def week_errors(history: ArrivalSeries, end: datetime, span_s: int) -> LevelErrors:
    """Errors of repeating the last week in the source's local time, over the consecutive spans before `end`.

    Steady growth is the same factor in each span and so creates no dependence; comparing with the mean week would.
    """
    steps, week = span_s // history.window_s, WEEK_S // history.window_s
    last = int((end - history.start).total_seconds()) // history.window_s
    starts = np.arange(last - steps, week - 1, -steps, dtype=np.int64)
    starts = starts[starts + steps <= history.counts.size]
    at = starts[:, None] + np.arange(steps)
    first_s = int(history.start.timestamp())
    before = (moments_before_s(first_s + at * history.window_s, WEEK_S, history.timezone) - first_s) // history.window_s
    # If the clock was set back in between, the week before the first spans begins an hour before the history.
    usual = np.where(before >= 0, history.counts[before], np.nan)
    begins_s = first_s + starts * history.window_s
    return _errors(begins_s.tolist(), history.counts[at], usual)


def forecast_errors(past: Sequence[Forecast], history: ArrivalSeries, end: datetime, span_s: int) -> LevelErrors:
    """Errors of the medians of past forecasts of this source that began a whole number of spans before `end`.

    Only their first span counts; paths are not needed. Forecasts with steps unlike the history's windows are ignored.
    """
    steps, first_s = span_s // history.window_s, int(history.start.timestamp())
    begins_s, actual, expected = [], [], []
    for each in past:
        begin_s = int(each.start.timestamp())
        at = (begin_s - first_s) // history.window_s
        ahead_s = int(end.timestamp()) - begin_s
        comparable = each.step_s == history.window_s and each.rate_per_s.shape[0] >= steps and 0.5 in each.quantiles
        if comparable and ahead_s > 0 and ahead_s % span_s == 0 and 0 <= at <= history.counts.size - steps:
            begins_s.append(begin_s)
            actual.append(history.counts[at : at + steps])
            expected.append(each.rate_per_s[:steps, each.quantiles.index(0.5)] * each.step_s)
    return _errors(begins_s, np.array(actual), np.array(expected)) if begins_s else {}


def common_errors(errors: Mapping[str, LevelErrors]) -> dict[str, Floats]:
    """Errors by source over the spans known for all sources, oldest first; shape (spans,)."""
    spans = sorted(set.intersection(*(set(each) for each in errors.values())))
    return {source: np.array([each[begin_s] for begin_s in spans]) for source, each in errors.items()}


def in_steps(history: ArrivalSeries | None, step_s: int) -> ArrivalSeries | None:
    """The history resampled; None if it is too short for a step or its windows do not fill one."""
    try:
        return None if history is None else history.resampled(step_s)
    except HistoryError:
        return None


def _errors(begins_s: Sequence[int], actual: Floats, expected: Floats) -> LevelErrors:
    """actual, expected: shape (spans, steps). Spans with too few known steps or no expected load are left out."""
    known = np.isfinite(actual) & np.isfinite(expected)
    total, usual = (np.where(known, each, 0.0).sum(axis=1) for each in (actual, expected))
    tells = (known.mean(axis=1) >= KNOWN_SHARE) & (usual > 0)
    return {begins_s[row]: float(total[row] / usual[row]) for row in np.flatnonzero(tells).tolist()}
