"""The cheapest plan that carries a load within the limits: least price, with more instances if latency requires
them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from modeling.errors import ModelError
from modeling.excuse import Excuse
from modeling.flow.limits import OperatorLimit
from modeling.flow.plan_rates import check_load
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.least_on_site import fewest_on_site, in_whole_slots
from modeling.least_parallelism import ROUNDING, Question, fewest_instances_each, least_count, least_instances
from modeling.least_within_latency import Begun, each_within_latency
from modeling.remedies import beyond_parallelism
from modeling.wording import count_of, rounded
from planner.limits import Limits
from planner.plan_model import PlanModel

SHARE_ROUNDING = 1e-3
"""Precision of strongest_plan in the share of the load."""
MAX_RAISED = 8
"""Where no plan is within the limits, one with at most so many times max_instances is sought, to name it."""
ALIKE: Mapping[str, float] = MappingProxyType({})
"""Prices for instances that all cost the same."""

_INSTANCES = "instances"
"""Target of an excuse that names how many would do."""


def cheapest_plan(
    model: PlanModel, load_per_s: Mapping[str, float], limits: Limits, price: Mapping[str, float] = ALIKE
) -> PhysicalPlan | Excuse:
    """The cheapest plan that meets the limits under the load by the model, as packed; or why there is none.

    price: of an instance of each operator, in any unit, 1 if missing. If the cheapest has more instances than are
    allowed, the plan with the fewest is returned. A plan that cannot be packed is returned if none can that is as
    large; model.unpacked_because gives the reason. If max_instances is in the way, the excuse names a number that is
    enough.
    """
    (found,) = cheapest_plans(model, [load_per_s], limits, price)
    if isinstance(found, PhysicalPlan):
        return found
    (wider,) = cheapest_plans(model, [load_per_s], replace(limits, max_instances=MAX_RAISED * limits.max_instances))
    if isinstance(wider, PhysicalPlan):
        enough = _too_many(wider, limits)
        return enough if found.target == _INSTANCES else replace(found, remedy=enough.remedy)
    # Then the number that is named is not enough.
    return wider if found.target == _INSTANCES != wider.target else found


def cheapest_plans(
    model: PlanModel, loads_per_s: Sequence[Mapping[str, float]], limits: Limits, price: Mapping[str, float] = ALIKE
) -> list[PhysicalPlan | Excuse]:
    """cheapest_plan for several loads, computed together."""
    topology = model.topology
    most = {name: min(limits.max_instances, limits.max_parallelism.get(name, 2**31)) for name in topology.order}
    bounds, found = limits.latency_bounds_s, list[PhysicalPlan | Excuse]()
    slow: dict[int, Begun] = {}
    dear: list[int] = []
    for load_per_s in loads_per_s:
        check_load(topology, model.profiles, load_per_s)
    questions = [model.question(load_per_s, limits.max_utilisation, most, price) for load_per_s in loads_per_s]
    for at, (question, counts) in enumerate(zip(questions, fewest_instances_each(questions), strict=True)):
        if isinstance(counts, str):
            found.append(_beyond(question, counts, limits))
            continue
        plan = _in_whole_slots(model, question, PhysicalPlan(topology.name, counts), limits)
        found.append(plan)
        if plan.instances > limits.max_instances:
            found[at] = _too_many(plan, limits)
            dear.append(at)
        elif model.depends_on_packing:
            found[at] = _as_packed(model, question, counts, limits)
            if isinstance(found[at], Excuse):
                dear.append(at)
        elif bounds:
            slow[at] = Begun(question, counts, least_instances(question, counts))
    for (at, begun), fast in zip(slow.items(), each_within_latency(list(slow.values()), bounds), strict=True):
        if fast is not None and sum(fast.values()) <= limits.max_instances:
            found[at] = _in_whole_slots(model, begun.question, PhysicalPlan(topology.name, fast), limits)
        else:
            found[at] = _too_late(begun.question, PhysicalPlan(topology.name, begun.counts), limits)
            dear.append(at)
    if price and dear:
        fewest = cheapest_plans(model, [loads_per_s[at] for at in dear], limits)
        for at, other in zip(dear, fewest, strict=True):
            found[at] = other
    return found


class Strongest(NamedTuple):
    """A plan, and the share of a load in (0, 1] that it carries. late: whether it does so beyond the latency limits,
    as no plan keeps them.
    """

    plan: PhysicalPlan
    share: float
    late: bool = False


def strongest_plan(
    model: PlanModel,
    load_per_s: Mapping[str, float],
    limits: Limits,
    price: Mapping[str, float] = ALIKE,
    known: tuple[float, float] | None = None,
) -> Strongest:
    """The plan that carries the largest share of the load within the limits.

    For a load that no plan carries: bisects the load's scale, to SHARE_ROUNDING. If the latency limits are missed at
    every scale, they are dropped. Raises ModelError when not even one instance of each operator is allowed.

    known: a share that some plan carries, or 0, and one that none carries, if it is known that no plan carries the
    whole load.
    """

    def scaled(share: float) -> dict[str, float]:
        return {source: rate * share for source, rate in load_per_s.items()}

    if known is None:
        (whole,) = cheapest_plans(model, [load_per_s], limits, price)
        if isinstance(whole, PhysicalPlan):
            return Strongest(whole, 1.0)
    low, high = known or (0.0, 1.0)
    (best,) = cheapest_plans(model, [scaled(low)], limits, price)
    while high - low > SHARE_ROUNDING:
        middle = (low + high) / 2
        # The next share is one of two: with bounds on latency, computing three together takes little longer than one.
        shares = [middle, (low + middle) / 2, (middle + high) / 2] if limits.latency_bounds_s else [middle]
        found_at = cheapest_plans(model, list(map(scaled, shares)), limits, price)
        several = dict(zip(shares, found_at, strict=True))
        while (middle := (low + high) / 2) in several and high - low > SHARE_ROUNDING:
            found = several[middle]
            if isinstance(found, PhysicalPlan):
                low, best = middle, found
            else:
                high = middle
    if isinstance(best, PhysicalPlan):
        return Strongest(best, low)
    if not limits.latency_bounds_s:
        raise ModelError(f"no plan of topology {model.topology.name!r} is within the limits: {best}")
    return strongest_plan(model, load_per_s, limits.with_free_latency(), price)._replace(late=True)


def _in_whole_slots(model: PlanModel, question: Question, plan: PhysicalPlan, limits: Limits) -> PhysicalPlan:
    """With all operators that share slots raised to the largest, if that is within max_instances."""
    raised = replace(plan, parallelism=in_whole_slots(question, plan.parallelism, model.together))
    return raised if raised.instances <= limits.max_instances else plan


def _as_packed(model: PlanModel, question: Question, begun: Mapping[str, int], limits: Limits) -> PhysicalPlan | Excuse:
    """The plan that keeps the limits as packed, from the one that would where packings do not matter."""
    packed = model.packed_question(question)

    def can_pack(counts: Mapping[str, int]) -> bool:
        return model.unpacked_because(counts) is None

    bounds = limits.latency_bounds_s
    counts, excess = fewest_on_site(packed, begun, bounds, can_pack, limits.max_instances, together=model.together)
    plan = PhysicalPlan(model.topology.name, counts)
    if excess <= ROUNDING or not can_pack(counts):
        return plan
    used = packed.used_limits([counts])[0]
    limit, full = packed.limits(counts)[int(used.argmax())], float(used.max())
    if full <= limits.max_utilisation * ROUNDING:
        return _too_late(packed, plan, limits)
    if not isinstance(limit, OperatorLimit):
        return _excuse(plan, f"use of {limit}", "", full, limits.max_utilisation, limit.remedy)
    where = f"as packed, no more instances help: make {limit.operator} faster, or offer faster nodes"
    return _excuse(plan, "utilisation", limit.operator, full, limits.max_utilisation, where)


def _too_many(plan: PhysicalPlan, limits: Limits) -> Excuse:
    remedy = f"raise max_instances to {plan.instances}, or plan for a lower quantile"
    return _excuse(plan, _INSTANCES, "", plan.instances, limits.max_instances, remedy)


def _excuse(
    plan: PhysicalPlan,
    target: str,
    operator: str,
    value: float,
    bound: float,
    remedy: str,
    change: Mapping[str, int] | None = None,
) -> Excuse:
    of = f"of {operator}" if operator else "of the whole plan"
    reason = f"{target} {rounded(value)} {of} is beyond {rounded(bound)}"
    return Excuse(plan, target, operator, value, bound, reason, remedy, change or {})


def _too_late(question: Question, plan: PhysicalPlan, limits: Limits) -> Excuse:
    """For the most exceeded latency bound, under the plan that utilisation alone requires."""
    late = {share: float(question.latency_s([plan.parallelism], share)[0]) for share in limits.latency_bounds_s}
    worst = max(late, key=lambda share: late[share] / limits.latency_bounds_s[share])
    remedy = "more instances do not help within the limits: allow more latency, or make the operators faster"
    what = "mean latency in s" if worst is None else f"p{worst * 100:g} latency in s"
    return _excuse(plan, what, "", late[worst], limits.latency_bounds_s[worst], remedy)


def _beyond(question: Question, operator: str, limits: Limits) -> Excuse:
    """Why no plan carries the load: too few instances over all operators, or the operator itself is too busy."""
    (needed,) = fewest_instances_each([replace(question, most=limits.max_parallelism, price={})])
    if isinstance(needed, str):
        return _too_busy(question, operator, limits)
    return _too_many(PhysicalPlan(question.topology.name, needed), limits)


def _too_busy(question: Question, operator: str, limits: Limits) -> Excuse:
    topology, allowed = question.topology, {name: question.counts(name) for name in question.topology.order}
    if not allowed[operator]:
        given = max((len(s.shares) for s in topology.inputs(operator)), default=0) or 1
        most = question.most[operator]
        plan = PhysicalPlan(topology.name, {operator: given})
        return _excuse(plan, _INSTANCES, operator, given, most, f"allow {count_of(given, 'instance')} of {operator}")
    # Among plans with all allowed instances, or fewer of this operator: the least busy one.
    many = {name: counts[-1] for name, counts in allowed.items()}
    several = [{**many, operator: count} for count in allowed[operator]]
    used = question.used(several)
    least = int(used.max(axis=1).argmin())
    busiest = topology.order[int(used[least].argmax())]
    plan = PhysicalPlan(topology.name, several[least])
    unlimited = replace(question, most={})
    if enough := least_count(unlimited, plan.parallelism, busiest, plan.parallelism[busiest]):
        own = enough > limits.max_parallelism.get(busiest, enough)
        remedy = f"raise {f'max_parallelism of {busiest}' if own else 'max_instances'} to {enough} or more"
    else:
        remedy = beyond_parallelism(unlimited, plan.parallelism, busiest)
    target = f"utilisation with {count_of(plan.parallelism[busiest], 'instance')}"
    return _excuse(plan, target, busiest, float(used[least].max()), question.max_utilisation, remedy)
