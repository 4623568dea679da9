"""What the simulator has recorded, minute by minute, as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from modeling.arrays import Flags, Floats, Ints
from planner.clusters.simulator_state import MINUTE_S, Minute
from planner.lag_record import LagRecord


@dataclass(frozen=True)
class SimulatorRecord:
    """Whole minutes, oldest first; every array has the shape (minutes,).

    minute: start of the minute, datetime64[s] in UTC.
    offered, processed: tuples that came to a source, and that it took in.
    backlog: tuples waiting at a source at the minute's end.
    lag_s: the longest time that a tuple had waited at a source at some moment of the minute, downtime included.
    parallelism: per operator, at the minute's end.
    utilisation: share of the minute that an operator's busiest instance worked.
    down_s: seconds of downtime.
    known: whether the truth tells of the whole minute; where it does not, nothing came.
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
        return LagRecord(datetime.fromtimestamp(int(self.minute[0].astype(int)), UTC), int(MINUTE_S), self.lag_s)

    def violations(self, max_lag_s: float) -> npt.NDArray[np.datetime64]:
        """Starts of the minutes in which some tuple waited longer than max_lag_s."""
        return self.minute[self.lag_s > max_lag_s]


def record_of(minutes: Sequence[Minute], sources: Sequence[str], operators: Sequence[str]) -> SimulatorRecord:
    return SimulatorRecord(
        minute=np.array([int(m.start_s) for m in minutes], dtype="datetime64[s]"),
        offered={name: np.array([m.offered[name] for m in minutes]) for name in sources},
        processed={name: np.array([m.processed[name] for m in minutes]) for name in sources},
        backlog={name: np.array([m.backlog[name] for m in minutes]) for name in sources},
        lag_s=np.array([m.lag_s for m in minutes]),
        parallelism={name: np.array([m.parallelism[name] for m in minutes], dtype=np.int64) for name in operators},
        utilisation={name: np.array([m.busiest_s[name] for m in minutes]) / MINUTE_S for name in operators},
        down_s=np.array([m.down_s for m in minutes]),
        known=np.array([m.known for m in minutes], dtype=np.bool_),
    )
