"""A real Airflow on loopback with the project's DAGs, over a small topology on a trace clock."""

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# Airflow makes its folder when it is imported: not in the home of whoever runs the tests.
os.environ.setdefault("AIRFLOW_HOME", str(Path(tempfile.gettempdir()) / "forescale-tests-airflow"))

from dag_run import DagRuns, dag_runs
from day_and_night import Installation, install

from forescale.local.airflow.environment import forescale_environment
from forescale.local.airflow.service import AirflowService, airflow_service
from forescale.local.errors import ServiceError


@dataclass(frozen=True)
class Running:
    installation: Installation
    service: AirflowService


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    pytest.importorskip("airflow")
    installation = install(tmp_path_factory.mktemp("airflow"))
    with pytest.MonkeyPatch.context() as environment:
        for name, value in forescale_environment(installation.settings).items():
            environment.setenv(name, value)
        service = airflow_service(installation.settings)
        try:
            airflow = service.__enter__()
        except ServiceError as error:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(f"Airflow does not start here: {error}")
        try:
            yield Running(installation, airflow)
        finally:
            service.__exit__(None, None, None)


@pytest.fixture(scope="package")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagRuns]:
    """For DAGs that are run without Airflow's servers."""
    pytest.importorskip("airflow")
    with dag_runs(tmp_path_factory.mktemp("runs")) as running:
        yield running
