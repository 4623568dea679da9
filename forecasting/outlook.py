"""One series among many: its load, its forecast, and a ranking by risk."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from forecasting.arrays import Floats
from forecasting.drift import ForecastDrift
from forecasting.errors import ForecastError
from forecasting.models.time_grid import DAY_S
from forecasting.scoring import COVERAGE_QUANTILE


@dataclass(frozen=True)
class SeriesOutlook:
    """A series with its forecast, or with the cause of its absence.

    latest_per_s: rates of the last day in the forecast's steps, oldest first, NaN where missing; empty if none is
    known. quantiles, peak_per_s: of the peak, per horizon in seconds, shape (quantiles,). forecaster: the deployed one
    per horizon. cause: why the series could not be forecast; empty if it could.
    Raises ForecastError without both forecast and cause, or if the p95 is not among the quantiles.
    """

    topology: str
    source: str
    issued_at: datetime | None = None
    latest_per_s: Floats = field(default_factory=lambda: np.empty(0))
    quantiles: tuple[float, ...] = ()
    peak_per_s: Mapping[int, Floats] = field(default_factory=dict)
    forecaster: Mapping[int, str] = field(default_factory=dict)
    drifts: tuple[ForecastDrift, ...] = ()
    cause: str = ""

    def __post_init__(self) -> None:
        where = f"series {self.source!r} of topology {self.topology!r}"
        if not self.peak_per_s and not self.cause:
            raise ForecastError(f"{where}: neither a forecast nor a cause why there is none; give one of them")
        if self.peak_per_s and COVERAGE_QUANTILE not in self.quantiles:
            raise ForecastError(f"{where}: no quantile {COVERAGE_QUANTILE} among {self.quantiles}; forecast it")
        for horizon_s, peak in self.peak_per_s.items():
            if peak.shape != (len(self.quantiles),):
                raise ForecastError(
                    f"{where}: {peak.shape} peaks within {horizon_s} s for {len(self.quantiles)} quantiles; give each"
                )

    @property
    def now_per_s(self) -> float:
        """The newest known rate, NaN without one."""
        known = self.latest_per_s[np.isfinite(self.latest_per_s)]
        return float(known[-1]) if known.size else float("nan")

    @property
    def largest_per_s(self) -> float:
        """The largest rate of the last day, NaN if none is known."""
        known = self.latest_per_s[np.isfinite(self.latest_per_s)]
        return float(known.max()) if known.size else float("nan")

    def p95_per_s(self, horizon_s: int) -> float:
        """The p95 of the peak within a horizon, NaN if it was not forecast."""
        if horizon_s not in self.peak_per_s:
            return float("nan")
        return float(self.peak_per_s[horizon_s][self.quantiles.index(COVERAGE_QUANTILE)])

    @property
    def coming_per_s(self) -> float:
        """The p95 of the coming day's peak, or of the longest forecast horizon within a day."""
        within = [horizon_s for horizon_s in self.peak_per_s if horizon_s <= DAY_S]
        return self.p95_per_s(max(within)) if within else float("nan")

    @property
    def growth(self) -> float:
        """Relative excess of the p95 of the coming day's peak over the last day's largest rate: 0.5 means 50 % more.

        Infinite if nothing arrived; NaN if either is unknown.
        """
        coming, largest = self.coming_per_s, self.largest_per_s
        if not (np.isfinite(coming) and np.isfinite(largest)):
            return float("nan")
        if largest == 0:
            return float("inf") if coming > 0 else 0.0
        return coming / largest - 1

    @property
    def alarms(self) -> tuple[ForecastDrift, ...]:
        return tuple(drift for drift in self.drifts if drift.alarmed)

    @property
    def judged(self) -> ForecastDrift | None:
        """The longest horizon with completed windows."""
        known = [drift for drift in self.drifts if drift.completed]
        return max(known, key=lambda drift: drift.horizon_s) if known else None


def by_risk(rows: Iterable[SeriesOutlook]) -> list[SeriesOutlook]:
    """Series without forecast first, then those with an alarm, then by growth; ties by name."""

    def rank(row: SeriesOutlook) -> tuple[int, float, str, str]:
        urgency = 0 if row.cause else 1 if row.alarms else 2
        growth = row.growth
        return urgency, -growth if np.isfinite(growth) or growth > 0 else np.inf, row.topology, row.source

    return sorted(rows, key=rank)
