"""Airflow and MLflow on the PostgreSQL of the ledger; MLflow behind a login, its artifacts through its server."""

import base64
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from integration.ledger.conftest import NewDatabase
from integration.tracking.conftest import head
from pydantic import SecretStr
from server_process import free_ports
from sqlalchemy import create_engine, inspect
from sqlalchemy.pool import NullPool

from forecasting.errors import TrackingError
from forecasting.tracking.mlflow_tracker import MlflowTracker
from forecasting.tracking.run_owner import RunOwner
from forecasting.tracking.runs import CLOSED_BECAUSE
from forecasting.tracking.store_access import LOGIN_REMEDY, connected_client
from forescale.local.airflow.environment import airflow_environment, airflow_home
from forescale.local.airflow.service import make_database
from forescale.local.processes import Processes
from forescale.local.servers import start_mlflow_server, wait_for_mlflow
from forescale.settings import Settings

pytestmark = pytest.mark.slow

TOKEN, USER, PASSWORD = "t0ken", "anna", "sesame42"


@contextmanager
def asking_who_it_is(port: int, behind: str) -> Iterator[None]:
    """A proxy as stands before an MLflow server: it lets a user or a token in, and nobody else."""
    known = {f"Bearer {TOKEN}", f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"}

    class Handler(BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Authorization") not in known:
                answer = httpx.Response(401, content=b"who are you?")
            else:
                kept = {name: self.headers[name] for name in ("Content-Type",) if name in self.headers}
                answer = httpx.request(
                    self.command, behind + self.path, content=body, headers=kept, timeout=60, trust_env=False
                )
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815 - as http.server calls them

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.mlflow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow", "ignore::FutureWarning:mlflow")
def test_mlflow_behind_a_login__keeps_artifacts_goes_away_and_catches_up(
    new_database: NewDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, proxied = free_ports(2)
    behind, uri = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{proxied}"
    settings = Settings(home=tmp_path, mlruns=tmp_path / "mlruns", mlflow_uri=new_database())
    report = tmp_path / "report.html"
    report.write_text("<p>kept</p>")
    with Processes(tmp_path / "logs") as processes:
        start_mlflow_server(settings, processes, os.environ, port)
        wait_for_mlflow(behind, processes, 180)
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        with asking_who_it_is(proxied, behind):
            with pytest.raises(TrackingError, match=LOGIN_REMEDY):
                MlflowTracker(uri).begin(head())
            monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
            tracker = MlflowTracker(uri)
            killed = tracker.begin(head())
            tracker.log_report(killed.run_id, report)
            [stored] = (tmp_path / "mlruns" / "artifacts").rglob("report.html")
            assert stored.read_text() == report.read_text()
            child = subprocess.Popen(["true"])
            for key, value in RunOwner.of_process(child.pid).tags().items():
                connected_client(uri).set_tag(killed.run_id, key, value)
            child.wait()
        # It is away, and so is whoever began the batch.
        with pytest.raises(TrackingError, match="beginning a batch"):
            tracker.begin(head())
        monkeypatch.delenv("MLFLOW_TRACKING_TOKEN")
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", USER)
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", PASSWORD)
        with asking_who_it_is(proxied, behind):
            tracker.begin(head())
            run = connected_client(uri).get_run(killed.run_id)
            assert run.info.status == "KILLED"
            assert f"process {child.pid} " in run.data.tags[CLOSED_BECAUSE]
            fetched = connected_client(uri).download_artifacts(killed.run_id, "reports/report.html", str(tmp_path))
            assert Path(fetched).read_text() == report.read_text()


ASKS_BOTH_WAYS = """
import asyncio
from airflow import settings
from airflow.utils.session import create_session, create_session_async
from sqlalchemy import text

async def asked():
    async with create_session_async() as session:
        counted = await session.scalar(text("SELECT count(*) FROM dag_run"))
    await settings.async_engine.dispose()
    return counted

with create_session() as session:
    print(session.scalar(text("SELECT count(*) FROM dag_run")), asyncio.run(asked()))
"""


@pytest.mark.airflow
def test_airflow__makes_its_database_there_and_needs_no_driver_more(new_database: NewDatabase, tmp_path: Path) -> None:
    url = new_database()
    settings = Settings(home=tmp_path, airflow_database_url=SecretStr(url))
    environment = airflow_environment(settings, 0)
    make_database(environment)
    assert "dag_run" in inspect(create_engine(url, poolclass=NullPool)).get_table_names()
    assert not (airflow_home(settings) / "airflow.db").exists()
    command = [sys.executable, "-c", ASKS_BOTH_WAYS]
    asked = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert asked.stdout.split()[-2:] == ["0", "0"], asked.stdout + asked.stderr
