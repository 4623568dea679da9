"""The DAG `record`, really run, in a process of its own, over topologies of which some have to be recorded."""

import subprocess
import sys
from pathlib import Path

import pytest
from json_stand_in import json_stand_in
from shop_history import NAME, shop_file

from forescale.local.airflow.environment import DAGS, airflow_environment
from forescale.settings import Settings

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

HERE = "/api/v1/topology/shop-1-1"
RUN = """
import sys
from airflow.dag_processing.dagbag import DagBag
run = DagBag(sys.argv[1]).dags["record"].test()
print("states:", sorted((t.task_id, t.map_index, str(t.state)) for t in run.get_task_instances()))
"""


def storm(url):
    return {"kind": "storm", "url": url, "spouts": {"orders": "order-spout"}, "timeout_s": 5}


def ended(command, environment):
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=240
    )


def test_record__reads_each_steady_source_once_whatever_becomes_of_the_others(tmp_path):
    folder, home = tmp_path / "topologies", tmp_path / "home"
    settings = Settings(home=home, topologies=folder)
    environment = airflow_environment(settings, 0)
    migrated = ended([str(Path(sys.executable).with_name("airflow")), "db", "migrate"], environment)
    assert migrated.returncode == 0, migrated.stderr
    with json_stand_in() as ui:
        ui.answers["/api/v1/topology/summary"] = {"topologies": [{"id": "shop-1-1", "name": NAME}]}
        ui.answers[HERE] = {"spouts": [{"spoutId": "order-spout"}], "bolts": []}
        executor = {"id": "[1-1]", "emitted": 40, "uptimeSeconds": 60}
        ui.answers[f"{HERE}/component/order-spout"] = {"executorStats": [executor]}
        shop_file(folder, storm("http://127.0.0.1:1")).rename(folder / "a-dead.yaml")
        shop_file(folder, {"kind": "kafka", "servers": "127.0.0.1:1", "topics": {"orders": "o"}}).rename(
            folder / "b-kafka.yaml"
        )
        shop_file(folder, storm(ui.url))
        run = ended([sys.executable, "-c", RUN, str(DAGS)], environment)
    told = run.stdout + run.stderr
    assert "states: [('record', 0, 'failed'), ('record', 1, 'success'), ('topologies', -1, 'success')]" in told, told
    assert "cannot be reached" in told
    (file,) = (home / "readings" / NAME).iterdir()
    assert '"emitted": {"order-spout": {"[1-1]": [40, 60]}}' in file.read_text()
