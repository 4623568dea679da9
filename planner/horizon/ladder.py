"""The capacity ladder: the cheapest plans for ever larger loads, and what each carries in any mix of the sources."""

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from modeling.arrays import Floats
from modeling.flow.linear import LinearFlows, LinearPlans
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.errors import PlanError
from planner.limits import FULL, MAX_UTILISATION
from planner.plan_model import PlanModel
from planner.search.remembered_plans import RememberedPlans

MAX_PLANS = 64
_LEVELS = 24
"""Load levels at which plans are computed first; more follow between two plans that differ by more than one step."""
_FINEST = 1.005
LATENCY_LEVELS = 50
"""Shares of a plan's capacity at which its latency is computed."""
_TOGETHER = 8
"""Plans whose latency is computed in one call: each under the loads of all of them, of which only its own are used."""
FAINT = 1e-3
"""Usable share of a plan whose latency exceeds the limit under any load."""
_ROUNDING = 1e-9

PriceOf = Callable[[Mapping[str, int]], float]
"""Of a plan for an hour, in any unit, as it is weighed. Raises PlanError if it cannot be packed."""


@dataclass(frozen=True)
class Ladder:
    """plans: ascending in instances. instances: shape (plans,). flows: use of each limit per tuple, as packed. usable:
    share of each plan's capacity up to which it is within the limits; keeping_up: up to which it keeps up and is quick
    enough, however busy a person wants it to be; both of shape (plans,).
    """

    topology: Topology
    plans: tuple[PhysicalPlan, ...]
    instances: Floats
    flows: LinearPlans
    usable: Floats
    keeping_up: Floats

    @property
    def has_headroom(self) -> bool:
        return bool((self.usable < self.keeping_up).any())

    @property
    def to_the_full(self) -> "Ladder":
        """The same without headroom."""
        return replace(self, usable=self.keeping_up)

    def capacity_per_s(self, mix: Floats) -> Floats:
        """Of all sources together within the limits, for mixes of shape (sources, moments) whose columns sum to 1;
        shape (plans, moments).
        """
        several = self._linear
        if several[0].windows:
            most = np.array([of.first_crossing(np.zeros_like(mix.T), mix.T)[0] for of in several])
        else:
            used = np.array([(of.rows[0] @ mix).max(axis=0) for of in several])
            # A plan whose operators take no time carries any load.
            most = np.divide(1.0, used, out=np.full_like(used, np.inf), where=used > 0)
        return most * self.usable[:, None]

    def beside_per_s(self, load_per_s: Floats) -> Floats:
        """Maximum rate of each source while the others come as in a load, within the limits; 0 where these alone are
        too much. load_per_s: shape (sources, moments). Returns shape (plans, sources, moments).
        """
        most = np.zeros((len(self.plans), *load_per_s.shape))
        for source in range(len(load_per_s)):
            others = load_per_s.T.copy()
            others[:, source] = 0.0
            own = np.zeros_like(others)
            own[:, source] = np.maximum(load_per_s.sum(axis=0), 1.0)
            for plan, (of, usable) in enumerate(zip(self._linear, self.usable.tolist(), strict=True)):
                base = others / usable
                room = of.first_crossing(np.zeros_like(base), base)[0] > 1
                most[plan, source] = np.where(room, of.first_crossing(base, own)[0] * own[:, source] * usable, 0.0)
        return most

    @cached_property
    def _linear(self) -> list[LinearFlows]:
        return [self.flows.of(number) for number in range(len(self.plans))]

    def only(self, numbers: Sequence[int], model: PlanModel) -> "Ladder":
        """The same with these plans alone."""
        plans, at = tuple(self.plans[number] for number in numbers), list(numbers)
        flows, usable, keeping_up = model.linear(plans), self.usable[at], self.keeping_up[at]
        return Ladder(self.topology, plans, self.instances[at], flows, usable, keeping_up)

    def number(self, parallelism: Mapping[str, int]) -> int | None:
        return next((at for at, plan in enumerate(self.plans) if dict(plan.parallelism) == dict(parallelism)), None)


