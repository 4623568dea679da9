"""Drift: parameters that differ from the last calibration by a relevant amount and more than both errors explain."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from modeling.calibration.measured import LONE_ERROR
from modeling.calibration.parameters import Parameter, parameters
from modeling.inputs.operator_profile import OperatorProfile, Profiles

SIGNIFICANT = 0.05
LONE_FREEDOM = 4.0
"""Degrees of freedom of what is assumed of a single sample: LONE_ERROR is a guess, so no look is beyond all doubt."""
MATTERS = 0.05
"""Relative change below which plans hardly change."""
GROWN = 1.1
"""How many times as large a state has to be to count as grown."""
_SLOWED_BY_STATE = ("service_s", "stream_service_s", "cpu_s")


@dataclass(frozen=True)
class Drift:
    """One changed parameter. p: p-value of the difference, corrected for the number of compared parameters.
    relative_change: new over old, less one; infinite if the old value was 0. field: of OperatorProfile, which holds it.
    state_gib: of the operator then and now, where tuples take longer and the state has grown, whose access may be what
    slows them.
    """

    operator: str
    parameter: str
    old: float
    new: float
    p: float
    relative_change: float
    field: str
    state_gib: tuple[float, float] | None = None


def drifts(old: Profiles, new: Profiles, *, matters: float = MATTERS, lone: bool = False) -> list[Drift]:
    """Changes between two calibrations, most significant first.

    Compares parameters with known errors in both, at the same parallelism, by Welch's test with Holm's correction (Holm
    1979): 5 % is the probability of reporting any drift between profiles without one. Declared values are not
    measurements and do not drift. matters: minimum relative change. lone: also compare what a single sample measured
    now, which is a reason to look again but no evidence of a drift: machines vary from minute to minute.
    """
    freedom = LONE_FREEDOM if lone else 1.0
    compared = [
        (name, parameter, before, after, _chance(before, after, old[name].samples, new[name].samples, freedom))
        for name in new
        if name in old and old[name].samples > 0 and new[name].samples > (0 if lone else 1)
        for parameter, before, after in _pairs(_as_measured_at(old[name], new[name]), new[name])
    ]
    compared.sort(key=lambda one: (one[-1], one[0], one[1]))
    found, adjusted = [], 0.0
    for rank, (name, parameter, before, after, p) in enumerate(compared):
        adjusted = max(adjusted, min(1.0, p * (len(compared) - rank)))
        change = _relative_change(before.value, after.value)
        if adjusted < SIGNIFICANT and abs(change) >= matters:
            state_gib = _grown_state(old[name], new[name]) if change > 0 and after.field in _SLOWED_BY_STATE else None
            found.append(Drift(name, parameter, before.value, after.value, adjusted, change, after.field, state_gib))
    return found


def _grown_state(old: OperatorProfile, new: OperatorProfile) -> tuple[float, float] | None:
    grown = 0 < GROWN * old.state_gib <= new.state_gib
    return (old.state_gib, new.state_gib) if grown else None


def _pairs(old: OperatorProfile, new: OperatorProfile) -> Sequence[tuple[str, Parameter, Parameter]]:
    before, after = parameters(old), parameters(new)
    return [
        (name, before[name], after[name])
        for name in after
        # An identical number was not measured again.
        if name in before
        and before[name] != after[name]
        and before[name].error is not None
        and after[name].error is not None
    ]


def _as_measured_at(old: OperatorProfile, new: OperatorProfile) -> OperatorProfile:
    """The old profile with service times at the parallelism of the new one."""
    at = new.efficiency.measured_at
    if old.efficiency.measured_at == at or old.service_s == 0:
        return old
    factor = old.service_s_of("", at) / old.service_s
    return replace(
        old,
        service_s=old.service_s * factor,
        service_s_error=old.service_s_error * factor,
        stream_service_s={stream: service_s * factor for stream, service_s in old.stream_service_s.items()},
        efficiency=replace(old.efficiency, measured_at=at),
    )


def _chance(old: Parameter, new: Parameter, old_samples: int, new_samples: int, freedom: float) -> float:
    """Two-sided p-value of the difference, by Welch and Satterthwaite. freedom: degrees of that of a single sample."""
    errors = (_error(old, old_samples, new, new_samples), _error(new, new_samples, old, old_samples))
    variances = np.array(errors) ** 2
    difference = abs(new.value - old.value)
    if variances.sum() == 0:
        return float(difference <= 1e-9 * max(abs(old.value), abs(new.value)))
    z = difference / float(np.sqrt(variances.sum()))
    freedoms = np.array([samples - 1.0 if samples > 1 else freedom for samples in (old_samples, new_samples)])
    shares = (variances**2 / freedoms).sum()
    if shares == 0:
        return float(2 * scipy.special.ndtr(-z))
    return float(2 * scipy.special.stdtr(float(variances.sum()) ** 2 / float(shares), -z))


def _error(one: Parameter, samples: int, other: Parameter, other_samples: int) -> float:
    """A single sample has no spread: its error is at least that of one of the other samples, and LONE_ERROR."""
    error = one.error or 0.0
    if samples > 1:
        return error
    return max(error, LONE_ERROR * abs(one.value), (other.error or 0.0) * math.sqrt(other_samples))


def _relative_change(old: float, new: float) -> float:
    if old == 0:
        return 0.0 if new == 0 else np.inf
    return new / old - 1
