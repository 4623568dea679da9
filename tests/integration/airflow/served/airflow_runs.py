"""What tests ask of a running Airflow: the states of a run, its review, and what the executor's processes do."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import patience
import psutil
from day_and_night import Installation

from forescale.local.airflow.client import AirflowClient
from forescale.local.airflow.service import AirflowService

PATIENCE_S = 600
"""What takes seconds on a machine at rest takes minutes on a busy one."""

T = TypeVar("T")


@dataclass(frozen=True)
class Running:
    installation: Installation
    service: AirflowService


def until(condition: Callable[[], T]) -> T:
    return patience.until(condition, PATIENCE_S, every_s=0.5)


def states(client: AirflowClient, dag_id: str, run_id: str) -> dict[str, str | None]:
    return {task["task_id"]: task["state"] for task in client.task_instances(dag_id, run_id)}


def review_of(client: AirflowClient, run_id: str) -> dict[str, Any]:
    """The question that a run of `plan` has put."""
    return until(lambda: client.open_reviews("plan", run_id))[0]


def family(running: Running) -> list[psutil.Process]:
    """The processes of the running services, with all that they have started."""
    leaders = {process.pid for process in running.service.processes.running.values()}
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) in leaders:
                found.append(process)
        except (ProcessLookupError, PermissionError):
            continue
    return found


def titles(processes: list[psutil.Process]) -> list[str]:
    """Titles of the executor's processes among them, which say what each is doing."""
    found = []
    for process in processes:
        with suppress(psutil.Error):
            found.append(" ".join(process.cmdline()))
    return [title for title in found if "LocalExecutor" in title]


def workers(running: Running) -> list[str]:
    found = titles(family(running))
    assert found
    return found
