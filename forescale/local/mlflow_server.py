"""MLflow's web interface over the tracking store of this installation, on loopback."""

import sys
from collections.abc import Mapping

import httpx

from forescale.local.answering import wait_until_answers
from forescale.local.ports import LOOPBACK
from forescale.local.processes import Processes
from forescale.settings import Settings

NAME = "mlflow"


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
    processes.start(NAME, [*command, "--workers", "1"], lean)


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
    wait_until_answers(f"{url}/health", NAME, processes, timeout_s)
