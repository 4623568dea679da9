"""Addresses of MLflow's pages in a browser: that of a topology's runs, as the front page shows none, and of one run."""

import os
from pathlib import Path

import pytest
from headless_chromium import PATIENCE_MS, headless_chromium
from integration.tracking.conftest import head
from server_process import free_ports

from forecasting.tracking.mlflow_tracker import MlflowTracker
from forecasting.tracking.store_access import connected_client
from forescale.local.processes import Processes
from forescale.local.servers import start_mlflow_server, tables_of_runs, wait_for_mlflow
from forescale.settings import Settings

pytestmark = [pytest.mark.browser, pytest.mark.mlflow, pytest.mark.slow]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow", "ignore::FutureWarning:mlflow")
def test_addresses__show_the_runs_of_a_topology_and_one_run(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, mlruns=tmp_path / "mlruns")
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    with Processes(tmp_path / "logs") as processes, headless_chromium() as browser:
        start_mlflow_server(settings, processes, os.environ, port)
        wait_for_mlflow(url, processes, 180)
        tracker = MlflowTracker(url, ui_url=url)
        run = tracker.begin(head())
        name = connected_client(url).get_run(run.run_id).info.run_name
        ((topology, address),) = tables_of_runs(url).items()
        assert topology == head().topology
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address)
        page.get_by_text(name).first.wait_for()
        page.goto(tracker.run_url(run.run_id))
        page.get_by_role("heading", name=name).wait_for()
