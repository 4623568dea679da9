"""Excuses: why a plan is rejected, as a sentence for people and as a remedying change for the scheduler."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology


@dataclass(frozen=True)
class Excuse:
    """One target that a plan misses, or one way in which it does not fit the topology.

    target: the missed one: `fit`, `throughput`, `utilisation`, `latency`, `lag`, or a limit of the planner; among
    several candidates also the aspect in which another is better: `cost`, `disruption`, `headroom`, `order`. operator:
    where; empty for the whole path. change: parallelism by operator that would remedy it, others unchanged; 0 means
    leave it out; empty if nothing helps, or only another packing.
    """

    plan: PhysicalPlan
    target: str
    operator: str
    value: float
    bound: float
    reason: str
    remedy: str
    change: Mapping[str, int] = field(default_factory=dict)

    @property
    def plan_id(self) -> str:
        return self.plan.plan_id

    @property
    def mendable(self) -> bool:
        return bool(self.change)

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}"


def misfit(topology: Topology, plan: PhysicalPlan, site: Site = NOWHERE) -> Excuse | None:
    """Why a plan does not fit the topology, with the nearest plan that does, or names a node that the network lacks;
    None if it fits.
    """
    if site.network is not None and plan.places_nodes and (lost := site.network.lacking(c.node for c in plan.packing)):
        reason = f"network has no node {lost[0]!r}; known are {', '.join(site.network.nodes)}"
        return Excuse(plan, "fit", "", 0.0, 0.0, reason, "add a link to it, or correct the node")
    if plan.topology != topology.name:
        reason = f"plan of topology {plan.topology!r} is none of {topology.name!r}"
        return Excuse(plan, "fit", "", 0.0, 0.0, reason, "give a plan of this topology")
    known, given = topology.max_parallelism, topology.given_parallelism
    if known.keys() == plan.parallelism.keys() and all(
        count <= known[name] and given.get(name, count) == count for name, count in plan.parallelism.items()
    ):
        return None
    change: dict[str, int] = {}
    found: list[tuple[str, float, float, str]] = []
    for name, count in plan.parallelism.items():
        if name not in known:
            change[name] = 0
            reason = f"plan names the unknown operator {name!r}; topology {topology.name!r} has {', '.join(known)}"
            found.append((name, count, 0, reason))
        elif count > (most := known[name]):
            change[name] = most
            reason = f"plan: parallelism {count} of operator {name!r} > its max_parallelism {most}"
            found.append((name, count, most, reason))
    for name in known:
        if name not in plan.parallelism:
            change[name] = 1
            found.append((name, 0, 1, f"plan gives no parallelism for operator {name!r}"))
    for stream in topology.streams:
        name, count = stream.downstream, len(stream.shares)
        if stream.gives_parallelism and name in plan.parallelism and plan.parallelism[name] != count:
            change[name] = count
            reason = (
                f"plan: parallelism {plan.parallelism[name]} of operator {name!r}, to whose instances stream "
                f"{stream.name} gives {count} shares"
            )
            found.append((name, plan.parallelism[name], count, reason))
    if not found:
        return None
    name, value, bound, reason = found[0]
    parts = [f"leave out {of}" if count == 0 else f"give {of} {count}" for of, count in change.items()]
    remedy = f"the nearest plan that fits: {', '.join(parts)}"
    if any(of in known and plan.parallelism.get(of, 0) > known[of] for of in change):
        remedy += ", or restart the job with a larger max_parallelism"
    return Excuse(plan, "fit", name, value, bound, reason, remedy, change)
