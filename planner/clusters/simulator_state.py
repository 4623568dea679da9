"""The state of the cluster simulator and its minutes, as values. No clock and no files here."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from math import isfinite
from operator import sub

from planner.clock import LATEST
from planner.clusters.fluid_queues import FluidNetwork


@dataclass(frozen=True)
class Totals:
    """Counters since the running plan began.

    taken, taken_blocked: tuples per channel, in all and in steps in which the reader waited for room downstream.
    blocked_s: seconds of those steps, per operator in the network's order.
    """

    taken: tuple[float, ...]
    taken_blocked: tuple[float, ...]
    blocked_s: tuple[float, ...]

    @staticmethod
    def zero(network: FluidNetwork) -> "Totals":
        channels, operators = len(network.channels), len(network.operators)
        return Totals((0.0,) * channels, (0.0,) * channels, (0.0,) * operators)

    def since(self, earlier: "Totals") -> "Totals":
        pairs = zip(astuple(self), astuple(earlier), strict=True)
        return Totals(*(tuple(map(sub, now, then)) for now, then in pairs))


@dataclass(frozen=True)
class OpenMinute:
    """Sums so far for the minute that has not ended.

    busiest_s: seconds in which each operator's busiest instance was busy; blocked_s: in which it waited for room
    downstream. unknown_s: seconds without known arrivals.
    """

    offered: tuple[float, ...]
    processed: tuple[float, ...]
    busiest_s: tuple[float, ...]
    max_lag_s: float = 0.0
    down_s: float = 0.0
    unknown_s: float = 0.0
    blocked_s: tuple[float, ...] = ()

    @staticmethod
    def empty(network: FluidNetwork) -> "OpenMinute":
        sources, operators = (0.0,) * len(network.sources), (0.0,) * len(network.operators)
        return OpenMinute(sources, sources, operators, blocked_s=operators)


@dataclass(frozen=True)
class RequestedChange:
    """A requested change of plan that has not begun: the job stops for it at stop_s."""

    parallelism: Mapping[str, int]
    stop_s: float


@dataclass(frozen=True)
class Mark:
    """What each source had taken in since the simulator began, buffers included, when a checkpoint began."""

    at_s: float
    taken: tuple[float, ...]


@dataclass(frozen=True)
class SimulatorState:
    """The whole state at one moment; times in epoch seconds.

    change: number of rescales so far. parallelism: the latest requested. replaced: what ran before that. down_from_s,
    down_until_s: the last downtime (both the start if there was none). content: tuples that wait at each source and in
    the buffers behind it. asked: the change to come. taken: tuples of each source that have left its buffers since the
    start; marks: the sources' positions at the last checkpoints, if the engine has any.
    """

    at_s: float
    started_s: float
    change: int
    parallelism: Mapping[str, int]
    replaced: Mapping[str, int]
    down_from_s: float
    down_until_s: float
    content: tuple[float, ...]
    totals: Totals
    minute: OpenMinute
    asked: RequestedChange | None = None
    taken: tuple[float, ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def rescaling(self) -> bool:
        return self.at_s < self.down_until_s


def damage(state: SimulatorState, network: FluidNetwork) -> str:
    """Why no simulator of this network can have written such a state; empty if it can."""
    sources, operators, channels = len(network.sources), len(network.operators), len(network.channels)
    minute, totals = state.minute, state.totals
    shapes = {
        "content": (state.content, sources),
        "minute.offered": (minute.offered, sources),
        "minute.processed": (minute.processed, sources),
        "minute.busiest_s": (minute.busiest_s, operators),
        "totals.taken": (totals.taken, channels),
        "totals.taken_blocked": (totals.taken_blocked, channels),
        "totals.blocked_s": (totals.blocked_s, operators),
    }
    for name, (numbers, expected) in shapes.items():
        if len(numbers) != expected or not all(isfinite(each) and each >= 0 for each in numbers):
            return f"{name} is {str(numbers)[:60]}, not {expected} numbers that are not negative"
    for name in ("at_s", "started_s", "down_from_s", "down_until_s"):
        if not 0 <= (moment_s := getattr(state, name)) < LATEST.timestamp():
            return f"{name} is {moment_s:g}, which is no moment"
    return ""


@dataclass(frozen=True)
class Minute:
    """One whole minute.

    offered, processed: tuples per source. backlog: tuples waiting at each source at the end, without those in buffers.
    lag_s: the longest wait of a tuple, including in buffers. busiest_s: per operator, seconds in which its busiest
    instance was busy. parallelism: at the end. totals, change: the counters at the end, and the number of the plan they
    belong to. blocked_s: per operator, seconds in which it waited for room downstream.
    """

    start_s: float
    offered: Mapping[str, float]
    processed: Mapping[str, float]
    backlog: Mapping[str, float]
    lag_s: float
    busiest_s: Mapping[str, float]
    parallelism: Mapping[str, int]
    down_s: float
    known: bool
    change: int
    totals: Totals
    blocked_s: Mapping[str, float] = field(default_factory=dict)
