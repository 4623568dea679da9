"""The forecast job leaves a page for what it forecast, linked to its run, and bears that it cannot."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from integration.airflow.day_and_night import NAME, NOW, START, calls_per_minute, install
from report_page import ReportPage

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import write_history
from forescale.jobs.forecast import forecast
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of, tracker_of

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]


def test_forecast_job__writes_pages_and_is_not_failed_by_them(tmp_path: Path) -> None:
    settings = install(tmp_path).settings
    minutes = (NOW - START) // timedelta(minutes=1)
    counts = np.array([calls_per_minute(minute) for minute in range(minutes)], dtype=np.int64)
    rows = history_rows(NAME, "receive", counts, np.array([[0, 2**62]]), start=START, window_s=60)
    write_history(rows, settings.history_dir, NAME, START, NOW)

    made = forecast(Workspace(settings), NAME)
    page = ReportPage(made.reports["receive"].read_text(encoding="utf-8"))
    [entry] = ledger_of(settings).forecasts(NAME)
    assert ("href", tracker_of(settings).run_url(entry.run_id)) in page.attributes
    assert "Not known yet" in page.text
    # 30 a minute at noon: half a call a second.
    assert "receive: at most 0." in page.text
    every = (settings.reports_dir / "forecasts.html").read_text(encoding="utf-8")
    assert f'href="{NAME}/forecast-receive.html"' in every

    settings.reports_dir.rename(tmp_path / "away")
    settings.reports_dir.write_text("in the way")
    again = forecast(Workspace(settings), NAME)
    assert again.reports == {}
    assert again.forecasts == made.forecasts
