"""The role of a policy: which plan to ask for, from nothing but what it has seen so far."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.topology import Topology


@dataclass(frozen=True)
class Measured:
    """Metrics of whole minutes, oldest first, as a monitoring system has them: averages over each minute, late by its
    delay. Nothing in them is of a minute that a policy could not know.

    start_s: epoch seconds, shape (minutes,). up_s: seconds of each minute in which the job ran, shape (minutes,).
    arrivals_per_s, taken_per_s: tuples that came to each source, and that it took in, shape (minutes, sources), in the
    topology's order. backlog: that waited there at the minute's end, likewise. records_in_per_s: into each operator;
    busy: share of the time that its instances worked, on average over them; busiest: of the busiest one; suspended:
    share of the time that they could have worked but waited for room downstream; all of shape (minutes, operators).
    streams_per_s: tuples given out on each stream, before an ALL grouping copies them, shape (minutes, streams). While
    the job is down nothing is taken in and nobody is busy.
    """

    topology: Topology
    start_s: Floats
    up_s: Floats
    arrivals_per_s: Floats
    taken_per_s: Floats
    backlog: Floats
    records_in_per_s: Floats
    busy: Floats
    busiest: Floats
    suspended: Floats
    streams_per_s: Floats

    def last(self, seconds: float, since_s: float = -np.inf) -> "Measured":
        """The minutes that lie in the last so many seconds of what is known, and after since_s."""
        return self.taken(self.rows_of_last(seconds, since_s))

    def rows_of_last(self, seconds: float, since_s: float = -np.inf) -> slice:
        """The rows of `last`, for those who look at few of the columns."""
        if not self.start_s.size:
            return slice(0)
        first = max(self.start_s[-1] + 60 - seconds, since_s)
        return slice(int(self.start_s.searchsorted(first)), None)

    def taken(self, rows: slice) -> "Measured":
        return Measured(
            self.topology,
            self.start_s[rows],
            self.up_s[rows],
            self.arrivals_per_s[rows],
            self.taken_per_s[rows],
            self.backlog[rows],
            self.records_in_per_s[rows],
            self.busy[rows],
            self.busiest[rows],
            self.suspended[rows],
            self.streams_per_s[rows],
        )

    @property
    def minutes(self) -> int:
        return int(self.start_s.size)


@dataclass(frozen=True)
class Seen:
    """What a policy knows at a moment; times in epoch seconds.

    plan: the parallelism that runs, or was asked for last. running_since_s: since when the plan that runs has run.
    changing: a change was asked for and is not done. measured: of all minutes so far, those before the replay began
    included where only arrivals are known: there all else is 0.
    """

    at_s: float
    plan: Mapping[str, int]
    running_since_s: float
    changing: bool
    measured: Measured


@dataclass(frozen=True)
class Decision:
    """A plan to ask for, and why, in one sentence with its numbers."""

    plan: Mapping[str, int]
    why: str


class Policy(Protocol):
    """One way to scale. It may keep what it saw: each replay makes a new one.

    name: as in tables. every_s: how often it is asked, a multiple of 60 s or a divisor of it. first: the plan that runs
    when the replay begins; None to begin with the plan that carries the load of that moment.
    """

    @property
    def name(self) -> str: ...
    @property
    def every_s(self) -> float: ...
    @property
    def first(self) -> Mapping[str, int] | None: ...

    def decide(self, seen: Seen) -> Decision | None:
        """What to ask for; None to leave things as they are. A plan that runs already changes nothing."""
        ...
