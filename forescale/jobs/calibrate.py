"""Operator profiles of a topology: measured on its cluster where it can be, else what was measured last."""

import importlib.util
import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from forecasting.errors import TrackingError
from forescale.files.profile import read_profile_file, write_profile_file
from forescale.files.topology import FlinkEntry, TopologyConfig
from forescale.jobs.known_profiles import known_profiles
from forescale.settings import Settings
from modeling.calibration import Calibrated, Drift, calibrated, drifts
from modeling.inputs.operator_profile import OperatorProfile
from planner.clusters.cluster import Cluster
from planner.errors import ClusterError

logger = logging.getLogger(__name__)

SIMULATED_SPAN_S = 3600.0
"""The simulator remembers its past, so as much of it is taken as there may be."""

TOLD_DRIFTS = 3


@dataclass(frozen=True)
class Calibration:
    """profiles: by operator. note: where they are not freshly measured, why; and what has drifted. notes: what could
    not be told of an operator. drifts: what has changed since the last calibration. model_version: of MLflow, as
    `name/number`; empty where nothing was measured, or it is not to be had.
    """

    profiles: dict[str, OperatorProfile]
    note: str = ""
    notes: tuple[str, ...] = ()
    drifts: tuple[Drift, ...] = ()
    model_version: str = ""


def profile_path(config: TopologyConfig, settings: Settings) -> Path:
    return settings.home / "profiles" / f"{config.topology}.json"


def calibrate(config: TopologyConfig, settings: Settings, cluster: Cluster, now: datetime) -> Calibration:
    """Measure, on top of what was measured before; operators that were idle keep what they had. Written to a file if
    any sample was of use.

    A cluster that does not tell its metrics leaves the last calibration, or else what the topology file declares.
    """
    path = profile_path(config, settings)
    earlier = read_profile_file(path) if path.exists() else {}
    base = known_profiles(config, earlier)
    try:
        samples = cluster.operator_samples(_span_s(config))
    except ClusterError as error:
        return Calibration(base, f"not measured now: {error}")
    made = calibrated(config.as_topology(), samples, base)
    measured = any(operator.used for operator in made.operators.values())
    if measured:
        write_profile_file(path, config.topology, made.profiles, now.isoformat())
    changed = drifts(base, made.profiles)
    notes = [f"{name}: {note}" for name, operator in made.operators.items() for note in operator.notes]
    version = _tracked(config, settings, made, changed, now) if measured else ""
    return Calibration(made.profiles, _note(made.profiles, changed), tuple(notes), tuple(changed), version)


def track(
    config: TopologyConfig, settings: Settings, made: Calibrated, changed: list[Drift], now: datetime, samples: str
) -> str:
    """Keep a calibration as a model version; its name. Empty where MLflow is not installed and nobody named a server.

    Raises TrackingError.
    """
    if settings.mlflow_uri is None and importlib.util.find_spec("mlflow") is None:
        return ""
    from forescale.tracking.calibration_versions import MadeCalibration, log_calibration

    return log_calibration(MadeCalibration(config.as_topology(), made.profiles, now, samples, changed), settings)


def _tracked(config: TopologyConfig, settings: Settings, made: Calibrated, changed: list[Drift], now: datetime) -> str:
    """Planning goes on while the tracking server is away."""
    try:
        return track(config, settings, made, changed, now, config.cluster.kind)
    except TrackingError as error:
        logger.warning("the calibration of %s is not in MLflow: %s", config.topology, error)
        return ""


def _note(profiles: dict[str, OperatorProfile], changed: list[Drift]) -> str:
    idle = [name for name in profiles if profiles[name].samples == 0]
    told = [f"never measured yet: {', '.join(idle)}"] if idle else []
    if changed:
        more = f" and {len(changed) - TOLD_DRIFTS} more" if len(changed) > TOLD_DRIFTS else ""
        told.append(f"drifted: {'; '.join(map(str, changed[:TOLD_DRIFTS]))}{more}")
    return "; ".join(told)


def _span_s(config: TopologyConfig) -> float:
    """Flink has to be watched for so long."""
    return config.cluster.sample_s if isinstance(config.cluster, FlinkEntry) else SIMULATED_SPAN_S
