"""A small topology with real input: calls, many by day and few by night, over the days before and after now."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import write_history
from forescale.settings import Settings
from modeling.arrays import Ints
from planner.clock import TraceClock

NAME = "day-and-night"
START = datetime(2026, 3, 2, tzinfo=UTC)
NOW = START + timedelta(days=4)
END = START + timedelta(days=8)

TOPOLOGY = """
topology: day-and-night
operators:
  receive: { service_s: 0.01 }
  work: { service_s: 6.0 }
streams:
  - { from: receive, to: work }
arrivals:
  path: events.parquet
  columns: { time: at, source: feed }
  max_silence_s: 3600
  window_s: 60
forecast: { step_s: 900, horizon_s: 86400, train_days: 4, origins: 2, paths: 100 }
planning: { rescale_cost_instance_hours: 0.1, max_instances: 20 }
cluster: { kind: simulator, truth: truth, slots: 32, downtime_s: 20, parallelism: { receive: 1, work: 2 } }
"""

FEWER_STEPS = TOPOLOGY.replace("rescale_cost_instance_hours: 0.1", "rescale_cost_instance_hours: 3")
"""Three in a day and not five, for those who wait for each."""


@dataclass(frozen=True)
class Installation:
    settings: Settings
    clock: TraceClock


def calls_per_minute(minute: int) -> int:
    """6 a minute from 08:00 to 20:00, 30 a minute in the two hours from 12:00; 2 a minute by night."""
    hour = minute // 60 % 24
    return 30 if 12 <= hour < 14 else 6 if 8 <= hour < 20 else 2


def write_truth(folder: Path, topology: str) -> Ints:
    """What the simulator of a topology replays; calls by the minute."""
    minutes = int((END - START).total_seconds()) // 60
    counts = np.array([calls_per_minute(minute) for minute in range(minutes)], dtype=np.int64)
    edges = np.array([[int(moment.timestamp()) * 1_000_000 for moment in (START, END)]], dtype=np.int64)
    truth = history_rows(topology, "receive", counts, edges, start=START, window_s=60)
    write_history(truth, folder, topology, START, END)
    return counts


def write_past(settings: Settings, topology: str, now: datetime = NOW) -> None:
    """The arrival history up to now: four days, planned for by the usual week."""
    minutes = int((now - START).total_seconds()) // 60
    counts = np.array([calls_per_minute(minute) for minute in range(minutes)], dtype=np.int64)
    end = START + timedelta(minutes=minutes)
    edges = np.array([[int(moment.timestamp()) * 1_000_000 for moment in (START, end)]], dtype=np.int64)
    rows = history_rows(topology, "receive", counts, edges, start=START, window_s=60)
    write_history(rows, settings.history_dir, topology, START, end)


def add_topology(installation: Installation, topology: str) -> None:
    """Another topology of the same kind, with its past up to now, which is midnight: no step of it is due for hours."""
    settings, now = installation.settings, installation.clock.now()
    midnight = START + timedelta(days=-((START - now) // timedelta(days=1)))
    if midnight > now:
        installation.clock.advance_to(midnight)
    text = FEWER_STEPS.replace(f"topology: {NAME}", f"topology: {topology}")
    (settings.topologies / f"{topology}.yaml").write_text(text)
    write_truth(settings.home / "truth", topology)
    write_past(settings, topology, midnight)


def install(folder: Path, topology: str = TOPOLOGY) -> Installation:
    """Topology file, events (jobs look at those up to now only) and the truth; on a trace clock, with review."""
    (folder / "topologies").mkdir(parents=True)
    (folder / "topologies" / f"{NAME}.yaml").write_text(topology)
    home = folder / "home"
    home.mkdir()
    counts = write_truth(home / "truth", NAME)
    minutes = counts.size
    at_s = np.concatenate(
        [
            START.timestamp() + 60 * minute + np.arange(counts[minute]) * (60 / counts[minute])
            for minute in range(minutes)
        ]
    )
    events = pa.table(
        {
            "at": pa.array((at_s * 1e6).astype(np.int64)).cast(pa.timestamp("us", tz="UTC")),
            "feed": np.repeat("receive", at_s.size),
        }
    )
    pa.parquet.write_table(events, home / "events.parquet")
    settings = Settings(
        home=home,
        topologies=folder / "topologies",
        mlruns=folder / "mlruns",
        clock="trace",
        review=True,
        schedule="none",
        spark_master="local[1]",
    )
    clock = TraceClock(settings.clock_file)
    clock.start_at(NOW)
    return Installation(settings, clock)
