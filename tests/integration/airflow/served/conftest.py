"""One real Airflow on loopback with the project's DAGs, on a trace clock, and one browser, for all tests here.

Its files are run by name: first those that move the clock, last those that need to see one topology alone.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from headless_chromium import headless_chromium
from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).parent))

from airflow_runs import PATIENCE_S, Running
from day_and_night import FEWER_STEPS, install

from forescale.local.airflow.environment import forescale_environment
from forescale.local.airflow.service import airflow_service
from forescale.local.errors import ServiceError


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    pytest.importorskip("airflow")
    installation = install(tmp_path_factory.mktemp("airflow"), FEWER_STEPS)
    with pytest.MonkeyPatch.context() as environment:
        for name, value in forescale_environment(installation.settings).items():
            environment.setenv(name, value)
        service = airflow_service(installation.settings, timeout_s=PATIENCE_S)
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
def browser() -> Iterator[Browser]:
    with headless_chromium() as launched:
        yield launched
