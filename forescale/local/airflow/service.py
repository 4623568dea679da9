"""Airflow on this machine: database and four processes, started, awaited and stopped together."""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from forescale.local.airflow.client import AirflowClient
from forescale.local.airflow.environment import DAGS, airflow_environment, airflow_home, passwords
from forescale.local.errors import AirflowError
from forescale.local.ports import LOOPBACK, free_port
from forescale.local.processes import Processes, ended_by_signals
from forescale.local.sole_instance import sole_instance
from forescale.settings import Settings

AIRFLOW = (sys.executable, "-m", "airflow")
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "api-server": (*AIRFLOW, "api-server", "--host", LOOPBACK),
    # Without --skip-serve-logs these two would serve logs on all interfaces.
    "scheduler": (sys.executable, "-m", "forescale.local.airflow.preloaded_scheduler", "--skip-serve-logs"),
    "triggerer": (*AIRFLOW, "triggerer", "--skip-serve-logs"),
    "dag-processor": (*AIRFLOW, "dag-processor"),
}
COMPONENTS = {"metadatabase", "scheduler", "triggerer", "dag_processor"}
POOLS = {"spark": 1}
READY_S = 300.0
"""Longest wait for a start: a fifth of a minute on a machine at rest. A process that ends is seen at once."""
OUR_DAGS = frozenset({"aggregate", "forecast", "plan", "deploy"})


@dataclass(frozen=True)
class AirflowService:
    """A running Airflow. home: its folder; environment: of its processes, for restarting one."""

    url: str
    home: Path
    client: AirflowClient
    processes: Processes
    environment: Mapping[str, str]

    def start(self, component: str) -> None:
        """Start one of COMMANDS (again)."""
        self.processes.start(component, COMMANDS[component], self.environment)


@contextmanager
def airflow_service(settings: Settings, *, dags: Path = DAGS, timeout_s: float = READY_S) -> Iterator[AirflowService]:
    """Airflow with the project's DAGs at any free port, the only one of its folder; stopped at the end of the context.

    Raises as `running_airflow`, and ServiceError if another process runs the services of the same folder.
    """
    with sole_instance(airflow_home(settings)), running_airflow(settings, dags=dags, timeout_s=timeout_s) as service:
        yield service


@contextmanager
def running_airflow(
    settings: Settings, *, port: int = 0, port_tries: int = 50, dags: Path = DAGS, timeout_s: float = READY_S
) -> Iterator[AirflowService]:
    """Airflow with the project's DAGs, ready to run them. The caller must hold `sole_instance` of its folder.

    port: preferred; if taken, the next free one of port_tries; 0: any free one.
    Raises AirflowError if the database cannot be created or Airflow is not ready within timeout_s, ServiceError if no
    port is free.
    """
    home = airflow_home(settings)
    secret = passwords(home)
    chosen = free_port(port, tries=port_tries)
    environment = airflow_environment(settings, chosen, dags=dags)
    with ended_by_signals(), Processes(home / "logs") as processes:
        client = AirflowClient(f"http://{LOOPBACK}:{chosen}", "admin", secret["admin"])
        make_database(environment)
        service = AirflowService(client.url, home, client, processes, environment)
        for component in COMMANDS:
            service.start(component)
        wait_until_ready(service, timeout_s)
        for name, slots in POOLS.items():
            client.set_pool(name, slots)
        yield service


def make_database(environment: Mapping[str, str]) -> None:
    """Create Airflow's database, or bring it to the installed version."""
    made = subprocess.run(
        (*AIRFLOW, "db", "migrate"), env=dict(environment), capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise AirflowError(f"`airflow db migrate` failed:\n{made.stderr[-2000:]}")


def wait_until_ready(service: AirflowService, timeout_s: float) -> None:
    """Return once every component is healthy and the DAGs are known. Raises AirflowError after timeout_s."""
    deadline = time.monotonic() + timeout_s
    while True:
        service.processes.check()
        health = service.client.health()
        lacking = {name for name in COMPONENTS if health.get(name) != "healthy"}
        if not lacking and service.client.dag_ids() >= OUR_DAGS:
            return
        if not lacking and (broken := service.client.import_errors()):
            raise AirflowError("Airflow cannot read its DAGs:\n" + "\n".join(broken))
        if time.monotonic() > deadline:
            raise AirflowError(
                f"Airflow is not ready after {timeout_s:g} s: waiting for {', '.join(sorted(lacking)) or 'the DAGs'}; "
                f"see the logs in {service.processes.logs}"
            )
        time.sleep(0.2)
