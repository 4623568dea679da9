"""The cluster simulator: a topology as fluid queues with backpressure, replaying true arrivals, down at each rescale.

It stands in for a cluster in demonstrations, back-tests and tests. It advances lazily: every call first replays the
arrivals from where it stopped up to the clock's present. All processes that use its folder share its state.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np

from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.excuse import misfit
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.rescaling.warm_up import WARM, WarmUp
from modeling.services.pools import ServiceTerms
from modeling.wording import count_of
from planner.clock import Clock
from planner.clusters.arrival_trace import ArrivalTrace, TrueArrivals, arrival_traces
from planner.clusters.cluster import (
    Accepted,
    ClusterState,
    Failed,
    Pending,
    Refusal,
    SourceBacklog,
    Status,
    Taken,
    Verified,
)
from planner.clusters.cluster_record import ClusterRecord
from planner.clusters.engine_terms import EngineTerms
from planner.clusters.fluid_queues import FluidNetwork, channels_of, fluid_network
from planner.clusters.simulator_course import MINUTE_S, STEP_S, advanced, asked, backlog, lost_s, started
from planner.clusters.simulator_record import record_of
from planner.clusters.simulator_state import SimulatorState, Totals, damage
from planner.clusters.simulator_store import SimulatorStore, SimulatorTransaction
from planner.errors import ClusterError, NotMeasuredYetError
from planner.plan_model import PlanModel

MAX_AHEAD_S = 31 * 86_400
"""Longest span that one call replays: some ten seconds."""


class _SteadyWorld:
    """A world without failures. Networks are compiled once."""

    calm_s = STEP_S

    def __init__(self, model: PlanModel, terms: EngineTerms) -> None:
        self.topology, self.terms, self._model = model.topology, terms, model
        self._networks: dict[tuple[int, ...], FluidNetwork] = {}

    def network(self, parallelism: Mapping[str, int], at_s: float = 0.0) -> FluidNetwork:
        """Raises ModelError for a parallelism that does not fit."""
        counts = tuple(parallelism[name] for name in self.topology.order)
        if counts not in self._networks:
            plan = PhysicalPlan(self.topology.name, dict(zip(self.topology.order, counts, strict=True)))
            mix = dict.fromkeys(self.topology.sources, 1.0)
            (share,) = self._model.share_by_threads([plan], mix).tolist()
            self._networks[counts] = fluid_network(self.topology, self._model.profiles, plan, share=share)
        return self._networks[counts]

    def turn_s(self, after_s: float) -> float:
        return math.inf

    def fails(self, at_s: float) -> bool:
        return False


@dataclass(frozen=True)
class _Moment:
    """The simulator at one moment, while its state is locked."""

    now: datetime
    state: SimulatorState
    transaction: SimulatorTransaction


class SimulatedCluster:
    """A simulated `Cluster`. Its first use starts it: `initial` runs from the clock's present on, with empty queues.

    profiles: the true profiles of the operators. slots: most instances. downtime_s: of each rescale; meanwhile nothing
    is processed and arrivals wait at the sources. truth: the arrivals to replay; missing windows, and times before and
    after them, have none. folder: holds its state. warm_up: of the job after each rescale. services: of micro-services,
    whose threads saturate as in a mix of equal rates; None of a stream.
    """

    def __init__(
        self,
        topology: Topology,
        profiles: Profiles,
        initial: PhysicalPlan,
        slots: int,
        downtime_s: float,
        truth: TrueArrivals,
        clock: Clock,
        folder: Path,
        warm_up: WarmUp = WARM,
        services: ServiceTerms | None = None,
    ) -> None:
        self._topology = topology
        self._profiles = profiles
        self._initial = initial
        self._slots = slots
        model = PlanModel(topology, profiles, services=services)
        self._world = _SteadyWorld(model, EngineTerms(downtime_s, warm_up=warm_up))
        self._truth = truth
        self._clock = clock
        self._store = SimulatorStore(folder / "simulator.db")
        self._world.network(initial.parallelism)

    def state(self) -> ClusterState:
        with self._present() as moment:
            state = moment.state
            return ClusterState(
                topology=self._topology.name,
                plan=self._plan(state.parallelism),
                status=Status.RESCALING if self._down(moment) else Status.RUNNING,
                observed_at=moment.now,
                running_since=None if self._down(moment) else _datetime(state.down_until_s),
                free_slots=self._slots - sum(state.parallelism.values()),
            )

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        """Exact counters of the running plan over the last span_s seconds, or since it began to run.

        The span begins with a whole minute, so it may be up to a minute longer; each sample has its length. Raises
        ClusterError while nothing has been measured: during and right after a rescale.
        """
        with self._present() as moment:
            state = moment.state
            since_s, totals = state.down_until_s, state.totals
            earlier = moment.transaction.last_minute_of(state.change, state.at_s - span_s)
            if earlier is not None and earlier.start_s + 60 > since_s:
                since_s, totals = earlier.start_s + 60, totals.since(earlier.totals)
        measured_s = state.at_s - since_s
        if measured_s <= 0:
            raise NotMeasuredYetError(
                f"simulator of topology {self._topology.name!r} has measured nothing since the plan began to run at "
                f"{_datetime(since_s):%Y-%m-%d %H:%M:%S} UTC; ask again {STEP_S} s later",
                _datetime(since_s),
            )
        slow_s = lost_s(since_s - state.down_until_s, measured_s, self._world.terms) if state.change else 0.0
        return self._samples(self._world.network(state.parallelism), totals, measured_s, slow_s)

    def backlogs(self) -> Mapping[str, SourceBacklog]:
        """As of the last whole step; unknown if the arrivals of the present minute are."""
        with self._present() as moment:
            state = moment.state
        waits = backlog(state.content, self._world.terms, runs=not state.rescaling)
        runs_s = max(0.0, state.at_s - state.down_until_s)
        return {
            source: SourceBacklog(tuples, trace.age_s(state.at_s, content), taken=Taken(runs_s, taken))
            if trace.known(state.at_s // MINUTE_S * MINUTE_S, state.at_s)
            else SourceBacklog(None, None, f"the simulator has no arrivals of source {source!r} for this minute")
            for (source, trace), tuples, content, taken in zip(
                self._traces.items(), waits, state.content, state.totals.taken[: len(waits)], strict=True
            )
        }

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        with self._present() as moment:
            state = moment.state
            if dict(plan.parallelism) == dict(state.parallelism):
                # A caller that repeats its request after a crash must still be able to undo the first one's change.
                same_request = dict(expected.parallelism) == dict(state.replaced)
                changed_at = _datetime(state.down_from_s)
                return Accepted(plan, expected, changed_at) if same_request else Accepted(plan, plan, moment.now)
            if reason := self._why_not(plan, expected, moment):
                return Refusal(plan, reason)
            return self._rescale(moment, plan)

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        with self._present() as moment:
            state = moment.state
            if dict(state.parallelism) != dict(accepted.plan.parallelism):
                runs = self._plan(state.parallelism).brief()
                return Failed(f"the simulator runs {runs}, not {accepted.plan.brief()} as accepted at {accepted.at}")
            if self._down(moment):
                return Pending(f"the simulator is down for the rescale until {_datetime(state.down_until_s)}")
            unchanged = accepted.replaced.same_parallelism(accepted.plan)
            downtime_s = 0.0 if unchanged else state.down_until_s - state.down_from_s
            return Verified(accepted.plan, _datetime(state.down_until_s), downtime_s)

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        with self._present() as moment:
            running = dict(moment.state.parallelism)
            if running == dict(accepted.replaced.parallelism):
                return Accepted(accepted.replaced, accepted.plan, moment.now)
            if running != dict(accepted.plan.parallelism):
                return Refusal(
                    accepted.replaced,
                    f"the simulator runs {self._plan(running).brief()}, which is not the plan to undo "
                    f"({accepted.plan.brief()}); somebody changed it since: decide anew from its state",
                )
            return self._rescale(moment, accepted.replaced)

    def record(self, start: datetime, end: datetime) -> ClusterRecord:
        """What happened in the whole minutes within [start, end)."""
        with self._present() as moment:
            minutes = moment.transaction.minutes(start.timestamp(), end.timestamp())
        return record_of(minutes, self._topology.sources, self._topology.order)

    @contextmanager
    def _present(self) -> Iterator[_Moment]:
        """The simulator, advanced to the clock's present."""
        with self._store.transaction() as transaction:
            # Read the clock under the lock: after waiting for the lock, the state could otherwise be in its future.
            now = self._clock.now()
            state = self._advanced(transaction, now)
            yield _Moment(now, state, transaction)

    def _advanced(self, transaction: SimulatorTransaction, now: datetime, *, exactly: bool = False) -> SimulatorState:
        stored = transaction.load()
        if stored is None:
            first = dict(self._initial.parallelism)
            state = started(self._world.network(first), first, now.timestamp())
            transaction.save(self._identity, state, [])
            return state
        identity, state = stored
        if identity != self._identity:
            raise ClusterError(
                f"simulator file {self._store.path} was started for topology {identity.get('topology')!r} with "
                f"channels {', '.join(map(str, identity.get('channels', ())))}, which is another topology now; delete "
                "the file to start again"
            )
        try:
            why = damage(state, self._world.network(state.parallelism))
        except (KeyError, ModelError) as error:
            why = f"parallelism {str(dict(state.parallelism))[:60]} does not fit: {error}"
        if why:
            raise transaction.damaged("simulator", why)
        if now.timestamp() < state.at_s:
            raise ClusterError(
                f"simulator of topology {self._topology.name!r} is at {_datetime(state.at_s)}, but the clock shows "
                f"{now}; move the clock on, or delete {self._store.path} to start again"
            )
        if now.timestamp() - state.at_s > MAX_AHEAD_S:
            raise ClusterError(
                f"simulator of topology {self._topology.name!r} is at {_datetime(state.at_s)}, but the clock shows "
                f"{now}, more than {MAX_AHEAD_S // 86_400} days later; set the clock back, or delete "
                f"{self._store.path} to start again"
            )
        moved, minutes = advanced(state, self._world, self._traces, now.timestamp(), exactly=exactly)
        if moved.at_s > state.at_s:
            transaction.save(self._identity, moved, minutes)
        return moved

    def _rescale(self, moment: _Moment, plan: PhysicalPlan) -> Accepted:
        state = self._advanced(moment.transaction, moment.now, exactly=True)
        after = asked(state, self._world, dict(plan.parallelism))
        moment.transaction.save(self._identity, after, [])
        return Accepted(plan, self._plan(state.parallelism), moment.now)

    def _why_not(self, plan: PhysicalPlan, expected: PhysicalPlan, moment: _Moment) -> str | None:
        running = self._plan(moment.state.parallelism)
        if not running.same_parallelism(expected):
            return (
                f"the simulator runs {running.brief()}, not {expected.brief()} as the decision assumed; "
                "make the decision anew from the running plan"
            )
        if self._down(moment):
            until = _datetime(moment.state.down_until_s)
            return f"the simulator is rescaling until {until}, one change at a time; ask again after that"
        if excuse := misfit(self._topology, plan):
            return str(excuse)
        if plan.instances > self._slots:
            return (
                f"the plan needs {count_of(plan.instances, 'instance')} > {self._slots} slots; lower a parallelism by "
                f"{plan.instances - self._slots}, or give the simulator more slots"
            )
        return None

    def _down(self, moment: _Moment) -> bool:
        return moment.now.timestamp() < moment.state.down_until_s

    def _plan(self, parallelism: Mapping[str, int]) -> PhysicalPlan:
        return PhysicalPlan(self._topology.name, {name: parallelism[name] for name in self._topology.order})

    @cached_property
    def _identity(self) -> dict[str, object]:
        return {"topology": self._topology.name, "channels": list(channels_of(self._topology))}

    @cached_property
    def _traces(self) -> dict[str, ArrivalTrace]:
        return arrival_traces(self._truth, self._topology.sources)

    def _samples(self, network: FluidNetwork, totals: Totals, span_s: float, slow_s: float) -> list[OperatorSample]:
        """slow_s: what a warm-up costs of the span: the same work keeps instances busy for longer."""
        samples, slower = [], span_s / (span_s - slow_s) if slow_s else 1.0
        counters = network.instances(totals.taken, totals.taken_blocked, span_s)
        for of, blocked_s in zip(counters, totals.blocked_s, strict=True):
            waited_s = np.maximum(blocked_s - of.worked_blocked_s * slower, 0.0)
            samples += [
                OperatorSample(
                    operator=of.operator,
                    index=index,
                    span_s=span_s,
                    busy_s=float(of.worked_s[index]) * slower,
                    backpressured_s=float(waited_s[index]),
                    records_in=float(received),
                    records_out={stream: float(given[index]) for stream, given in of.given.items()},
                )
                for index, received in enumerate(of.received)
            ]
        return samples


def _datetime(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
