"""The role of a tracker: keep each batch of forecasts with what it came from, and link it to what was decided on it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from forecasting.tracking.batch import Batch, BatchContent, BatchHead


class Tracker(Protocol):
    """Every method raises TrackingError where the store cannot be reached or refuses."""

    def begin(self, head: BatchHead) -> Batch:
        """A run for the batch; and a model version, not yet the champion, where it trains."""
        ...

    def finish(self, batch: Batch, content: BatchContent) -> None:
        """Keep what came of the batch. What it trained becomes the champion."""
        ...

    def abandon(self, batch: Batch, reason: str) -> None:
        """Mark a batch as failed, and take back the model version that it was to make."""
        ...

    def demote(self, model_version: str, reasons: Mapping[str, str]) -> None:
        """Tag a version with what it was demoted at, and why; reasons: by source and horizon."""
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
