"""A topology on a Storm cluster, changed by a rebalance through Storm's UI.

Tested with a real Storm 1.2.4. The UI of Storm 2 accepts a rebalance but ignores its numbers, so Storm 2 is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Unpack

from engines.http import Connection
from engines.storm.answers import ComponentPage, Executor, TopologyPage
from engines.storm.ui import StormPages
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.wording import count_of
from planner.clock import Clock, RealClock
from planner.clusters.cluster import (
    Accepted,
    ByChange,
    ClusterState,
    Failed,
    Pending,
    Refusal,
    SourceBacklog,
    Status,
    Verified,
)
from planner.clusters.compare_and_set import answered, brief
from planner.clusters.component_streams import component_of_operator, unmeasured_spouts
from planner.clusters.storm_samples import WINDOWS_S, storm_operator_samples
from planner.errors import ClusterError

# Executors report their uptime in whole seconds, by heartbeats every few seconds (task.heartbeat.frequency.secs is 3).
_STALE_S = 8.0
# A topology whose sources are silent never shows a flow of tuples: it counts as running after this time.
_FLOW_S = 30.0
# How long to wait for somebody else's rebalance, beyond the wait that we request for our own.
_OTHERS_S = 60.0
_POLL_S = 1.0
_STOPPED = frozenset({"INACTIVE", "KILLED"})
_REBALANCING = "REBALANCING"


@dataclass(frozen=True)
class _Seen:
    """One look at the topology. components: operator → component. pages: by operator."""

    id: str
    at: datetime
    page: TopologyPage
    components: Mapping[str, str]
    pages: Mapping[str, ComponentPage]

    @property
    def running(self) -> Mapping[str, int]:
        return {name: self.page.executors[component] for name, component in self.components.items()}

    @property
    def tasks(self) -> Mapping[str, int]:
        return {name: self.page.tasks[component] for name, component in self.components.items()}

    @property
    def up(self) -> bool:
        """Whether every assigned executor has reported."""
        return (
            all(len(page.executors) == self.running[name] for name, page in self.pages.items())
            and None not in self.starts()
        )

    @property
    def flows(self) -> bool:
        """Whether every operator has counted tuples since it began."""
        return all(any(each.emitted + each.executed > 0 for each in page.executors) for page in self.pages.values())

    def starts(self) -> list[datetime | None]:
        """Start of every executor, at this time or a few seconds earlier; None until it reports."""
        executors = [each for page in self.pages.values() for each in page.executors]
        return [self.at - timedelta(seconds=each.uptime_s) if each.uptime_s > 0 else None for each in executors]

    def packing(self) -> tuple[Container, ...]:
        """Executors by their workers."""
        held: dict[tuple[str, int], list[Instance]] = {}
        for name, page in self.pages.items():
            for index, executor in enumerate(sorted(page.executors, key=_by_task)):
                held.setdefault((executor.host, executor.port), []).append(Instance(name, index))
        return tuple(Container(id, tuple(held[worker]), worker[0]) for id, worker in enumerate(sorted(held), 1))


class StormCluster(ByChange):
    """The `Cluster` of one Storm topology. An instance is an executor; a component's number of tasks is its maximum. A
    plan with a packing requests as many workers as it has containers, and Storm decides where executors run; a plan
    without one keeps the number of workers.

    url: of the UI. operators: operator → component where they differ. wait_s: how long spouts pause before executors
    are moved, so that tuples under way are finished. clock: for waiting on a change.
    """

    def __init__(
        self,
        url: str,
        topology_name: str,
        topology: Topology,
        operators: Mapping[str, str] | None = None,
        *,
        wait_s: int = 30,
        clock: Clock | None = None,
        **connection: Unpack[Connection],
    ) -> None:
        part = f"topology {topology_name}"
        self._ui = StormPages(url, ClusterError, window=":all-time", part=part, **connection)
        self._url, self._connection = url, connection
        self._name = topology_name
        self._declared = topology
        self._operators = dict(operators or {})
        self._wait_s = wait_s
        self._clock = clock or RealClock()
        self._began: datetime | None = None
        self._asked: Accepted | None = None

    def state(self) -> ClusterState:
        """free_slots counts slots; each could hold a worker, with any number of executors."""
        with self._ui.operation():
            seen = self._look()
            runs = seen.page.status == "ACTIVE" and seen.up
            status = Status.DOWN if seen.page.status in _STOPPED else Status.RUNNING if runs else Status.RESCALING
            return ClusterState(
                topology=self._declared.name,
                plan=self._plan(seen),
                status=status,
                observed_at=seen.at,
                running_since=self._running_since(seen) if runs else None,
                free_slots=self._ui.cluster().free_slots,
                most=seen.tasks,
            )

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        """Over the shortest of Storm's windows of at least span_s, or since executors began."""
        window_s = next((window_s for window_s in WINDOWS_S if window_s >= span_s), WINDOWS_S[-1])
        return storm_operator_samples(
            self._url,
            topology_name=self._name,
            topology=self._declared,
            operators=self._operators,
            window_s=window_s,
            **self._connection,
        )

    def backlogs(self) -> Mapping[str, SourceBacklog]:
        return unmeasured_spouts("Storm", self._declared.sources, self._operators)

    def record(self, start: datetime, end: datetime) -> None:
        """None: Storm reports only the present."""

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        seen = self._look()
        place, status = self._ui.place, seen.page.status
        if status in _STOPPED:
            return Failed(f"{place} is {status}; activate or submit it, then decide from what runs")
        if status == _REBALANCING:
            return Pending(f"{place} is rebalancing; its spouts pause for the requested wait")
        if not _runs(accepted.plan, seen):
            return Failed(
                f"{place} runs {brief(seen.running)} in {count_of(seen.page.workers, 'worker')}, not "
                f"{accepted.plan.brief()}: "
                "somebody else changed it, or Nimbus found no slots; see its log, and decide from what runs"
            )
        # An executor's report from before the change stays until its new worker reports. The time of another
        # process's change is unknown: then it is enough that all report.
        ours = accepted == self._asked
        silent = sum(start is None or (ours and start < accepted.at) for start in seen.starts())
        if silent or not seen.up:
            return Pending(f"{place}: {silent} executors have not reported since the change")
        since = self._running_since(seen)
        if not seen.flows and (seen.at - since).total_seconds() < _FLOW_S:
            return Pending(f"{place}: its executors run since {since:%H:%M:%S}, tuples do not flow through all yet")
        if ours:  # from the request, when spouts paused, until the last executor ran
            return Verified(accepted.plan, since, (since - accepted.at).total_seconds())
        return Verified(accepted.plan, since, 0.0 if accepted.replaced.same_parallelism(accepted.plan) else None)

    def _changed(self, plan: PhysicalPlan, replaced: PhysicalPlan, *, undoing: bool) -> Accepted | Refusal:
        """First waits for a rebalance under way, as Storm reports its result only when it is done."""
        seen = self._settled()
        answer = answered(
            plan,
            replaced,
            seen.running,
            place=self._ui.place,
            at=seen.at,
            misfit=self._misfit(plan, seen),
            there=_runs(plan, seen),
            undoing=undoing,
        )
        return self._ask(plan, replaced, seen) if answer is None else answer

    def _look(self) -> _Seen:
        id = self._ui.topology_id(self._name)
        page = self._ui.topology(id)
        named = component_of_operator(self._ui.place, self._declared, self._operators, page.components)
        pages = {name: self._ui.component(id, component) for name, component in named.items()}
        return _Seen(id, self._clock.now(), page, named, pages)

    def _settled(self) -> _Seen:
        """A look while no rebalance is under way. Raises ClusterError if one does not end."""
        deadline = self._clock.now() + timedelta(seconds=self._wait_s + _OTHERS_S)
        while (seen := self._look()).page.status == _REBALANCING:
            if self._clock.now() >= deadline:
                raise ClusterError(
                    f"{self._ui.place} has been rebalancing for {self._wait_s + _OTHERS_S:.0f} s; see the log of "
                    "Nimbus, and ask again when it is done"
                )
            self._clock.wait(_POLL_S)
        return seen

    def _plan(self, seen: _Seen) -> PhysicalPlan:
        try:
            return PhysicalPlan(self._declared.name, seen.running)
        except ModelError as error:  # without slots, a component has no executors
            raise ClusterError(
                f"{self._ui.place} has no plan yet: {error}; see whether supervisors have slots"
            ) from None

    def _misfit(self, plan: PhysicalPlan, seen: _Seen) -> str | None:
        """Why the cluster cannot run the plan, or None."""
        place = self._ui.place
        if seen.page.status in _STOPPED:
            return f"{place} is {seen.page.status}; activate or submit it, then decide from what runs"
        tasks = seen.tasks
        operators = tuple(replace(each, max_parallelism=tasks[each.name]) for each in self._declared.operators)
        try:
            plan.check(replace(self._declared, operators=operators))
        except ModelError as error:
            beyond = [name for name, count in plan.parallelism.items() if count > tasks.get(name, count)]
            return f"{error}" + "".join(
                f"; {name!r} was submitted with {count_of(tasks[name], 'task')}, which no rebalance changes: "
                "give that as "
                f"operators.{name}.max_parallelism, or submit with more tasks"
                for name in beyond[:1]
            )
        if _runs(plan, seen):
            return None
        cluster = self._ui.cluster()
        if int(cluster.version.partition(".")[0] or 0) >= 2:
            return (
                f"{place} is of Storm {cluster.version}, whose UI restarts a topology without changing its executors; "
                f"run: storm rebalance {self._name} "
                + " ".join(f"-e {seen.components[name]}={count}" for name, count in plan.parallelism.items())
            )
        slots = cluster.free_slots + seen.page.workers
        if len(plan.packing) > slots:
            return (
                f"{plan.brief()} in {count_of(len(plan.packing), 'worker')} needs more slots than {slots} "
                f"({seen.page.workers} held by the topology, {cluster.free_slots} free); add supervisors or slots, or "
                "pack into fewer workers"
            )
        return None

    def _ask(self, plan: PhysicalPlan, replaced: PhysicalPlan, seen: _Seen) -> Accepted:
        # Name all components, the unchanged ones too, so that leftovers of earlier rebalances do not matter.
        executors = {seen.components[name]: count for name, count in plan.parallelism.items()}
        if plan.packing and not replaced.packing:  # undoing restores the number of workers too
            replaced = replace(replaced, packing=seen.packing())
        self._ui.rebalance(seen.id, executors, len(plan.packing) or None, self._wait_s)
        self._began = None
        self._asked = Accepted(plan, replaced, seen.at)
        return self._asked

    def _running_since(self, seen: _Seen) -> datetime:
        """When the last executor began, within some seconds; the same at every look until one restarts."""
        began = max(start for start in seen.starts() if start is not None)
        if self._began is None or abs((began - self._began).total_seconds()) > _STALE_S:
            self._began = began
        return self._began


def _runs(plan: PhysicalPlan, seen: _Seen) -> bool:
    same = dict(plan.parallelism) == seen.running
    return same and (not plan.packing or len(plan.packing) == seen.page.workers)


def _by_task(executor: Executor) -> int:
    return executor.first_task
