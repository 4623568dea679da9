"""How the state of the cluster simulator evolves in time. No clock and no files here."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import add, sub
from typing import Protocol

from modeling.inputs.physical_plan import adds_instances
from modeling.inputs.topology import Topology
from planner.clusters.arrival_trace import ArrivalTrace
from planner.clusters.engine_terms import EngineTerms
from planner.clusters.fluid_queues import FluidNetwork, Step, step
from planner.clusters.simulator_state import Mark, Minute, OpenMinute, RequestedChange, SimulatorState, Totals

STEP_S = 5
"""Steps end at multiples of this since the epoch, so the simulation does not depend on when it is asked."""

MINUTE_S = 60


class World(Protocol):
    """The conditions under which the simulated job runs.

    calm_s: longest step while nothing waits, arrivals are steady and no limit is full: such a step has the same result
    as many short ones, up to rounding.
    """

    @property
    def topology(self) -> Topology: ...
    @property
    def terms(self) -> EngineTerms: ...
    @property
    def calm_s(self) -> float: ...

    def network(self, parallelism: Mapping[str, int], at_s: float) -> FluidNetwork:
        """The network for a parallelism at a moment."""
        ...

    def turn_s(self, after_s: float) -> float:
        """The next moment at which networks change or the job fails; infinite if there is none."""
        ...

    def fails(self, at_s: float) -> bool:
        """Whether the job fails at that turn."""
        ...


@dataclass
class _Run:
    """A state, unpacked into mutable sums for a tight loop."""

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
    minute_blocked_s: list[float]
    position: list[float]
    marks: list[Mark]
    minutes: list[Minute] = field(default_factory=list)

    @staticmethod
    def of(state: SimulatorState, network: FluidNetwork) -> "_Run":
        minute, totals = state.minute, state.totals
        return _Run(
            at_s=state.at_s,
            content=list(state.content),
            taken=list(totals.taken),
            taken_blocked=list(totals.taken_blocked),
            blocked_s=list(totals.blocked_s),
            offered=list(minute.offered),
            processed=list(minute.processed),
            busiest_s=list(minute.busiest_s),
            max_lag_s=minute.max_lag_s,
            down_s=minute.down_s,
            unknown_s=minute.unknown_s,
            # Older files have neither of these.
            minute_blocked_s=list(minute.blocked_s or (0.0,) * len(network.operators)),
            position=list(state.taken or (0.0,) * len(network.sources)),
            marks=list(state.marks),
        )

    def totals(self) -> Totals:
        return Totals(tuple(self.taken), tuple(self.taken_blocked), tuple(self.blocked_s))

    def open_minute(self) -> OpenMinute:
        sums = (tuple(self.offered), tuple(self.processed), tuple(self.busiest_s))
        seconds = (self.max_lag_s, self.down_s, self.unknown_s)
        return OpenMinute(*sums, *seconds, tuple(self.minute_blocked_s))


def started(network: FluidNetwork, parallelism: Mapping[str, int], at_s: float) -> SimulatorState:
    """An empty job that has just begun to run, without a downtime."""
    nothing = (0.0,) * len(network.sources)
    totals, minute = Totals.zero(network), OpenMinute.empty(network)
    begun = (Mark(at_s, nothing),)
    return SimulatorState(
        at_s, at_s, 0, parallelism, parallelism, at_s, at_s, nothing, totals, minute, None, nothing, begun
    )


def advanced(
    state: SimulatorState,
    world: World,
    traces: Mapping[str, ArrivalTrace],
    to_s: float,
    *,
    exactly: bool = False,
) -> tuple[SimulatorState, list[Minute]]:
    """The state at to_s, and the minutes that ended on the way.

    Makes whole steps only, so the state may stay up to STEP_S behind; exactly=True makes a shorter last step, for
    moments at which something acts on the simulator.
    """
    minutes: list[Minute] = []
    while True:
        stop_s = state.asked.stop_s if state.asked is not None else math.inf
        event_s = min(stop_s, world.turn_s(state.at_s))
        happens = event_s <= to_s
        network = world.network(state.parallelism, state.at_s)
        state, ended = _run(state, network, world, traces, event_s if happens else to_s, exactly=exactly or happens)
        minutes += ended
        if not happens:
            return state, minutes
        if state.asked is not None and stop_s <= event_s:
            state = _stopped(state, world, state.asked.parallelism)
        elif world.fails(event_s):
            state = _stopped(state, world, state.parallelism)


def asked(state: SimulatorState, world: World, parallelism: Mapping[str, int]) -> SimulatorState:
    """The state after a request for a change: applied at once if nothing has to be waited for, else it replaces a
    change that has not begun. A request for the running plan cancels such a change.
    """
    if dict(parallelism) == dict(state.parallelism):
        return replace(state, asked=None)
    grows = adds_instances(state.parallelism, parallelism)
    # Before its first change a job has no cooldown.
    free_s = state.down_until_s if state.change else -math.inf
    stop_s = world.terms.stop_s(state.at_s, free_s, grows=grows)
    if stop_s <= state.at_s:
        return _stopped(state, world, parallelism)
    return replace(state, asked=RequestedChange(parallelism, stop_s))


def _stopped(state: SimulatorState, world: World, parallelism: Mapping[str, int]) -> SimulatorState:
    """Down from now on (or still down), then running with this parallelism; with the present one after a failure."""
    terms, after = world.terms, dict(parallelism)
    content, taken, marks = state.content, state.taken, state.marks
    if terms.checkpoints is not None:
        begun_s = terms.begun_s(state.at_s)
        marks = tuple(mark for mark in marks if mark.at_s <= begun_s) or marks[:1] or (Mark(state.at_s, taken),)
        # A checkpoint covers tuples in the buffers, some of which may still be there.
        back = tuple(map(min, taken, marks[-1].taken))
        content, taken = tuple(map(add, content, map(sub, taken, back))), back
        marks = (*marks[:-1], Mark(marks[-1].at_s, back))
    changes = after != dict(state.parallelism)
    return replace(
        state,
        change=state.change + 1,
        parallelism=after,
        replaced=state.parallelism if changes else state.replaced,
        down_from_s=state.down_from_s if state.rescaling else state.at_s,
        down_until_s=state.at_s + terms.change_s(world.topology, state.parallelism, after),
        content=content,
        totals=Totals.zero(world.network(after, state.at_s)),
        asked=state.asked if not changes else None,
        taken=taken,
        marks=marks,
    )


def backlog(content: Sequence[float], terms: EngineTerms, *, runs: bool) -> list[float]:
    """Tuples that wait at each source, without those in buffers; the buffers of a job that is down are empty."""
    inside = terms.buffered if runs else 0.0
    return [max(0.0, waits - inside) for waits in content]


def _run(
    state: SimulatorState,
    network: FluidNetwork,
    world: World,
    traces: Mapping[str, ArrivalTrace],
    to_s: float,
    *,
    exactly: bool,
) -> tuple[SimulatorState, list[Minute]]:
    """Advance under one network, without events."""
    if to_s <= state.at_s:
        return state, []
    run = _Run.of(state, network)
    sources = [traces[name] for name in network.sources]
    terms = world.terms
    until_s = to_s if exactly else to_s // STEP_S * STEP_S
    cold_until_s = warms_up_until_s(state, terms)
    while run.at_s < until_s:
        end_s = (run.at_s // STEP_S + 1) * STEP_S
        up = run.at_s >= state.down_until_s
        if not up:
            end_s = min(end_s, state.down_until_s)
        elif world.calm_s > STEP_S and not any(run.content) and run.at_s >= cold_until_s:
            end_s = max(end_s, _calm_until_s(run.at_s, network, sources, world.calm_s))
        end_s = min(end_s, until_s)
        cold = up and run.at_s < cold_until_s
        slow_s = lost_s(run.at_s - state.down_until_s, end_s - run.at_s, terms) if cold else 0.0
        _step(run, network, sources, end_s, terms, up=up, slow_s=slow_s)
        if run.at_s % MINUTE_S == 0:
            _close_minute(run, network, state, terms)
    moved = replace(
        state,
        at_s=run.at_s,
        content=tuple(run.content),
        totals=run.totals(),
        minute=run.open_minute(),
        taken=tuple(run.position),
        marks=tuple(run.marks),
    )
    return moved, run.minutes


def warms_up_until_s(state: SimulatorState, terms: EngineTerms) -> float:
    """Until when the job is below full speed after its last change or failure, in epoch seconds. At first it is warm:
    it ran before the simulation.
    """
    return state.down_until_s + terms.warm_up.warm_s if state.change and terms.warm_up.takes_time else -math.inf


def lost_s(up_s: float, span_s: float, terms: EngineTerms) -> float:
    """Seconds of work at full speed that a warm-up costs in a span that begins up_s after the start."""
    before, after = terms.warm_up.lost_s([up_s, up_s + span_s]).tolist()
    return float(after - before)


def _calm_until_s(at_s: float, network: FluidNetwork, sources: list[ArrivalTrace], calm_s: float) -> float:
    """Until when arrivals are steady and the network takes them all in; at most the next multiple of calm_s."""
    until_s = min((at_s // calm_s + 1) * calm_s, *(trace.steady_until_s(at_s) for trace in sources))
    rates_per_s = tuple([trace.rate_per_s(at_s) for trace in sources])
    return at_s if network.limited((0.0,) * len(sources), rates_per_s).full else until_s


def _step(
    run: _Run,
    network: FluidNetwork,
    sources: list[ArrivalTrace],
    end_s: float,
    terms: EngineTerms,
    *,
    up: bool,
    slow_s: float = 0.0,
) -> None:
    """slow_s: of the step's seconds; a job that warms up does in them what it does in fewer at full speed."""
    span_s = end_s - run.at_s
    arrivals = [trace.arrived(run.at_s, end_s) for trace in sources]
    done = step(network, run.content, arrivals, span_s - slow_s if up else 0.0)
    slower = span_s / (span_s - slow_s) if slow_s else 1.0
    # While the buffers still fill, the operators before the full one do not wait.
    waited = not terms.buffered or any(backlog(done.content, terms, runs=up))
    for channel, taken in enumerate(done.taken):
        run.taken[channel] += taken
    for position, inlets in enumerate(network.inlets):
        run.busiest_s[position] += done.busiest_s[position] * slower
        if waited and done.blocked[position]:
            run.blocked_s[position] += span_s
            run.minute_blocked_s[position] += span_s
            for inlet in inlets:
                run.taken_blocked[inlet] += done.taken[inlet]
    if terms.checkpoints is not None:
        _mark(run, done, end_s, terms.every_s, terms.buffered if up else 0.0)
    for source, trace in enumerate(sources):
        run.offered[source] += arrivals[source]
        run.processed[source] += done.taken[source]
        run.position[source] += done.taken[source]
        if done.content[source] > 0:
            run.max_lag_s = max(run.max_lag_s, trace.age_s(end_s, done.content[source]))
    if not up:
        run.down_s += span_s
    if not all(trace.known(run.at_s, end_s) for trace in sources):
        run.unknown_s += span_s
    run.content = done.content
    run.at_s = end_s


