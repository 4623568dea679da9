"""Operator profiles of a topology: measured on its cluster where it can be, else what was measured last."""

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from forescale.profile_file import read_profile_file, write_profile_file
from forescale.settings import Settings
from forescale.topology_file import FlinkEntry, TopologyConfig
from modeling.calibration import calibrated_profiles
from modeling.operator_profile import OperatorProfile
from planner.clusters.cluster import Cluster
from planner.errors import ClusterError

SIMULATED_SPAN_S = 3600.0
"""The simulator remembers its past, so as much of it is taken as there may be."""


@dataclass(frozen=True)
class Calibration:
    """profiles: by operator. note: where they are not freshly measured, why."""

    profiles: dict[str, OperatorProfile]
    note: str = ""


def profile_path(config: TopologyConfig, settings: Settings) -> Path:
    return settings.home / "profiles" / f"{config.topology}.json"


def calibrate(config: TopologyConfig, settings: Settings, cluster: Cluster, now: datetime) -> Calibration:
    """Measure, on top of what was measured before; operators that were idle keep what they had. Written to a file.

    A cluster that does not tell its metrics leaves the last calibration, or else what the topology file declares.
    """
    path = profile_path(config, settings)
    known = read_profile_file(path) if path.exists() else {}
    base = {name: _known(profile, known.get(name)) for name, profile in config.declared_profiles().items()}
    topology = config.as_topology()
    try:
        samples = cluster.operator_samples(_span_s(config))
    except ClusterError as error:
        return Calibration(base, f"not measured now: {error}")
    profiles = calibrated_profiles(topology, samples, base)
    write_profile_file(path, config.topology, profiles, now.isoformat())
    idle = [name for name in profiles if profiles[name].samples == 0]
    return Calibration(profiles, f"never measured yet: {', '.join(idle)}" if idle else "")


def _known(declared: OperatorProfile, measured: OperatorProfile | None) -> OperatorProfile:
    """What was measured before, on top of what the topology file declares now: a correction there takes effect."""
    if measured is None or measured.samples == 0:
        return declared
    selectivity = {name: measured.selectivity.get(name, ratio) for name, ratio in declared.selectivity.items()}
    return replace(
        declared,
        service_s=measured.service_s,
        service_s_error=measured.service_s_error,
        selectivity=selectivity,
        samples=measured.samples,
    )


def _span_s(config: TopologyConfig) -> float:
    """Flink has to be watched for so long."""
    return config.cluster.sample_s if isinstance(config.cluster, FlinkEntry) else SIMULATED_SPAN_S
