"""Tracking in MLflow: one experiment a topology, one run a forecast, one registered model a source.

MLflow is imported when it is first used.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from forecasting.deployed_file import write_deployed
from forecasting.errors import TrackingError
from forecasting.forecast import Forecast
from forecasting.forecast_file import write_forecast
from forecasting.pipeline import MadeForecast
from forecasting.tracking.forecast_plot import write_forecast_plot
from forecasting.tracking.run_content import run_metrics, run_params, run_tags
from forecasting.tracking.saved_model import save_model
from forecasting.tracking.store_access import connected_client, refused

if TYPE_CHECKING:
    from mlflow import MlflowClient

LOCAL_UI = "http://127.0.0.1:5000"
CHAMPION = "champion"
MODEL, FORECAST, REPORTS = "model", "forecast", "reports"
LONGEST_TAG = 5000


class MlflowTracker:
    """A Tracker on any MLflow store.

    tracking_uri: `sqlite:////abs/mlflow.db`, a database or a server. artifact_root: URI below which a local store keeps
    artifacts, None where a server decides. ui_url: where people look at runs.
    """

    def __init__(self, tracking_uri: str, artifact_root: str | None = None, ui_url: str = LOCAL_UI) -> None:
        self.tracking_uri = tracking_uri
        self.artifact_root = artifact_root
        self.ui_url = ui_url.rstrip("/")
        self._client: MlflowClient | None = None

    def record_forecast(self, made: MadeForecast) -> Forecast:
        """A run with parameters, scores, forecast, plot and model; the model becomes the champion of its source."""
        client = self._connected()
        with self._errors(f"recording the forecast of source {made.forecast.source!r}"):
            experiment = self._experiment(client, made.forecast.topology)
            name = f"{made.forecast.source} {made.forecast.issued_at:%Y-%m-%d %H:%M}"
            run_id = client.create_run(experiment, tags=run_tags(made), run_name=name).info.run_id
            try:
                recorded = self._fill(client, run_id, made)
            except BaseException:
                client.set_terminated(run_id, "FAILED")
                raise
            client.set_terminated(run_id, "FINISHED")
        return recorded

    def link_decision(self, run_id: str, tags: Mapping[str, str]) -> None:
        client = self._connected()
        with self._errors(f"tagging run {run_id}"):
            for key, value in tags.items():
                client.set_tag(run_id, key, value[:LONGEST_TAG])

    def log_report(self, run_id: str, path: Path) -> None:
        client = self._connected()
        with self._errors(f"keeping report {path} in run {run_id}"):
            client.log_artifact(run_id, str(path), REPORTS)

    def run_url(self, run_id: str) -> str:
        client = self._connected()
        with self._errors(f"looking up run {run_id}"):
            experiment = client.get_run(run_id).info.experiment_id
        return f"{self.ui_url}/#/experiments/{experiment}/runs/{run_id}"

    def experiment_id(self, topology: str) -> str:
        """The experiment of a topology, made where it does not exist yet."""
        client = self._connected()
        with self._errors(f"opening the experiment of topology {topology!r}"):
            return self._experiment(client, topology)

    def _fill(self, client: "MlflowClient", run_id: str, made: MadeForecast) -> Forecast:
        from mlflow.entities import Metric, Param

        now_ms = int(time.time() * 1000)
        metrics = [Metric(name, value, now_ms, 0) for name, value in run_metrics(made).items()]
        params = [Param(name, value) for name, value in run_params(made).items()]
        client.log_batch(run_id, metrics=metrics, params=params)
        with TemporaryDirectory(prefix="forescale-") as folder:
            scratch = Path(folder)
            write_deployed(made.trained.deployed, scratch / "deployed")
            save_model(scratch / "deployed", scratch / MODEL)
            client.log_artifacts(run_id, str(scratch / MODEL), MODEL)
            version = self._register(client, run_id, made.forecast)
            recorded = replace(made.forecast, run_id=run_id, model_version=version)
            write_forecast(recorded, scratch / FORECAST)
            write_forecast_plot(recorded, made.history, scratch / FORECAST / "forecast.png")
            client.log_artifacts(run_id, str(scratch / FORECAST), FORECAST)
        return recorded

    def _register(self, client: "MlflowClient", run_id: str, forecast: Forecast) -> str:
        """The version, as `name/number`, after it has become champion."""
        from mlflow.exceptions import MlflowException

        name = model_name(forecast.topology, forecast.source)
        try:
            client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        source = f"{client.get_run(run_id).info.artifact_uri}/{MODEL}"
        number = str(client.create_model_version(name, source, run_id).version)
        client.set_registered_model_alias(name, CHAMPION, number)
        return f"{name}/{number}"

    def _experiment(self, client: "MlflowClient", topology: str) -> str:
        from mlflow.exceptions import MlflowException

        found = client.get_experiment_by_name(topology)
        if found is None:
            location = f"{self.artifact_root.rstrip('/')}/{topology}" if self.artifact_root else None
            try:
                return str(client.create_experiment(topology, artifact_location=location))
            except MlflowException as error:
                # Another process was first.
                if error.error_code != "RESOURCE_ALREADY_EXISTS":
                    raise
                found = client.get_experiment_by_name(topology)
        if found is None:
            raise TrackingError(f"MLflow experiment {topology!r} neither exists nor can be created; check the store")
        if found.lifecycle_stage == "deleted":
            client.restore_experiment(found.experiment_id)
        return str(found.experiment_id)

    def _connected(self) -> "MlflowClient":
        if self._client is None:
            self._client = connected_client(self.tracking_uri)
        return self._client

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        from mlflow.exceptions import MlflowException
        from requests.exceptions import RequestException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (MlflowException, RequestException, SQLAlchemyError, OSError) as error:
            raise refused(self.tracking_uri, doing, error) from error


def model_name(topology: str, source: str) -> str:
    """The registered model of a source. MLflow takes no slash and no colon in it."""
    return f"{topology}.{source}".replace("/", "_").replace(":", "_")
