"""Operator profiles of a topology: measured on its cluster if possible, else the last measured ones."""

import importlib.util
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from forecasting.errors import TrackingError
from forescale.files.profile import read_profile_file, write_profile_file
from forescale.files.topology import TopologyConfig
from forescale.jobs.measured_samples import SampleSource, measured_samples
from forescale.settings import Settings
from forescale.situation.known_profiles import kept_profiles, known_profiles, last_profiles, profile_path
from forescale.wiring.engines.registry import cluster_kind
from forescale.wiring.parts import clock_of, topology_config
from modeling.calibration import WARM_S, Calibrated, Drift, calibrated, drifts
from modeling.errors import ModelError
from modeling.inputs.operator_profile import OperatorProfile
from modeling.wording import count_of
from planner.clusters.cluster import Cluster
from planner.errors import ClusterError

logger = logging.getLogger(__name__)

SHOWN_DRIFTS = 3


@dataclass(frozen=True)
class CalibratedTopology:
    """path: the profile file that was written. drifts: changes since the previous calibration. samples: where they came
    from.
    """

    config: TopologyConfig
    path: Path
    made: Calibrated
    drifts: tuple[Drift, ...]
    measured_at: datetime
    samples: str


def calibrate(
    settings: Settings,
    topology: str,
    source: SampleSource,
    *,
    warm_s: float = WARM_S,
    out: Path | None = None,
    against: Path | None = None,
    afresh: bool = False,
) -> CalibratedTopology:
    """Measure on top of the last calibration and write a profile file, by default that of the planner.

    against: profile file to build on and compare with; afresh: build on the topology file's declarations alone.
    Raises ModelError if no sample is usable; FileError or ClusterError.
    """
    config = topology_config(topology, settings)
    path = out or profile_path(config, settings)
    earlier: dict[str, OperatorProfile] = {}
    if against is not None and not afresh:
        earlier = read_profile_file(against, config.as_topology())
    elif not afresh:
        # The planner's own file may predate the renaming of an operator: ignore unknown ones.
        earlier = last_profiles(config, settings)
    samples = measured_samples(source, config, settings)
    known = known_profiles(config, earlier)
    made = calibrated(config.as_topology(), samples, known, warm_s=warm_s)
    if not any(operator.used for operator in made.operators.values()):
        raise ModelError(
            f"{count_of(len(samples), 'sample')}, none of them usable ({'; '.join(_reasons(made))}); {path} is "
            "left as it is"
        )
    now = clock_of(settings).now()
    write_profile_file(path, config.topology, made.profiles, now.isoformat())
    return CalibratedTopology(config, path, made, tuple(drifts(known, made.profiles)), now, source.brief)


def _reasons(calibrated: Calibrated) -> list[str]:
    notes = [f"{name}: {note}" for name, operator in calibrated.operators.items() for note in operator.notes]
    dropped = [f"{one.operator}: {one.why}" for operator in calibrated.operators.values() for one in operator.dropped]
    return [*notes[:2], *dropped[:1]]


def track(settings: Settings, calibration: CalibratedTopology) -> str:
    """Store a calibration as an MLflow model version; returns `name/number`, or "" if MLflow is not installed and no
    server is configured. Raises TrackingError.
    """
    if settings.mlflow_uri is None and importlib.util.find_spec("mlflow") is None:
        return ""
    from forescale.tracking.calibration_versions import MadeCalibration, log_calibration

    shape, made = calibration.config.as_topology(), calibration.made
    measured = MadeCalibration(shape, made.profiles, calibration.measured_at, calibration.samples, calibration.drifts)
    return log_calibration(measured, settings)


@dataclass(frozen=True)
class PlanningProfiles:
    """profiles: by operator. note: why profiles are not freshly measured, what has drifted, and whether MLflow lacks
    them. model_version: of MLflow, as `name/number`; empty if nothing was measured or MLflow does not have it.
    """

    profiles: dict[str, OperatorProfile]
    note: str = ""
    model_version: str = ""


def planning_profiles(settings: Settings, config: TopologyConfig, cluster: Cluster, now: datetime) -> PlanningProfiles:
    """Measure, on top of earlier measurements; idle operators keep theirs. Written to a file if any sample was usable.

    If the cluster does not report metrics, the last calibration is used, or else the topology file's declarations.
    """
    base = kept_profiles(config, settings)
    try:
        samples = cluster.operator_samples(cluster_kind(config.cluster).sample_s(config.cluster))
    except ClusterError as error:
        return PlanningProfiles(base, f"not measured now: {error}")
    made = calibrated(config.as_topology(), samples, base)
    changed = drifts(base, made.profiles)
    note, version = _note(made.profiles, changed), ""
    if any(operator.used for operator in made.operators.values()):
        path = profile_path(config, settings)
        write_profile_file(path, config.topology, made.profiles, now.isoformat())
        calibration = CalibratedTopology(config, path, made, tuple(changed), now, config.cluster.kind)
        try:
            version = track(settings, calibration)
        except TrackingError as error:  # planning goes on while the tracking server is away
            logger.warning("the calibration of %s is not in MLflow: %s", config.topology, error)
            note = "; ".join(filter(None, (note, f"not in MLflow: {error}")))
    return PlanningProfiles(made.profiles, note, version)


def _note(profiles: dict[str, OperatorProfile], changed: Sequence[Drift]) -> str:
    idle = [name for name in profiles if profiles[name].samples == 0]
    notes = [f"never measured yet: {', '.join(idle)}"] if idle else []
    if changed:
        more = f" and {len(changed) - SHOWN_DRIFTS} more" if len(changed) > SHOWN_DRIFTS else ""
        notes.append(f"drifted: {'; '.join(map(str, changed[:SHOWN_DRIFTS]))}{more}")
    return "; ".join(notes)
