"""The newest forecast of a source and the record of earlier ones, as its page shows them."""

from dataclasses import dataclass

from forecasting.judged import JudgedForecasts
from forecasting.scoring import COVERAGE_QUANTILE
from forescale.report.kit.error import ReportError


@dataclass(frozen=True)
class ForecastReport(JudgedForecasts):
    """newest: with its paths. link: to its MLflow run. failure: why the source could not be forecast since, empty if it
    could. Raises ReportError if the newest forecast lacks quantiles that the page shows.
    """

    link: str = ""
    failure: str = ""

    def __post_init__(self) -> None:
        newest = self.newest
        if lacking := [quantile for quantile in (0.5, COVERAGE_QUANTILE) if quantile not in newest.quantiles]:
            raise ReportError(
                f"forecast of source {newest.source!r} issued at {newest.issued_at} has no quantile {lacking[0]}, only "
                f"{newest.quantiles}; forecast it"
            )
