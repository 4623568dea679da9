"""Calibrations in MLflow: each is a version of the model `calibration-TOPOLOGY`, the newest its champion.

MLflow is imported at first use.
"""

import importlib.metadata
import re
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

import forescale
import modeling
from forecasting.errors import TrackingError
from forecasting.tracking.batch import slug
from forecasting.tracking.mlflow_tracker import MlflowTracker, model_name
from forecasting.tracking.runs import CHAMPION, failing, open_run
from forecasting.tracking.store_access import connected_client, store_errors
from forecasting.tracking.store_writes import MAX_TAG, MODEL, log_metrics, register_version
from forescale.files.profile import read_profile_file
from forescale.settings import Settings
from forescale.tracking.calibration_files import PROFILES_FILE, write_calibration
from modeling.calibration.drift import Drift
from modeling.calibration.parameters import parameters
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.topology import Topology

if TYPE_CHECKING:
    from mlflow import MlflowClient

PROFILES = f"{MODEL}/artifacts/calibration/{PROFILES_FILE}"
MAX_METRIC = 250

_VERSION = re.compile(r"models:/(?P<name>[^/@:]+)(?:/(?P<number>\d+)|@(?P<alias>[^/@:]+))")

_NAMES = re.compile(r"[^\[\]]+")

CODE = Path(__file__).with_name("calibration_pyfunc.py")
NEEDED = ("mlflow", "networkx", "numpy", "pandas", "pyarrow", "pydantic", "scipy")
OURS = {
    "engines": ("__init__", "address", "redaction", "regular_file"),
    "forecasting": ("__init__", "bounded_file"),
    "forescale": (
        "__init__",
        "files/__init__",
        "files/atomic",
        "files/file_error",
        "files/json_keys",
        "files/profile",
        "files/shown",
        "plain_numbers",
        "tracking/__init__",
        "tracking/calibration_files",
    ),
}
"""Modules that the model needs, by package, beside all of the package modeling."""


@dataclass(frozen=True)
class MadeCalibration:
    """The content of a version. samples: where they came from; drifts: since the previous calibration."""

    topology: Topology
    profiles: dict[str, OperatorProfile]
    measured_at: datetime
    samples: str
    drifts: Sequence[Drift] = ()


def calibration_model(topology: str) -> str:
    """The registered model of a topology's calibrations."""
    return f"calibration-{model_name(topology)}"


def log_calibration(calibration: MadeCalibration, settings: Settings) -> str:
    """Store a calibration as a run and a model version, which becomes the champion. Returns `name/number`.

    Raises TrackingError, within seconds, if MLflow is not installed, or the store does not answer or refuses.
    """
    tracker = MlflowTracker(settings.tracking_uri, settings.artifact_root, settings.mlflow_ui)
    client = connected_client(settings.tracking_uri)
    experiment = tracker.experiment_id(calibration.topology.name)
    with store_errors(settings.tracking_uri, f"recording the calibration of {calibration.topology.name!r}"):
        run_name = f"calibration {calibration.topology.name} {calibration.measured_at:%Y-%m-%d %H:%M}"
        run_id = open_run(
            client,
            experiment,
            run_name,
            topology=calibration.topology.name,
            kind="calibration",
            tags=_drift_tags(calibration.drifts),
        )
        with failing(client, run_id):
            _log_values(client, run_id, calibration)
            with TemporaryDirectory(prefix="forescale-") as scratch:
                numbers, folder = Path(scratch) / "calibration", Path(scratch) / MODEL
                write_calibration(
                    numbers, calibration.topology, calibration.profiles, calibration.measured_at.isoformat()
                )
                save_calibration(calibration.topology, numbers, folder)
                client.log_artifacts(run_id, str(folder), MODEL)
            # Champion at once: its artifacts are already stored.
            version = register_version(client, run_id, calibration_model(calibration.topology.name), CHAMPION)
        client.set_terminated(run_id, "FINISHED")
    return version


