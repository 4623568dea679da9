"""Three topologies of two operators with their histories and certain forecasts, to plan as a fleet."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from certain_forecast import record_certain_forecast

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.settings import Settings
from planner.clock import TraceClock

NOW = datetime(2026, 3, 2, 6, tzinfo=UTC)
TOPOLOGY = """
topology: NAME
operators:
  read: {service_s: 0.0001}
  count: {service_s: 0.1}
streams:
  - {from: read, to: count}
arrivals: {kind: events, path: events, columns: {time: at}, source: read, lateness_s: 0}
planning: {downtime_s: 30, lead_s: 300, max_lag_s: 120, rescale_cost_instance_hours: 0.5, arrival_cv2: 1}
cluster: {kind: simulator, truth: history, slots: 32, downtime_s: 30, parallelism: {read: 1, count: 3}}
"""
"""Each instance of count carries 10 tuples a second. 1 + 3 run."""
RATES = {"clicks": 55.0, "mails": 25.0, "orders": 105.0}
"""From the third hour on for two hours; 18 a second before and after."""


def install(folder: Path, mlruns: Path) -> Settings:
    settings = Settings(home=folder / "home", topologies=folder / "files", mlruns=mlruns, clock="trace")
    settings.topologies.mkdir(parents=True)
    TraceClock(settings.clock_file).start_at(NOW)
    for name, rate in RATES.items():
        (settings.topologies / f"{name}.yaml").write_text(TOPOLOGY.replace("NAME", name))
        start = NOW - timedelta(days=1)
        source = SourceArrivals(np.full(1440, 1200, dtype=np.int64), np.array([[0, 2**62]]))
        arrivals = Arrivals(start, NOW, 60, Measures.OFFERED, {"read": source})
        write_history(arrivals, settings.history_dir, name, start, NOW)
        mean = np.repeat([18.0, rate, 18.0], 12)
        record_certain_forecast(settings, name, mean, step_s=600, horizon_s=21600, issued_at=NOW, trained_from=start)
    return settings


def environment(settings: Settings) -> dict[str, str]:
    """Of a command of this installation."""
    values = {"HOME": settings.home, "TOPOLOGIES": settings.topologies, "MLRUNS": settings.mlruns, "CLOCK": "trace"}
    return {f"FORESCALE_{name}": str(value) for name, value in values.items()}


def fleet_file(settings: Settings, text: str) -> Path:
    path = settings.topologies.parent / "fleet.yaml"
    path.write_text(text)
    return path
