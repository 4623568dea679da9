"""What a cluster has recorded, minute by minute, as columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from modeling.arrays import Flags, Floats, Ints
from planner.lag_record import LagRecord

MINUTE_S = 60


@dataclass(frozen=True)
class ClusterRecord:
    """Whole minutes, oldest first; every array has shape (minutes,).

    - minute: start of the minute, datetime64[s] in UTC.
    - offered, processed: tuples that arrived at a source, and that it took in.
    - backlog: tuples waiting at a source at the minute's end.
    - lag_s: the longest wait of a tuple at any source during the minute, downtime included.
    - parallelism: per operator, at the minute's end.
    - utilisation: share of the minute in which an operator's busiest instance was busy.
    - down_s: seconds of downtime.
    - known: whether the arrivals of the whole minute are known; unknown ones count as none.
    """

    minute: npt.NDArray[np.datetime64]
    offered: Mapping[str, Floats]
    processed: Mapping[str, Floats]
    backlog: Mapping[str, Floats]
    lag_s: Floats
    parallelism: Mapping[str, Ints]
    utilisation: Mapping[str, Floats]
    down_s: Floats
    known: Flags

    @property
    def instance_hours(self) -> float:
        """Cost of the plans: instances × hours."""
        return float(sum(counts.sum() for counts in self.parallelism.values())) / 60

    @property
    def lag(self) -> LagRecord:
        """Needs at least one minute."""
        return LagRecord(datetime.fromtimestamp(int(self.minute[0].astype(int)), UTC), MINUTE_S, self.lag_s)

    def violations(self, max_lag_s: float) -> npt.NDArray[np.datetime64]:
        """Starts of the minutes in which some tuple waited longer than max_lag_s."""
        return self.minute[self.lag_s > max_lag_s]
