"""What a cluster has recorded of what ran, minute by minute, as columns."""

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
    """Whole minutes, oldest first; every array has the shape (minutes,).

    minute: start of the minute, datetime64[s] in UTC.
    offered, processed: tuples that came to a source, and that it took in.
    backlog: tuples waiting at a source at the minute's end.
    lag_s: the longest time that a tuple had waited at a source at some moment of the minute, downtime included.
    parallelism: per operator, at the minute's end.
    utilisation: share of the minute that an operator's busiest instance worked.
    down_s: seconds of downtime.
    known: whether it is known of the whole minute what came; where it is not, nothing came.
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
        """What the plans cost: instances × hours."""
        return float(sum(counts.sum() for counts in self.parallelism.values())) / 60

    @property
    def lag(self) -> LagRecord:
        """Of at least one minute."""
        return LagRecord(datetime.fromtimestamp(int(self.minute[0].astype(int)), UTC), MINUTE_S, self.lag_s)

    def violations(self, max_lag_s: float) -> npt.NDArray[np.datetime64]:
        """Starts of the minutes in which some tuple waited longer than max_lag_s."""
        return self.minute[self.lag_s > max_lag_s]
