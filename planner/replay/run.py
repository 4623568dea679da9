"""replay(): one policy on one load, minute by minute, prequentially: it sees only minutes that have ended."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.excuse import misfit
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clusters.fluid_queues import FluidNetwork
from planner.clusters.simulator_course import MINUTE_S, advanced, asked, started
from planner.clusters.simulator_state import Minute, SimulatorState
from planner.errors import PlanError
from planner.replay.calm_minutes import SPAN, CalmMinutes
from planner.replay.capacity import capacity_per_s
from planner.replay.load import Load
from planner.replay.policy import MinuteMetrics, Policy, Resting, Seen
from planner.replay.reality import Reality

CALM_KEPT = 8
"""Cached spans of calm minutes: time goes forward, so few are requested again."""
BUSY, BUSIEST = 5, 6
"""Indices of these columns."""


@dataclass(frozen=True)
class Taken:
    """A decision that was carried out, or superseded before that: then in_effect_s is None. Times in epoch seconds;
    in_effect_s: when the new plan ran.
    """

    decided_s: float
    in_effect_s: float | None
    plan: Mapping[str, int]
    why: str


@dataclass(frozen=True)
class Replayed:
    """One policy with one seed, minute by minute; arrays of shape (minutes,) unless stated otherwise.

    start_s: epoch seconds. arrivals_per_s, capacity_per_s: over all sources; capacity of the running plan in the mix of
    that minute. parallelism: at the minute's end, shape (minutes, operators), in the topology's order. backlog: tuples
    waiting at all sources at its end. lag_s: the longest wait in it. down_s: seconds of downtime. utilisation: of the
    busiest instance.
    """

    policy: str
    seed: int
    topology: Topology
    start_s: Floats
    arrivals_per_s: Floats
    capacity_per_s: Floats
    parallelism: Ints
    backlog: Floats
    lag_s: Floats
    down_s: Floats
    utilisation: Floats
    decisions: tuple[Taken, ...]

    @cached_property
    def instances(self) -> Ints:
        return np.asarray(self.parallelism.sum(axis=1))


def replay(
    policy: Policy,
    load: Load,
    reality: Reality,
    first: Mapping[str, int],
    *,
    past: Load | None = None,
    metrics_delay_s: float = 60.0,
    most: Mapping[str, int] | None = None,
    max_instances: int = 10_000,
    waiting: Mapping[str, float] | None = None,
) -> Replayed:
    """Run a policy on a load. first: the plan at the start, unless the policy has its own.

    past: arrivals before the start that the policy knows. metrics_delay_s: age from which a minute is visible. most:
    maximum instances of each operator; max_instances: of all together. A plan beyond them is followed as far as they
    allow. waiting: tuples at each source at the start. Raises PlanError for a plan that does not fit the topology, with
    the name of the policy.
    """
    world = _Run(policy, load, reality, past, metrics_delay_s)
    network = reality.network(policy.first or first, load.start_s)
    state = started(network, dict(policy.first or first), load.start_s)
    if waiting and any(waiting.values()):
        world.traces = load.behind(waiting).traces()
        state = replace(state, content=tuple(waiting.get(name, 0.0) for name in network.sources))
    asked_for: list[tuple[float, Mapping[str, int], str]] = []
    effects: list[float | None] = []
    at_s, end_s = float(load.start_s), float(load.end_s)
    resting = policy if isinstance(policy, Resting) and policy.every_s == MINUTE_S else None
    while at_s < end_s:
        if resting is not None and (at_s := world.rested(resting, state, at_s, end_s)) == end_s:
            break
        decision = policy.decide(world.seen(state, at_s))
        if decision is not None:
            plan = _allowed(decision.plan, state.parallelism, most or {}, max_instances)
            if plan != _target(state):
                state = _at(state, at_s)
                _check(policy, reality.topology, plan)
                if plan != dict(state.parallelism):
                    asked_for.append((at_s, plan, decision.why))
                    effects.append(None)
                state = asked(state, reality, plan)
        next_s = min(end_s, (at_s // policy.every_s + 1) * policy.every_s)
        state = world.moved(state, at_s, next_s)
        at_s = next_s
        if effects and effects[-1] is None and dict(state.parallelism) == asked_for[-1][1] and not state.asked:
            effects[-1] = state.down_until_s
    taken = tuple(Taken(at, effect, plan, why) for (at, plan, why), effect in zip(asked_for, effects, strict=True))
    return world.replayed(taken)


def _at(state: SimulatorState, at_s: float) -> SimulatorState:
    """The state moved over calm minutes that it has not gone through; counters that replays do not read are not
    updated.
    """
    return state if state.at_s == at_s else replace(state, at_s=at_s)


def _target(state: SimulatorState) -> dict[str, int]:
    return dict(state.asked.parallelism if state.asked is not None else state.parallelism)


def _allowed(
    plan: Mapping[str, int], now: Mapping[str, int], most: Mapping[str, int], max_instances: int
) -> dict[str, int]:
    """The plan, or if it has too many instances, as much of the way to it from the present one as is allowed."""
    capped = {name: min(count, most.get(name, count)) for name, count in plan.items()}
    for percent in range(100, 0, -1):
        part = {name: now[name] + (count - now[name]) * percent // 100 for name, count in capped.items()}
        if sum(part.values()) <= max_instances:
            return part
    return dict(now)


def _check(policy: Policy, topology: Topology, plan: Mapping[str, int]) -> None:
    given = PhysicalPlan(topology.name, plan)
    given.check(topology)
    if excuse := misfit(topology, given):
        raise PlanError(f"policy {policy.name} asked for a plan that cannot run: {excuse}")


class _Run:
    """The columns of a replay while they are filled."""

    def __init__(self, policy: Policy, load: Load, reality: Reality, past: Load | None, delay_s: float) -> None:
        self._policy, self._load, self._reality, self._delay_s = policy, load, reality, delay_s
        self.traces = load.traces()
        topology = reality.topology
        self._before = 0 if past is None else past.minutes
        size, sources, operators = self._before + load.minutes, len(topology.sources), len(topology.order)
        # Minutes before the start have arrivals only.
        first_s = float(load.start_s) - MINUTE_S * self._before
        self._start_s: Floats = first_s + MINUTE_S * np.arange(size, dtype=np.float64)
        # One row per minute: what a policy sees, then lag, downtime and utilisation.
        widths = (
            1,
            sources,
            sources,
            sources,
            operators,
            operators,
            operators,
            operators,
            len(topology.streams),
            1,
            1,
            1,
        )
        ends = np.cumsum(widths).tolist()
        self._rows = np.zeros((size, ends[-1]))
        self._columns = [self._rows[:, end - width : end] for end, width in zip(ends, widths, strict=True)]
        self._parallelism = np.zeros((size, operators), dtype=np.int64)
        if past is not None:
            self._columns[1][: self._before] = np.column_stack([past.rate_per_s[name] for name in topology.sources])
        self._filled = self._before
        noise = reality.differences.metric_noise
        self._noisy = noise > 0
        rng = np.random.default_rng([reality.differences.seed, 9])
        self._noise = np.exp(noise * rng.standard_normal((size, operators))) if noise else np.ones((size, operators))
        self._known: dict[int, _Rates] = {}
        self._networks: Ints = np.zeros(size, dtype=np.int64)
        self._calm = CalmMinutes(load, reality)
        self._calm_rows = lru_cache(CALM_KEPT)(self._rows_of_calm)

    def seen(self, state: SimulatorState, at_s: float) -> Seen:
        rows = slice(0, self._known_at(at_s))
        up_s, *others = (column[rows] for column in self._columns[:-3])
        measured = MinuteMetrics(self._reality.topology, self._start_s[rows], up_s[:, 0], *others)
        changing = state.asked is not None or at_s < state.down_until_s
        return Seen(at_s, _target(state), state.down_until_s, changing, measured)

    def _known_at(self, at_s: float) -> int:
        ended = int((at_s - self._delay_s - self._start_s[0]) // MINUTE_S)
        return max(0, min(ended, self._filled))

    def moved(self, state: SimulatorState, at_s: float, to_s: float) -> SimulatorState:
        """The state at to_s, with all minutes from at_s on recorded. It may lag behind by calm minutes, in which only
        the time changes.
        """
        while at_s < to_s:
            calm = self._calm.until(state, at_s, to_s)
            if calm is not None:
                self._take_calm(*calm, state.parallelism)
                at_s = float(self._load.start_s + MINUTE_S * calm[1])
            else:
                # One minute only: the next one may be calm.
                at_s, before_s = min(to_s, (at_s // MINUTE_S + 1) * MINUTE_S), at_s
                state, minutes = advanced(_at(state, before_s), self._reality, self.traces, at_s, exactly=True)
                self._take(minutes)
        return state

    def rested(self, policy: Resting, state: SimulatorState, at_s: float, end_s: float) -> float:
        """Until when the policy need not be asked while minutes are calm, with these recorded."""
        calm = self._calm.until(state, at_s, end_s)
        if calm is None:
            return at_s
        first, last, _ = calm
        begun = self._filled
        self._take_calm(*calm, state.parallelism)
        moments_s = at_s + MINUTE_S * np.arange(last - first)
        known = np.array([self._known_at(float(moment_s)) for moment_s in moments_s])
        minutes = policy.rests(self.seen(state, float(moments_s[-1])), known)
        self._filled = begun + minutes
        return at_s + MINUTE_S * minutes

    def _take_calm(self, first: int, last: int, network: FluidNetwork, parallelism: Mapping[str, int]) -> None:
        """Record the minutes from `first` to the one before `last`, which lie in one span."""
        rates = self._rates(network)
        number, begin = divmod(first, SPAN)
        rows = slice(self._before + first, self._before + last)
        self._rows[rows] = self._calm_rows(id(network), number)[begin : begin + last - first]
        if self._noisy:
            busy, busiest = self._columns[BUSY][rows], self._columns[BUSIEST][rows]
            busy[:] = np.minimum(1.0, busy * self._noise[rows])
            busiest[:] = np.minimum(1.0, busiest * self._noise[rows])
        self._networks[rows] = id(rates.network)
        self._parallelism[rows] = [parallelism[name] for name in self._reality.topology.order]
        self._filled = rows.stop

    def _rows_of_calm(self, network: int, number: int) -> Floats:
        """The rows of a span as if all of its minutes were calm, without noise."""
        rates = self._known[network]
        span = self._calm.span(rates.network, number)
        into, worked, streams = rates.flows_of(span.per_s)
        some, no = len(span.per_s), np.zeros_like
        return np.column_stack(
            [
                np.full(some, float(MINUTE_S)),
                span.per_s,
                span.per_s,
                no(span.per_s),
                into,
                np.minimum(1.0, worked),
                span.busiest,
                no(span.busiest),
                streams,
                np.zeros((some, 2)),
                span.busiest.max(axis=1),
            ]
        )

    def _take(self, minutes: list[Minute]) -> None:
        order = self._reality.topology.order
        for minute in minutes:
            row = self._filled
            network = self._reality.network(minute.parallelism, minute.start_s)
            rates, noise = self._rates(network), self._noise[row].tolist()
            taken = [count / MINUTE_S for count in minute.processed.values()]
            into, worked, streams = rates.flows(taken)
            busy = [min(1.0, min(1.0, each) * by) for each, by in zip(worked, noise, strict=True)]
            busiest = [min(1.0, minute.busiest_s[name] / MINUTE_S) for name in order]
            blocked = [minute.blocked_s[name] / MINUTE_S for name in order]
            self._rows[row] = [
                MINUTE_S - minute.down_s,
                *(count / MINUTE_S for count in minute.offered.values()),
                *taken,
                *minute.backlog.values(),
                *into,
                *busy,
                *(min(1.0, each * by) for each, by in zip(busiest, noise, strict=True)),
                *(part * (1.0 - min(1.0, each)) for part, each in zip(blocked, worked, strict=True)),
                *streams,
                minute.lag_s,
                minute.down_s,
                max(busiest),
            ]
            self._networks[row] = id(network)
            self._parallelism[row] = [minute.parallelism[name] for name in order]
            self._filled += 1

    def _rates(self, network: FluidNetwork) -> "_Rates":
        # The rates keep their network alive, so that its id is not reused.
        if id(network) not in self._known:
            self._known[id(network)] = _Rates(network, self._reality.topology)
        return self._known[id(network)]

    def replayed(self, decisions: tuple[Taken, ...]) -> Replayed:
        rows = slice(self._before, self._filled)
        arrivals, backlog = self._columns[1][rows], self._columns[3][rows]
        networks, capacity = self._networks[rows], np.zeros(self._filled - self._before)
        for number, rates in self._known.items():
            of = networks == number
            capacity[of] = capacity_per_s(rates.network, arrivals)[of]
        lag_s, down_s, utilisation = (column[rows, 0].copy() for column in self._columns[-3:])
        return Replayed(
            self._policy.name,
            self._reality.differences.seed,
            self._reality.topology,
            self._start_s[rows],
            arrivals.sum(axis=1),
            capacity,
            self._parallelism[rows],
            backlog.sum(axis=1),
            lag_s,
            down_s,
            utilisation,
            decisions,
        )


class _Rates:
    """Metrics of a network for given rates of its sources."""

    def __init__(self, network: FluidNetwork, topology: Topology) -> None:
        self.network, self._operators = network, len(topology.order)
        flows = {flow.name: flow for flow in network.flows}
        # Per tuple per second of each input: tuples into the operator, mean busy share of its instances, and tuples on
        # streams, which follow the sources' inputs in the channels.
        into = [flows[name].entering_per_s[0] for name in topology.order]
        worked = [flows[name].worked_s()[0].mean(axis=0) for name in topology.order]
        self._per_input = np.array([*into, *worked, *network.per_input[len(topology.sources) :]])

    def flows(self, taken_per_s: list[float]) -> tuple[list[float], list[float], list[float]]:
        """Tuples into each operator, the busy share of its instances (may exceed 1), tuples on each stream."""
        flows = (self._per_input @ np.array(self.network.linear.inputs_per_s(taken_per_s))).tolist()
        return flows[: self._operators], flows[self._operators : 2 * self._operators], flows[2 * self._operators :]

    def flows_of(self, taken_per_s: Floats) -> tuple[Floats, Floats, Floats]:
        """The same for many minutes, if there are no windows; taken_per_s: shape (minutes, sources)."""
        into, worked, streams = np.split(
            taken_per_s @ self._per_input.T, (self._operators, 2 * self._operators), axis=1
        )
        return into, worked, streams
