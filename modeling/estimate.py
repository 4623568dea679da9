"""What the model says a plan would do under a load."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

UNSTABLE = float("inf")
"""The wait of an operator whose utilisation is 1 or more: its queue grows without end."""


@dataclass(frozen=True)
class OperatorEstimate:
    """One operator under the offered load (not under what the plan lets through).

    arrival_rate_per_s: tuples in. instance_utilisation: shape (parallelism,); 1 and more is unstable.
    wait_s: mean queueing delay, UNSTABLE where the busiest instance is. saturation_scale: by what factor the whole
    load could grow until this operator's busiest instance saturates.
    """

    operator: str
    parallelism: int
    arrival_rate_per_s: float
    instance_utilisation: Floats
    wait_s: float
    saturation_scale: float

    @property
    def utilisation(self) -> float:
        """Of the busiest instance: it is what saturates."""
        return float(self.instance_utilisation.max())


@dataclass(frozen=True)
class Estimate:
    """What a plan would do under a load.

    throughput_per_s: what each source would really take in. mst_per_s: maximum sustainable throughput per source, at
    the load's mix of sources. bottleneck: the operator that saturates first. saturation_scale: mst / load.
    latency_s: mean end-to-end seconds from arrival to the slowest sink, UNSTABLE above saturation.
    excess_per_s: per source, how fast its backlog grows (0 when stable). bounds: keyed streams of which nobody knows
    the keys, or what the engine does with them: their busiest instance is only bounded.
    """

    plan_id: str
    load_per_s: Mapping[str, float]
    throughput_per_s: Mapping[str, float]
    mst_per_s: Mapping[str, float]
    saturation_scale: float
    bottleneck: str
    operators: Mapping[str, OperatorEstimate]
    latency_s: float
    excess_per_s: Mapping[str, float]
    bounds: tuple[str, ...] = ()

    @property
    def stable(self) -> bool:
        return self.saturation_scale > 1.0

    @property
    def utilisation(self) -> float:
        return max(operator.utilisation for operator in self.operators.values())
