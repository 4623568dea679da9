"""Tracking in MLflow: an experiment and a registered model per topology, a run per batch of forecasts.

MLflow and what asks it are imported when first used; not for the link between a run in a local store and a decision.
"""

import json
import shutil
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from engines.redaction import without_credentials
from forecasting.errors import TrackingError
from forecasting.forecast_file import read_forecast, write_forecast
from forecasting.tracking.batch import (
    REQUEST_FILE,
    BatchContent,
    BatchHead,
    TrackedBatch,
    batch_metrics,
    batch_params,
    content_tags,
    snapshot_of,
    write_batch,
)
from forecasting.tracking.forecast_plot import write_forecast_plot
from forecasting.tracking.local_run import local_run, put_file
from forecasting.tracking.runs import CHALLENGER, CHAMPION, failing, open_run
from forecasting.tracking.saved_model import save_model
from forecasting.tracking.seal import Seal
from forecasting.tracking.store_writes import MAX_TAG, MODEL, log_metrics, register_version
from forecasting.trained_file import read_trained

if TYPE_CHECKING:
    from mlflow import MlflowClient

LOCAL_UI = "http://127.0.0.1:5000"
FORECASTS, REPORTS = "forecasts", "reports"
SEAL_TAG = "trained_seal"
TRAINED = f"{MODEL}/artifacts/trained"


