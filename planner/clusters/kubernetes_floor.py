"""The lower bounds of autoscalers: no fewer replicas than the plan run, and the autoscalers decide above that.

A bound of 0, which only KEDA has, counts as 1 here: every operator of a plan has an instance.
"""

from collections.abc import Mapping
from datetime import datetime

from engines.kubernetes.resources import SCALERS, ObjectName
from engines.kubernetes.server import KubernetesServer, RequestRefusedError
from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clusters.cluster import Accepted, ByChange, Failed, Pending, Refusal, Verified
from planner.clusters.kubernetes_fields import PlannedField, PlannedFields, SeenField
from planner.clusters.kubernetes_scalers import LOWER, UPPER, upper_bound
from planner.clusters.kubernetes_workloads import read_workloads, reading
from planner.errors import ClusterError

_PAUSED = ("autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas")


class KubernetesFloor(ByChange):
    """The `ScalerFloor` of a topology whose operators have one scaler each.

    objects: per operator its scaler. take_over: field managers whose bounds may become ours. Raises ClusterError if an
    operator has no scaler.
    """

    def __init__(
        self,
        server: KubernetesServer,
        topology: Topology,
        objects: Mapping[str, ObjectName],
        take_over: frozenset[str] = frozenset(),
    ) -> None:
        if bare := [name for name, one in objects.items() if one.resource not in SCALERS]:
            raise ClusterError(
                f"operator {bare[0]!r} is {objects[bare[0]]}, which no autoscaler scales; name its hpa or scaledobject "
                "in cluster.operators, or leave planning.mode: floor"
            )
        self._server, self._topology, self._objects = server, topology, objects
        lower = {
            name: PlannedField(one.resource, one.name, LOWER[one.resource], 1, least=1) for name, one in objects.items()
        }
        self._fields = PlannedFields(server, lower, take_over)
        self._reached: tuple[PhysicalPlan, datetime] | None = None

    def floor(self) -> PhysicalPlan:
        with reading(self._server):
            return self._plan(self._fields.look())

    def bound_of(self, plan: PhysicalPlan) -> PhysicalPlan:
        return plan

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        """Verified from when enough replicas were first seen ready; replicas that the scaler adds later do not
        matter.
        """
        with reading(self._server):
            bounds = self._plan(self._fields.look())
            states = read_workloads(self._server, self._objects)
        if not bounds.same_parallelism(accepted.plan):
            return Failed(
                f"{self._server.place}: the lower bounds are {bounds.brief()}, set by somebody else meanwhile; "
                "see who sets them, and let one do it"
            )
        behind = {
            name: f"{state.workload} has {state.ready} replicas ready < {accepted.plan.parallelism[name]}"
            for name, state in states.items()
            if state.ready < accepted.plan.parallelism[name]
        }
        if behind:
            self._reached = None
            return Pending("; ".join(behind.values()))
        if self._reached is None or not self._reached[0].same_parallelism(accepted.plan):
            self._reached = accepted.plan, max(state.since for state in states.values())
        return Verified(accepted.plan, self._reached[1], None)

    def check_may_raise(self) -> str:
        """Dry-run lower bounds that are one higher, for scalers whose upper bounds allow it. Returns a message; raises
        ClusterError if that is refused.
        """
        with reading(self._server):
            seen = self._fields.look()
            higher = {name: one.count + 1 for name, one in seen.items() if _misfit(one, one.count + 1) is None}
            if not higher:
                raise ClusterError(next(filter(None, (_misfit(one, one.count + 1) for one in seen.values()))))
            self._fields.try_change({name: higher.get(name, one.count) for name, one in seen.items()})
        return f"a dry run of a higher lower bound was taken, of {len(higher)} scalers out of {len(seen)}"

    def _changed(self, plan: PhysicalPlan, expected: PhysicalPlan, *, undoing: bool) -> Accepted | Refusal:
        try:
            plan.check(self._topology)
            for name, one in self._fields.look().items():
                if reason := _misfit(one, plan.parallelism[name]):
                    return Refusal(plan, reason)
            at = self._fields.change(plan.parallelism, expected.parallelism, undoing=undoing)
        except (ModelError, RequestRefusedError) as refused:
            return Refusal(plan, str(refused))
        return Accepted(plan, expected, at)

    def _plan(self, seen: Mapping[str, SeenField]) -> PhysicalPlan:
        return PhysicalPlan(self._topology.name, {name: one.count for name, one in seen.items()})


def _misfit(seen: SeenField, count: int) -> str | None:
    """Why a scaler cannot keep a lower bound, or None."""
    body, resource = seen.answer.body, seen.field.resource
    name, upper = UPPER[resource], upper_bound(resource, body)
    if count > upper:
        return (
            f"{seen.field.where}: a {seen.field.name} of {count} > its {name} {upper}; raise {name}, or lower the plan"
        )
    annotations = body["metadata"].get("annotations") or {}
    if paused := [each for each in _PAUSED if annotations.get(each, "false") != "false"]:
        return (
            f"{seen.field.where} is paused by {paused[0]}: {annotations[paused[0]]!r}; take the annotation away first"
        )
    return None
