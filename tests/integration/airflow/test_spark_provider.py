"""Airflow's Spark provider runs the counting: the example DAG, really run, in a process of its own."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from day_and_night import NAME, NOW, START, install

from forecasting.arrivals.store import read_history
from forescale.local.airflow.environment import airflow_environment, airflow_home
from forescale.settings import PROJECT

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]

EXAMPLES = PROJECT / "examples" / "dags"
RUN = """
import sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1])
assert bag.import_errors == {}, bag.import_errors
run = bag.dags["aggregate_with_spark_submit"].test(run_conf={"topology": sys.argv[2]})
sys.exit(0 if run.state == "success" else 3)
"""


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    pytest.importorskip("airflow.providers.apache.spark")
    installation = install(tmp_path_factory.mktemp("provider"))
    # The connection's host is the whole master where there is no port.
    connection = json.dumps({"conn_type": "spark", "host": "local[2]"})
    environment = airflow_environment(installation.settings, 0, dags=EXAMPLES) | {
        "AIRFLOW_CONN_SPARK_DEFAULT": connection,
        # spark-submit, and the Python that it runs.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1",
    }
    migrated = ended([str(Path(sys.executable).with_name("airflow")), "db", "migrate"], environment)
    assert migrated.returncode == 0, migrated.stderr
    return installation, environment


def ended(command, environment):
    return subprocess.run(
        command,
        env=environment,
        cwd=environment["FORESCALE_HOME"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def test_example_dag__builds_the_history_with_spark_submit_and_hands_on_which(installation):
    installed, environment = installation
    run = ended([sys.executable, "-c", RUN, str(EXAMPLES), NAME], environment)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]

    series = read_history(installed.settings.history_dir, NAME).series["receive"]
    assert (series.start, series.end) == (START, NOW)
    # A day has 10 hours at 6 a minute, 2 at 30 and 12 at 2: 3600 + 3600 + 1440. The first window of all is partial.
    assert series.counts[1:].sum() == 4 * 8640 - 2

    with sqlite3.connect(airflow_home(installed.settings) / "airflow.db") as database:
        events = database.execute(
            "SELECT a.name, e.extra FROM asset_event e JOIN asset a ON a.id = e.asset_id"
        ).fetchall()
    assert [(name, json.loads(extra)["topology"]) for name, extra in events] == [("arrival_history", NAME)]
