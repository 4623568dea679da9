"""The lag that a topology had, window by window, and how long it missed its target."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class LagRecord:
    """lag_s: in each window of window_s seconds from start on, shape (windows,), NaN where it was not measured."""

    start: datetime
    window_s: int
    lag_s: npt.NDArray[np.float64]

    def between(self, start: datetime, end: datetime) -> "LagRecord":
        """From the window in which `start` lies up to, and without, that of `end`; less where the record is shorter."""
        first, last = (max(0, int((at - self.start).total_seconds() // self.window_s)) for at in (start, end))
        return LagRecord(self.start + first * timedelta(seconds=self.window_s), self.window_s, self.lag_s[first:last])

    def violation_minutes(self, max_lag_s: float) -> float:
        """Minutes with more lag than allowed. A minute without a measurement does not count as one."""
        return float(np.count_nonzero(self.lag_s > max_lag_s)) * self.window_s / 60

    @property
    def unmeasured_minutes(self) -> float:
        return float(np.count_nonzero(np.isnan(self.lag_s))) * self.window_s / 60

    @property
    def largest_s(self) -> float | None:
        """None where no lag was measured."""
        return None if np.isnan(self.lag_s).all() else float(np.nanmax(self.lag_s))
