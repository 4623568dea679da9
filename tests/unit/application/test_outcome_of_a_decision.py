"""What a report knows of what came after a decision, where the cluster keeps no record of its lag."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from ledger_decisions import NOON, after, schedule_of

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.jobs.report import _outcome, _record_violations
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of, topology_config
from planner.clock import TraceClock
from planner.ledger.entries import Outcome

ON_FLINK = """
topology: calls
operators: {ingest: {service_s: 0.001}, transcribe: {service_s: 0.1}}
streams: [{from: ingest, to: transcribe}]
cluster: {kind: flink, url: "http://127.0.0.1:9", job: calls}
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in (("HOME", tmp_path / "home"), ("TOPOLOGIES", tmp_path), ("CLOCK", "trace")):
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    (tmp_path / "calls.yaml").write_text(ON_FLINK)
    made = Settings()
    source = SourceArrivals(np.full(180, 90, dtype=np.int64), np.array([[0, 2**62]]))
    arrivals = Arrivals(NOON - timedelta(hours=1), NOON + timedelta(hours=2), 60, Measures.OFFERED, {"ingest": source})
    write_history(arrivals, made.history_dir, "calls", arrivals.start, arrivals.end)
    TraceClock(made.clock_file).start_at(after(90))
    return made


def test_outcome__of_another_cluster_than_the_simulator_is_known_once_a_step_was_deployed(settings: Settings) -> None:
    config, ledger = topology_config("calls", settings), ledger_of(settings)
    made = ledger.schedule(ledger.record_schedule(schedule_of(3)))
    assert _outcome(Workspace(settings), config, made) is None
    known = Outcome(f"{made.id}-1", after(61), 24.0, {"downtime_s": 30.0}, {"downtime_s": 24.0, "catch_up_s": 40.0})
    ledger.record_outcome(known)
    outcome = _outcome(Workspace(settings), config, made)
    assert outcome is not None
    assert outcome.steps == {0: known}
    # 90 minutes have gone by since noon.
    assert outcome.arrivals.series["ingest"].counts.size == 90
    assert (outcome.lag.largest_s, outcome.lag.unmeasured_minutes) == (None, 90)
    # Nobody measured the lag, so nothing is said of violations.
    _record_violations(ledger, made, outcome, 180.0)
    assert ledger.outcome(known.step_id) == known
