"""The guard's settings: how long to look, how much to add, when to give up; and the limits on plans."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from modeling.rescaling.warm_up import WARM, WarmUp
from planner.limits import Limits

if TYPE_CHECKING:
    from planner.plan_model import PlanModel


@dataclass(frozen=True)
class GuardTerms:
    """window_s: span of metrics for a diagnosis. settle_s: from when a plan runs until its effect is judged.

    utilisation: wanted after a scaling. drain_s: time in which a backlog should be gone. blacklist_after: failures in a
    row that bar an action under a diagnosis. max_lag_s: of the target. downtime_s: of a rescale. min_dwell_s: minimum
    time that a plan runs before it is lowered. limits: on any plan. least: instances of operators, of
    which none is lowered. model: of what plans carry; None sizes as if work were spread evenly over instances that are
    all alike. warm_up: of the job after a start; measurements count once it is over.
    """

    window_s: float = 180.0
    settle_s: float = 300.0
    utilisation: float = 0.7
    drain_s: float = 600.0
    blacklist_after: int = 2
    max_lag_s: float = 180.0
    downtime_s: float = 30.0
    min_dwell_s: float = 3600.0
    limits: Limits = field(default_factory=Limits)
    least: Mapping[str, int] = field(default_factory=dict)
    model: "PlanModel | None" = None
    warm_up: WarmUp = WARM

    @property
    def lost_s(self) -> float:
        """Seconds of work at full speed that a rescale costs."""
        return self.downtime_s + self.warm_up.whole_lost_s
