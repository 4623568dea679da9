"""The DAG `forecast`, really run, in a process of its own, over a topology with a history and one without."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from canaries import canaries_below, canaries_in, planted_settings
from dag_run import DagRuns
from shadow_days import NAME, install

from forescale.wiring.parts import ledger_of

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

BRIEF = "forecast: {train_days: 2, origins: 2, paths: 100, horizon_s: 86400}\n"


def test_forecast__hands_on_what_failed_as_well_and_each_topology_once(tmp_path: Path, runs: DagRuns) -> None:
    settings = install(tmp_path, "act")
    text = (tmp_path / f"{NAME}.yaml").read_text() + BRIEF
    (tmp_path / f"{NAME}.yaml").write_text(text)
    (tmp_path / "bare.yaml").write_text(text.replace(f"topology: {NAME}", "topology: bare"))
    told = runs.run("forecast", settings, environment=planted_settings("ledger_url", "mlflow_uri"))
    # In the order of their names: `bare` failed and is handed on by plan_anyway, `pair` by its forecast alone.
    assert (
        "states: [('each.forecast', 0, 'failed'), ('each.forecast', 1, 'success'), "
        "('each.plan_anyway', 0, 'success'), ('each.plan_anyway', 1, 'skipped'), "
        "('fail_the_run', -1, 'failed'), ('topologies', -1, 'success')]"
    ) in told, told
    assert len(ledger_of(settings).forecasts(NAME)) == 1
    with closing(sqlite3.connect(runs.database)) as airflow:
        extras = [
            json.loads(row[0])
            for row in airflow.execute("SELECT extra FROM asset_event WHERE source_dag_id = 'forecast'")
        ]
    assert sorted(extra["topology"] for extra in extras) == ["bare", NAME]
    (failed,) = [extra for extra in extras if "failed" in extra]
    assert failed["topology"] == "bare"
    assert failed["failed"].startswith("forecast manual__")
    assert canaries_in(told) == set(), told
    assert canaries_below(tmp_path, runs.database.parent) == {}
