"""Operator profiles of a topology: measured on its cluster if possible, else the last measured ones."""

import hashlib
import importlib.util
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from forecasting.errors import TrackingError
from forescale.files.atomic import write_whole
from forescale.files.profile import measured_at, profile_text, read_profile_file, write_profile_file
from forescale.files.topology import TopologyConfig
from forescale.jobs.measured_samples import SPANS, measured_samples
from forescale.jobs.unlike_look import settled_look
from forescale.situation.known_profiles import (
    drift_path,
    kept_profiles,
    known_profiles,
    last_profiles,
    look_path,
    profile_path,
)
from forescale.situation.workspace import Workspace
from forescale.wiring.engines.registry import cluster_kind
from modeling.calibration.calibrated import Calibrated, calibrated
from modeling.calibration.drift import Drift, drifts
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.sifting import WARM_S, tuples_seen
from modeling.errors import ModelError
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.wording import count_of
from planner.clusters.cluster import Cluster
from planner.decision_basis import NOT_CALIBRATED, CalibrationFacts, DriftFacts
from planner.errors import ClusterError, NotMeasurableError, NotMeasuredYetError

logger = logging.getLogger(__name__)

SETTLED_S = 900.0
"""Calibrations closer together that differ are of a job that warms up, or whose load varies."""


@dataclass(frozen=True)
class CalibratedTopology:
    """path: the profile file that was written. drifts: changes since the previous calibration. samples: where they came
    from. unsettled_s: age of the previous calibration if it is younger than SETTLED_S and differs: the job may still be
    warming up, and no interval covers that.
    """

    config: TopologyConfig
    path: Path
    made: Calibrated
    drifts: tuple[Drift, ...]
    measured_at: datetime
    samples: str
    unsettled_s: float | None = None


def calibrate(
    workspace: Workspace,
    topology: str,
    samples: Path | None = None,
    *,
    spans: int = SPANS,
    warm_s: float = WARM_S,
    out: Path | None = None,
    against: Path | None = None,
    afresh: bool = False,
) -> CalibratedTopology:
    """Measure on top of the last calibration and write a profile file, by default that of the planner.

    samples: file of samples; None: the engine that the topology file names is asked, for that number of spans if it
    counts meanwhile. against: profile file to build on and compare with; afresh: build on the topology file's
    declarations alone.
    Raises ModelError if no sample is usable; FileError or ClusterError.
    """
    config = workspace.config(topology)
    path = out or profile_path(config, workspace.settings)
    earlier: dict[str, OperatorProfile] = {}
    if against is not None and not afresh:
        earlier = read_profile_file(against, config.as_topology())
    elif not afresh:
        # The planner's own file may predate the renaming of an operator: ignore unknown ones.
        earlier = last_profiles(config, workspace.settings)
    found, source = measured_samples(workspace, config, samples, spans)
    known = known_profiles(config, earlier)
    made = calibrated(config.as_topology(), found, known, warm_s=warm_s)
    if not any(operator.used for operator in made.operators.values()):
        raise ModelError(
            f"{count_of(len(found), 'sample')}, none of them usable ({'; '.join(_reasons(made))}); {path} is "
            f"left as it is; {_remedy(found)}"
        )
    now, before = workspace.clock.now(), against or profile_path(config, workspace.settings)
    before_at = measured_at(before) if before.exists() and not afresh else None
    in_force = kept_profiles(config, workspace.settings)
    text = profile_text(config.topology, made.profiles, now.isoformat())
    if path == profile_path(config, workspace.settings) and _differs(in_force, made.profiles):
        # First: once the profiles are kept, whoever calibrates again after a kill no longer sees that they differ.
        write_whole(hashlib.sha256(text.encode()).hexdigest()[:12], drift_path(config, workspace.settings))
    write_whole(text, path)
    changed = tuple(drifts(known, made.profiles))
    age_s = None if before_at is None else (now - before_at).total_seconds()
    unsettled_s = age_s if changed and age_s is not None and age_s < SETTLED_S else None
    return CalibratedTopology(config, path, made, changed, now, source, unsettled_s)


