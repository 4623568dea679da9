"""The replay of a topology's own history, forecasts included; the second time it makes none of them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.jobs.replay import replay
from forescale.jobs.replay_request import ReplayRequest
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.replay.timeline import read_timeline

TOPOLOGY = """
topology: pair
operators:
  read: {service_s: 0.0001}
  count: {service_s: 0.1}
streams:
  - {from: read, to: count}
forecast: {step_s: 3600, horizon_s: 21600, origins: 4, paths: 100, refit_s: 21600}
planning: {max_instances: 40, downtime_s: 30, max_lag_s: 120}
"""
END = datetime(2026, 3, 6, tzinfo=UTC)
DAYS = 4


@pytest.mark.slow
def test_policies__are_replayed_on_the_last_days_and_forecasts_kept(tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text(TOPOLOGY)
    settings = Settings(home=tmp_path / "home", topologies=tmp_path, mlruns=tmp_path / "mlruns")
    minutes = np.arange(DAYS * 1440)
    mean = 60 * (40 - 30 * np.cos(2 * np.pi * minutes / 1440))
    counts = np.random.default_rng(1).poisson(mean).astype(np.int64)
    source = SourceArrivals(counts, np.array([[0, 2**62]]))
    history = Arrivals(END - timedelta(days=DAYS), END, 60, Measures.OFFERED, {"read": source})
    write_history(history, settings.history_dir, "pair", history.start, history.end)

    policies = ("static-peak", "forecast-only", "daedalus", "planner")
    request = ReplayRequest("pair", tmp_path / "t.parquet", policies=policies, days=0.5, workers=1)
    told: list[str] = []
    first = replay(Workspace(settings), request, progress=told.append)
    assert (first.start, first.end) == (END - timedelta(hours=12), END)
    # Of the hour before the start, and of the twelve that are replayed.
    assert "forecasts 13 of 13" in told
    by_name = {score.policy: score for score in first.scores}
    assert set(by_name) == set(policies)
    assert by_name["static-peak"].violation_minutes == 0
    assert all(by_name[name].instance_hours < by_name["static-peak"].instance_hours for name in policies[1:])
    assert by_name["planner"].rescales_per_day > 0

    told.clear()
    again = replay(Workspace(settings), request, progress=told.append)
    assert "forecasts 0 of 0" in told
    assert again.scores == first.scores
    assert read_timeline(tmp_path / "t.parquet").policies == policies
