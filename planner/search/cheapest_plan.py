"""The cheapest plan that carries a load: fewest instances, operator by operator, then more where latency asks for
it.
"""

from collections.abc import Mapping
from math import floor

from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.flow.rates import check_load, instance_rates, outgoing_rates
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.limits import Limits
from planner.scaling_schedule import Excuse


def cheapest_plan(
    topology: Topology, profiles: Profiles, load_per_s: Mapping[str, float], limits: Limits
) -> PhysicalPlan | Excuse:
    """The plan with the fewest instances that the model says holds the limits under the load, or why there is none.

    In topological order each operator gets the smallest parallelism whose busiest instance stays within
    max_utilisation: what enters an operator does not depend on what follows it, so this is the minimum. Under a latency
    target, instances are then added one at a time where one takes most off the latency.
    """
    check_load(topology, profiles, load_per_s)
    parallelism = dict.fromkeys(topology.order, 1)
    streams: dict[str, float] = {}
    for name in topology.order:
        allowed = _most(topology, limits, name)
        # Service times go up or down with the parallelism, never both.
        one_s = min(profiles[name].service_s_of("", count) for count in (1, allowed))
        # Evenly dealt, the load needs this many; any other grouping loads some instance more, so fewer cannot do.
        fewest = floor(_entering(topology, name, streams, load_per_s) * one_s / limits.max_utilisation)
        for count in range(min(max(1, fewest), allowed), allowed + 1):
            parallelism[name] = count
            rates = instance_rates(topology, profiles, name, count, streams, load_per_s)
            utilisation = float(rates.max()) * profiles[name].service_s_of("", count)
            if utilisation <= limits.max_utilisation * (1 + 1e-9):
                break
        else:
            return Excuse(
                PhysicalPlan(topology.name, dict(parallelism)),
                name,
                f"utilisation with {allowed} instances",
                utilisation,
                limits.max_utilisation,
                "raise its max_parallelism and max_instances, or spread its heaviest key",
            )
        streams |= outgoing_rates(topology, profiles, name, float(rates.sum()))
    if sum(parallelism.values()) > limits.max_instances:
        return _too_many(PhysicalPlan(topology.name, parallelism), limits)
    plan = PhysicalPlan(topology.name, parallelism)
    return plan if limits.max_latency_s is None else _within_latency(topology, profiles, load_per_s, limits, plan)


def _within_latency(
    topology: Topology, profiles: Profiles, load_per_s: Mapping[str, float], limits: Limits, plan: PhysicalPlan
) -> PhysicalPlan | Excuse:
    assert limits.max_latency_s is not None
    latency_s = evaluate(topology, profiles, plan, load_per_s).latency_s
    while latency_s > limits.max_latency_s:
        wider = [
            PhysicalPlan(topology.name, {**plan.parallelism, name: count + 1})
            for name, count in plan.parallelism.items()
            if count < _most(topology, limits, name)
        ]
        if not wider or plan.instances >= limits.max_instances:
            return _too_slow(plan, latency_s, limits)
        faster = [(evaluate(topology, profiles, candidate, load_per_s).latency_s, candidate) for candidate in wider]
        best_s, best = min(faster, key=lambda pair: pair[0])
        if best_s >= latency_s * (1 - 1e-6):
            return _too_slow(plan, latency_s, limits)
        latency_s, plan = best_s, best
    return plan


def strongest_plan(
    topology: Topology, profiles: Profiles, load_per_s: Mapping[str, float], limits: Limits
) -> tuple[PhysicalPlan, float]:
    """The plan that carries most of the load within the limits, and the share of the load it carries (0 to 1].

    For a load that no plan carries: bisects on the load's scale, to one part in a thousand.
    Raises ModelError when not even one instance of each operator is allowed.
    """
    whole = cheapest_plan(topology, profiles, load_per_s, limits)
    if isinstance(whole, PhysicalPlan):
        return whole, 1.0
    low, high = 0.0, 1.0
    best = cheapest_plan(topology, profiles, dict.fromkeys(load_per_s, 0.0), limits)
    if isinstance(best, Excuse):
        raise ModelError(f"no plan of topology {topology.name!r} is within the limits: {best.sentence()}")
    while high - low > 1e-3:
        middle = (low + high) / 2
        scaled = {source: rate * middle for source, rate in load_per_s.items()}
        found = cheapest_plan(topology, profiles, scaled, limits)
        if isinstance(found, PhysicalPlan):
            low, best = middle, found
        else:
            high = middle
    return best, low


def one_fewer(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, load_per_s: Mapping[str, float], limits: Limits
) -> list[Excuse]:
    """Why no operator of the plan can do with one instance less: what a reviewer asks first."""
    excuses = []
    for name, count in plan.parallelism.items():
        if count == 1:
            continue
        smaller = PhysicalPlan(topology.name, {**plan.parallelism, name: count - 1})
        estimate = evaluate(topology, profiles, smaller, load_per_s)
        utilisation = estimate.operators[name].utilisation
        if utilisation > limits.max_utilisation:
            remedy = f"give {name} {count} instances"
            excuses.append(Excuse(smaller, name, "utilisation", utilisation, limits.max_utilisation, remedy))
        elif limits.max_latency_s is not None and estimate.latency_s > limits.max_latency_s:
            remedy = f"give {name} {count} instances"
            excuses.append(Excuse(smaller, name, "mean latency in s", estimate.latency_s, limits.max_latency_s, remedy))
    return excuses


def _entering(
    topology: Topology, name: str, streams_per_s: Mapping[str, float], load_per_s: Mapping[str, float]
) -> float:
    if name in topology.sources:
        return load_per_s[name]
    return sum(streams_per_s[stream.name] for stream in topology.inputs(name))


def _most(topology: Topology, limits: Limits, name: str) -> int:
    own = topology.operator(name).max_parallelism
    return min(own, limits.max_parallelism.get(name, own), limits.max_instances)


def _too_many(plan: PhysicalPlan, limits: Limits) -> Excuse:
    remedy = f"raise max_instances to {plan.instances}, or plan for a lower quantile"
    return Excuse(plan, "the whole plan", "instances", plan.instances, limits.max_instances, remedy)


def _too_slow(plan: PhysicalPlan, latency_s: float, limits: Limits) -> Excuse:
    assert limits.max_latency_s is not None
    remedy = "more instances do not help within the limits: allow more latency, or make the operators faster"
    return Excuse(plan, "the whole path", "mean latency in s", latency_s, limits.max_latency_s, remedy)
