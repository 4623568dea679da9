"""A replay as a run on a real SQLite store: what was replayed, its scores, and the files that they come from."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from forecasting.tracking.store_access import connected_client
from forescale.jobs.replay import replay
from forescale.jobs.replay_request import ReplayRequest
from forescale.jobs.replay_terms import Deviations
from forescale.jobs.replay_tracking import tracked
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.replay.timeline import read_timeline

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]

TOPOLOGY = """
topology: calls
operators:
  ingest: {service_s: 0.0001, price_per_hour: 0.1}
  work: {service_s: 0.1, price_per_hour: 0.5}
streams:
  - {from: ingest, to: work}
planning: {max_instances: 40, max_lag_s: 120, downtime_s: 60}
"""
START = datetime(2024, 3, 4, tzinfo=UTC)


def test_a_replay__is_a_run_with_its_terms_scores_and_files(tmp_path: Path) -> None:
    (tmp_path / "calls.yaml").write_text(TOPOLOGY)
    rows = [f"{START + timedelta(minutes=5 * at):%Y-%m-%dT%H:%M:%SZ},{300 * (20 + at % 50)}" for at in range(288)]
    (tmp_path / "trace.csv").write_text("\n".join(["timestamp,count", *rows]) + "\n")
    settings = Settings(home=tmp_path / "home", topologies=tmp_path, mlruns=tmp_path / "mlruns", mlflow_uri=None)
    request = ReplayRequest(
        "calls",
        tmp_path / "t.parquet",
        trace=tmp_path / "trace.csv",
        policies=("static-peak", "static-half"),
        against="static-peak",
        changes={"planning.allow": 0.01},
        deviations=Deviations(error=0.1, failures_every_s=7200.0),
        seeds=2,
        workers=1,
    )
    done = tracked(Workspace(settings), replay(Workspace(settings), request))

    client = connected_client(settings.tracking_uri)
    run = client.get_run(done.run_id)
    assert run.info.status == "FINISHED"
    assert client.get_experiment(run.info.experiment_id).name == "calls"
    assert run.data.tags["kind"] == "replay"
    told = run.data.params
    assert (told["start"], told["end"]) == ("2024-03-04 12:00:00+00:00", "2024-03-05 00:00:00+00:00")
    numbers = {name: float(told[name]) for name in ("lead_s", "downtime_s", "error", "seeds")}
    assert numbers == {"lead_s": 300, "downtime_s": 60, "error": 0.1, "seeds": 2}
    assert (told["max_lag_s"], told["allow"], told["scale"], told["against"]) == ("120.0", "0.01", "1.0", "static-peak")
    # What never happens is no parameter.
    assert told["failures_every_s"] == "7200.0"
    assert "slow_every_s" not in told
    assert told["arrivals"] == done.terms.arrivals
    assert told["policies"] == ",".join(score.policy for score in done.scores)
    for score in done.scores:
        assert run.data.metrics[f"{score.policy}/instance_hours"] == score.instance_hours
        assert run.data.metrics[f"{score.policy}/violation_minutes"] == score.violation_minutes
        assert run.data.metrics[f"{score.policy}/budget_overdrawn"] == score.budget.overdrawn
        assert run.data.metrics[f"{score.policy}/price"] == score.price
        assert run.data.metrics[f"{score.policy}/best"] == float(score.best)

    kept = Path(client.download_artifacts(done.run_id, "", str(tmp_path)))
    assert {path.name for path in kept.iterdir()} >= {"t.parquet", "t.decisions.parquet", "replay.html"}
    assert read_timeline(kept / "t.parquet").policies == request.policies
    assert "Difference to static-peak" in (kept / "replay.html").read_text()
