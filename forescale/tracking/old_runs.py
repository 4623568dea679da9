"""A topology's removable runs and model versions in MLflow. MLflow is imported at first use."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from forecasting.tracking.mlflow_tracker import model_name
from forecasting.tracking.runs import KINDS
from forecasting.tracking.store_access import connected_client, store_errors
from forescale.settings import Settings
from forescale.tracking.calibration_versions import calibration_model

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run
    from mlflow.entities.model_registry import ModelVersion

PAGE = 1000


@dataclass(frozen=True)
class OldRecords:
    """versions: as `name/number`; runs: their ids. With the time of each."""

    versions: Sequence[tuple[str, datetime]] = ()
    runs: Sequence[tuple[str, datetime]] = ()


def old_records(
    settings: Settings,
    topology: str,
    *,
    before: datetime,
    keep: int,
    runs_in_use: Collection[str],
    versions_in_use: Collection[str],
) -> OldRecords:
    """Records older than `before` and not among the `keep` newest of their kind.

    Never a version with an alias, the run of a remaining version, a running run, or records of others in the
    experiment. Raises TrackingError.
    """
    client = connected_client(settings.tracking_uri)
    with store_errors(settings.tracking_uri, f"listing the runs of {topology!r}"):
        every = [list(_versions(client, name)) for name in (model_name(topology), calibration_model(topology))]
        versions = [
            version for of in every for version in _removable_versions(client, of, before, keep, versions_in_use)
        ]
        going = {version.run_id for version in versions}
        held = {version.run_id for of in every for version in of} - going
        runs = _removable_runs(client, topology, before, keep, held | set(runs_in_use))
    return OldRecords(
        [(f"{version.name}/{version.version}", _time(version.creation_timestamp)) for version in versions],
        [(run.info.run_id, _time(run.info.start_time)) for run in runs],
    )


def remove_version(settings: Settings, version: str) -> None:
    """Raises TrackingError."""
    name, _, number = version.rpartition("/")
    with store_errors(settings.tracking_uri, f"removing model version {version}"):
        connected_client(settings.tracking_uri).delete_model_version(name, number)


def remove_run(settings: Settings, run_id: str) -> None:
    """Mark it as deleted; `mlflow gc` removes its artifacts. Raises TrackingError."""
    with store_errors(settings.tracking_uri, f"removing run {run_id}"):
        connected_client(settings.tracking_uri).delete_run(run_id)


def _removable_versions(
    client: "MlflowClient", every: "Sequence[ModelVersion]", before: datetime, keep: int, in_use: Collection[str]
) -> "Iterator[ModelVersion]":
    newest_first = sorted(every, key=lambda version: -int(version.version))
    for version in newest_first[keep:]:
        if _time(version.creation_timestamp) >= before or f"{version.name}/{version.version}" in in_use:
            continue
        # Search results have no aliases.
        if not client.get_model_version(version.name, version.version).aliases:
            yield version


def _versions(client: "MlflowClient", name: str) -> "Iterator[ModelVersion]":
    token: str | None = None
    while True:
        page = client.search_model_versions(f"name = '{name}'", max_results=PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _removable_runs(
    client: "MlflowClient", topology: str, before: datetime, keep: int, in_use: Collection[str]
) -> "Iterator[Run]":
    experiment = client.get_experiment_by_name(topology)
    newer: Counter[str] = Counter()
    token: str | None = None
    while experiment is not None:
        page = client.search_runs(
            [experiment.experiment_id], order_by=["attributes.start_time DESC"], max_results=PAGE, page_token=token
        )
        for run in page:
            kind = run.data.tags.get("kind", "")
            newer[kind] += 1
            old = _time(run.info.start_time) < before and newer[kind] > keep
            if kind in KINDS and old and run.info.status != "RUNNING" and run.info.run_id not in in_use:
                yield run
        token = page.token
        if not token:
            return


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
