"""A DAG, really run, in a process of its own."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from forescale.local.airflow.environment import DAGS

_RUN = """
import sys
from airflow.dag_processing.dagbag import DagBag
run = DagBag(sys.argv[1]).dags[sys.argv[2]].test()
print("states:", sorted((t.task_id, t.map_index, str(t.state)) for t in run.get_task_instances()))
"""


def run_dag(name: str, environment: Mapping[str, str]) -> str:
    """All that it printed, in a new Airflow database; at its end the states of its tasks."""
    migrated = _ended([str(Path(sys.executable).with_name("airflow")), "db", "migrate"], environment)
    assert migrated.returncode == 0, migrated.stderr
    run = _ended([sys.executable, "-c", _RUN, str(DAGS), name], environment)
    return run.stdout + run.stderr


def _ended(command: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=240
    )
