"""Operator profiles as a JSON file, written by calibration and read by the planner and `forescale evaluate`."""

from dataclasses import asdict
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from forescale.files.atomic import write_whole
from modeling.errors import ModelError
from modeling.inputs.checked import check_streams
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.polling import Polling
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.topology import Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind


class ProfileFileError(ValueError):
    """A profile file that cannot be used; names the file, the field, the value and the remedy."""


class _WindowedEntry(BaseModel):
    """A stream whose output follows time and keys: see docs/modeling.md."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    kind: WindowKind
    window_s: float
    distinct_keys: int
    slide_s: float | None = None
    key_shares: dict[str, float] | None = None


class _EfficiencyEntry(BaseModel):
    """How the service time grows with the parallelism: see docs/modeling.md."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    exponent: float = 1.0
    coordination_s: float = 0.0
    measured_at: int = 1
    exponent_error: float = 0.0
    coordination_error_s: float = 0.0


class _PollingEntry(BaseModel):
    """A source that asks for its tuples: see docs/modeling.md."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    interval_s: float
    most_per_poll: int


class _ProfileEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    service_s: float
    service_s_error: float = 0.0
    service_cv2: float = 1.0
    selectivity: dict[str, float] = {}
    key_shares: dict[str, float] | None = None
    key_hashes: dict[str, int] = {}
    stream_key_shares: dict[str, dict[str, float]] = {}
    stream_service_s: dict[str, float] = {}
    input_selectivity: dict[str, dict[str, float]] = {}
    windowed: dict[str, _WindowedEntry] = {}
    service_cv2_interval: tuple[float, float] | None = None
    selectivity_error: dict[str, float] = {}
    efficiency: _EfficiencyEntry = _EfficiencyEntry()
    cpu_s: float | None = None
    cpu_s_error: float = 0.0
    memory_mib: float | None = None
    memory_mib_s: float = 0.0
    state_gib: float = 0.0
    state_in_memory: bool = True
    gc_share: float = 0.0
    intervals: dict[str, tuple[float, float]] = {}
    polling: _PollingEntry | None = None
    samples: int = 0


class ProfilesEntry(BaseModel):
    """What calibration knows of the operators of a topology: times in seconds, selectivity per stream (`a->b`)."""

    model_config = ConfigDict(extra="forbid")
    topology: str
    measured_at: str = ""
    operators: dict[str, _ProfileEntry]


def read_profile_file(
    path: Path, topology: Topology | None = None, called: str | None = None
) -> dict[str, OperatorProfile]:
    """Profiles by operator. Raises ProfileFileError naming file, field, value and remedy.

    topology: what they must be of; unchecked where None. called: what messages call the file, if not by its path.
    """
    name = called or str(path)
    try:
        entry = ProfilesEntry.model_validate_json(path.read_text(encoding="utf-8-sig"))
        profiles = {operator: _profile(operator, profile) for operator, profile in entry.operators.items()}
        if topology is not None:
            _check(entry.topology, profiles, topology)
        return profiles
    except UnicodeDecodeError as error:
        raise ProfileFileError(f"profile file {name} cannot be read: {error}; save it as UTF-8") from None
    except OSError as error:
        raise ProfileFileError(f"profile file {name} cannot be read: {error}; check the path") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "(file)"
        raise ProfileFileError(f"{name}: {field}: {first['msg']}; see docs/topology-file.md") from None
    except ModelError as error:
        raise ProfileFileError(f"{name}: {error}") from None


def _check(of: str, profiles: Profiles, topology: Topology) -> None:
    """Raises ModelError where profiles of the topology `of` name what the topology does not have."""
    if of != topology.name:
        raise ModelError(f"topology: {of!r} is not {topology.name!r}; give a profile of this topology")
    known = [operator.name for operator in topology.operators]
    for operator in profiles:
        if operator not in known:
            raise ModelError(
                f"operators.{operator} is no operator of topology {topology.name!r}; they are {', '.join(known)}"
            )
        check_streams(topology, profiles[operator])


def write_profile_file(path: Path, topology: str, profiles: dict[str, OperatorProfile], measured_at: str) -> None:
    """Atomic: the file is the old one or the new one."""
    entry = ProfilesEntry(
        topology=topology,
        measured_at=measured_at,
        operators={name: _entry(profile) for name, profile in profiles.items()},
    )
    write_whole(entry.model_dump_json(indent=2), path)


def _profile(name: str, entry: _ProfileEntry) -> OperatorProfile:
    return OperatorProfile(
        name,
        entry.service_s,
        entry.selectivity,
        entry.service_s_error,
        entry.service_cv2,
        KeyHistogram(entry.key_shares, entry.key_hashes) if entry.key_shares else None,
        entry.samples,
        {stream: KeyHistogram(shares) for stream, shares in entry.stream_key_shares.items()},
        entry.stream_service_s,
        entry.input_selectivity,
        {
            stream: WindowedOutput(
                window.kind,
                window.window_s,
                window.distinct_keys,
                window.slide_s,
                KeyHistogram(window.key_shares) if window.key_shares else None,
            )
            for stream, window in entry.windowed.items()
        },
        entry.service_cv2_interval,
        entry.selectivity_error,
        ScaleEfficiency(**entry.efficiency.model_dump()),
        entry.cpu_s,
        entry.cpu_s_error,
        entry.memory_mib,
        entry.memory_mib_s,
        entry.state_gib,
        entry.state_in_memory,
        entry.gc_share,
        entry.intervals,
        None if entry.polling is None else Polling(entry.polling.interval_s, entry.polling.most_per_poll),
    )


def _entry(profile: OperatorProfile) -> _ProfileEntry:
    return _ProfileEntry(
        service_s=profile.service_s,
        service_s_error=profile.service_s_error,
        service_cv2=profile.service_cv2,
        selectivity=dict(profile.selectivity),
        key_shares=dict(profile.keys.shares) if profile.keys else None,
        key_hashes=dict(profile.keys.hashes) if profile.keys else {},
        stream_key_shares={stream: dict(keys.shares) for stream, keys in profile.stream_keys.items()},
        stream_service_s=dict(profile.stream_service_s),
        input_selectivity={out: dict(ratios) for out, ratios in profile.input_selectivity.items()},
        windowed={
            stream: _WindowedEntry(
                kind=window.kind,
                window_s=window.window_s,
                distinct_keys=window.distinct_keys,
                slide_s=window.slide_s,
                key_shares=dict(window.keys.shares) if window.keys else None,
            )
            for stream, window in profile.windowed.items()
        },
        service_cv2_interval=profile.service_cv2_interval,
        selectivity_error=dict(profile.selectivity_error),
        efficiency=_EfficiencyEntry(**asdict(profile.efficiency)),
        cpu_s=profile.cpu_s,
        cpu_s_error=profile.cpu_s_error,
        memory_mib=profile.memory_mib,
        memory_mib_s=profile.memory_mib_s,
        state_gib=profile.state_gib,
        state_in_memory=profile.state_in_memory,
        gc_share=profile.gc_share,
        intervals=dict(profile.intervals),
        polling=None if profile.polling is None else _PollingEntry(**asdict(profile.polling)),
        samples=profile.samples,
    )
