"""Operator profiles as a JSON file, written by calibration and read by the planner and `forescale evaluate`."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from modeling.errors import ModelError
from modeling.operator_profile import KeyHistogram, OperatorProfile


class ProfileFileError(ValueError):
    """A profile file that cannot be used; names the file, the field, the value and the remedy."""


class _ProfileEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    service_s: float
    service_s_error: float = 0.0
    service_cv2: float = 1.0
    selectivity: dict[str, float] = {}
    key_shares: dict[str, float] | None = None
    samples: int = 0


class ProfilesEntry(BaseModel):
    """What calibration knows of the operators of a topology: times in seconds, selectivity per stream (`a->b`)."""

    model_config = ConfigDict(extra="forbid")
    topology: str
    measured_at: str = ""
    operators: dict[str, _ProfileEntry]


def read_profile_file(path: Path) -> dict[str, OperatorProfile]:
    """Profiles by operator. Raises ProfileFileError naming file, field, value and remedy."""
    try:
        entry = ProfilesEntry.model_validate_json(path.read_bytes())
        return {
            name: OperatorProfile(
                name,
                profile.service_s,
                profile.selectivity,
                profile.service_s_error,
                profile.service_cv2,
                KeyHistogram(profile.key_shares) if profile.key_shares else None,
                profile.samples,
            )
            for name, profile in entry.operators.items()
        }
    except OSError as error:
        raise ProfileFileError(f"profile file {path} cannot be read: {error}; check the path") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "(file)"
        raise ProfileFileError(f"{path}: {field}: {first['msg']}; see docs/topology-file.md") from None
    except ModelError as error:
        raise ProfileFileError(f"{path}: {error}") from None


def write_profile_file(path: Path, topology: str, profiles: dict[str, OperatorProfile], measured_at: str) -> None:
    """Atomic: the file is the old one or the new one."""
    entry = ProfilesEntry(
        topology=topology,
        measured_at=measured_at,
        operators={
            name: _ProfileEntry(
                service_s=profile.service_s,
                service_s_error=profile.service_s_error,
                service_cv2=profile.service_cv2,
                selectivity=dict(profile.selectivity),
                key_shares=dict(profile.keys.shares) if profile.keys else None,
                samples=profile.samples,
            )
            for name, profile in profiles.items()
        },
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(entry.model_dump_json(indent=2), encoding="utf-8")
    temporary.replace(path)
