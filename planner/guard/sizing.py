"""Number of instances for the measured load: arrivals at the wanted utilisation, plus the backlog within a given time.

An operator with arrival rate λ and true rate μ (tuples in over busy seconds) needs λ / μ instances: the sum of its
instances' busy shares, scaled by how much more than now must flow through it. That holds if all instances are equally
busy; for skewed keys, slow nodes, few cores and threads that wait the plan model, with the measured service times, asks
for more.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from planner.guard.terms import GuardTerms
from planner.guard.window import Window
from planner.limits import raised_within
from planner.plan_model import PlanModel
from planner.true_rates import growths

_ROUNDING = 1e-9

TRUSTED = 0.9
"""Smallest share of what the running plan takes in that the model must hold it to carry. Below, its balance is wrong:
the job itself shows that its work is spread more evenly.
"""


@dataclass(frozen=True)
class RefutedModel:
    """The window shows that the model is wrong. taken_per_s: by all sources; carried_per_s: at most, by the model."""

    taken_per_s: float
    carried_per_s: float


def measured_model(window: Window, model: PlanModel) -> PlanModel | RefutedModel | None:
    """Each operator's service time scaled so that the running plan is as busy as it was measured, at the arrivals of
    the window. Operators without a measurement keep theirs. None without arrivals, or if the model does not fit the
    running plan.
    """
    running = PhysicalPlan(window.topology.name, dict(window.newest.parallelism))
    offered_per_s = window.offered_per_s
    if not sum(offered_per_s.values()):
        return None
    try:
        believed = model.busy(running, offered_per_s)
    except ModelError:
        return None
    growth = growths(window.topology, window.taken_per_s, offered_per_s, window.output_ratios)
    profiles = dict(model.profiles)
    for name, instances in believed.items():
        busy, expected = sum(window.busy[name]) * growth[name], float(instances.sum())
        if busy > 0 and expected > 0:
            profiles[name] = profiles[name].slower(busy / expected)
    # How busy services were measured has waits for threads in it, so their pools stay as they were calibrated. The
    # packing of a plan does not depend on how fast its instances are.
    scaled = replace(model.believing(profiles, model.arrival_cv2), services=model.services, placing=model.placing)
    taken, carried_per_s = sum(window.taken_per_s.values()), scaled.capacity_per_s(running, offered_per_s)
    return RefutedModel(taken, carried_per_s) if carried_per_s < TRUSTED * taken else scaled


@dataclass(frozen=True)
class Sizing:
    """Sizes of plans by one window."""

    window: Window
    terms: GuardTerms

    @cached_property
    def need_per_s(self) -> dict[str, float]:
        """What a plan must carry, by source."""
        window, terms = self.window, self.terms
        # As in Flink's autoscaler, the backlog caused by the rescale itself counts.
        return {
            name: offered / terms.utilisation + (window.backlog[name] + offered * terms.lost_s) / terms.drain_s
            for name, offered in window.offered_per_s.items()
        }

    @property
    def refuted(self) -> RefutedModel | None:
        """Why the model has no say; None if it has, or if there is none."""
        return self._measured if isinstance(self._measured, RefutedModel) else None

    def needed_instances(self) -> dict[str, float]:
        """By operator, before rounding, if all are equally busy; 0 for operators without tuples."""
        return {name: sum(self.window.busy[name]) * more for name, more in self._growths(self.need_per_s).items()}

    def sustained_per_s(self, plan: Mapping[str, int]) -> float:
        """What all sources together could take in under a plan, in the present mix; infinite without arrivals."""
        window = self.window
        offered_per_s, more = window.offered_per_s, self._growths(window.offered_per_s)
        used = max(sum(window.busy[name]) * more[name] / plan[name] for name in window.topology.order)
        evenly_per_s = sum(offered_per_s.values()) / used if used > 0 else math.inf
        if (model := self._model) is None:
            return evenly_per_s
        return min(evenly_per_s, model.capacity_per_s(self._plan(plan), offered_per_s))

    def utilisation(self, plan: Mapping[str, int]) -> float:
        """Of the fullest operator under the present arrivals; above 1 if overloaded."""
        return sum(self.window.offered_per_s.values()) / self.sustained_per_s(plan)

    def beyond_even(self, plan: Mapping[str, int]) -> dict[str, int]:
        """By operator, how many more instances a plan has than it needs if all are equally busy."""
        running = self.window.newest.parallelism
        evenly = {name: max(running[name], count) for name, count in self._rounded().items()}
        return {name: count - evenly[name] for name, count in plan.items() if count > evenly[name]}

    def grown(self) -> dict[str, int]:
        """The running plan with the instances that the load lacks, none removed; within the limits."""
        running, limits, rounded = self.window.newest.parallelism, self.terms.limits, self._rounded()
        wanted = {name: max(running[name], self._allowed(name, count)) for name, count in rounded.items()}
        evenly = raised_within(running, wanted, limits.max_instances)
        # Where the limits leave too few even for even work, none of those allowed can be spared, and the model, which
        # never asks for fewer, finds no plan either.
        if any(evenly[name] < count for name, count in rounded.items()) or (model := self._model) is None:
            return evenly
        most = {name: self._allowed(name, 2**31) for name in running}
        # If no number of instances suffices, those that even work would need help some.
        return model.raised(evenly, self.need_per_s, most, limits.max_instances) or evenly

    def shrunk(self, operators: set[str], floor: Mapping[str, int]) -> dict[str, int]:
        """The running plan with these operators lowered to what the load needs, not below the floor."""
        running, rounded = self.window.newest.parallelism, self._rounded()
        fixed = self.window.topology.given_parallelism
        floor = {name: max(floor.get(name, 1), self.terms.least.get(name, 1)) for name in operators}
        least = {name: max(rounded[name], floor[name]) for name in operators if name not in fixed}
        plan = {name: min(count, least.get(name, count)) for name, count in running.items()}
        if (model := self._model) is None or plan == running:
            return plan
        # Operators that stay as they are may carry less than is needed: the idle ones need not carry more than those.
        total = sum(self.need_per_s.values())
        share = min(1.0, model.capacity_per_s(self._plan(running), self.need_per_s) / total)
        need_per_s = {name: rate * share for name, rate in self.need_per_s.items()}
        return model.raised(plan, need_per_s, running, sum(running.values())) or dict(running)

    def _plan(self, parallelism: Mapping[str, int]) -> PhysicalPlan:
        return PhysicalPlan(self.window.topology.name, dict(parallelism))

    @cached_property
    def _measured(self) -> PlanModel | RefutedModel | None:
        return None if self.terms.model is None else measured_model(self.window, self.terms.model)

    @property
    def _model(self) -> PlanModel | None:
        return self._measured if isinstance(self._measured, PlanModel) else None

    def _growths(self, sources_per_s: Mapping[str, float]) -> dict[str, float]:
        window = self.window
        return growths(window.topology, window.taken_per_s, sources_per_s, window.output_ratios)

    def _rounded(self) -> dict[str, int]:
        return {name: max(1, math.ceil(count - _ROUNDING)) for name, count in self.needed_instances().items()}

    def _allowed(self, name: str, count: int) -> int:
        topology = self.window.topology
        most = min(topology.max_parallelism[name], self.terms.limits.max_parallelism.get(name, count))
        return topology.given_parallelism.get(name, min(count, most))
