"""The parameters of a profile by name, with their errors if known."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import scipy

from modeling.calibration.measured import LEVEL
from modeling.inputs.calls import Calls
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.scale_efficiency import ScaleEfficiency


@dataclass(frozen=True)
class Parameter:
    """field: of OperatorProfile, which holds the value. error: standard error, None if unknown."""

    value: float
    error: float | None
    field: str


def parameters(profile: OperatorProfile) -> dict[str, Parameter]:
    """Every number of a profile that calibration can measure; unmeasured ones are left out."""
    return {
        name: Parameter(value, _error(profile, name), field.name)
        for field in fields(profile)
        if field.name not in ("samples", "intervals") and not field.name.endswith(("_error", "_interval"))
        for name, value in _numbers(field.name, getattr(profile, field.name)).items()
    }


def _numbers(name: str, value: object) -> dict[str, float]:
    """The numbers of a field by name; fields that can only be declared, such as keys and windows, have none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {name: value}
    if isinstance(value, ScaleEfficiency):
        return {f"{name}.exponent": value.exponent, f"{name}.coordination_s": value.coordination_s}
    if isinstance(value, Calls):
        return {f"{name}.call_s": value.call_s}
    if isinstance(value, Mapping):
        return {of: one for key, each in value.items() for of, one in _numbers(f"{name}[{key}]", each).items()}
    return {}


def _error(profile: OperatorProfile, name: str) -> float | None:
    """Standard error: as stored, else from the interval as for a normal distribution (too large for few samples)."""
    errors = {
        "service_s": profile.service_s_error if profile.samples else None,
        "efficiency.exponent": profile.efficiency.exponent_error or None,
        "efficiency.coordination_s": profile.efficiency.coordination_error_s or None,
        "cpu_s": profile.cpu_s_error or None,
        "idle_cores": profile.idle_cores_error or None,
        "container_idle_cores": profile.container_idle_cores_error or None,
        **{f"selectivity[{stream}]": error for stream, error in profile.selectivity_error.items()},
    }
    if errors.get(name) is not None:
        return errors[name]
    if name not in profile.intervals:
        return None
    low, high = profile.intervals[name]
    return (high - low) / 2 / float(scipy.special.ndtri((1 + LEVEL) / 2)) if np.isfinite(high - low) else None
