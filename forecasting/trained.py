"""The slow part of a forecast: forecasters backtested, chosen, fitted and calibrated, to be asked every few minutes."""

from dataclasses import dataclass, replace
from datetime import datetime

from forecasting.deployed import DeployedForecaster
from forecasting.forecast import BacktestScore
from forecasting.siblings import LentShape
from forecasting.terms import ForecastTerms


@dataclass(frozen=True)
class Trained:
    """deployed: what is asked. scores, notes: of the choice. model_version: where it is registered, empty until it is.

    trained_from, trained_to, history_digest, history_snapshot: exactly which history it saw, and the commit of the
    store that was read, empty where it came from no store. siblings: whose histories it saw besides.
    """

    topology: str
    source: str
    terms: ForecastTerms
    deployed: DeployedForecaster
    scores: tuple[BacktestScore, ...]
    notes: tuple[str, ...]
    trained_from: datetime
    trained_to: datetime
    history_digest: str
    history_snapshot: str = ""
    model_version: str = ""
    siblings: tuple[LentShape, ...] = ()

    def demoted(self, reasons: dict[int, str]) -> "Trained":
        """The same with the naive forecaster standing in at some horizons. reasons: why, by horizon in seconds."""
        told = tuple(f"{horizon_s} s: demoted, {reason}" for horizon_s, reason in sorted(reasons.items()))
        return replace(self, deployed=self.deployed.demoted(reasons), notes=(*self.notes, *told))
