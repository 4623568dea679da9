"""What a plan has to hold."""

from dataclasses import dataclass

import numpy as np

from modeling.errors import ModelError


@dataclass(frozen=True)
class Targets:
    """None, or False, leaves a target free.

    throughput: all that is offered is taken in. max_utilisation: of the busiest instance. max_latency_s: of the 95 %
    quantile end to end in a steady state. max_lag_s: of the longest that a tuple waits in a backlog.
    """

    throughput: bool = True
    max_utilisation: float | None = None
    max_latency_s: float | None = None
    max_lag_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_utilisation", "max_latency_s", "max_lag_s"):
            bound = getattr(self, name)
            if bound is not None and not (np.isfinite(bound) and bound > 0):
                raise ModelError(f"target {name} {bound}; give a finite number above 0, or leave it out")

    @property
    def names(self) -> tuple[str, ...]:
        """Of those that count."""
        asked = {
            "throughput": self.throughput,
            "utilisation": self.max_utilisation is not None,
            "latency": self.max_latency_s is not None,
            "lag": self.max_lag_s is not None,
        }
        return tuple(name for name, each in asked.items() if each)
