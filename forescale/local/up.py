"""`make up`: Airflow and MLflow with the project's DAGs, until Ctrl-C or SIGTERM."""

import time
from collections.abc import Callable

from forescale.local.airflow.environment import passwords_file
from forescale.local.airflow.service import airflow_service
from forescale.local.mlflow_server import start_mlflow_server, wait_for_mlflow
from forescale.local.ports import LOOPBACK, free_port
from forescale.settings import Settings

CHECK_S = 2.0


def up(
    settings: Settings,
    say: Callable[[str], None],
    *,
    airflow_port: int = 8080,
    mlflow_port: int = 5000,
    decide: bool = False,
) -> None:
    """Run both services, say where they are, and stop all of it when asked to; returns then.

    decide: where no decision was ever made here, start one, so that there is something to look at.

    Ports: the preferred ones; the next free one where one is taken. A tracking server that FORESCALE_MLFLOW_URI names
    is used as it is, and none is started. Raises ServiceError with the end of its log when a service ends by itself.
    """
    port = free_port(mlflow_port)
    url = settings.mlflow_uri or f"http://{LOOPBACK}:{port}"
    try:
        # The reports of the jobs link to MLflow: Airflow must know where it will be.
        with airflow_service(settings.model_copy(update={"mlflow_ui": url}), port=airflow_port) as airflow:
            if settings.mlflow_uri is None:
                start_mlflow_server(settings, airflow.processes, airflow.environment, port)
                wait_for_mlflow(url, airflow.processes)
            say(f"Airflow  {airflow.url}  (passwords of admin, reviewer and viewer: {passwords_file(airflow.home)})")
            say(f"MLflow   {url}")
            say("Ctrl-C stops both.")
            if decide and not airflow.client.runs("aggregate"):
                airflow.client.trigger("aggregate")
                say("A first decision is under way; its review will wait in Airflow under Browse, Required Actions.")
            while True:
                airflow.processes.check()
                time.sleep(CHECK_S)
    except KeyboardInterrupt:
        say("Stopped.")