def _mark(run: _Run, done: Step, end_s: float, every_s: float, buffered: float) -> None:
    """Record what sources had taken in when a checkpoint began; keeps the last two and the one under way."""
    begin_s = (run.at_s // every_s + 1) * every_s
    while begin_s <= end_s:
        part = (begin_s - run.at_s) / (end_s - run.at_s)
        at = [before + part * more for before, more in zip(run.position, done.taken, strict=False)]
        if buffered:
            waits = (was + part * (now - was) for was, now in zip(run.content, done.content, strict=True))
            at = [left + min(buffered, inside) for left, inside in zip(at, waits, strict=True)]
        run.marks = [*run.marks[-2:], Mark(begin_s, tuple(at))]
        begin_s += every_s


def _close_minute(run: _Run, network: FluidNetwork, state: SimulatorState, terms: EngineTerms) -> None:
    waits = backlog(run.content, terms, runs=run.at_s > state.down_until_s)
    run.minutes.append(
        Minute(
            start_s=run.at_s - MINUTE_S,
            offered=dict(zip(network.sources, run.offered, strict=True)),
            processed=dict(zip(network.sources, run.processed, strict=True)),
            backlog=dict(zip(network.sources, waits, strict=True)),
            lag_s=run.max_lag_s,
            busiest_s=dict(zip(network.operators, run.busiest_s, strict=True)),
            parallelism=dict(state.parallelism),
            down_s=run.down_s,
            known=run.unknown_s == 0,
            change=state.change,
            totals=run.totals(),
            blocked_s=dict(zip(network.operators, run.minute_blocked_s, strict=True)),
        )
    )
    empty = OpenMinute.empty(network)
    run.offered, run.processed, run.busiest_s = list(empty.offered), list(empty.processed), list(empty.busiest_s)
    run.minute_blocked_s = list(empty.blocked_s)
    run.max_lag_s = run.down_s = run.unknown_s = 0.0
