"""A plan for a guard that only advises says what a guard that acts would save."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forecasting.forecast import QUANTILES, Forecast
from forecasting.forecast_file import write_forecast
from forescale.jobs.plan import plan
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of
from planner.clock import TraceClock
from planner.ledger.entries import ForecastEntry
from planner.scaling_schedule import Alternative, AlternativeKind

pytestmark = pytest.mark.mlflow

TOPOLOGY = """
topology: pair
operators:
  read: {service_s: 0.0001}
  count: {service_s: 0.01}
streams:
  - {from: read, to: count}
arrivals: {kind: events, path: events, columns: {time: at}, source: read}
cluster: {kind: simulator, truth: history, parallelism: {read: 1, count: 4}}
planning: {quantile: 0.99, arrival_cv2: 1, allow: 0.01, mode: MODE, warm_up_s: 0, guard: {mode: GUARD}}
"""
NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
STEPS, PATHS = 48, 100
USUAL_PER_S, SPIKE_PER_S = 100.0, 360.0


def compared(folder: Path, guard: str = "advise", mode: str = "act") -> tuple[float, list[Alternative]]:
    """Instance-hours of the schedule, and its comparisons with a guard that acts."""
    folder.mkdir(exist_ok=True)
    (folder / "pair.yaml").write_text(TOPOLOGY.replace("GUARD", guard).replace("MODE", mode))
    settings = Settings(home=folder / "home", topologies=folder, mlruns=folder / "mlruns", clock="trace")
    alive = SourceArrivals(np.full(2880, 6000), np.array([[0, 2**62]]))
    history = Arrivals(NOW - timedelta(days=2), NOW, 60, Measures.OFFERED, {"read": alive})
    write_history(history, settings.history_dir, "pair", history.start, history.end)
    TraceClock(settings.clock_file).start_at(NOW)
    # Each step is a spike on two paths of a hundred: above p95, within p99, the quantile that is planned for.
    paths = np.full((PATHS, STEPS), USUAL_PER_S)
    for step in range(STEPS):
        paths[[2 * step % PATHS, (2 * step + 1) % PATHS], step] = SPIKE_PER_S
    made = Forecast(
        issued_at=NOW,
        topology="pair",
        source="read",
        start=NOW,
        step_s=300,
        quantiles=QUANTILES,
        rate_per_s=np.quantile(paths, QUANTILES, axis=0).T,
        peak_per_s={3600: np.quantile(paths[:, :12].max(axis=1), QUANTILES)},
        paths_per_s=paths,
        forecaster={3600: "persistence"},
        trained_from=NOW - timedelta(days=2),
        trained_to=NOW,
        history_digest="",
        seed=7,
    )
    write_forecast(made, folder / "forecast")
    entry = ForecastEntry("one", "pair", "read", NOW, made.end, "run", "", str(folder / "forecast"), "", "")
    ledger_of(settings).record_forecast(entry)
    plan(Workspace(settings), "pair")
    schedule = ledger_of(settings).schedules("pair", limit=1)[0].schedule
    kind = AlternativeKind.ACTING_GUARD
    return schedule.cost_instance_hours, [each for each in schedule.alternatives if each.kind is kind]


def test_a_guard_that_advises__costs_the_spikes_that_one_that_acts_would_wait_for(tmp_path: Path) -> None:
    hours, (acting,) = compared(tmp_path / "advise")
    # p99 of a step is 360/s: 4 instances of count (3.6 busy) and one of read for four hours. The usual 100/s need 2.
    assert hours == pytest.approx(5 * 4, rel=0.05)
    assert acting.cost_instance_hours < 0.85 * hours
    alone, none = compared(tmp_path / "act", guard="act")
    assert none == []
    assert acting.cost_instance_hours == pytest.approx(alone, rel=0.02)


@pytest.mark.parametrize("changed", [{"guard": '"off"'}, {"mode": "shadow"}], ids=["off", "shadow"])
def test_where_no_guard_would_act__nothing_is_compared_with_it(tmp_path: Path, changed: dict[str, str]) -> None:
    assert compared(tmp_path / "pair", **changed)[1] == []