def ladder_of(
    plans: Sequence[PhysicalPlan],
    model: PlanModel,
    max_utilisation: float = 1.0,
    load_per_s: Mapping[str, float] | None = None,
) -> Ladder:
    """max_utilisation: share of each plan's capacity that may be used; below FULL a person's, and then no plan is used
    beyond MAX_UTILISATION of where its threads saturate. load_per_s: in whose mix they do; of equal rates if absent.
    """
    instances = np.array([plan.instances for plan in plans], dtype=np.float64)
    by_threads = model.share_by_threads(plans, load_per_s or dict.fromkeys(model.topology.sources, 1.0))
    keeping_up = usable = np.minimum(max(max_utilisation, FULL), by_threads)
    if max_utilisation < FULL:
        usable = np.minimum(max_utilisation, np.where(by_threads < 1.0, MAX_UTILISATION * by_threads, 1.0))
    return Ladder(model.topology, tuple(plans), instances, model.linear(plans), usable, keeping_up)


def capacity_ladder(
    cheapest: RememberedPlans,
    loads: Sequence[Mapping[str, float]],
    also: Sequence[PhysicalPlan],
    least: Mapping[str, int] | None = None,
    price_of: PriceOf | None = None,
) -> Ladder:
    """Plans for loads from nothing to each of `loads`, of which the last is the largest. also: plans to include, such
    as the running one. least: min_parallelism of all others. price_of: where packings have prices, not instances.

    No other plan carries as much for as little as one of them, besides those of `also`.
    """
    found = dict[tuple[int, ...], PhysicalPlan]()
    for load in loads:
        # A load whose cheapest plan carries this one although threads of services wait for each other.
        (share,) = cheapest.model.share_by_threads([cheapest.plan(load)], load)
        _fill(cheapest, {source: rate / float(share) for source, rate in load.items()}, found, least or {})
    wanted = {_key(plan): plan for plan in also}
    plans = sorted((found | wanted).values(), key=lambda plan: (plan.instances, _key(plan)))
    if len(plans) > MAX_PLANS:
        kept = np.unique(np.linspace(0, len(plans) - 1, MAX_PLANS).round().astype(int)).tolist()
        plans = [plan for at, plan in enumerate(plans) if at in kept or _key(plan) in wanted]
    limits = cheapest.limits
    ladder = ladder_of(plans, cheapest.model, limits.max_utilisation, loads[-1])
    if limits.latency_bounds_s:
        quick = _quick_enough(ladder, cheapest, loads[-1])
        ladder = replace(
            ladder, usable=np.minimum(ladder.usable, quick), keeping_up=np.minimum(ladder.keeping_up, quick)
        )
    worth = _worth_having(ladder, cheapest.model, loads, found, price_of or _instances_of, wanted)
    return ladder if len(worth) == len(plans) else ladder.only(worth, cheapest.model)


def _instances_of(parallelism: Mapping[str, int]) -> float:
    return sum(parallelism.values())


def _worth_having(
    ladder: Ladder,
    model: PlanModel,
    loads: Sequence[Mapping[str, float]],
    found: Container[tuple[int, ...]],
    price_of: PriceOf,
    wanted: Container[tuple[int, ...]],
) -> list[int]:
    """Numbers of the plans that carry more than any other found one of at most their price, in the mix of some load or
    of one source alone; with those that are wanted, and those that cannot be packed, which excuses name.
    """
    sources = ladder.topology.sources
    mixes = [*np.array([[load[source] for source in sources] for load in loads]), *np.eye(len(sources))]
    most = ladder.capacity_per_s(np.array([mix / mix.sum() for mix in mixes if mix.sum() > 0]).T)
    prices = dict[int, float]()
    for number, plan in enumerate(ladder.plans):
        if _key(plan) in found and model.unpacked_because(plan.parallelism) is None:
            with suppress(PlanError):
                prices[number] = price_of(plan.parallelism)
    best = list[int]()
    for number in sorted(prices, key=lambda at: (prices[at], *-most[at])):
        if not any((most[number] <= most[other] * (1 + _ROUNDING)).all() for other in best):
            best.append(number)
    spared = {*best, *(number for number, plan in enumerate(ladder.plans) if _key(plan) in wanted)}
    return [number for number in range(len(ladder.plans)) if number in spared or number not in prices]