class MlflowTracker:
    """Stores batches of forecasts with their provenance, and links them to decisions, in any MLflow store.

    Every method raises TrackingError if the store cannot be reached or refuses.

    tracking_uri: `sqlite:////abs/mlflow.db`, a database or a server. artifact_root: URI below which a local store keeps
    artifacts, None if a server decides. ui_url: for people. seal: of trained models; None: they are not checked.
    """

    def __init__(
        self,
        tracking_uri: str,
        artifact_root: str | None = None,
        ui_url: str = LOCAL_UI,
        seal: Seal | None = None,
    ) -> None:
        self.tracking_uri = tracking_uri
        self.artifact_root = artifact_root
        self._seal = seal
        self.ui_url = without_credentials(ui_url).rstrip("/")
        self._client: MlflowClient | None = None

    def begin(self, head: BatchHead) -> TrackedBatch:
        from mlflow.entities import Param

        with self._store(f"beginning a batch of forecasts of {head.topology!r}") as client:
            experiment = self._experiment(client, head.topology)
            name = f"{head.topology} {head.issued_at:%Y-%m-%d %H:%M}"
            kind = "training" if head.trains else "refresh"
            run_id = open_run(client, experiment, name, topology=head.topology, kind=kind, tags=snapshot_of(head))
            with failing(client, run_id):
                client.log_batch(run_id, params=[Param(key, value) for key, value in batch_params(head).items()])
                version = register_version(client, run_id, model_name(head.topology), CHALLENGER) if head.trains else ""
        return TrackedBatch(head, run_id, version)

    def finish(self, batch: TrackedBatch, content: BatchContent, *, in_use: Collection[str] = ()) -> None:
        """Log metrics, tables, plots of a few forecasts, and the model, which becomes the champion.

        The run of forecasts stays open until they are handed over (`close`): a process that is killed in between has
        handed its version to nobody, and it is deleted with the next champion unless it is one of in_use.
        """
        with self._store(f"recording the forecasts of {batch.head.topology!r}") as client:
            log_metrics(client, batch.run_id, batch_metrics(content))
            for key, value in content_tags(content).items():
                client.set_tag(batch.run_id, key, value)
            with TemporaryDirectory(prefix="forescale-") as folder:
                scratch = Path(folder)
                write_batch(scratch / FORECASTS, batch, content)
                for source, history in content.histories.items():
                    if source in content.forecasts:
                        kept = read_forecast(content.forecasts[source])
                        # Sources may have any name, so the model's folders are numbered.
                        name = f"{list(content.forecasts).index(source):05d}"
                        write_forecast(kept, scratch / FORECASTS / name)
                        write_forecast_plot(kept, history, scratch / FORECASTS / name / "forecast.png")
                client.log_artifacts(batch.run_id, str(scratch / FORECASTS), FORECASTS)
                if batch.head.trains and not any(o.fresh and not o.failure for o in content.outcomes):
                    self._take_back(client, batch)
                elif batch.head.trains:
                    for number, folder_of_source in enumerate(content.trained.values()):
                        shutil.copytree(folder_of_source, scratch / "trained" / f"{number:05d}")
                    if self._seal is not None:
                        client.set_tag(batch.run_id, SEAL_TAG, self._seal.of(scratch / "trained"))
                    save_model(scratch / "trained", scratch / MODEL)
                    client.log_artifacts(batch.run_id, str(scratch / MODEL), MODEL)
                    self._promote(client, batch, in_use)
            if not content.forecasts:
                client.set_terminated(batch.run_id, "FAILED")

    def close(self, batch: TrackedBatch) -> None:
        """End the run of a batch whose forecasts others know by now."""
        with self._store(f"ending run {batch.run_id}") as client:
            client.set_terminated(batch.run_id, "FINISHED")

    def abandon(self, batch: TrackedBatch, reason: str) -> None:
        with self._store(f"marking run {batch.run_id} as failed") as client:
            try:
                client.set_tag(batch.run_id, "failure", reason[:MAX_TAG])
            finally:
                client.set_terminated(batch.run_id, "FAILED")
            if batch.head.trains and self.champion(batch.head.topology) != batch.model_version:
                self._take_back(client, batch)

    def champion(self, topology: str) -> str:
        """The champion version, as `name/number`; empty if there is none yet."""
        from mlflow.exceptions import MlflowException

        with self._store(f"looking up the champion of {topology!r}") as client:
            try:
                found = client.get_model_version_by_alias(model_name(topology), CHAMPION)
            except MlflowException:
                return ""
            return f"{found.name}/{found.version}"

    def fetch_trained(self, model_version: str, folder: Path) -> dict[str, Path]:
        """Download a version's trained folders, by source, below a folder. Raises TrackingError."""
        name, _, number = model_version.rpartition("/")
        with self._store(f"fetching model version {model_version}") as client:
            run_id = client.get_model_version(name, number).run_id
            folder.mkdir(parents=True, exist_ok=True)
            fetched = Path(client.download_artifacts(run_id, TRAINED, str(folder)))
            self._check_seal(model_version, fetched, str(client.get_run(run_id).data.tags.get(SEAL_TAG, "")))
        return {read_trained(path).source: path for path in sorted(fetched.iterdir())}

    def _check_seal(self, model_version: str, fetched: Path, digest: str) -> None:
        """Raises TrackingError for files that this home did not store. A store of this machine's own may hold models
        of 0.2, which have no digest.
        """
        of_0_2 = not digest and self.tracking_uri.startswith("sqlite:")
        if self._seal is not None and not of_0_2 and not self._seal.fits(fetched, digest):
            raise TrackingError(
                f"model version {model_version} is not as this home stored it (by the key {self._seal.file}): somebody "
                "else wrote or changed it; restore the key if it was another one, or train anew"
            )

    def fetch_request(self, run_id: str) -> dict[str, Any]:
        """The request to repeat a run's batch. Raises TrackingError."""
        with (
            self._store(f"fetching the request of run {run_id}") as client,
            TemporaryDirectory(prefix="forescale-") as folder,
        ):
            kept = {artifact.path for artifact in client.list_artifacts(run_id, FORECASTS)}
            if f"{FORECASTS}/{REQUEST_FILE}" not in kept:
                raise TrackingError(
                    f"run {run_id} keeps no request, so its forecasts cannot be made again; give a run of forecasts "
                    "of 0.2 or later"
                )
            path = client.download_artifacts(run_id, f"{FORECASTS}/{REQUEST_FILE}", folder)
            request: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        return request

    def revision(self, run_id: str) -> str:
        """The git revision of the code that made a run. Raises TrackingError."""
        with self._store(f"looking up run {run_id}") as client:
            return str(client.get_run(run_id).data.tags.get("git_revision", ""))

    def demote(self, model_version: str, reasons: Mapping[str, str]) -> None:
        """Tag a version with its demotions. reasons: by source and horizon."""
        name, _, number = model_version.rpartition("/")
        with self._store(f"tagging model version {model_version}") as client:
            for key, reason in reasons.items():
                client.set_model_version_tag(name, number, f"demoted {key}", reason[:MAX_TAG])

    def link_decision(self, run_id: str, tags: Mapping[str, str]) -> None:
        doing, values = f"tagging run {run_id}", {key: value[:MAX_TAG] for key, value in tags.items()}
        with self._file_errors(doing):
            if (run := local_run(self.tracking_uri, run_id)) is not None:
                run.tag(values)
                return
        with self._store(doing) as client:
            for key, value in values.items():
                client.set_tag(run_id, key, value)

    def log_report(self, run_id: str, path: Path) -> None:
        doing = f"keeping report {path} in run {run_id}"
        with self._file_errors(doing):
            if (run := local_run(self.tracking_uri, run_id)) is not None and run.artifacts is not None:
                put_file(path, run.artifacts / REPORTS)
                return
        with self._store(doing) as client:
            client.log_artifact(run_id, str(path), REPORTS)

    def run_url(self, run_id: str) -> str:
        """Address of a run's page, without a request: MLflow finds the run's experiment when the link is followed."""
        return f"{self.ui_url}/#/runs/{quote(run_id, safe='')}"

    def experiment_id(self, topology: str) -> str:
        """The experiment of a topology, created if it does not exist."""
        with self._store(f"opening the experiment of topology {topology!r}") as client:
            return self._experiment(client, topology)

    def _take_back(self, client: "MlflowClient", batch: TrackedBatch) -> None:
        """Delete the version that the batch was meant to make, with its alias."""
        name, _, number = batch.model_version.rpartition("/")
        client.delete_model_version(name, number)

    def _promote(self, client: "MlflowClient", batch: TrackedBatch, in_use: Collection[str]) -> None:
        """Also delete the version before it if its run was killed and it is not in use: its forecasts were made again,
        as nothing but MLflow had them.
        """
        name, _, number = batch.model_version.rpartition("/")
        champion = self.champion(batch.head.topology)
        _, _, before = champion.rpartition("/")
        client.set_registered_model_alias(name, CHAMPION, number)
        client.delete_registered_model_alias(name, CHALLENGER)
        if not before or champion in in_use:
            return
        if client.get_run(client.get_model_version(name, before).run_id).info.status == "KILLED":
            client.delete_model_version(name, before)

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

    @contextmanager
    def _file_errors(self, doing: str) -> Iterator[None]:
        """Errors of a store's files within the block become a TrackingError that names the operation."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            from forecasting.tracking.store_access import refused

            raise refused(self.tracking_uri, doing, error) from None

    @contextmanager
    def _store(self, doing: str) -> Iterator["MlflowClient"]:
        """The client; refusals within the block become a TrackingError that names the operation."""
        from forecasting.tracking.store_access import connected_client, store_errors

        if self._client is None:
            self._client = connected_client(self.tracking_uri)
        with store_errors(self.tracking_uri, doing):
            yield self._client


def model_name(topology: str) -> str:
    """The registered model of a topology. MLflow accepts neither slash nor colon."""
    return topology.replace("/", "_").replace(":", "_")
