"""The newest forecast of a source and the record of those before it: what its page shows."""

from dataclasses import dataclass

from forecasting.arrivals.history import ArrivalSeries
from forecasting.drift import Drift
from forecasting.forecast import Forecast
from forecasting.judged import JudgedForecasts
from forecasting.scoring import COVERAGE_QUANTILE
from forecasting.track_record import TrackRecord
from forecasting.track_scores import TrackScore
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


def forecast_report(judged: JudgedForecasts, *, link: str = "", failure: str = "") -> ForecastReport:
    """Raises ReportError where the newest forecast lacks the quantiles that the page shows."""
    newest = judged.newest
    if lacking := [quantile for quantile in (0.5, COVERAGE_QUANTILE) if quantile not in newest.quantiles]:
        raise ReportError(
            f"forecast of source {newest.source!r} issued at {newest.issued_at} has no quantile {lacking[0]}, only "
            f"{newest.quantiles}; forecast it"
        )
    return ForecastReport(newest, judged.history, judged.record, judged.scores, judged.drifts, link, failure)
