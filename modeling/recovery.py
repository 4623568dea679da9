"""Recovery: what a rescale costs in backlog and time. Recovery time = downtime + catch-up."""

import math

from modeling.errors import ModelError


def catch_up_s(arrival_rate_per_s: float, capacity_per_s: float, downtime_s: float) -> float:
    """Seconds to drain what arrived during the downtime: λ·D / (μ − λ); infinite where capacity does not exceed
    arrivals.

    >>> catch_up_s(10.0, 15.0, 30.0)  # 300 waiting, drained at 5 a second
    60.0
    """
    if min(arrival_rate_per_s, capacity_per_s, downtime_s) < 0 or math.isnan(arrival_rate_per_s + capacity_per_s):
        raise ModelError(
            f"catch-up of arrivals {arrival_rate_per_s}/s at capacity {capacity_per_s}/s after {downtime_s} s: "
            "none may be negative or NaN"
        )
    backlog = arrival_rate_per_s * downtime_s
    if backlog == 0:
        return 0.0
    spare_per_s = capacity_per_s - arrival_rate_per_s
    return backlog / spare_per_s if spare_per_s > 0 else math.inf


def recovery_s(arrival_rate_per_s: float, capacity_per_s: float, downtime_s: float) -> float:
    """Downtime plus catch-up, in seconds."""
    return downtime_s + catch_up_s(arrival_rate_per_s, capacity_per_s, downtime_s)
