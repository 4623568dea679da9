"""Scenarios: loads, each with its own parameters of the profiles."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeVar

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.inputs.operator_profile import OperatorProfile

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Replacements and factors for profile values; each array has shape (scenarios,), omitted means unchanged.

    service_factor: per operator, on the service time of every input stream, at every parallelism; stream_service_factor
    takes its place per input stream. service_cv2: per operator, replaces the profile's. cpu_factor: per operator, on
    cpu_s. selectivity_factor: per stream name. input_selectivity_factor: by (output stream, input stream).
    scale_exponent, coordination_s: per operator, replace those of its efficiency.
    """

    service_factor: Mapping[str, Floats] = field(default_factory=dict)
    service_cv2: Mapping[str, Floats] = field(default_factory=dict)
    selectivity_factor: Mapping[str, Floats] = field(default_factory=dict)
    cpu_factor: Mapping[str, Floats] = field(default_factory=dict)
    stream_service_factor: Mapping[str, Floats] = field(default_factory=dict)
    input_selectivity_factor: Mapping[tuple[str, str], Floats] = field(default_factory=dict)
    scale_exponent: Mapping[str, Floats] = field(default_factory=dict)
    coordination_s: Mapping[str, Floats] = field(default_factory=dict)

    def map(self, change: Callable[[Floats], Floats]) -> "Parameters":
        """`change` applied to every array; results have one value per scenario."""
        return Parameters(**{each.name: _mapped(getattr(self, each.name), change) for each in fields(self)})

    @property
    def none(self) -> bool:
        """Whether all is as profiled, except possibly service_cv2."""
        return not any(getattr(self, each.name) for each in fields(self) if each.name != "service_cv2")

    def service_s(self, profile: OperatorProfile, stream: str, parallelism: Ints) -> Floats:
        """Mean busy seconds per tuple of one stream, shape (rows, scenarios or 1). parallelism: shape (rows,)."""
        name = profile.operator
        each = profile.efficiency.service_s(
            profile.stream_service_s.get(stream, profile.service_s),
            parallelism[:, None],
            self.scale_exponent.get(name),
            self.coordination_s.get(name),
        )
        return each * self.stream_service_factor.get(stream, self.service_factor.get(name, _ONE))

    def cpu_s(self, profile: OperatorProfile, streams: Sequence[str]) -> Floats | None:
        """CPU seconds per tuple of each stream, in proportion to its service time, shape (streams, scenarios or 1);
        None if not measured, and busy time without calls stands for it.
        """
        if profile.cpu_s is None and profile.calls is None:
            return None
        each_s = np.array([profile.stream_service_s.get(stream, profile.service_s) for stream in streams])
        # A declared mean may be one that the streams cannot have together.
        mean_s = float(np.clip(profile.service_s, each_s.min(), each_s.max()))
        relative = (each_s / mean_s if mean_s > 0 else np.ones(len(streams)))[:, None]
        if profile.cpu_s is not None:
            return relative * profile.cpu_s * self.cpu_factor.get(profile.operator, _ONE)
        return relative * profile.service_s * self.service_factor.get(profile.operator, _ONE)

    def cv2(self, profile: OperatorProfile) -> Floats:
        """Squared variation of service times within a stream, of calls where these bound an instance, shape (scenarios
        or 1,).
        """
        if profile.calls is not None and profile.calls.bound(profile.service_s):
            return np.array([profile.calls.call_cv2])
        return self.service_cv2.get(profile.operator, np.array([profile.service_cv2]))

    def output_ratio(self, profile: OperatorProfile, stream: str, entering: str) -> Floats:
        """Tuples on an output stream per tuple of an input stream, shape (scenarios or 1,); not for windows."""
        factor = self.selectivity_factor.get(stream, _ONE)
        by_input = profile.input_selectivity.get(stream)
        if by_input is None:
            return profile.selectivity.get(stream, 1.0) * factor
        of_input = self.input_selectivity_factor.get((stream, entering), _ONE)
        return by_input.get(entering, 0.0) * of_input * factor


_ONE = np.ones(1)

AS_PROFILED = Parameters()


def _mapped(values: Mapping[Key, Floats], change: Callable[[Floats], Floats]) -> dict[Key, Floats]:
    return {name: change(each) for name, each in values.items()}


@dataclass(frozen=True)
class Scenarios:
    """loads_per_s: shape (scenarios, sources). Scenario n has load n and the n-th of all parameters. leaving_per_s: by
    stream, fixed output for each input term, regardless of its rate, shape (terms, scenarios).
    """

    loads_per_s: Floats
    parameters: Parameters = AS_PROFILED
    leaving_per_s: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return int(self.loads_per_s.shape[0])

    def part(self, which: slice) -> "Scenarios":
        leaving_per_s = {stream: each[:, which] for stream, each in self.leaving_per_s.items()}
        return Scenarios(self.loads_per_s[which], self.parameters.map(lambda each: each[which]), leaving_per_s)
