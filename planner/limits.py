"""What a plan must hold and may use, and what a rescale costs: the terms that every search and schedule works under."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """Bounds on any plan.

    max_utilisation: of the busiest instance, so that headroom is left. max_latency_s: mean end to end, None to leave it
    free. max_instances: over all operators. max_parallelism: per operator, beside the operator's own.
    """

    max_utilisation: float = 0.85
    max_latency_s: float | None = None
    max_instances: int = 64
    max_parallelism: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RescaleTerms:
    """What a rescale costs.

    downtime_s: nothing is processed for so long. max_lag_s: more backlog than this many seconds misses the target.
    max_catch_up_s: longest acceptable drain afterwards. safety_s: how much earlier than needed a plan is to be in
    place. min_dwell_s: shortest span that a plan is scheduled for. cost_instance_hours: what avoiding one rescale is
    worth.
    """

    downtime_s: float = 30.0
    max_lag_s: float = 180.0
    max_catch_up_s: float = 600.0
    safety_s: float = 300.0
    min_dwell_s: float = 3600.0
    cost_instance_hours: float = 1.0