def _differs(before: Profiles, now: Profiles) -> bool:
    """Whether plans made by the earlier profiles have to be made again: a value has drifted, or an operator is measured
    for the first time, for which a value of the file stood in.
    """
    first = any(profile.samples and not before[name].samples for name, profile in now.items())
    return first or bool(drifts(before, now))


def _remedy(found: Sequence[OperatorSample]) -> str:
    if not any(map(tuples_seen, found)):
        return "the job took in nothing: see whether its sources receive anything, and calibrate while they do"
    return "calibrate again when the job has run for longer under load"


def _reasons(calibrated: Calibrated) -> list[str]:
    notes = [f"{name}: {note}" for name, operator in calibrated.operators.items() for note in operator.notes]
    dropped = [f"{one.operator}: {one.why}" for operator in calibrated.operators.values() for one in operator.dropped]
    return [*notes[:2], *dropped[:1]]


def track(workspace: Workspace, calibration: CalibratedTopology) -> str:
    """Store a calibration as an MLflow model version; returns `name/number`, or "" if MLflow is not installed and no
    server is configured. Raises TrackingError.
    """
    if workspace.settings.mlflow_uri is None and importlib.util.find_spec("mlflow") is None:
        return ""
    from forescale.tracking.calibration_versions import MadeCalibration, log_calibration

    shape, made = calibration.config.as_topology(), calibration.made
    measured = MadeCalibration(shape, made.profiles, calibration.measured_at, calibration.samples, calibration.drifts)
    return log_calibration(measured, workspace.settings)


@dataclass(frozen=True)
class PlanningProfiles:
    """profiles: by operator. facts: why profiles are not freshly measured, what has drifted, and the version in MLflow,
    or why it has none.
    """

    profiles: dict[str, OperatorProfile]
    facts: CalibrationFacts = NOT_CALIBRATED


def planning_profiles(
    workspace: Workspace, config: TopologyConfig, cluster: Cluster, now: datetime
) -> PlanningProfiles:
    """Measure, on top of earlier measurements; idle operators keep theirs, and so do those that this look contradicts
    until a second one agrees (`settled_look`). Written to a file if any sample was usable.

    If the cluster does not report metrics, the last calibration is used, or else the topology file's declarations.
    """
    base = kept_profiles(config, workspace.settings)
    try:
        span_s = cluster_kind(config.cluster).sample_s(config.cluster)
        samples = cluster.operator_samples(span_s)
    except NotMeasuredYetError as error:
        return PlanningProfiles(base, CalibrationFacts(fresh_since=error.running_since))
    except NotMeasurableError:
        return PlanningProfiles(base)  # what stands in for a measurement is told with the plan, each time
    except ClusterError as error:
        return PlanningProfiles(base, CalibrationFacts(failure=str(error)))
    made = calibrated(config.as_topology(), samples, base)
    path = profile_path(config, workspace.settings)
    made, changed, unlike = settled_look(
        config.topology, base, made, look_path(config, workspace.settings), now, max(span_s, SETTLED_S)
    )
    facts = CalibrationFacts(
        unmeasured=tuple(name for name, profile in made.profiles.items() if profile.samples == 0),
        drifts=tuple(
            DriftFacts(one.operator, one.parameter, one.old, one.new, one.p, one.state_gib) for one in changed
        ),
        contradicted=tuple(dict.fromkeys(drift.operator for drift in unlike)),
    )
    if any(operator.used for operator in made.operators.values()):
        write_profile_file(path, config.topology, made.profiles, now.isoformat())
        calibration = CalibratedTopology(config, path, made, changed, now, config.cluster.kind)
        try:
            facts = replace(facts, version=track(workspace, calibration))
        except TrackingError as error:  # planning goes on while the tracking server is away
            logger.warning("the calibration of %s is not in MLflow: %s", config.topology, error)
            facts = replace(facts, untracked=str(error))
    return PlanningProfiles(made.profiles, facts)
