"""A topology on the simulator whose guard may act: 30 tuples a second come, of which its two instances manage 20."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.local.demo.guard_watch import Watch, watch_guard
from forescale.settings import Settings
from planner.clock import TraceClock

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
PAIR = """
topology: pair
operators:
  read: {service_s: 0.0001}
  work: {service_s: 0.1}
streams:
  - {from: read, to: work}
planning: {mode: MODE, downtime_s: 30, hold_s: 10, guard: {mode: GUARD}}
cluster: {kind: simulator, truth: history, slots: 32, downtime_s: 30, parallelism: {read: 1, work: 2}}
"""


def write_pair(folder: Path, guard: str = "act", mode: str = "act") -> None:
    (folder / "pair.yaml").write_text(PAIR.replace("GUARD", guard).replace("MODE", mode))


def begin_pair(settings: Settings) -> None:
    """Its file, two hours of what comes, and its trace clock."""
    settings.topologies.mkdir(parents=True, exist_ok=True)
    write_pair(settings.topologies)
    source = SourceArrivals(np.full(120, 1800, dtype=np.int64), np.array([[0, 2**62]]))
    arrivals = Arrivals(MONDAY, MONDAY + timedelta(hours=2), 60, Measures.OFFERED, {"read": source})
    write_history(arrivals, settings.history_dir, "pair", arrivals.start, arrivals.end)
    TraceClock(settings.clock_file).start_at(MONDAY)


def begun_pair(folder: Path) -> Settings:
    made = Settings(home=folder / "home", topologies=folder / "topologies", clock="trace")
    begin_pair(made)
    return made


def watched_pair(settings: Settings, judged_within_s: float = 900.0) -> Watch:
    """A turn a minute."""
    return watch_guard(settings, "pair", acts_within_s=600.0, judged_within_s=judged_within_s, pause_s=60.0)
