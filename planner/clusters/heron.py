"""A topology on a Heron cluster: read from its tracker, changed by `heron update` of the client installed here.

Written from the code of Heron's last releases. No Heron is available any more: this was tested against a stand-in with
answers of the same shape (tests/heron_stand_in.py), never against a Heron.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Unpack

from engines.bounded_command import run_bounded
from engines.heron.cli import HeronCli, PackedContainer, Run, UpdateRefusedError
from engines.heron.tracker import UPTIME, TrackedContainer, TrackedTopology
from engines.http import Connection
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
from planner.clusters.heron_packing import PredictedPacking
from planner.clusters.heron_samples import heron_operator_samples
from planner.errors import ClusterError

logger = logging.getLogger(__name__)

# Instances report every minute. The open minute and one missed report do not mean that an instance is down.
_REPORTED_S = 200
# Start times are known to the minute, from reports of the uptime.
_SAME_START_S = 90.0


@dataclass(frozen=True)
class HeronNames:
    """Names under which a topology was submitted."""

    cluster: str
    environ: str
    topology: str
    role: str | None = None


@dataclass(frozen=True)
class _Seen:
    """One look. instances: ids by operator, from the physical plan. packing: from the packing plan. began: start of
    each instance that reported in the last minutes.
    """

    at: datetime
    components: Mapping[str, str]
    instances: Mapping[str, Sequence[str]]
    packing: tuple[Container, ...]
    began: Mapping[str, datetime]

    @property
    def packed(self) -> Mapping[str, int]:
        """Parallelism by operator in Heron's packing plan."""
        placed = [each.operator for container in self.packing for each in container.instances]
        return {name: placed.count(name) for name in self.components}

    @property
    def silent(self) -> list[str]:
        """Operators with instances that are missing or have not reported."""
        return [
            name
            for name, ids in self.instances.items()
            if len(ids) != self.packed[name] or any(id not in self.began for id in ids)
        ]


