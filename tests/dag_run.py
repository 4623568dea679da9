"""DAGs, really run, in a process each, forked from one that has imported Airflow and made its database."""

import json
import os
import select
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from forescale.local.airflow.environment import DAGS, airflow_environment, airflow_home, forescale_environment
from forescale.places import PROJECT
from forescale.settings import Settings

IMPORTED = (
    "airflow.dag_processing.dagbag",
    "airflow.api_fastapi.execution_api.app",
    "airflow.sdk.execution_time.supervisor",
    "airflow.sdk.execution_time.task_runner",
    "forescale.cli.expected",
    *(f"forescale.jobs.{job}" for job in ("forecast", "guard", "record", "shadow")),
    "forescale.monitoring.notify",
)
WITHIN_S = 240.0
EXAMPLES = PROJECT / "examples" / "dags"
BUNDLES = [
    {
        "name": path.parent.name,
        "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
        "kwargs": {"path": str(path)},
    }
    for path in (DAGS, EXAMPLES)
]
"""Airflow runs no DAG from elsewhere."""


class DagRuns:
    """One Airflow, without its servers. `database`: its SQLite file, which all runs share."""

    def __init__(self, process: subprocess.Popen[str], database: Path) -> None:
        self._process = process
        self.database = database

    def run(
        self,
        dag: str,
        settings: Settings,
        *,
        dags: Path = DAGS,
        conf: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """All that the run printed; at its end the states of its tasks. environment: beside what `settings` says."""
        variables = forescale_environment(settings) | dict(environment or {})
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(dags), dag, dict(conf or {}), variables]) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], WITHIN_S)
        if not ready:
            self._process.kill()  # else the next run would be given this one's answer
        assert ready, f"the DAG {dag} has not ended after {WITHIN_S:g} s"
        told: str = json.loads(self._process.stdout.readline())
        return told


@contextmanager
def dag_runs(home: Path) -> Iterator[DagRuns]:
    """An Airflow with a new database below a folder."""
    settings = Settings(home=home)
    with subprocess.Popen(
        [sys.executable, __file__],
        env=airflow_environment(settings, 8080)
        | {"AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(BUNDLES)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield DagRuns(process, airflow_home(settings) / "airflow.db")
        finally:
            process.kill()


def _serve() -> None:
    # What is asked and answered goes by copies: whatever Airflow prints stays out of it.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in IMPORTED:
        import_module(name)
    from airflow import settings
    from airflow.utils.db import initdb

    initdb()
    assert settings.engine is not None
    for line in sys.stdin:
        settings.engine.dispose()
        with tempfile.TemporaryFile() as said:
            child = os.fork()
            if child == 0:
                _run(said.fileno(), *json.loads(line))
            os.waitpid(child, 0)
            said.seek(0)
            answers.write(json.dumps(said.read().decode(errors="replace")) + "\n")
            answers.flush()


def _run(said: int, dags: str, dag: str, conf: dict[str, str], variables: dict[str, str]) -> None:
    try:
        for descriptor in (1, 2):
            os.dup2(said, descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.update(variables)
        from airflow.dag_processing.dagbag import DagBag

        bag = DagBag(dags)
        assert not bag.import_errors, bag.import_errors
        run = bag.dags[dag].test(run_conf=conf)
        print("states:", sorted((t.task_id, t.map_index, str(t.state)) for t in run.get_task_instances()))
    except BaseException:  # noqa: BLE001 - whatever it is, it is told
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    _serve()
