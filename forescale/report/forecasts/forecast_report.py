"""The newest forecast of a source and the record of those before it: what its page shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from forecasting.arrivals.history import ArrivalSeries
from forecasting.drift import Drift, backtest_losses_per_s, drifts
from forecasting.forecast import Forecast
from forecasting.scoring import COVERAGE_QUANTILE
from forecasting.track_record import TrackRecord, in_order, track_record
from forecasting.track_scores import TrackScore, track_scores
from forescale.report.decision.decision import ReportError


@dataclass(frozen=True)
class ForecastReport:
    """forecast: the newest, with its paths. history: what is known by now, None where nothing is.

    record: of all forecasts, the newest included; scores, drifts: per horizon of the record. link: to the MLflow run.
    failure: why the source could not be forecast since, empty where it could.
    """

    forecast: Forecast
    history: ArrivalSeries | None
    record: TrackRecord
    scores: tuple[TrackScore, ...]
    drifts: tuple[Drift, ...]
    link: str = ""
    failure: str = ""


def forecast_report(forecasts: Sequence[Forecast], history: ArrivalSeries | None, *, link: str = "") -> ForecastReport:
    """The report of one source's forecasts; only the newest needs its sample paths.

    Raises ForecastError where there is none, ReportError where the newest lacks the quantiles that the page shows.
    """
    record = track_record(forecasts, history)
    newest = in_order(forecasts)[-1]
    if lacking := [quantile for quantile in (0.5, COVERAGE_QUANTILE) if quantile not in newest.quantiles]:
        raise ReportError(
            f"forecast of source {newest.source!r} issued at {newest.issued_at} has no quantile {lacking[0]}, only "
            f"{newest.quantiles}; forecast it"
        )
    judged = drifts(record, backtest_losses_per_s(forecasts, record.horizons_s))
    return ForecastReport(newest, history, record, track_scores(record), judged, link)
