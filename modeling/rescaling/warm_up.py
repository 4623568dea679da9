"""Warm-up: how fast a job is after a start, as a share of its full speed.

A new JVM interprets its code before it compiles it, and caches begin empty. The speed follows s(t) = 1 - (1 - s0) ·
exp(-4t/w) for w seconds and is 1 from then on. What work a warm-up costs is the area above that curve.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError

CONSTANTS = 4.0
"""Time constants of the curve until the speed counts as full: 98 % of what lacked at the start is there by then."""
_POINTS = 1025
"""Moments of a warm-up between which what it costs is a straight line."""
LEAST_SHARE = 0.01
"""A job at no speed at all is down, not warming up."""


@dataclass(frozen=True)
class WarmUp:
    """start_share: speed right after the start, as a share of full speed. warm_s: seconds until the speed is full.

    >>> WarmUp(0.25, 120.0).share([0.0, 30.0, 60.0, 120.0]).round(2).tolist()
    [0.25, 0.72, 0.9, 1.0]
    """

    start_share: float = 1.0
    warm_s: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.warm_s) and self.warm_s >= 0):
            raise ModelError(f"warm-up: warm_s is {self.warm_s}; give a finite number, not below 0")
        if not LEAST_SHARE <= self.start_share <= 1:
            raise ModelError(
                f"warm-up: start_share is {self.start_share}; give a share of full speed from {LEAST_SHARE:g} to 1"
            )

    @property
    def takes_time(self) -> bool:
        return self.start_share < 1 and self.warm_s > 0

    def share(self, up_s: npt.ArrayLike) -> Floats:
        """Speed at moments after the start, as a share of full speed."""
        at_s = np.asarray(up_s, dtype=np.float64)
        if not self.takes_time:
            return np.ones_like(at_s)
        cold = (1 - self.start_share) * np.exp(-CONSTANTS * at_s / self.warm_s)
        return np.where(at_s < self.warm_s, 1.0 - cold, 1.0)

    def lost_s(self, up_s: npt.ArrayLike) -> Floats:
        """Seconds of work at full speed that were lost by moments after the start: the integral of 1 - share.

        >>> WarmUp(0.25, 120.0).lost_s([0.0, 30.0, 120.0, 900.0]).round(1).tolist()
        [0.0, 14.2, 22.1, 22.1]
        """
        at_s = np.asarray(up_s, dtype=np.float64)
        if not self.takes_time:
            return np.zeros_like(at_s)
        constant_s = self.warm_s / CONSTANTS
        cold_s = np.clip(at_s, 0.0, self.warm_s)
        return np.asarray((1 - self.start_share) * constant_s * -np.expm1(-cold_s / constant_s), dtype=np.float64)

    @property
    def whole_lost_s(self) -> float:
        """Seconds of work at full speed that one warm-up costs."""
        return float(self.lost_s(self.warm_s))

    def lost_in_work_s(self, work_s: npt.ArrayLike) -> Floats:
        """Seconds lost until so many seconds of work at full speed are done.

        >>> cold = WarmUp(0.25, 120.0)
        >>> cold.lost_in_work_s(30.0 - cold.lost_s(30.0)).round(1).tolist(), cold.lost_in_work_s(1e6).round(1).tolist()
        (14.2, 22.1)
        """
        work = np.asarray(work_s, dtype=np.float64)
        if not self.takes_time:
            return np.zeros_like(work)
        up_s = np.linspace(0.0, self.warm_s, _POINTS)
        lost_s = self.lost_s(up_s)
        return np.asarray(np.interp(work, up_s - lost_s, lost_s))

    def lost_by_second(self) -> Floats:
        """lost_s at 0, 1, 2 … seconds after the start, until nothing more is lost: what compiled loops take."""
        return self.lost_s(np.arange(np.ceil(self.warm_s) + 1 if self.takes_time else 1))

    def below_s(self, share: npt.ArrayLike) -> Floats:
        """Seconds after the start during which the speed is below a share of full speed."""
        wanted = np.asarray(share, dtype=np.float64)
        if not self.takes_time:
            return np.zeros_like(wanted)
        with np.errstate(divide="ignore", invalid="ignore"):
            until_s = self.warm_s / CONSTANTS * np.log((1 - self.start_share) / np.maximum(0.0, 1 - wanted))
        return np.clip(until_s, 0.0, self.warm_s)


WARM = WarmUp()
"""Full speed from the first second on."""

NEW_JVM = WarmUp(0.26, 120.0)
"""Assumed of a job whose start nobody has measured. Nexmark query 5 on Flink 2.3, task managers of a tenth of a core:
46,500 of 179,000 events a second right after a rescale, all of them two minutes later.
"""
