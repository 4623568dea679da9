"""The targets of a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from modeling.errors import ModelError

ANY = "any"
"""Key for missing at least one target."""


@dataclass(frozen=True)
class Targets:
    """None or False disables a target.

    throughput: the whole offered load is processed. max_utilisation: of the busiest instance. max_latency_s: end-to-end
    latency quantile `latency_share` in steady state, over the tuples at all sinks. sink_max_latency_s: the same at
    single sinks, by name. max_lag_s: longest wait of a tuple in a backlog.
    """

    throughput: bool = True
    max_utilisation: float | None = None
    max_latency_s: float | None = None
    max_lag_s: float | None = None
    latency_share: float = 0.95
    sink_max_latency_s: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bounds = {name: getattr(self, name) for name in ("max_utilisation", "max_latency_s", "max_lag_s")}
        bounds |= {f"sink_max_latency_s of {sink!r}": bound for sink, bound in self.sink_max_latency_s.items()}
        for name, bound in bounds.items():
            if bound is not None and not (np.isfinite(bound) and bound > 0):
                raise ModelError(f"target {name} {bound}; give a finite number above 0, or leave it out")
        if not 0 < self.latency_share < 1:
            raise ModelError(f"target latency_share {self.latency_share}; give a share between 0 and 1, .95 is the p95")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the enabled targets; a sink's is `latency at NAME`."""
        enabled = {
            "throughput": self.throughput,
            "utilisation": self.max_utilisation is not None,
            latency_target(None): self.max_latency_s is not None,
            **{latency_target(sink): True for sink in self.sink_max_latency_s},
            "lag": self.max_lag_s is not None,
        }
        return tuple(name for name, each in enabled.items() if each)

    @property
    def latency_bounds_s(self) -> dict[str | None, float]:
        """Bounds by sink; None stands for all sinks together."""
        whole: dict[str | None, float] = {} if self.max_latency_s is None else {None: self.max_latency_s}
        return whole | dict(self.sink_max_latency_s)


def latency_target(sink: str | None) -> str:
    """Name of the target of one sink, or of all sinks together.

    >>> latency_target(None), latency_target("count")
    ('latency', 'latency at count')
    """
    return "latency" if sink is None else f"latency at {sink}"
