"""A load script and its result: tuples due, taken in and finished over time, and the cost of each rescale."""

from dataclasses import dataclass, fields

import numpy as np

from forescale.local.demo.arrival_schedule import ArrivalSchedule
from modeling.arrays import Floats
from modeling.inputs.physical_plan import PhysicalPlan

SAMPLE_S = 0.25
CAUGHT_UP_S = 0.5
"""A lag up to this counts as caught up: a busy machine delays single tuples by as much."""
TOO_FEW = 10.0
"""Number of tuples below which a relative difference says nothing."""


@dataclass(frozen=True)
class LoadScript:
    """All times in seconds since its beginning. schedule: from 0 on. rescales: when each is requested, in order; the
    plan before the first one is `first`.
    """

    schedule: ArrivalSchedule
    first: PhysicalPlan
    rescales: tuple[tuple[float, PhysicalPlan], ...]
    end_s: float

    @property
    def sampled_s(self) -> Floats:
        return np.arange(0.0, self.end_s + SAMPLE_S / 2, SAMPLE_S)


@dataclass(frozen=True)
class Stop:
    """Stop and restart of the job in a rescale; seconds since the script's beginning."""

    stopped_s: float
    running_s: float

    @property
    def downtime_s(self) -> float:
        return self.running_s - self.stopped_s


@dataclass(frozen=True)
class LoadTrack:
    """Samples of one source, all of shape (samples,), and the rescales.

    at_s: seconds since the script's beginning. due: tuples by the schedule. taken: by the source; after a stop reset to
    the restored position. finished: by the sink, likewise. lag_s: time since the oldest unfinished tuple was due.
    """

    at_s: Floats
    due: Floats
    taken: Floats
    finished: Floats
    lag_s: Floats
    stops: tuple[Stop, ...]

    @staticmethod
    def of(
        schedule: ArrivalSchedule, at_s: Floats, taken: Floats, finished: Floats, stops: tuple[Stop, ...]
    ) -> "LoadTrack":
        due = schedule.due(at_s)
        oldest_s = schedule.due_s(np.minimum(finished + 1, due))
        return LoadTrack(
            at_s, due, taken, finished, np.where(due > finished, np.maximum(0.0, at_s - oldest_s), 0.0), stops
        )

    @property
    def backlog(self) -> Floats:
        """Tuples that wait at the source."""
        return np.maximum(0.0, self.due - self.taken)

    @property
    def waiting(self) -> Floats:
        """Tuples that wait at the source or in buffers, or are being processed."""
        return np.maximum(0.0, self.due - self.finished)

    def outcome(self, number: int) -> "RescaleOutcome":
        """Outcome of the rescale of that number, counted from 0, up to the next one."""
        stop = self.stops[number]
        until_s = self.stops[number + 1].stopped_s if number + 1 < len(self.stops) else np.inf
        before, of = self.at_s < stop.stopped_s, (self.at_s >= stop.stopped_s) & (self.at_s < until_s)
        recovered_s = self.at_s[of & (self.at_s >= stop.running_s) & (self.lag_s <= CAUGHT_UP_S)]
        return RescaleOutcome(
            backlog_before=float(self.backlog[before][-1]),
            waiting_before=float(self.waiting[before][-1]),
            max_backlog=float(self.backlog[of].max()),
            max_waiting=float(self.waiting[of].max()),
            max_lag_s=float(self.lag_s[of].max()),
            downtime_s=stop.downtime_s,
            recovery_s=float(recovered_s[0]) - stop.stopped_s if recovered_s.size else np.inf,
        )


@dataclass(frozen=True)
class RescaleOutcome:
    """Tuples before the job stopped and the maximum afterwards: at the source (backlog), and including buffers
    (waiting).

    recovery_s: from the stop until the lag is at most CAUGHT_UP_S; infinite if that is not observed.
    """

    backlog_before: float
    waiting_before: float
    max_backlog: float
    max_waiting: float
    max_lag_s: float
    downtime_s: float
    recovery_s: float

    def differences(self, other: "RescaleOutcome") -> dict[str, float]:
        """Relative excess of the other's numbers over these; too few tuples are left out."""
        numbers = ((field.name, getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return {name: there / here - 1 for name, here, there in numbers if name.endswith("_s") or here >= TOO_FEW}
