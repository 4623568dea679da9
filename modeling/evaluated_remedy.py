"""Remedies as `evaluate` would answer them: a change of parallelism is tried as packed before it is proposed.

The search for a remedy leaves packings out and takes percentiles from three moments. Containers, nodes and whole
distributions may say otherwise, so a change that misses a target here is raised until it meets it, or not proposed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.excuse import Excuse
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Topology
from modeling.least_on_site import Together, fewest_on_site
from modeling.least_parallelism import ROUNDING, Counts, LatencyBounds, Question
from modeling.queueing.bursts import Arrivals

Packed = Callable[[Counts], PhysicalPlan | None]
"""The plan of a parallelism as it would be placed; None if it cannot be packed."""

FULL = 1 - 1e-6
"""An instance that is always busy does not carry its load: exactly 1 is too much, regardless of rounding."""

MAX_RAISES = 4
"""A change is raised this often before it is given up."""

_STRICTER = 0.99
"""Margin of a raised change over the ratio by which the one before missed its bound."""


@dataclass(frozen=True)
class Trial:
    """The terms under which changes are tried: those of the plan that misses its targets. together: operators that
    share slots, and are raised together.
    """

    topology: Topology
    profiles: Profiles
    load_per_s: Mapping[str, float]
    targets: Targets
    arrival_cv2: float | Arrivals
    site: Site
    packed: Packed
    together: Together = ()

    def excess(self, plan: PhysicalPlan) -> float:
        """Largest ratio of a utilisation or latency to its bound, by `evaluate`; above ROUNDING it misses a target."""
        nodes = {container.node for container in plan.packing if container.node}
        factors = self.site.service_factor
        site = replace(self.site, service_factor=dict.fromkeys(nodes, 1.0) | dict(factors)) if factors else self.site
        estimate = evaluate(
            self.topology,
            self.profiles,
            plan,
            self.load_per_s,
            arrival_cv2=self.arrival_cv2,
            site=site,
            percentiles=self.targets.max_latency_s is not None,
        )
        ratios = [estimate.utilisation / self.max_utilisation, estimate.fullest / self.full]
        if not estimate.stable or not self.targets.latency_bounds_s:
            return max(ratios)
        of = {} if estimate.latency is None else vars(estimate.latency)
        share = self.targets.latency_share
        if self.targets.max_latency_s is not None and (whole_s := of.get(f"p{share * 100:g}_s")) is not None:
            ratios.append(whole_s / self.targets.max_latency_s)
        many = evaluate_many(
            self.topology, self.profiles, [plan], self.load_per_s, arrival_cv2=self.arrival_cv2, site=site
        )
        if many.latency is not None:
            for sink, bound in self.targets.latency_bounds_s.items():
                ratios.append(float(many.latency.quantile_s(share, sink)[0, 0]) / bound)
        return max(ratios)

    @property
    def full(self) -> float:
        """Bound on what every limit may be used, containers and links included."""
        return FULL if self.targets.throughput or self.targets.latency_bounds_s else 1.0

    @property
    def max_utilisation(self) -> float:
        return min(self.full, self.targets.max_utilisation or self.full)

    def raised(self, counts: Counts, before: Counts, stricter: float = 1.0) -> Counts | None:
        """More instances that keep all bounds as packed, with latency bounds times `stricter`; None if none do. None is
        taken away that the plan before has and `counts` keep.
        """
        share = self.targets.latency_share
        bounds: LatencyBounds = (
            {share: min(self.targets.latency_bounds_s.values()) * stricter} if (self.targets.latency_bounds_s) else {}
        )

        def packed(counts: Counts) -> PhysicalPlan:
            plan = self.packed(counts)
            assert plan is not None
            return plan

        def can_pack(counts: Counts) -> bool:
            return self.packed(counts) is not None

        question = Question(
            self.topology,
            self.profiles,
            self.load_per_s,
            self.max_utilisation,
            {},
            self.arrival_cv2,
            site=self.site,
            packed=packed,
        )
        most = sum(question.counts(name)[-1] for name in self.topology.order)
        least = {name: min(count, before[name]) for name, count in counts.items()}
        wider, excess = fewest_on_site(question, counts, bounds, can_pack, most, least, self.together)
        return wider if excess <= ROUNDING else None


def evaluated(excuses: Sequence[Excuse], change: Mapping[str, int], trial: Trial) -> tuple[Excuse, ...]:
    """The excuses of one plan with the remedies that hold when they are evaluated. change: all their changes together;
    empty if they have none.
    """
    if not change:
        return tuple(excuses)
    before = excuses[0].plan.parallelism
    wanted: Counts = {**before, **change}
    counts = (trial.raised(wanted, before) if trial.together else None) or wanted
    plan, excess = trial.packed(counts), float("inf")
    stricter = 1.0
    for number in range(MAX_RAISES + 1):
        excess = float("inf") if plan is None else trial.excess(plan)
        if excess <= ROUNDING:
            return tuple(excuses) if counts == wanted else tuple(_with_change(each, counts) for each in excuses)
        if number:
            stricter *= _STRICTER / min(excess, 2.0)
        wider = trial.raised(counts, before, stricter)
        if wider is None:
            break
        counts, plan = wider, trial.packed(wider)
    first = trial.packed(wanted)
    value = float("inf") if first is None else trial.excess(first)
    return tuple(replace(each, remedy=_hopeless(wanted, before, value), change={}) for each in excuses)


def with_room(crowded: Sequence[Excuse], change: Mapping[str, int], trial: Trial) -> tuple[Excuse, ...]:
    """The excuses of one plan for full containers and links, with the instances that leave room in them as packed; as
    they are if none do. change: remedies the plan's operators; empty if they meet their targets.
    """
    if not crowded:
        return ()
    before = crowded[0].plan.parallelism
    counts = {**before, **change} if change else trial.raised(before, before)
    plan = None if counts is None or counts == before else trial.packed(counts)
    if counts is None or plan is None or not plan.packing or trial.excess(plan) > ROUNDING:
        return tuple(crowded)
    return tuple(_with_change(each, counts) for each in crowded)


def _with_change(excuse: Excuse, counts: Counts) -> Excuse:
    before = excuse.plan.parallelism
    return replace(
        excuse,
        remedy=f"give {_changed(counts, before)} instances, as these are packed",
        change={name: count for name, count in counts.items() if count != before[name]},
    )


def _hopeless(counts: Counts, before: Counts, excess: float) -> str:
    tried = f"{_changed(counts, before)} instances"
    if excess == float("inf"):
        return f"{tried} would do, but no packing holds them: offer more containers, or larger ones"
    return (
        f"{tried} would do, but as packed they reach {excess:.3g} of a bound, and more do not help: offer larger "
        "containers or faster nodes, or allow more"
    )


def _changed(counts: Counts, before: Counts) -> str:
    """Operators with the same change are named together."""
    alike = dict[tuple[int, int], list[str]]()
    for name, count in counts.items():
        if count != before[name]:
            alike.setdefault((count, before[name]), []).append(name)
    return ", ".join(f"{_each(names)} {count} instead of {had}" for (count, had), names in alike.items())


def _each(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} each"
