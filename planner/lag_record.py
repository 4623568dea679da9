"""A topology's lag, window by window, and its minutes in violation."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class LagRecord:
    """lag_s: shape (windows,), the lag in each window of window_s seconds from `start`; NaN where not measured."""

    start: datetime
    window_s: int
    lag_s: npt.NDArray[np.float64]

    def between(self, start: datetime, end: datetime) -> "LagRecord":
        """The windows from the one that holds `start` to the one before that of `end`, as far as the record goes."""
        first, last = (max(0, int((at - self.start).total_seconds() // self.window_s)) for at in (start, end))
        return LagRecord(self.start + first * timedelta(seconds=self.window_s), self.window_s, self.lag_s[first:last])

    def violation_minutes(self, max_lag_s: float) -> float:
        """Minutes with more lag than allowed. Unmeasured minutes do not count."""
        return float(np.count_nonzero(self.lag_s > max_lag_s)) * self.window_s / 60

    @property
    def unmeasured_minutes(self) -> float:
        return float(np.count_nonzero(np.isnan(self.lag_s))) * self.window_s / 60

    @property
    def largest_s(self) -> float | None:
        """None if no lag was measured."""
        return None if np.isnan(self.lag_s).all() else float(np.nanmax(self.lag_s))