class HeronCluster(ByChange):
    """The `Cluster` of one Heron topology. Heron decides which container holds what: a plan's packing is ignored, and
    the packing that `heron update` will make is logged before the update.

    url: of the tracker. client: first words of the Heron client's command line. operators: operator → component where
    they differ. max_containers: room of the scheduler, None if unknown. predicted: packing to compare an update's with,
    None for no comparison. run: replaces the client in tests of rare answers.
    """

    def __init__(
        self,
        url: str,
        names: HeronNames,
        topology: Topology,
        operators: Mapping[str, str] | None = None,
        *,
        client: Sequence[str] = ("heron",),
        max_containers: int | None = None,
        predicted: PredictedPacking | None = None,
        clock: Clock | None = None,
        run: Run = run_bounded,
        **connection: Unpack[Connection],
    ) -> None:
        self._tracked = TrackedTopology(
            url,
            ClusterError,
            cluster=names.cluster,
            environ=names.environ,
            topology=names.topology,
            role=names.role,
            **connection,
        )
        self._client, self._run = client, run
        self._url, self._names, self._connection = url, names, connection
        self._declared = topology
        self._operators = dict(operators or {})
        self._max_containers, self._predicted = max_containers, predicted
        self._clock = clock or RealClock()
        self._began: datetime | None = None
        self._updated: tuple[Accepted, datetime] | None = None

    def state(self) -> ClusterState:
        with self._tracked.operation():
            seen = self._look()
            runs = not seen.silent
            return ClusterState(
                topology=self._declared.name,
                plan=self._plan(seen),
                status=Status.RUNNING if runs else Status.RESCALING,
                observed_at=seen.at,
                running_since=self._running_since(seen) if runs else None,
                free_slots=None,
            )

    @cached_property
    def _cli(self) -> HeronCli:
        place = f"{self._names.cluster}/{self._tracked.role()}/{self._names.environ}"
        return HeronCli(self._client, place, self._names.topology, ClusterError, run=self._run)

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        """One per instance and whole minute of the last span_s seconds."""
        return heron_operator_samples(
            self._url,
            cluster=self._names.cluster,
            environ=self._names.environ,
            role=self._names.role,
            topology_name=self._names.topology,
            topology=self._declared,
            operators=self._operators,
            span_s=span_s,
            **self._connection,
        )

    def backlogs(self) -> Mapping[str, SourceBacklog]:
        return unmeasured_spouts("Heron", self._declared.sources, self._operators)

    def record(self, start: datetime, end: datetime) -> None:
        """None: the tracker keeps counters of instances, not which plan ran."""

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        seen = self._look()
        if dict(accepted.plan.parallelism) != seen.packed:
            return Failed(
                f"{self._tracked.place} has the packing plan of {brief(seen.packed)}, not {accepted.plan.brief()}: "
                "somebody else updated it, or Heron went back; decide from what runs"
            )
        if seen.silent:
            return Pending(f"{self._tracked.place}: instances of {', '.join(seen.silent)} have not reported yet")
        since = self._running_since(seen)
        if accepted.replaced.same_parallelism(accepted.plan):
            return Verified(accepted.plan, since, 0.0)
        if self._updated is not None and self._updated[0] == accepted:
            # Spouts pause from early in the update until its end: an upper bound on the downtime.
            return Verified(accepted.plan, since, (self._updated[1] - accepted.at).total_seconds())
        return Verified(accepted.plan, since, None)

    def _changed(self, plan: PhysicalPlan, replaced: PhysicalPlan, *, undoing: bool) -> Accepted | Refusal:
        """Returns after `heron update` has ended, which may take minutes."""
        seen = self._look()
        answer = answered(
            plan,
            replaced,
            seen.packed,
            place=self._tracked.place,
            at=seen.at,
            misfit=self._misfit(plan),
            there=dict(plan.parallelism) == seen.packed,
            undoing=undoing,
        )
        return self._ask(plan, replaced, seen) if answer is None else answer

    def check_may_rescale(self) -> str:
        """Dry-run one more instance, as Heron rejects an update that changes nothing. Returns a message with the
        result.

        Raises ClusterError if the client cannot be run, or Heron refuses.
        """
        seen = self._look()
        name, component = next(iter(seen.components.items()))
        count = seen.packed[name] + 1
        try:
            packed = self._cli.dry_run({component: count})
        except UpdateRefusedError as refused:
            raise ClusterError(
                f"{self._tracked.place} refuses a dry run of {name} {count}: {refused}; see that cluster, role and "
                "environ are as `heron submit` was given them"
            ) from None
        return f"a dry run of `heron update` took {name} {count}, in {count_of(len(packed), 'container')}"

    def _look(self) -> _Seen:
        at = self._clock.now()
        physical, logical = self._tracked.plans()
        try:
            ids = {str(n): [str(id) for id in of] for n, of in {**physical["bolts"], **physical["spouts"]}.items()}
        except (KeyError, TypeError, AttributeError):
            raise self._tracked.unexpected_plans(physical, logical) from None
        named = component_of_operator(self._tracked.place, self._declared, self._operators, sorted(ids))
        packing = _packing(self._tracked.packing(), {component: name for name, component in named.items()})
        began: dict[str, datetime] = {}
        for component in named.values():
            until_s = int(at.timestamp()) + 1
            uptimes = self._tracked.timeline(component, [UPTIME], until_s - _REPORTED_S, until_s).get(UPTIME, {})
            for id, values in uptimes.items():
                up = [(stamp, uptime_s) for stamp, uptime_s in sorted(values.items()) if uptime_s > 0]
                if up:
                    began[id] = min(at, datetime.fromtimestamp(up[-1][0] - up[-1][1], UTC))
        instances = {name: ids[component] for name, component in named.items()}
        return _Seen(at, named, instances, packing, began)

    def _plan(self, seen: _Seen) -> PhysicalPlan:
        try:
            return PhysicalPlan(self._declared.name, seen.packed, seen.packing)
        except ModelError as error:
            raise ClusterError(f"{self._tracked.place} has no whole plan yet: {error}; ask again") from None

    def _misfit(self, plan: PhysicalPlan) -> str | None:
        try:
            plan.check(self._declared)
        except ModelError as error:
            return str(error)
        return None

    def _ask(self, plan: PhysicalPlan, replaced: PhysicalPlan, seen: _Seen) -> Accepted | Refusal:
        changed = {
            seen.components[name]: count for name, count in plan.parallelism.items() if count != seen.packed[name]
        }
        try:
            new = self._cli.dry_run(changed)
            if self._max_containers is not None and len(new) > self._max_containers:
                return Refusal(
                    plan,
                    f"{plan.brief()} takes {count_of(len(new), 'container')} > {self._max_containers} that "
                    "cluster.max_containers "
                    "allows; lower the parallelism, or allow more where the scheduler has room",
                )
        except UpdateRefusedError as refused:
            return Refusal(plan, f"{self._tracked.place} refuses {plan.brief()}: {refused}; correct the plan")
        accepted = Accepted(plan, replaced, seen.at, self._packing_note(plan, seen, new))
        try:
            self._cli.update(changed)
        except UpdateRefusedError as failed:
            if self._look().packing == seen.packing:
                return Refusal(
                    plan,
                    f"heron update of {self._tracked.place} failed: {failed}; its packing is as before, but spouts may "
                    f"be paused: activate them by `{self._cli.activation}`, then correct what failed",
                )
            logger.warning(
                "%s: heron update failed after changing the packing: %s; spouts may be paused, activate them by `%s`",
                self._tracked.place,
                failed,
                self._cli.activation,
            )
            return accepted  # how long spouts paused is unknown
        self._updated = accepted, self._clock.now()
        return accepted

    def _packing_note(self, plan: PhysicalPlan, seen: _Seen, new: Sequence[PackedContainer]) -> str:
        """Log the packing that the update will make, and return how it differs from the predicted one."""
        held = "; ".join(f"{c.id}: {', '.join(f'{i.component}[{i.index}]' for i in c.instances)}" for c in new)
        logger.info("%s: heron update will pack %s", self._tracked.place, held)
        if self._predicted is None:
            return ""
        operator_of = {component: name for name, component in seen.components.items()}
        differs = self._predicted.compared(self._declared, seen.packing, plan, new, operator_of)
        if differs:
            logger.warning("%s: %s", self._tracked.place, differs)
        return differs

    def _running_since(self, seen: _Seen) -> datetime:
        """When the youngest instance began, but not before our own last update ended, as spouts paused until then."""
        began = max(seen.began[id] for ids in seen.instances.values() for id in ids)
        if self._updated is not None:
            began = max(began, self._updated[1])
        if self._began is None or abs(began - self._began) > timedelta(seconds=_SAME_START_S):
            self._began = began
        return self._began


def _packing(containers: Sequence[TrackedContainer], operator_of: Mapping[str, str]) -> tuple[Container, ...]:
    """Containers with instances numbered by rank: Heron leaves gaps where it removed some."""
    indices: dict[str, list[int]] = {}
    for each in (each for container in containers for each in container.instances):
        indices.setdefault(each.component, []).append(each.index)
    rank = {name: {index: at for at, index in enumerate(sorted(of))} for name, of in indices.items()}
    packed = []
    for container in sorted(containers, key=lambda each: each.id):
        ours = [each for each in container.instances if each.component in operator_of]
        held = tuple(Instance(operator_of[each.component], rank[each.component][each.index]) for each in ours)
        if held:
            packed.append(Container(container.id, held))
    return tuple(packed)
