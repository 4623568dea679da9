"""`forescale up`: Airflow and MLflow with the DAGs, and the plans for scalers, until Ctrl-C or SIGTERM."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engines.redaction import without_credentials
from forescale.files.file_error import FileError
from forescale.local.airflow.dag_links import link_dags
from forescale.local.airflow.environment import DAGS, airflow_home, passwords_file
from forescale.local.airflow.service import running_airflow
from forescale.local.errors import AirflowError
from forescale.local.first_decision import ABOUT_MINUTES, STAGES, FirstDecision, has_begun, never_decided
from forescale.local.ports import LOOPBACK, free_port
from forescale.local.processes import ended_by_signals
from forescale.local.servers import (
    lacking_modules,
    start_mlflow_server,
    start_plan_server,
    tables_of_runs,
    wait_for_mlflow,
)
from forescale.local.sole_instance import sole_instance
from forescale.settings import SETTINGS_FILE, Settings

CHECK_S = 2.0
FEED_S = 60.0


@dataclass(frozen=True)
class Ports:
    """The preferred ports on loopback; if one is taken, the next free one of `tries`. 0: any free one."""

    airflow: int = 8080
    mlflow: int = 5000
    plans: int = 8723
    tries: int = 50


def up(
    settings: Settings,
    say: Callable[[str], None],
    ports: Ports,
    *,
    dags: Path = DAGS,
    feed: Callable[[], None] | None = None,
) -> None:
    """Run the services, say where they are, and stop them on a signal; then returns.

    feed: delivers raw events each minute, for a demo. A demo also starts a first decision if none was ever made here,
    so that there is something to look at.

    A tracking server named by FORESCALE_MLFLOW_URI is used as it is; for a database, a server is started. Raises
    ServiceError with the end of its log when a service ends by itself, and if no port is free.
    """
    try:
        # First end the leftovers of a killed launcher: they may hold the ports.
        with ended_by_signals(), sole_instance(airflow_home(settings)):
            _serve(settings, say, ports, dags, feed)
    except KeyboardInterrupt:
        say("Stopped.")


def _serve(
    settings: Settings, say: Callable[[str], None], ports: Ports, dags: Path, feed: Callable[[], None] | None
) -> None:
    say("Starting Airflow and MLflow, about 30 s …")
    port = free_port(ports.mlflow, tries=ports.tries)
    linked = with_mlflow_links(settings, port)
    with running_airflow(linked, port=ports.airflow, port_tries=ports.tries, dags=dags) as airflow:
        if settings.tracking_is_a_database:
            start_mlflow_server(settings, airflow.processes, airflow.environment, port)
            wait_for_mlflow(linked.mlflow_ui, airflow.processes)
        say(f"Airflow  {airflow.url}  (passwords of admin, reviewer and viewer: {passwords_file(airflow.home)})")
        say(f"Scaling  {airflow.url}/plugin/scaling  (all topologies, in Airflow's navigation)")
        say(f"MLflow   {linked.mlflow_ui}")
        _say_runs(linked, say)
        if not lacking_modules():
            http = free_port(ports.plans, tries=ports.tries)
            keda = free_port(http + 1, tries=ports.tries)
            start_plan_server(airflow.processes, airflow.environment, http, keda)
            say(f"Plans    http://{LOOPBACK}:{http}/plan  (for scalers; KEDA at {LOOPBACK}:{keda})")
        say("Ctrl-C stops all.")
        first = None
        if feed is not None and never_decided(airflow.client):
            if not has_begun(airflow.client):
                airflow.client.trigger(STAGES[0].dag_id)
            say(f"A first decision is under way and takes about {ABOUT_MINUTES} minutes.")
            first = FirstDecision(airflow.client)
        fed_at = time.monotonic()
        while True:
            airflow.processes.check()
            if feed is not None and time.monotonic() - fed_at >= FEED_S:
                feed()
                fed_at = time.monotonic()
            if first is not None and not first.over:
                with suppress(AirflowError):  # it is asked again
                    for line in first.news():
                        say(line)
                if first.over:
                    _say_runs(linked, say)
            time.sleep(CHECK_S)


def _say_runs(linked: Settings, say: Callable[[str], None]) -> None:
    """Where the runs of each topology are, of a tracking server that runs here."""
    if linked.tracking_is_a_database:
        for topology, address in tables_of_runs(linked.mlflow_ui).items():
            say(f"         {address}  (runs of {topology})")


def with_mlflow_links(settings: Settings, port: int) -> Settings:
    """The same with MLflow's address for links in reports: at that port, or at its configured server."""
    own = settings.tracking_is_a_database
    url = f"http://{LOOPBACK}:{port}" if own else without_credentials(settings.tracking_uri)
    return settings.model_copy(update={"mlflow_ui": url})


def home_to_serve(home: Path) -> tuple[Settings, Path]:
    """Settings of a home made by `forescale config init`, and its DAGs folder with links to all present DAGs.

    Raises FileError if it is not such a home, SettingsFileError if its settings file cannot be used.
    """
    home = home.absolute()
    if not (home / SETTINGS_FILE).is_file():
        raise FileError(f"{home} holds no {SETTINGS_FILE}; make it a home by `forescale config init {home}`")
    settings = Settings(home=home)
    link_dags(home / "dags")
    return settings, home / "dags"
