"""The planning job: how arrivals vary is read off the history, or as the topology file says."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forecasting.forecast import Forecast
from forecasting.forecast_file import write_forecast
from forescale.jobs.plan import plan
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of
from modeling.queueing.bursts import Bursts
from planner.clock import TraceClock
from planner.ledger.entries import ForecastEntry, ScheduleEntry
from tests.unit.modeling.bursty import window_counts

pytestmark = pytest.mark.mlflow

TOPOLOGY = """
topology: pair
operators:
  read: {service_s: 0.0001}
  count: {service_s: 0.01}
streams:
  - {from: read, to: count}
arrivals: {kind: events, path: events, columns: {time: at}, source: read}
cluster: {kind: simulator, truth: history, parallelism: {read: 1, count: 1}}
planning: {max_latency_s: 0.03%s}
%s"""
NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)


def planned(folder: Path, more: str = "", sections: str = "") -> ScheduleEntry:
    folder.mkdir()
    (folder / "pair.yaml").write_text(TOPOLOGY % (more, sections))
    settings = Settings(home=folder / "home", topologies=folder, mlruns=folder / "mlruns", clock="trace")
    counts = window_counts(np.random.default_rng(1), Bursts(0.5, 2.0, 1.0), 100.0, 60.0, 2880).astype(np.int64)
    source = SourceArrivals(counts, np.array([[0, 2**62]]))
    history = Arrivals(NOW - timedelta(days=2), NOW, 60, Measures.OFFERED, {"read": source})
    write_history(history, settings.history_dir, "pair", history.start, history.end)
    TraceClock(settings.clock_file).start_at(NOW)
    peak = np.full(4, 100.0)
    made = Forecast(
        issued_at=NOW,
        topology="pair",
        source="read",
        start=NOW,
        step_s=300,
        quantiles=(0.5, 0.9, 0.95, 0.99),
        rate_per_s=np.tile(peak, (12, 1)),
        peak_per_s={3600: peak},
        paths_per_s=np.full((10, 12), 100.0),
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
    return ledger_of(settings).schedules("pair", limit=1)[0]


def test_a_schedule__is_for_the_bursts_of_the_history_unless_told_otherwise(tmp_path: Path) -> None:
    read, declared = planned(tmp_path / "read"), planned(tmp_path / "declared", ", arrival_cv2: 1")
    assert [(each.source, each.factor) for each in read.schedule.basis.arrivals] == [("read", pytest.approx(2.0))]
    assert declared.schedule.basis.arrivals == ()
    assert declared.schedule.steps[0].plan.parallelism["count"] < read.schedule.steps[0].plan.parallelism["count"]


def test_a_schedule__tells_the_price_of_the_containers_that_its_plans_open(tmp_path: Path) -> None:
    """Two slots a task manager; read and count share them, and have as many: 1 and 2 of each need one, 3 and 4 two."""
    (tmp_path / "site.yaml").write_text("containers: {price_per_hour: 0.25}")
    packing = f"packing: {{packer: flink_slots, slots: 2, site: {tmp_path / 'site.yaml'}}}"
    made = planned(tmp_path / "priced", ", max_p95_latency_s: 0.1, arrival_cv2: 1", packing).schedule
    step = made.steps[0]
    task_managers = -(-step.plan.parallelism["count"] // 2)
    assert step.price_per_hour == pytest.approx(0.25 * task_managers)
    assert step.more_per_hour == pytest.approx(0.25 * (task_managers - 1))
    assert step.disruption is not None
    assert step.plan.parallelism["read"] == step.plan.parallelism["count"]
    assert step.disruption.started == 2 * (step.plan.parallelism["count"] - 1)
    assert step.disruption.containers == task_managers
    assert made.price is not None
    assert made.basis.prices is not None
    assert (made.basis.prices.site, made.basis.prices.packer) == (str(tmp_path / "site.yaml"), "flink_slots")
    assert len(made.basis.site_digest) == 12
