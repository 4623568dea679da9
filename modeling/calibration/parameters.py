"""The parameters of a profile by their names, with what is known of their errors."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from modeling.calibration.measured import LEVEL
from modeling.inputs.operator_profile import OperatorProfile


@dataclass(frozen=True)
class Parameter:
    """error: standard error, None where nobody knows it."""

    value: float
    error: float | None


def parameters(profile: OperatorProfile) -> dict[str, Parameter]:
    """Every number of a profile that calibration can measure; those at which nobody looked yet are left out."""
    values: dict[str, float | None] = {
        "service_s": profile.service_s,
        "service_cv2": profile.service_cv2,
        **{f"stream_service_s[{stream}]": service_s for stream, service_s in profile.stream_service_s.items()},
        **{f"selectivity[{stream}]": ratio for stream, ratio in profile.selectivity.items()},
        **{
            f"input_selectivity[{out}][{entering}]": ratio
            for out, of_inputs in profile.input_selectivity.items()
            for entering, ratio in of_inputs.items()
        },
        "efficiency.exponent": profile.efficiency.exponent,
        "efficiency.coordination_s": profile.efficiency.coordination_s,
        "cpu_s": profile.cpu_s,
        "memory_mib": profile.memory_mib,
        "memory_mib_s": profile.memory_mib_s,
        "state_gib": profile.state_gib,
        "gc_share": profile.gc_share,
    }
    return {name: Parameter(value, _error(profile, name)) for name, value in values.items() if value is not None}


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
    return (high - low) / 2 / float(norm.ppf((1 + LEVEL) / 2)) if np.isfinite(high - low) else None
