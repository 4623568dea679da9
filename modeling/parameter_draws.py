"""Draws of what is only known with an error, so that estimates become distributions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from modeling.errors import ModelError
from modeling.many_rates import Scenarios
from modeling.operator_profile import OperatorProfile, Profiles

Floats = npt.NDArray[np.float64]

_NORMAL_95 = 1.959963984540054

_LONE_ERROR = 0.05
"""Relative: a lone sample tells no spread, and spans of a steady machine differ by so much."""

_MOST_FACTOR = 1e3
"""Errors of two samples have no bounds; no service time is off by more."""


@dataclass(frozen=True)
class ParameterDraws:
    """By what profiles are multiplied, each array of shape (draws,); what has no error is left out.

    service_factor: per operator, of the service time of every stream that enters, at every parallelism. service_cv2:
    per operator, instead of the profile's. selectivity_factor: per stream name. cpu_factor: per operator, of cpu_s.
    """

    count: int
    service_factor: Mapping[str, Floats] = field(default_factory=dict)
    service_cv2: Mapping[str, Floats] = field(default_factory=dict)
    selectivity_factor: Mapping[str, Floats] = field(default_factory=dict)
    cpu_factor: Mapping[str, Floats] = field(default_factory=dict)

    def scenarios(self, loads_per_s: Floats) -> Scenarios:
        """Every draw under every load, loads fastest. loads_per_s: shape (loads, sources)."""
        loads = loads_per_s.shape[0]
        return Scenarios(
            np.tile(loads_per_s, (self.count, 1)),
            *(
                {name: np.repeat(each, loads) for name, each in of.items()}
                for of in (self.service_factor, self.service_cv2, self.selectivity_factor)
            ),
        )

    def paired(self, loads_per_s: Floats) -> Scenarios:
        """Path by path: draw number m (after the last, from the first again) all along path m.

        loads_per_s: shape (paths, steps, sources); scenarios are paths x steps, steps fastest.
        """
        paths, steps, sources = loads_per_s.shape
        of_path = np.arange(paths) % self.count
        return Scenarios(
            loads_per_s.reshape(paths * steps, sources),
            *(
                {name: np.repeat(each[of_path], steps) for name, each in of.items()}
                for of in (self.service_factor, self.service_cv2, self.selectivity_factor)
            ),
        )


def parameter_draws(profiles: Profiles, rng: np.random.Generator, count: int) -> ParameterDraws:
    """`count` draws of all that has an error, by Latin hypercube: each parameter once in each of `count` equally likely
    spans, in an order of its own.

    Service and CPU times that are declared with an error are log-normal with the profile's mean and standard error,
    selectivities normal, 0 where that were negative. Measured ones have Student's t with samples - 1 degrees of freedom
    in place of the normal, as the error itself is only estimated; those of a lone sample are normal and off by 5 % or
    more. service_cv2 is log-normal about the profile's, so that its interval of 95 % is as wide in its logarithm. A
    parameter of 0 stays so. Raises ModelError for less than one draw.
    """
    if count < 1:
        raise ModelError(f"{count} draws; give at least 1")

    def spread(samples: int = 0) -> Floats:
        """Of mean or median 0, in standard errors."""
        at = (rng.permutation(count) + rng.random(count)) / count
        return np.asarray(stdtrit(samples - 1, at) if samples >= 2 else ndtri(at), dtype=np.float64)

    service: dict[str, Floats] = {}
    cv2: dict[str, Floats] = {}
    cpu: dict[str, Floats] = {}
    selectivity: dict[str, Floats] = {}
    for name, profile in sorted(profiles.items()):
        samples = profile.samples
        if profile.service_s > 0 and (error := _relative(profile.service_s_error, profile.service_s, samples)) > 0:
            service[name] = _log_normal(spread(samples), error)
        if profile.cpu_s and profile.cpu_s_error > 0:
            cpu[name] = _log_normal(spread(samples), _relative(profile.cpu_s_error, profile.cpu_s, samples))
        if (log_spread := _cv2_spread(profile)) > 0:
            cv2[name] = profile.service_cv2 * np.exp(log_spread * spread())
        for stream, error in sorted(profile.selectivity_error.items()):
            if error > 0 and (ratio := _selectivity(profile, stream)) > 0:
                selectivity[stream] = np.maximum(1 + _relative(error, ratio, samples) * spread(samples), 0.0)
    return ParameterDraws(count, service, cv2, selectivity, cpu)


def _relative(error: float, value: float, samples: int) -> float:
    return max(error / value, _LONE_ERROR) if samples == 1 else error / value


def _log_normal(spread: Floats, cv: float) -> Floats:
    """Of mean 1 where the spread is normal."""
    variance = np.log1p(cv**2)
    most = np.log(_MOST_FACTOR)
    return np.asarray(np.exp(np.clip(np.sqrt(variance) * spread - variance / 2, -most, most)))


def _cv2_spread(profile: OperatorProfile) -> float:
    """Standard deviation of the logarithm of service_cv2."""
    if profile.service_cv2_interval is None or profile.service_cv2 <= 0:
        return 0.0
    low, high = profile.service_cv2_interval
    return float(np.log(high / low)) / (2 * _NORMAL_95) if 0 < low < high else 0.0


def _selectivity(profile: OperatorProfile, stream: str) -> float:
    """What errors are relative to: of a stream with a ratio for each input, their mean."""
    if by_input := profile.input_selectivity.get(stream):
        return float(np.mean(list(by_input.values())))
    return profile.selectivity.get(stream, 1.0)
