"""The capacity ladder: the cheapest plans of ever larger loads, and what each carries in many mixes of the sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.flow.linear import LinearPlans
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placed import placed
from modeling.inputs.site import NOWHERE
from modeling.inputs.topology import Topology
from planner.search.remembered_plans import RememberedPlans

MOST_PLANS = 64
_LEVELS = 24
"""Levels of the load at which plans are first asked for; between two that differ by more than one step, more are."""
_FINEST = 1.005


@dataclass(frozen=True)
class Ladder:
    """plans: ascending in instances. instances: shape (plans,). flows: what each takes of its limits per tuple."""

    topology: Topology
    plans: tuple[PhysicalPlan, ...]
    instances: Floats
    flows: LinearPlans

    def capacity_per_s(self, mix: Floats) -> Floats:
        """Of all sources together, in mixes of shape (sources, moments) that add up to 1; shape (plans, moments)."""
        several = [self.flows.of(number) for number in range(len(self.plans))]
        if several[0].windows:
            return np.array([of.first_crossing(np.zeros_like(mix.T), mix.T)[0] for of in several])
        return np.array([1.0 / (of.rows[0] @ mix).max(axis=0) for of in several])

    def number(self, parallelism: Mapping[str, int]) -> int | None:
        return next((at for at, plan in enumerate(self.plans) if dict(plan.parallelism) == dict(parallelism)), None)


def ladder_of(plans: Sequence[PhysicalPlan], topology: Topology, profiles: Profiles) -> Ladder:
    flows = LinearPlans(topology, profiles, placed(plans, topology.order, NOWHERE), NOWHERE)
    return Ladder(topology, tuple(plans), np.array([plan.instances for plan in plans], dtype=np.float64), flows)


def capacity_ladder(cheapest: RememberedPlans, loads: Sequence[Mapping[str, float]], also: PhysicalPlan) -> Ladder:
    """Of loads along the given ones, from nothing to the last of them, which is the largest. also: a plan that is to be
    among them, the running one.
    """
    found = {_key(also): also}
    for load in loads:
        _fill(cheapest, load, found)
    plans = sorted(found.values(), key=lambda plan: (plan.instances, _key(plan)))
    if len(plans) > MOST_PLANS:
        kept = np.unique(np.linspace(0, len(plans) - 1, MOST_PLANS).round().astype(int)).tolist()
        plans = [plan for at, plan in enumerate(plans) if at in kept or _key(plan) == _key(also)]
    return ladder_of(plans, cheapest.topology, cheapest.profiles)


def _fill(cheapest: RememberedPlans, load: Mapping[str, float], found: dict[tuple[int, ...], PhysicalPlan]) -> None:
    """All plans between nothing and a load, by halving what lies between two that differ."""

    def at(part: float) -> PhysicalPlan:
        plan = cheapest.plan({source: part * rate for source, rate in load.items()})
        found[_key(plan)] = plan
        return plan

    levels = np.linspace(1.0 / _LEVELS, 1.0, _LEVELS).tolist()
    spans = list(zip([0.0, *levels[:-1]], levels, strict=True))
    known = {part: at(part) for part in [0.0, *levels]}
    while spans:
        begin, end = spans.pop()
        apart = known[end].instances - known[begin].instances
        if apart > 1 and end > begin * _FINEST + 1e-4:
            middle = (begin + end) / 2
            known[middle] = at(middle)
            spans += [(begin, middle), (middle, end)]


def _key(plan: PhysicalPlan) -> tuple[int, ...]:
    return tuple(plan.parallelism.values())
