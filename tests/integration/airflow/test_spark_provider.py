"""Airflow's Spark provider runs the counting: the example DAG, really run, in a process of its own."""

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from dag_run import EXAMPLES, DagRuns
from day_and_night import NAME, NOW, START, install

from forecasting.arrivals.store import read_history

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]

DAG = "aggregate_with_spark_submit"


def test_example_dag__builds_the_history_with_spark_submit_and_hands_on_which(tmp_path: Path, runs: DagRuns) -> None:
    pytest.importorskip("airflow.providers.apache.spark")
    installed = install(tmp_path)
    environment = {
        # The connection's host is the whole master where there is no port.
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        # spark-submit, and the Python that it runs.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    told = runs.run(DAG, installed.settings, dags=EXAMPLES, conf={"topology": NAME}, environment=environment)
    assert told.endswith("'success')]\n"), told[-3000:]

    series = read_history(installed.settings.history_dir, NAME).series["receive"]
    assert (series.start, series.end) == (START, NOW)
    # A day has 10 hours at 6 a minute, 2 at 30 and 12 at 2: 3600 + 3600 + 1440. The first window of all is partial.
    assert series.counts[1:].sum() == 4 * 8640 - 2

    with closing(sqlite3.connect(runs.database)) as database:
        events = database.execute(
            "SELECT a.name, e.extra FROM asset_event e JOIN asset a ON a.id = e.asset_id WHERE e.source_dag_id = ?",
            [DAG],
        ).fetchall()
    assert [(name, json.loads(extra)["topology"]) for name, extra in events] == [("arrival_history", NAME)]
