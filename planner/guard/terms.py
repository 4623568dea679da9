"""The guard's settings: how long to look, how much to add, when to give up; the limits on plans; and when more
instances are worth their price.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from modeling.rescaling.warm_up import WARM, WarmUp
from planner.limits import Limits

if TYPE_CHECKING:
    from planner.plan_model import PlanModel

SPARE_H = 0.1
"""Price of a violation minute, in instance-hours, at which a budget has minutes to spare: it never becomes lower."""


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


@dataclass(frozen=True)
class RescueWorth:
    """For how many seconds a job is late at the cost of a rescue's two changes of plan, there and back (changes_s), and
    at that of an instance for an hour (hour_s). most_s: longest that it may be late before it is rescued.

    Only where a budget has minutes to spare. Where it has not, each that is waited is missed elsewhere, and overloads
    that last would cost both the minutes and the rescue.
    """

    changes_s: float
    hour_s: float
    most_s: float = inf

    @classmethod
    def at(cls, violation_h: float, rescale_h: float, most_s: float = inf) -> "RescueWorth":
        """violation_h: price of a violation minute; rescale_h: of a change of plan; both in instance-hours."""
        if violation_h > SPARE_H:
            return NOTHING
        hour_s = 60.0 / SPARE_H
        return cls(2.0 * rescale_h * hour_s, hour_s, most_s)

    def patience_s(self, added_h: float) -> float:
        """For how many seconds a job is late at the cost of a rescue that adds so many instance-hours; at most most_s.

        >>> RescueWorth.at(violation_h=0.1, rescale_h=1.0).patience_s(4.0)  # 2 + 4 instance-hours
        3600.0
        >>> RescueWorth.at(violation_h=0.2, rescale_h=1.0).patience_s(4.0)
        0.0
        """
        return min(self.changes_s + self.hour_s * added_h, self.most_s)


NOTHING = RescueWorth(0.0, 0.0)
"""Where late minutes are not weighed: a rescue comes once the job would be late."""


@dataclass(frozen=True)
class Backlog:
    """waiting: tuples; growth_per_s: of these, negative while they drain. offered_per_s: what comes."""

    waiting: float
    growth_per_s: float
    offered_per_s: float

    def late_for(self, max_lag_s: float, within_s: float, for_s: float = 0.0) -> bool:
        """Whether the lag, within_s from now, will have exceeded max_lag_s for at least for_s seconds; or, while what
        waits drains, will go on to. `planner.horizon.ways` has the same for all paths of a search.

        >>> behind = Backlog(waiting=1200.0, growth_per_s=4.0, offered_per_s=24.0)
        >>> behind.late_for(max_lag_s=90.0, within_s=600.0)  # 2,160 wait after 240 s
        True
        >>> behind.late_for(90.0, 600.0, for_s=360.0), behind.late_for(90.0, 600.0, for_s=370.0)
        (False, False)
        >>> behind.late_for(90.0, 600.0, for_s=350.0)
        True
        """
        then = self.waiting + within_s * self.growth_per_s - for_s * abs(self.growth_per_s)
        return then > max_lag_s * self.offered_per_s
