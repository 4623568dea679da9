"""What a plan must hold and may use: the terms that every search and schedule works under."""

from collections.abc import Mapping
from dataclasses import dataclass, field

FULL = 0.999
"""Utilisation up to which those plan who add no headroom."""


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
