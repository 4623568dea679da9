"""The state of the cluster simulator as a value, and how it moves through time. No clock and no files here."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from operator import sub
from typing import Any

from planner.clusters.arrival_trace import ArrivalTrace
from planner.clusters.fluid_queues import FluidNetwork, step

STEP_S = 5
"""Steps lie on multiples of this since the epoch, so what the simulator does never depends on when it is asked."""

MINUTE_S = 60


@dataclass(frozen=True)
class Totals:
    """Counters since the running plan took over.

    taken, taken_blocked: tuples per channel, in all and in the steps in which the reader waited for room downstream.
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
    """What is known so far of the minute that has not ended.

    busiest_s: seconds that each operator's busiest instance worked.
    unknown_s: seconds of which the truth does not tell.
    """

    offered: tuple[float, ...]
    processed: tuple[float, ...]
    busiest_s: tuple[float, ...]
    max_lag_s: float = 0.0
    down_s: float = 0.0
    unknown_s: float = 0.0

    @staticmethod
    def empty(network: FluidNetwork) -> "OpenMinute":
        sources = (0.0,) * len(network.sources)
        return OpenMinute(sources, sources, (0.0,) * len(network.operators))


@dataclass(frozen=True)
class SimulatorState:
    """Everything the simulator is at one moment; times in epoch seconds.

    change: how many rescales it has seen. parallelism: asked for last. replaced: what ran before that. down_from_s,
    down_until_s: the last downtime (both the start when there was none). content: tuples that wait at each source.
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

    @property
    def rescaling(self) -> bool:
        return self.at_s < self.down_until_s


@dataclass(frozen=True)
class Minute:
    """One whole minute.

    offered, processed: tuples per source. backlog: tuples per source at its end. lag_s: the longest that a tuple had
    waited at a source. busiest_s: per operator, seconds its busiest instance worked. parallelism: at its end.
    totals, change: the counters at its end, and which plan they belong to.
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


@dataclass
class _Run:
    """The same as a state, unpacked into what a tight loop can add to."""

    at_s: float
    content: list[float]
    taken: list[float]
    taken_blocked: list[float]
    blocked_s: list[float]
    offered: list[float]
    processed: list[float]
    busiest_s: list[float]
    max_lag_s: float
    down_s: float
    unknown_s: float
    minutes: list[Minute] = field(default_factory=list)

    @staticmethod
    def of(state: SimulatorState) -> "_Run":
        offered, processed, busiest_s, *rest = astuple(state.minute)
        sums = (state.content, *astuple(state.totals), offered, processed, busiest_s)
        lists: list[Any] = [list(each) for each in sums]
        return _Run(state.at_s, *lists, *rest)

    def totals(self) -> Totals:
        return Totals(tuple(self.taken), tuple(self.taken_blocked), tuple(self.blocked_s))

    def open_minute(self) -> OpenMinute:
        sums = (tuple(self.offered), tuple(self.processed), tuple(self.busiest_s))
        return OpenMinute(*sums, self.max_lag_s, self.down_s, self.unknown_s)


def started(network: FluidNetwork, parallelism: Mapping[str, int], at_s: float) -> SimulatorState:
    """An empty job that has just begun to run, with no downtime behind it."""
    nothing = (0.0,) * len(network.sources)
    totals, minute = Totals.zero(network), OpenMinute.empty(network)
    return SimulatorState(at_s, at_s, 0, parallelism, parallelism, at_s, at_s, nothing, totals, minute)


def advanced(
    state: SimulatorState,
    network: FluidNetwork,
    traces: Mapping[str, ArrivalTrace],
    to_s: float,
    *,
    exactly: bool = False,
) -> tuple[SimulatorState, list[Minute]]:
    """The state at to_s, and the minutes that ended on the way. network: of the state's parallelism.

    Only whole steps are made, so the state may stay up to STEP_S behind; exactly=True makes a shorter last step, for
    the moments at which something is done to the simulator.
    """
    run = _Run.of(state)
    sources = [traces[name] for name in network.sources]
    while run.at_s < to_s:
        end_s = (run.at_s // STEP_S + 1) * STEP_S
        if run.at_s < state.down_until_s < end_s:
            end_s = state.down_until_s
        if end_s > to_s:
            if not exactly:
                break
            end_s = to_s
        _step(run, network, sources, end_s, up=run.at_s >= state.down_until_s)
        if end_s % MINUTE_S == 0:
            _close_minute(run, network, state)
    moved = replace(state, at_s=run.at_s, content=tuple(run.content), totals=run.totals(), minute=run.open_minute())
    return moved, run.minutes


def rescaled(
    state: SimulatorState, network: FluidNetwork, parallelism: Mapping[str, int], downtime_s: float
) -> SimulatorState:
    """The state after a rescale was accepted: down from now (or still down), then under the new parallelism."""
    return replace(
        state,
        change=state.change + 1,
        parallelism=parallelism,
        replaced=state.parallelism,
        down_from_s=state.down_from_s if state.rescaling else state.at_s,
        down_until_s=state.at_s + downtime_s,
        totals=Totals.zero(network),
    )


def _step(run: _Run, network: FluidNetwork, sources: list[ArrivalTrace], end_s: float, *, up: bool) -> None:
    span_s = end_s - run.at_s
    arrivals = [trace.arrived(run.at_s, end_s) for trace in sources]
    done = step(network, run.content, arrivals, span_s if up else 0.0)
    for channel, taken in enumerate(done.taken):
        run.taken[channel] += taken
    for position, inlets in enumerate(network.inlets):
        run.busiest_s[position] += done.busiest_s[position]
        if done.blocked[position]:
            run.blocked_s[position] += span_s
            for inlet in inlets:
                run.taken_blocked[inlet] += done.taken[inlet]
    for source, trace in enumerate(sources):
        run.offered[source] += arrivals[source]
        run.processed[source] += done.taken[source]
        if done.content[source] > 0:
            run.max_lag_s = max(run.max_lag_s, trace.age_s(end_s, done.content[source]))
    if not up:
        run.down_s += span_s
    if not all(trace.known(run.at_s, end_s) for trace in sources):
        run.unknown_s += span_s
    run.content = done.content
    run.at_s = end_s


def _close_minute(run: _Run, network: FluidNetwork, state: SimulatorState) -> None:
    run.minutes.append(
        Minute(
            start_s=run.at_s - MINUTE_S,
            offered=dict(zip(network.sources, run.offered, strict=True)),
            processed=dict(zip(network.sources, run.processed, strict=True)),
            backlog=dict(zip(network.sources, run.content, strict=True)),
            lag_s=run.max_lag_s,
            busiest_s=dict(zip(network.operators, run.busiest_s, strict=True)),
            parallelism=dict(state.parallelism),
            down_s=run.down_s,
            known=run.unknown_s == 0,
            change=state.change,
            totals=run.totals(),
        )
    )
    empty = OpenMinute.empty(network)
    run.offered, run.processed, run.busiest_s = list(empty.offered), list(empty.processed), list(empty.busiest_s)
    run.max_lag_s = run.down_s = run.unknown_s = 0.0
