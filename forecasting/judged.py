"""How good a source's forecasts were, as far as their horizons are over: by this the next one is trusted."""

from collections.abc import Sequence
from dataclasses import dataclass

from forecasting.arrivals.history import ArrivalSeries
from forecasting.drift import Drift, backtest_losses_per_s, drifts
from forecasting.forecast import Forecast
from forecasting.track_record import TrackRecord, in_order, track_record
from forecasting.track_scores import TrackScore, track_scores


@dataclass(frozen=True)
class JudgedForecasts:
    """newest: the newest forecast. history: what is known by now, None where nothing is. record: of all forecasts, the
    newest included; scores, drifts: per horizon of the record.
    """

    newest: Forecast
    history: ArrivalSeries | None
    record: TrackRecord
    scores: tuple[TrackScore, ...]
    drifts: tuple[Drift, ...]


def judged_forecasts(forecasts: Sequence[Forecast], history: ArrivalSeries | None) -> JudgedForecasts:
    """Of one source; sample paths are not needed.

    Raises ForecastError where there is no forecast, or they are of different sources.
    """
    record = track_record(forecasts, history)
    judged = drifts(record, backtest_losses_per_s(forecasts, record.horizons_s))
    return JudgedForecasts(in_order(forecasts)[-1], history, record, track_scores(record), judged)
