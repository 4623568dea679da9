"""Servers beside Airflow, on loopback: MLflow's web interface over the tracking store, and `forescale serve`."""

import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec

import httpx

from forescale.local.errors import ServiceError
from forescale.local.ports import LOOPBACK
from forescale.local.processes import Processes
from forescale.settings import Settings

MLFLOW = "mlflow"

PLAN_SERVER = "serve"
MODULES = ("grpc", "grpc_health", "starlette", "uvicorn")


def start_mlflow_server(settings: Settings, processes: Processes, environment: Mapping[str, str], port: int) -> None:
    """Start the server. Jobs write directly into the store, so the server may stop at any time."""
    artifacts = settings.mlruns.resolve() / "artifacts"
    artifacts.mkdir(parents=True, exist_ok=True)
    # Its job runners would take another 900 MB.
    lean = {**environment, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    # The URI may hold a password, and everybody on the machine can read a process's arguments.
    lean["MLFLOW_BACKEND_STORE_URI"] = settings.tracking_uri
    command = [sys.executable, "-m", "mlflow", "server"]
    command += ["--artifacts-destination", artifacts.as_uri(), "--host", LOOPBACK, "--port", str(port)]
    processes.start(MLFLOW, [*command, "--workers", "1"], lean)


def tables_of_runs(url: str) -> dict[str, str]:
    """By experiment, which is a topology, the address of the table of its runs.

    Elsewhere MLflow 3.17 opens its view of language models, which lists traces and no runs.
    """
    answer = httpx.post(
        f"{url}/api/2.0/mlflow/experiments/search", json={"max_results": 1000}, timeout=10, trust_env=False
    )
    answer.raise_for_status()
    return {
        each["name"]: f"{url}/#/experiments/{each['experiment_id']}/runs?workflowType=machine_learning"
        for each in answer.json().get("experiments", [])
        if each["name"] != "Default"
    }


def wait_for_mlflow(url: str, processes: Processes, timeout_s: float = 300) -> None:
    """Raises ServiceError if the server has ended or does not answer in time."""
    wait_until_answers(f"{url}/health", MLFLOW, processes, timeout_s)


def wait_until_answers(url: str, name: str, processes: Processes, timeout_s: float = 300) -> None:
    """Wait until the process of that name answers with 200 at url.

    Raises ServiceError if one of the processes has ended, or it does not answer in time.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        processes.check()
        try:
            if httpx.get(url, timeout=5, trust_env=False).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > deadline:
            raise ServiceError(f"{name} does not answer at {url} after {timeout_s:g} s; see {processes.log(name)}")
        time.sleep(0.2)


def lacking_modules() -> list[str]:
    """Modules of the extra `serve` that are not installed."""
    return [name for name in MODULES if find_spec(name) is None]


def start_plan_server(processes: Processes, environment: Mapping[str, str], http: int, keda: int) -> None:
    """Start it at these ports on loopback, and wait until it has read the ledger.

    Raises ServiceError if it ends by itself, or is not ready in time.
    """
    command = [sys.executable, "-c", "from forescale.cli import main; main()", "serve"]
    addresses = ["--http", f"{LOOPBACK}:{http}", "--keda", f"{LOOPBACK}:{keda}"]
    processes.start(PLAN_SERVER, [*command, *addresses], environment)
    wait_until_answers(f"http://{LOOPBACK}:{http}/readyz", PLAN_SERVER, processes)
