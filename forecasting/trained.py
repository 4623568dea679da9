"""The result of the slow part: forecasters backtested, selected, fitted and calibrated, for use every few minutes."""

from dataclasses import dataclass, replace
from datetime import datetime

from forecasting.deployed import DeployedForecaster
from forecasting.forecast import BacktestScore
from forecasting.siblings import LentShape
from forecasting.terms import ForecastTerms


@dataclass(frozen=True)
class Trained:
    """deployed: the model. scores, notes: of the selection. model_version: in the registry, empty until registered.

    trained_from, trained_to, history_digest: identify the history used. history_snapshot: the store's commit, empty if
    none. siblings: whose histories were used as well.
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
    sibling_notes: tuple[str, ...] = ()

    def demoted(self, reasons: dict[int, str]) -> "Trained":
        """The same with the naive forecaster taking over at some horizons. reasons: by horizon in seconds."""
        demotions = tuple(f"{horizon_s} s: demoted, {reason}" for horizon_s, reason in sorted(reasons.items()))
        return replace(self, deployed=self.deployed.demoted(reasons), notes=(*self.notes, *demotions))
