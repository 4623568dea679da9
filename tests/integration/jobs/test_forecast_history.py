"""The forecast job records which commit of the history it read, and that gives the same series again."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from integration.airflow.day_and_night import NAME, NOW, START, calls_per_minute, install

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import read_history, write_history
from forecasting.forecast_file import read_forecast
from forecasting.pipeline import known_history
from forecasting.tracking.store_access import connected_client
from forescale.jobs.forecast import forecast
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of, tracker_of

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]


def write(directory: Path, extra: int) -> str:
    minutes = (NOW - START) // timedelta(minutes=1)
    counts = np.array([calls_per_minute(minute) + extra for minute in range(minutes)], dtype=np.int64)
    rows = history_rows(NAME, "receive", counts, np.array([[0, 2**62]]), start=START, window_s=60)
    return write_history(rows, directory, NAME, START, NOW)


def test_forecast_job__records_the_commit_that_it_read(tmp_path: Path) -> None:
    settings = install(tmp_path).settings
    snapshot = write(settings.history_dir, 0)
    forecast(Workspace(settings), NAME)
    write(settings.history_dir, 3)

    [entry] = ledger_of(settings).forecasts(NAME)
    kept = read_forecast(Path(entry.folder))
    run = connected_client(tracker_of(settings).tracking_uri).get_run(entry.run_id)
    assert entry.history_snapshot == kept.history_snapshot == snapshot
    assert run.data.params["history_snapshot"] == run.data.tags["history_snapshot"] == snapshot

    def seen(snapshot: str | None) -> str:
        series = read_history(settings.history_dir, NAME, snapshot=snapshot).source("receive")
        return known_history(series, entry.issued_at, kept.step_s).digest()

    assert seen(entry.history_snapshot) == entry.history_digest
    assert seen(None) != entry.history_digest
