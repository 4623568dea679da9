"""The role of a policy: which plan to request, given only what it has seen so far."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.inputs.topology import Topology


@dataclass(frozen=True)
class MinuteMetrics:
    """Metrics of whole minutes, oldest first, as a monitoring system has them: averages over each minute, delayed. They
    contain no minute that a policy could not know yet.

    start_s: epoch seconds, shape (minutes,). up_s: seconds of each minute in which the job ran, shape (minutes,).
    arrivals_per_s, taken_per_s: tuples that came to each source, and that it took in, shape (minutes, sources), in the
    topology's order. backlog: waiting tuples at the minute's end, same shape. records_in_per_s: into each operator;
    busy: mean busy share of its instances; busiest: of the busiest one; suspended: share of the time in which they
    waited for room downstream; all of shape (minutes, operators). streams_per_s: tuples emitted on each stream, before
    an ALL grouping copies them, shape (minutes, streams). While the job is down nothing is taken in and no instance is
    busy.
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

    def last(self, seconds: float, since_s: float = -np.inf) -> "MinuteMetrics":
        """The minutes within the last `seconds` of what is known, and after since_s."""
        return self.taken(self.rows_of_last(seconds, since_s))

    def rows_of_last(self, seconds: float, since_s: float = -np.inf) -> slice:
        """The rows of `last`, for policies that use few of the columns."""
        if not self.start_s.size:
            return slice(0)
        first = max(self.start_s[-1] + 60 - seconds, since_s)
        return slice(int(self.start_s.searchsorted(first)), None)

    def taken(self, rows: slice) -> "MinuteMetrics":
        return MinuteMetrics(
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

    plan: the parallelism that runs, or was requested last. running_since_s: since when the running plan has run.
    changing: a requested change is not done. measured: all minutes so far, including those before the replay, for which
    only arrivals are known and everything else is 0.
    """

    at_s: float
    plan: Mapping[str, int]
    running_since_s: float
    changing: bool
    measured: MinuteMetrics


@dataclass(frozen=True)
class Decision:
    """A plan to request, and why, in one sentence with its numbers."""

    plan: Mapping[str, int]
    why: str


class Policy(Protocol):
    """One way to scale. It may keep state: each replay creates a new one.

    name: as in tables. every_s: interval between decisions, a multiple of 60 s or a divisor of it. first: the plan at
    the start of the replay; None for one that carries the load of that moment.
    """

    @property
    def name(self) -> str: ...
    @property
    def every_s(self) -> float: ...
    @property
    def first(self) -> Mapping[str, int] | None: ...

    def decide(self, seen: Seen) -> Decision | None:
        """The plan to request; None for no change. Requesting the running plan changes nothing."""
        ...


@runtime_checkable
class Resting(Protocol):
    """What a policy may know beside: for how long it need not be asked. A replay is much shorter with it."""

    def rests(self, seen: Seen, known: Ints) -> int:
        """How many of its next decisions, a minute apart, would be None one after the other and leave it as it is.
        known: by decision, how many minutes of what is measured are known then. seen: by the last of them; what is not
        measured stays as it is but for the time.
        """
        ...
