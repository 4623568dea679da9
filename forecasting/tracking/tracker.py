"""The role of a tracker: keep each forecast with what it came from, and link it to what was decided on it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from forecasting.forecast import Forecast
from forecasting.pipeline import MadeForecast


class Tracker(Protocol):
    """Every method raises TrackingError where the store cannot be reached or refuses."""

    def record_forecast(self, made: MadeForecast) -> Forecast:
        """Keep the forecast, its history's digest, its backtest and its model; the same forecast with run_id and
        model_version set."""
        ...

    def link_decision(self, run_id: str, tags: Mapping[str, str]) -> None:
        """Tag the run of a forecast with what was decided on it: schedule, plan, outcome."""
        ...

    def log_report(self, run_id: str, path: Path) -> None:
        """Keep a report beside the forecast."""
        ...

    def run_url(self, run_id: str) -> str:
        """Where people look at the run."""
        ...
