"""Common writes to MLflow: metrics in requests of accepted size, and model versions."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient

MODEL = "model"
"""The artifact folder of a run that holds its model."""
MAX_TAG = 5000
MAX_METRICS = 1000
"""MLflow's limit per request."""


def log_metrics(client: "MlflowClient", run_id: str, values: Mapping[str, float]) -> None:
    from mlflow.entities import Metric

    now_ms = int(time.time() * 1000)
    metrics = [Metric(name, value, now_ms, 0) for name, value in values.items()]
    for begin in range(0, len(metrics), MAX_METRICS):
        client.log_batch(run_id, metrics=metrics[begin : begin + MAX_METRICS])


def register_version(client: "MlflowClient", run_id: str, name: str, alias: str) -> str:
    """Register the run's model as a new version with the alias. Returns `name/number`."""
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    source = f"{client.get_run(run_id).info.artifact_uri}/{MODEL}"
    number = str(client.create_model_version(name, source, run_id).version)
    client.set_registered_model_alias(name, alias, number)
    return f"{name}/{number}"
