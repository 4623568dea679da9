"""Profiles to calibrate on top of: the topology file's declarations, replaced by earlier measurements."""

from dataclasses import replace
from pathlib import Path

from forescale.files.profile import read_profile_file
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from modeling.inputs.calls import Calls
from modeling.inputs.checked import without_lost_streams
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.topology import Topology


def profile_path(config: TopologyConfig, settings: Settings) -> Path:
    """The file that the planner writes its calibrations to."""
    return settings.home / "profiles" / f"{config.topology}.json"


def look_path(config: TopologyConfig, settings: Settings) -> Path:
    """The file of a planner's look that waits for a second one."""
    return settings.home / "profiles" / "looks" / f"{config.topology}.json"


def drift_path(config: TopologyConfig, settings: Settings) -> Path:
    """The file with the digest of the last calibration that plans have to be made again for."""
    return settings.home / "profiles" / "drifted" / config.topology


def drift_digest(config: TopologyConfig, settings: Settings) -> str:
    """Of the last calibration by `calibrate` that differed from the one before, or measured an operator for the first
    time; empty without one. Decisions made before it are no answer any more; a plan's own measurement does not change
    it.
    """
    path = drift_path(config, settings)
    return path.read_text(encoding="ascii").strip() if path.exists() else ""


def kept_profiles(config: TopologyConfig, settings: Settings) -> dict[str, OperatorProfile]:
    """Profiles of all operators, as the planner last measured them."""
    return known_profiles(config, last_profiles(config, settings))


def unmeasured_notes(profiles: Profiles) -> list[str]:
    """Notes for readers of anything computed from these profiles."""
    if any(profile.samples for profile in profiles.values()):
        return []
    return ["service times are those declared in the topology file; nothing was measured"]


def last_profiles(config: TopologyConfig, settings: Settings) -> dict[str, OperatorProfile]:
    """Profiles of the operators that the planner measured, by their names at that time."""
    path = profile_path(config, settings)
    return read_profile_file(path) if path.exists() else {}


def known_profiles(config: TopologyConfig, earlier: Profiles) -> dict[str, OperatorProfile]:
    """Profiles of all operators. Values nobody measured (keys, the selectivity of new streams, a service time or state
    that the engine does not report) are as the file declares them now, so that a correction there takes effect.
    """
    topology = config.as_topology()
    return {
        name: _known(topology, profile, earlier[name]) if name in earlier and earlier[name].samples else profile
        for name, profile in config.declared_profiles().items()
    }


def _known(topology: Topology, declared: OperatorProfile, measured: OperatorProfile) -> OperatorProfile:
    known = without_lost_streams(topology, measured)
    # Selectivities of sources are declared, except those that the engine counts.
    counted = {stream for stream in known.selectivity if f"selectivity[{stream}]" in measured.intervals}
    ratios = {s: ratio for s, ratio in known.selectivity.items() if s in counted or topology.inputs(known.operator)}
    # Engines report no busy time of some sources: the stored value was declared, perhaps by an earlier file.
    timed = is_timed(measured)
    return replace(
        known,
        service_s=known.service_s if timed else declared.service_s,
        selectivity={stream: ratios.get(stream, ratio) for stream, ratio in declared.selectivity.items()},
        keys=declared.keys or known.keys,
        state_gib=known.state_gib if "state_gib" in measured.intervals else declared.state_gib or known.state_gib,
        service_cv2=measured.service_cv2
        if is_spread_measured(declared.service_cv2, measured)
        else declared.service_cv2,
        calls=_calls(declared, measured),
        pauses=declared.pauses,
    )


def is_timed(profile: OperatorProfile) -> bool:
    """Whether its service time was measured."""
    return "service_s" in profile.intervals or profile.service_s_error > 0


def is_spread_measured(declared_cv2: float, measured: OperatorProfile) -> bool:
    """Whether its service_cv2 was measured; a maximum leaves a declared value below it in force."""
    if measured.service_cv2_interval is None:
        return False
    low, high = measured.service_cv2_interval
    return low > 0 or declared_cv2 > high


def _calls(declared: OperatorProfile, measured: OperatorProfile) -> Calls | None:
    """As declared, with the time of a call as measured at that concurrency."""
    known = measured.calls
    if declared.calls is None or known is None or "calls.call_s" not in measured.intervals:
        return declared.calls
    return known if known.concurrency == declared.calls.concurrency else declared.calls
