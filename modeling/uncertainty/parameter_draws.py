"""Draws of what is only known with an error, so that estimates become distributions."""

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
"""At and below the upper end of an interval of 95 %."""

_EXPONENTS = (0.01, 2.0)
"""What ScaleEfficiency may have."""

_LONE_ERROR = 0.05
"""Relative: a lone sample tells no spread, and spans of a steady machine differ by so much."""

_MAX_FACTOR = 1e3
"""Errors of two samples have no bounds; no service time is off by more."""


@dataclass(frozen=True)
class ParameterDraws:
    """So many draws of parameters: each array has the shape (draws,); what has no error is left out."""

    count: int
    parameters: Parameters = AS_PROFILED

    def scenarios(self, loads_per_s: Floats) -> Scenarios:
        """Every draw under every load, loads fastest. loads_per_s: shape (loads, sources)."""
        loads = loads_per_s.shape[0]
        drawn = self.parameters.map(lambda each: np.repeat(each, loads))
        return Scenarios(np.tile(loads_per_s, (self.count, 1)), drawn)

    def paired(self, loads_per_s: Floats) -> Scenarios:
        """Path by path: draw number m (after the last, from the first again) all along path m.

        loads_per_s: shape (paths, steps, sources); scenarios are paths x steps, steps fastest.
        """
        paths, steps, sources = loads_per_s.shape
        of_path = np.arange(paths) % self.count
        drawn = self.parameters.map(lambda each: np.repeat(each[of_path], steps))
        return Scenarios(loads_per_s.reshape(paths * steps, sources), drawn)


def parameter_draws(profiles: Profiles, rng: np.random.Generator, count: int) -> ParameterDraws:
    """`count` draws of all that has an error, by Latin hypercube: each parameter once in each of `count` equally likely
    spans, in an order of its own.

    Service and CPU times that are declared with an error are log-normal with the profile's mean and standard error,
    selectivities normal, 0 where that were negative. Measured ones have Student's t with samples - 1 degrees of freedom
    in place of the normal, as the error itself is only estimated; those of a lone sample are normal and off by 5 % or
    more. service_cv2 is log-normal about the profile's, so that its interval of 95 % is as wide in its logarithm. A
    parameter of 0 stays so, but for coordination_s.

    Where the profile has an interval for the service time of a stream, or for the selectivity of an input, that is
    drawn in place of the operator's, or the stream's; so are the exponent and coordination_s of the efficiency. All of
    them independently of each other, though one fit tells them: what is too much for one stream is too little for
    another, so that draws are too wide where streams keep their shares; where all were found off by one factor they are
    too narrow. Not drawn: keys, what windows give out, polling, memory, state. Raises ModelError for less than one
    draw.
    """
    if count < 1:
        raise ModelError(f"{count} draws; give at least 1")

    def spread(samples: int = 0) -> Floats:
        """Of mean or median 0, in standard errors."""
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
    """Standard error by which draws reach as far as the parameter's interval; 0 where it has none."""
    if parameter not in profile.intervals:
        return 0.0
    _, high = profile.intervals[parameter]
    reach = float(scipy.special.stdtrit(profile.samples - 1, _ENDS)) if profile.samples >= 2 else _NORMAL_95
    # The lower end may be cut off at 0.
    return max(0.0, high - value) / reach


def _relative(error: float, value: float, samples: int) -> float:
    return max(error / value, _LONE_ERROR) if samples == 1 else error / value


def _log_normal(spread: Floats, cv: float) -> Floats:
    """Of mean 1 where the spread is normal."""
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
    """What errors are relative to: the ratio of all inputs together; where only those of each are known, their mean."""
    by_input = profile.input_selectivity.get(stream)
    mean = float(np.mean(list(by_input.values()))) if by_input else 1.0
    return profile.selectivity.get(stream, mean)
