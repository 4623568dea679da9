"""The DAG files as Airflow reads them, in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

from forescale.local.airflow.environment import DAGS
from forescale.settings import PROJECT

pytestmark = pytest.mark.airflow

READ = """
import json, sys
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization
bag = DagBag(sys.argv[1])
heavy = ["pyspark", "mlflow", "prophet", "statsmodels", "pandas", "scipy", "numba"]
json.dump({
    "errors": bag.import_errors,
    "tags": {dag.dag_id: sorted(dag.tags) for dag in bag.dags.values()},
    "tasks": {dag.dag_id: {t.task_id: sorted(t.downstream_task_ids) for t in dag.tasks} for dag in bag.dags.values()},
    "paused": sorted(dag.dag_id for dag in bag.dags.values() if dag.is_paused_upon_creation),
    "pools": {t.task_id: t.pool for t in bag.dags["aggregate"].tasks},
    "in": {dag_id: sorted(a.name for a in dag.timetable.asset_condition.objects)
           for dag_id, dag in bag.dags.items() if dag_id in ("forecast", "plan")},
    "out": sorted({a.name for dag in bag.dags.values() for t in dag.tasks for a in t.outlets}),
    "serialised": sorted(d["dag"]["dag_id"] for d in map(DagSerialization.to_dict, bag.dags.values())),
    "heavy": [name for name in heavy if name in sys.modules],
}, open(sys.argv[2], "w"))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bag")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "FORESCALE"))},
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYTHONPATH": str(PROJECT),
    }
    answer = folder / "answer.json"
    command = [sys.executable, "-c", READ, str(DAGS), str(answer)]
    read = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr
    return json.loads(answer.read_text())


def test_dag_files__are_read_without_error(seen):
    assert seen["errors"] == {}
    assert seen["serialised"] == [
        "aggregate",
        "deploy",
        "forecast",
        "guard",
        "notify",
        "plan",
        "prune",
        "record",
        "shadow",
    ]


def test_dag_files__load_nothing_heavy(seen):
    assert seen["heavy"] == []


def test_dag_files__are_tables_of_contents():
    assert {path.name for path in DAGS.glob("*.py") if len(path.read_text().splitlines()) > 80} == set()


def test_dags__bear_the_project_tag(seen):
    assert set(map(tuple, seen["tags"].values())) == {("forescale",)}


def test_dags__are_joined_by_assets(seen):
    assert seen["in"] == {"forecast": ["arrival_history"], "plan": ["forecasts"]}
    assert seen["out"] == ["arrival_history", "forecasts", "schedules"]


def test_aggregate__takes_the_one_slot_for_spark(seen):
    spark = {task_id for task_id, pool in seen["pools"].items() if pool == "spark"}
    assert spark == {"each.aggregate"}


@pytest.mark.parametrize("name", ["aggregate", "forecast"])
def test_what_fails__is_planned_for_all_the_same_and_fails_its_run(seen, name):
    assert seen["tasks"][name] == {
        "topologies": [f"each.{name}", "each.plan_anyway"],
        f"each.{name}": ["each.plan_anyway", "fail_the_run"],
        "each.plan_anyway": [],
        "fail_the_run": [],
    }


def test_what_acts_or_costs_by_itself__waits_to_be_turned_on(seen):
    assert seen["paused"] == ["guard", "notify", "prune", "record", "shadow"]
    assert seen["tasks"]["guard"] == {"topologies": ["guard"], "guard": []}
    assert seen["tasks"]["record"] == {"topologies": ["record"], "record": []}
    assert seen["tasks"]["notify"] == {"notify": []}
    assert seen["tasks"]["prune"] == {"prune": []}
    assert seen["tasks"]["shadow"] == {"topologies": ["observe"], "observe": []}


def test_plan__asks_before_it_creates_deploy_runs(seen):
    assert seen["tasks"]["plan"] == {
        "topologies": ["each.plan"],
        "each.plan": ["each.deploy_runs", "each.review"],
        "each.review": ["each.deploy_runs"],
        "each.deploy_runs": [],
    }


def test_deploy__waits_before_it_deploys(seen):
    assert seen["tasks"]["deploy"] == {"step": ["deploy", "wait"], "wait": ["deploy"], "deploy": []}
