"""The parameters of a profile by their names, with what is known of their errors."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import scipy

from modeling.calibration.measured import LEVEL
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.scale_efficiency import ScaleEfficiency


@dataclass(frozen=True)
class Parameter:
    """error: standard error, None where nobody knows it."""

    value: float
    error: float | None


def parameters(profile: OperatorProfile) -> dict[str, Parameter]:
    """Every number of a profile that calibration can measure; those at which nobody looked yet are left out."""
    values: dict[str, float] = {}
    for field in fields(profile):
        if field.name not in ("samples", "intervals") and not field.name.endswith(("_error", "_interval")):
            values |= _numbers(field.name, getattr(profile, field.name))
    return {name: Parameter(value, _error(profile, name)) for name, value in values.items()}


def _numbers(name: str, value: object) -> dict[str, float]:
    """The numbers of a field by their names: what is declared alone, such as keys and windows, has none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {name: value}
    if isinstance(value, ScaleEfficiency):
        return {f"{name}.exponent": value.exponent, f"{name}.coordination_s": value.coordination_s}
    if isinstance(value, Mapping):
        return {of: one for key, each in value.items() for of, one in _numbers(f"{name}[{key}]", each).items()}
    return {}


def _error(profile: OperatorProfile, name: str) -> float | None:
    """Standard error: as told, else from the interval, as if it were that of a normal (few samples: too large)."""
    told = {
        "service_s": profile.service_s_error if profile.samples else None,
        "efficiency.exponent": profile.efficiency.exponent_error or None,
        "efficiency.coordination_s": profile.efficiency.coordination_error_s or None,
        "cpu_s": profile.cpu_s_error or None,
        **{f"selectivity[{stream}]": error for stream, error in profile.selectivity_error.items()},
    }
    if told.get(name) is not None:
        return told[name]
    if name not in profile.intervals:
        return None
    low, high = profile.intervals[name]
    return (high - low) / 2 / float(scipy.special.ndtri((1 + LEVEL) / 2)) if np.isfinite(high - low) else None