def _quick_enough(ladder: Ladder, cheapest: RememberedPlans, largest: Mapping[str, float]) -> Floats:
    """Share of each plan's capacity up to which its latencies are within their limits, in the mix of the largest load;
    shape (plans,). 1 if no plan keeps them.
    """
    total = sum(largest.values())
    mix = np.array([[rate / total if total > 0 else 1.0 / len(largest)] for rate in largest.values()])
    most = replace(ladder, usable=np.ones(len(ladder.plans))).capacity_per_s(mix)[:, 0]
    parts = np.arange(1, LATENCY_LEVELS + 1) / LATENCY_LEVELS
    usable = list[float]()
    for begin in range(0, len(most), _TOGETHER):
        rates = np.outer(most[begin : begin + _TOGETHER], parts)
        loads = {source: (rates * share).ravel() for source, share in zip(largest, mix[:, 0].tolist(), strict=True)}
        plans = ladder.plans[begin : begin + _TOGETHER]
        own = np.arange(len(plans))[:, None], np.arange(rates.size).reshape(rates.shape)
        of = cheapest.model.estimates(plans, loads).latency
        late = np.full(rates.shape, of is None)
        if of is not None:
            its = of.map(lambda each: each[own])  # noqa: B023
            for share, bound in cheapest.limits.latency_bounds_s.items():
                late |= ~((its.mean_s if share is None else its.quantile_s(share)) <= bound)
        first = late.argmax(axis=1)
        usable += np.where(first > 0, parts[first - 1], np.where(late[:, 0], FAINT, 1.0)).tolist()
    # Limits that no plan keeps under any load are dropped, as in `strongest_plan`: they say nothing of which is better.
    return np.array(usable) if max(usable) > FAINT else np.ones(len(usable))


def _fill(
    cheapest: RememberedPlans,
    load: Mapping[str, float],
    found: dict[tuple[int, ...], PhysicalPlan],
    least: Mapping[str, int],
) -> None:
    """Add all plans between nothing and a load, by bisecting between plans that differ; if there are more than
    MAX_PLANS, about that many, evenly spaced.
    """

    def scaled(part: float) -> dict[str, float]:
        return {source: part * rate for source, rate in load.items()}

    def at(part: float) -> PhysicalPlan:
        plan = cheapest.plan(scaled(part))
        if least:
            plan = replace(plan, parallelism={name: max(n, least.get(name, 1)) for name, n in plan.parallelism.items()})
        if plan.instances <= cheapest.limits.max_instances:
            found[_key(plan)] = plan
        return plan

    def worked_out(parts: Sequence[float]) -> dict[float, PhysicalPlan]:
        cheapest.work_out([scaled(part) for part in parts])
        return {part: at(part) for part in parts}

    levels = np.linspace(1.0 / _LEVELS, 1.0, _LEVELS).tolist()
    spans = list(zip([0.0, *levels[:-1]], levels, strict=True))
    # Downwards, so that a load beyond all plans is discovered only once.
    known = worked_out([*reversed(levels), 0.0])
    finest = max(1.0, (known[1.0].instances - known[0.0].instances) / MAX_PLANS)
    while spans:
        spans = [
            (begin, end)
            for begin, end in spans
            if known[end].instances - known[begin].instances > finest and end > begin * _FINEST + 1e-4
        ]
        known |= worked_out([(begin + end) / 2 for begin, end in reversed(spans)])
        spans = [half for a, b in spans for half in ((a, (a + b) / 2), ((a + b) / 2, b))]


def _key(plan: PhysicalPlan) -> tuple[int, ...]:
    return tuple(plan.parallelism.values())