def profiles_of_version(name: str, settings: Settings, topology: Topology | None = None) -> dict[str, OperatorProfile]:
    """Profiles by operator of a version, `models:/calibration-TOPOLOGY/3` or `models:/calibration-TOPOLOGY@champion`.

    Raises TrackingError if there is no such version or the store does not answer, and FileError if it does not belong
    to the given topology.
    """
    told = _VERSION.fullmatch(name)
    if told is None:
        raise TrackingError(
            f"{name!r} is no calibration; give it like models:/calibration-TOPOLOGY/3, or "
            f"models:/calibration-TOPOLOGY@{CHAMPION}"
        )
    client = connected_client(settings.tracking_uri)
    with store_errors(settings.tracking_uri, f"fetching {name}"), TemporaryDirectory(prefix="forescale-") as scratch:
        found = (
            client.get_model_version(told["name"], told["number"])
            if told["number"]
            else client.get_model_version_by_alias(told["name"], told["alias"])
        )
        return read_profile_file(Path(client.download_artifacts(found.run_id, PROFILES, scratch)), topology, name)


def _drift_tags(drifts: Sequence[Drift]) -> dict[str, str]:
    return {
        f"drift {slug(drift.operator)} {slug(drift.parameter)}": f"{drift.old:.4g} to {drift.new:.4g}, p {drift.p:.1g}"
        for drift in drifts
    }


def _log_values(client: "MlflowClient", run_id: str, calibration: MadeCalibration) -> None:
    from mlflow.entities import Param

    params = {
        "measured_at": calibration.measured_at.isoformat(),
        "samples": calibration.samples,
        "operators": str(len(calibration.profiles)),
    }
    client.log_batch(run_id, params=[Param(key, value[:MAX_TAG]) for key, value in params.items()])
    log_metrics(client, run_id, _metrics(calibration.profiles, calibration.drifts))


def _metrics(profiles: Profiles, drifts: Sequence[Drift]) -> Mapping[str, float]:
    """Metrics per operator, as `operator/…`; the profiles hold the full values."""
    found = {"drifts": float(len(drifts)), "measured": float(sum(p.samples > 0 for p in profiles.values()))}
    for name, profile in profiles.items():
        found[f"{slug(name)}/samples"] = float(profile.samples)
        for parameter, told in parameters(profile).items():
            found[f"{slug(name)}/{_metric_name(parameter)}"] = told.value
            if told.error is not None:
                found[f"{slug(name)}/{_metric_name(parameter)}_error"] = told.error
    return {name: value for name, value in found.items() if np.isfinite(value) and len(name) <= MAX_METRIC}


def _metric_name(parameter: str) -> str:
    """`selectivity.a-b` of `selectivity[a->b]`."""
    # The earlier metric name, so that versions can be compared.
    return "scale_exponent" if parameter == "efficiency.exponent" else ".".join(map(slug, _NAMES.findall(parameter)))


def save_calibration(topology: Topology, calibration: Path, folder: Path) -> None:
    """Save the files of write_calibration as a model that includes its code.

    It loads with mlflow.pyfunc.load_model wherever the requirements are installed; the project need not be.
    """
    import mlflow.pyfunc
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema

    columns = [ColSpec(DataType.long, f"parallelism.{name}") for name in topology.order]
    columns += [ColSpec(DataType.double, f"load_per_s.{source}") for source in topology.sources]
    with TemporaryDirectory(prefix="forescale-") as scratch, warnings.catch_warnings():
        # No input example: the signature already defines the columns.
        warnings.filterwarnings("ignore", message=".*input example", category=UserWarning)
        project = Path(forescale.__file__).parents[1]
        for name in (f"{package}/{module}.py" for package, modules in OURS.items() for module in modules):
            copied = Path(scratch) / name
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(project / name, copied)
        mlflow.pyfunc.save_model(
            str(folder),
            python_model=str(CODE),
            artifacts={"calibration": str(calibration)},
            code_paths=[str(Path(modeling.__file__).parent), *(str(Path(scratch) / package) for package in OURS)],
            pip_requirements=[f"{name}=={importlib.metadata.version(name)}" for name in NEEDED],
            signature=ModelSignature(inputs=Schema(columns)),
        )
