"""Draws of uncertain parameters, so that estimates become distributions."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.flow.scenarios import AS_PROFILED, Parameters, Scenarios
from modeling.inputs.operator_profile import OperatorProfile, Profiles

_NORMAL_95 = 1.959963984540054

_ENDS = 0.975
"""Probability below the upper end of a 95 % interval."""

_EXPONENTS = (0.01, 2.0)
"""Range of exponents of ScaleEfficiency."""

_LONE_ERROR = 0.05
"""Relative error of a single sample, which has no spread: spans of a steady machine differ by this much."""

_MAX_FACTOR = 1e3
"""Limit of a factor: errors from two samples are unbounded, but no service time is off by more."""


@dataclass(frozen=True)
class ParameterDraws:
    """Draws of parameters: each array has shape (draws,); parameters without error are omitted."""

    count: int
    parameters: Parameters = AS_PROFILED

    def scenarios(self, loads_per_s: Floats) -> Scenarios:
        """Every draw under every load, loads fastest. loads_per_s: shape (loads, sources)."""
        loads = loads_per_s.shape[0]
        drawn = self.parameters.map(lambda each: np.repeat(each, loads))
        return Scenarios(np.tile(loads_per_s, (self.count, 1)), drawn)

    def paired(self, loads_per_s: Floats) -> Scenarios:
        """One draw per path: draw m (cyclically) applies along the whole path m.

        loads_per_s: shape (paths, steps, sources); scenarios are paths x steps, steps fastest.
        """
        paths, steps, sources = loads_per_s.shape
        of_path = np.arange(paths) % self.count
        drawn = self.parameters.map(lambda each: np.repeat(each[of_path], steps))
        return Scenarios(loads_per_s.reshape(paths * steps, sources), drawn)


def parameter_draws(profiles: Profiles, rng: np.random.Generator, count: int) -> ParameterDraws:
    """`count` draws of all parameters with an error, by Latin hypercube: each parameter once in each of `count` equally
    likely strata, in its own random order.

    Declared service and CPU times are log-normal with the profile's mean and standard error, selectivities normal,
    clipped at 0. Measured ones use Student's t with samples - 1 degrees of freedom instead of the normal, since the
    error itself is estimated; those of a single sample are normal with an error of at least 5 %. service_cv2 is
    log-normal around the profile's value, with the width of its 95 % interval in the logarithm. A parameter of 0 stays
    0, except coordination_s.

    If the profile has an interval for a stream's service time, or for an input's selectivity, that is drawn instead of
    the operator's, or the stream's; so are the efficiency's exponent and coordination_s. All are drawn independently,
    although one fit estimates them with correlated errors: draws are too wide if streams keep their shares, and too
    narrow if all are off by a common factor. Not drawn: keys, window output, polling, calls, memory, state.
    Raises ModelError for less than one draw.
    """
    if count < 1:
        raise ModelError(f"{count} draws; give at least 1")

    def spread(samples: int = 0) -> Floats:
        """Standardised deviations around mean or median 0."""
        at = (rng.permutation(count) + rng.random(count)) / count
        return np.asarray(
            scipy.special.stdtrit(samples - 1, at) if samples >= 2 else scipy.special.ndtri(at), dtype=np.float64
        )

    drawn: dict[str, dict[Any, Floats]] = {each.name: {} for each in fields(Parameters)}
    for name, profile in sorted(profiles.items()):
        samples, scale = profile.samples, profile.efficiency
        if profile.service_s > 0 and (error := _relative(profile.service_s_error, profile.service_s, samples)) > 0:
            drawn["service_factor"][name] = _log_normal(spread(samples), error)
        for stream, service_s in sorted(profile.stream_service_s.items()):
            if service_s > 0 and (error := _error(profile, f"stream_service_s[{stream}]", service_s)) > 0:
                error = _relative(error, service_s, samples)
                drawn["stream_service_factor"][stream] = _log_normal(spread(samples), error)
        if (error := _error(profile, "efficiency.exponent", scale.exponent) or scale.exponent_error) > 0:
            drawn["scale_exponent"][name] = np.clip(scale.exponent + error * spread(samples), *_EXPONENTS)
        if (
            error := _error(profile, "efficiency.coordination_s", scale.coordination_s) or scale.coordination_error_s
        ) > 0:
            drawn["coordination_s"][name] = np.maximum(scale.coordination_s + error * spread(samples), 0.0)
        if profile.cpu_s and profile.cpu_s_error > 0:
            error = _relative(profile.cpu_s_error, profile.cpu_s, samples)
            drawn["cpu_factor"][name] = _log_normal(spread(samples), error)
        if (log_spread := _cv2_spread(profile)) > 0:
            drawn["service_cv2"][name] = profile.service_cv2 * np.exp(log_spread * spread())
        by_input: set[str] = set()
        for stream, ratios in sorted(profile.input_selectivity.items()):
            for entering, ratio in sorted(ratios.items()):
                error = _error(profile, f"input_selectivity[{stream}][{entering}]", ratio)
                if error > 0 and ratio > 0:
                    by_input.add(stream)
                    factor = 1 + _relative(error, ratio, samples) * spread(samples)
                    drawn["input_selectivity_factor"][stream, entering] = np.maximum(factor, 0.0)
        for stream, error in sorted(profile.selectivity_error.items()):
            if stream not in by_input and error > 0 and (ratio := _selectivity(profile, stream)) > 0:
                factor = 1 + _relative(error, ratio, samples) * spread(samples)
                drawn["selectivity_factor"][stream] = np.maximum(factor, 0.0)
    return ParameterDraws(count, Parameters(**drawn))


def _error(profile: OperatorProfile, parameter: str, value: float) -> float:
    """Standard error that makes draws match the parameter's interval; 0 without one."""
    if parameter not in profile.intervals:
        return 0.0
    _, high = profile.intervals[parameter]
    reach = float(scipy.special.stdtrit(profile.samples - 1, _ENDS)) if profile.samples >= 2 else _NORMAL_95
    # Use the upper end, since the lower one may be clipped at 0.
    return max(0.0, high - value) / reach


def _relative(error: float, value: float, samples: int) -> float:
    return max(error / value, _LONE_ERROR) if samples == 1 else error / value


def _log_normal(spread: Floats, cv: float) -> Floats:
    """Log-normal factors with mean 1 if the spread is normal."""
    variance = np.log1p(cv**2)
    most = np.log(_MAX_FACTOR)
    return np.asarray(np.exp(np.clip(np.sqrt(variance) * spread - variance / 2, -most, most)))


def _cv2_spread(profile: OperatorProfile) -> float:
    """Standard deviation of the logarithm of service_cv2."""
    if profile.service_cv2_interval is None or profile.service_cv2 <= 0:
        return 0.0
    low, high = profile.service_cv2_interval
    return float(np.log(high / low)) / (2 * _NORMAL_95) if 0 < low < high else 0.0


def _selectivity(profile: OperatorProfile, stream: str) -> float:
    """Reference value of relative errors: the overall ratio or, if only ratios by input are known, their mean."""
    by_input = profile.input_selectivity.get(stream)
    mean = float(np.mean(list(by_input.values()))) if by_input else 1.0
    return profile.selectivity.get(stream, mean)
