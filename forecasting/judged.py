"""Scores of a source's completed forecasts, which decide how far the next one is trusted."""

from collections.abc import Sequence
from dataclasses import dataclass

from forecasting.arrivals.history import ArrivalSeries
from forecasting.drift import ForecastDrift, backtest_losses_per_s, drifts
from forecasting.forecast import Forecast
from forecasting.track_record import TrackRecord, in_order, track_record
from forecasting.track_scores import TrackScore, track_scores


@dataclass(frozen=True)
class JudgedForecasts:
    """newest: the newest forecast. history: known by now, None if there is none. record: of all forecasts, including
    the newest. scores, drifts: per horizon of the record.
    """

    newest: Forecast
    history: ArrivalSeries | None
    record: TrackRecord
    scores: tuple[TrackScore, ...]
    drifts: tuple[ForecastDrift, ...]


def judged_forecasts(
    forecasts: Sequence[Forecast], history: ArrivalSeries | None, lower_bounds: ArrivalSeries | None = None
) -> JudgedForecasts:
    """Judge the forecasts of one source; sample paths are not needed. lower_bounds: as for `track_record`.

    Raises ForecastError if there is no forecast or they are of different sources.
    """
    record = track_record(forecasts, history, lower_bounds)
    judged = drifts(record, backtest_losses_per_s(forecasts, record.horizons_s))
    return JudgedForecasts(in_order(forecasts)[-1], history, record, track_scores(record), judged)
