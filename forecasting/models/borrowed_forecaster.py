"""Borrows the shape of sibling sources at the level of a young source whose own history is only hours long.

A young source divided by its level resembles its sibling. So the young counts are scaled to the sibling's size, the
sibling's forecaster (usual week, correction by the current error, error trajectories) continues them, and the result is
scaled back. Both are hourly means; variation within the hour is the young source's own. The level is uncertain, so
paths are drawn for three levels; the correction by the newest counts cancels their difference for the next minutes, not
for the next day.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.errors import ForecastError, HistoryError
from forecasting.forecaster import FittedForecaster
from forecasting.local_time import on_wall
from forecasting.models.enough_history import refuse_unless, why_constant, why_too_little
from forecasting.models.local_time_forecaster import LocalTimeFitted
from forecasting.models.open_hours import OpenHours, learn_open_hours
from forecasting.models.residual_correction import CorrectedForecaster
from forecasting.models.shared_level import hourly_means, own_noise, shared_level
from forecasting.models.time_grid import DAY_S, WEEK_S
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster

BORROWED = "borrowed"
MIN_DAYS = 0.125
"""Three hours: minimum history to estimate a level."""
MIN_SIBLING_DAYS = 7
"""A week, to include a weekend."""
LEVELS = ((-(3**0.5), 1 / 6), (0.0, 2 / 3), (3**0.5, 1 / 6))
"""Levels to draw paths for, in standard errors of the log level, and their shares: three-point Gauss-Hermite
quadrature.
"""


@dataclass(frozen=True)
class SiblingShape:
    """hourly: forecaster of the sibling's hourly means. hours: when the sibling is open."""

    hourly: CorrectedForecaster
    hours: OpenHours


@dataclass(frozen=True)
class BorrowedShape:
    """The shapes of the siblings, each with an equal share of the paths (FittedForecaster).

    If recent counts no longer determine a level, the mean of the last hour continues.
    """

    window_s: int
    siblings: tuple[SiblingShape, ...]

    def paths_per_s(self, recent: ArrivalSeries, steps: int, paths: int, rng: np.random.Generator) -> Floats:
        if recent.window_s != self.window_s:
            raise ForecastError(
                f"recent history has windows of {recent.window_s} s, the forecaster learnt from {self.window_s} s; "
                "resample it first"
            )
        hourly = hourly_means(recent)
        levels = [(sibling, shared_level(recent, hourly, sibling.hourly)) for sibling in self.siblings]
        known = [(sibling, level) for sibling, level in levels if level is not None]
        if not known:
            return own_noise(recent, hourly, steps, paths, rng) * _last_mean_per_s(hourly)
        parts = [(sibling, level, errors, share) for sibling, level in known for errors, share in LEVELS]
        ends = np.round(np.cumsum([share for *_, share in parts]) / len(known) * paths).astype(np.int64).tolist()
        drawn = []
        for (sibling, level, errors, _), begin, end in zip(parts, [0, *ends[:-1]], ends, strict=True):
            scale = level.ratio * float(np.exp(errors * level.log_error))
            alike = replace(hourly, counts=hourly.counts / scale)
            widened = replace(sibling.hourly, usual_size=sibling.hourly.usual_size * level.misfit)
            if end > begin:
                means = widened.paths_per_s(alike, steps, end - begin, rng)
                drawn.append(np.where(sibling.hours.open_mask(recent.end, steps), scale * means, 0.0))
        # Every part of the paths must contain all levels.
        mixed = np.concatenate(drawn)[rng.permutation(paths)]
        return mixed * own_noise(recent, hourly, steps, paths, rng)

    def refreshed(self, series: ArrivalSeries) -> "BorrowedShape":
        return self


class BorrowedForecaster:
    """siblings: histories of other sources; only data before the end of the given series is used."""

    name = BORROWED
    naive = False
    refit_after_s = WEEK_S

    def __init__(self, siblings: Sequence[ArrivalSeries]) -> None:
        self.siblings = tuple(siblings)

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        if reason := why_too_little(series, MIN_DAYS):
            return reason
        # A quiet night may well be constant; a whole constant day means there is no shape.
        if series.span_s >= DAY_S and (reason := why_constant(series)):
            return reason
        shapes = self._shapes(series)
        if not shapes:
            return f"no sibling had {MIN_SIBLING_DAYS} days of history by {series.end:%Y-%m-%d %H:%M} UTC; name others"
        wall = on_wall(series)
        hourly = hourly_means(wall)
        if all(shared_level(wall, hourly, shape.hourly) is None for shape in shapes):
            return "its few hours give no level for a borrowed shape: its siblings keep other hours; name others"
        return None

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.unsuitable_because(series))
        shape = BorrowedShape(series.window_s, self._shapes(series))
        return shape if series.timezone == UTC_NAME else LocalTimeFitted(shape, series.timezone)

    def _shapes(self, series: ArrivalSeries) -> tuple[SiblingShape, ...]:
        known = []
        for sibling in self.siblings:
            try:
                before = sibling.between(sibling.start, series.end).resampled(series.window_s)
            except HistoryError:
                # The sibling begins later, or its windows do not fill one of the series.
                continue
            if why_too_little(before, MIN_SIBLING_DAYS) is None and why_constant(before) is None:
                known.append(_shape(before))
        return tuple(known)


def _last_mean_per_s(hourly: ArrivalSeries) -> float:
    known = hourly.counts[np.isfinite(hourly.counts)]
    if not known.size:
        raise ForecastError(f"source {hourly.source!r}: no window of the recent history is observed")
    return float(known[-1]) / hourly.window_s


@lru_cache(maxsize=16)
def _shape(sibling: ArrivalSeries) -> SiblingShape:
    """Computed once for all young sources that borrow it, and for the check before the fit."""
    wall = on_wall(sibling)
    fitted = TimeOfWeekForecaster().fit(hourly_means(wall))
    if not isinstance(fitted, CorrectedForecaster):
        raise TypeError(type(fitted).__name__)
    return SiblingShape(fitted, learn_open_hours(wall))
