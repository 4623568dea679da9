"""`forescale serve` beside Airflow and MLflow."""

import sys
from collections.abc import Mapping
from importlib.util import find_spec

from forescale.local.answering import wait_until_answers
from forescale.local.ports import LOOPBACK
from forescale.local.processes import Processes

NAME = "serve"
MODULES = ("grpc", "grpc_health", "starlette", "uvicorn")


def lacking_modules() -> list[str]:
    """Modules of the extra `serve` that are not installed."""
    return [name for name in MODULES if find_spec(name) is None]


def start_plan_server(processes: Processes, environment: Mapping[str, str], http: int, keda: int) -> None:
    """Start it at these ports on loopback, and wait until it has read the ledger.

    Raises ServiceError if it ends by itself, or is not ready in time.
    """
    command = [sys.executable, "-c", "from forescale.cli import main; main()", "serve"]
    addresses = ["--http", f"{LOOPBACK}:{http}", "--keda", f"{LOOPBACK}:{keda}"]
    processes.start(NAME, [*command, *addresses], environment)
    wait_until_answers(f"http://{LOOPBACK}:{http}/readyz", NAME, processes)
