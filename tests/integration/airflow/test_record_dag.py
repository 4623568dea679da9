"""The DAG `record`, really run, in a process of its own, over topologies of which some have to be recorded."""

from pathlib import Path

import pytest
from dag_run import DagRuns
from json_stand_in import json_stand_in
from shop_history import NAME, shop_file

from forescale.settings import Settings

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

HERE = "/api/v1/topology/shop-1-1"


def storm(url):
    return {"kind": "storm", "url": url, "spouts": {"orders": "order-spout"}, "timeout_s": 5}


def test_record__reads_each_steady_source_once_whatever_becomes_of_the_others(tmp_path: Path, runs: DagRuns) -> None:
    folder, home = tmp_path / "topologies", tmp_path / "home"
    settings = Settings(home=home, topologies=folder)
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
        told = runs.run("record", settings)
    assert "states: [('record', 0, 'failed'), ('record', 1, 'success'), ('topologies', -1, 'success')]" in told, told
    assert "cannot be reached" in told
    (file,) = (home / "readings" / NAME).iterdir()
    assert '"emitted": {"order-spout": {"[1-1]": [40, 60]}}' in file.read_text()
