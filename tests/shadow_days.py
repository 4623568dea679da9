"""A pair of operators whose load is high by day and low by night, planned for twice a day on a trace clock."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from certain_forecast import record_certain_forecast

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.jobs.plan import plan
from forescale.jobs.proposed_schedule import ProposedSchedule
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.clock import TraceClock

NAME = "pair"
MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
FIRST = MONDAY + timedelta(hours=6)
"""The first plan is made then."""
BEFORE, DAYS = timedelta(days=2), 5
LOW, HIGH = 10.0, 60.0
EVERY = timedelta(hours=12)

TOPOLOGY = """
topology: pair
operators:
  read: {service_s: 0.0001}
  count: {service_s: 0.1}
streams:
  - {from: read, to: count}
arrivals: {kind: events, path: events, columns: {time: at}, source: read, lateness_s: 0}
planning: {mode: MODE, downtime_s: 30, lead_s: 0, max_lag_s: 120, rescale_cost_instance_hours: 1.0}
cluster: {kind: simulator, truth: history, slots: 32, downtime_s: 30, parallelism: {read: 1, count: 8}}
"""
"""Each instance of count carries 10 tuples a second, .85 of it within the headroom."""


def rate_per_s(at: datetime) -> float:
    return HIGH if 8 <= at.hour < 20 else LOW


def install(folder: Path, mode: str) -> Settings:
    folder.mkdir(parents=True, exist_ok=True)
    set_mode(folder, mode)
    settings = Settings(home=folder / "home", topologies=folder, mlruns=folder / "mlruns", clock="trace")
    write_arrivals(settings, MONDAY - BEFORE, MONDAY + timedelta(days=DAYS))
    TraceClock(settings.clock_file).start_at(FIRST)
    return settings


def installed_for_commands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """One that acts, in which commands of this process run."""
    settings = install(folder, "act")
    for name, value in (("HOME", settings.home), ("TOPOLOGIES", folder), ("MLRUNS", settings.mlruns)):
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    monkeypatch.setenv("FORESCALE_CLOCK", "trace")
    return settings


def set_mode(folder: Path, mode: str) -> None:
    (folder / f"{NAME}.yaml").write_text(TOPOLOGY.replace("MODE", mode))


def write_arrivals(
    settings: Settings,
    start: datetime,
    end: datetime,
    *,
    alive: tuple[tuple[datetime, datetime], ...] = (),
    measures: Measures = Measures.OFFERED,
) -> None:
    """alive: when the feed was; always, if nothing is told. Throughput is held back throughout."""
    minutes = int((end - start).total_seconds()) // 60
    counts = np.array([60 * rate_per_s(start + timedelta(minutes=m)) for m in range(minutes)], dtype=np.int64)
    spans = alive or ((start, end),)
    edges = np.array([[int(at.timestamp()) * 1_000_000 for at in span] for span in spans], dtype=np.int64)
    held_back = edges if measures is Measures.THROUGHPUT else edges[:0]
    arrivals = Arrivals(start, end, 60, measures, {"read": SourceArrivals(counts, edges, held_back)})
    write_history(arrivals, settings.history_dir, NAME, start, end)


def forecast_now(settings: Settings) -> None:
    """Of the next day, and what will come."""
    now = TraceClock(settings.clock_file).now()
    steps = [now + timedelta(minutes=15 * number) for number in range(96)]
    mean = np.array([rate_per_s(at) for at in steps])
    record_certain_forecast(
        settings, NAME, mean, step_s=900, horizon_s=3600, issued_at=now, trained_from=MONDAY - BEFORE
    )


def plan_now(settings: Settings) -> ProposedSchedule:
    forecast_now(settings)
    return plan(Workspace(settings), NAME)


def plan_until(settings: Settings, end: datetime, between: Callable[[datetime, ProposedSchedule], None]) -> None:
    """Plan twice a day; between(until, schedule) is what happens until the next time, to which the clock goes."""
    clock = TraceClock(settings.clock_file)
    while clock.now() < end:
        until = clock.now() + EVERY
        between(until, plan_now(settings))
        clock.advance_to(until)
