"""Plans evaluated under one load, with the inputs of the evaluation, for their page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isclose

from forescale.report.kit.error import ReportError
from modeling.estimate import Estimate
from modeling.excuse import Excuse
from modeling.flow.resources import Resource
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology
from modeling.queueing.bursts import Arrivals
from planner.provenance import Ground


@dataclass(frozen=True)
class WhatIf:
    """plans, estimates: by the plan's displayed name. load_per_s: per source; origin: where it comes from.

    peak_per_s: per quantile, the forecast's peak over all sources together; empty without a forecast.
    max_lag_s: the target, None if there is none. backlog: tuples already waiting at each source.
    stands_on: where the values come from.
    violation: per plan the probability that it misses a target, by the target's name. enough: per plan the smallest
    change of parallelism with which it carries the load, or why there is none; empty if unknown. Raises ReportError if
    plans and estimates differ in their names, or are empty.
    """

    topology: Topology
    profiles: Profiles
    plans: Mapping[str, PhysicalPlan]
    estimates: Mapping[str, Estimate]
    load_per_s: Mapping[str, float]
    origin: str = "as given"
    site: Site = NOWHERE
    arrival_cv2: float | Arrivals = 1.0
    peak_per_s: Mapping[float, float] = field(default_factory=dict)
    max_lag_s: float | None = None
    backlog: Mapping[str, float] = field(default_factory=dict)
    violation: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    enough: Mapping[str, Mapping[str, int] | Excuse] = field(default_factory=dict)
    stands_on: tuple[Ground, ...] = ()

    def __post_init__(self) -> None:
        if not self.estimates:
            raise ReportError("no plan was evaluated; give at least one")
        if different := sorted({*self.plans} ^ {*self.estimates}):
            raise ReportError(f"plan {different[0]!r} lacks its estimate, or the other way round; give both")

    @property
    def total_per_s(self) -> float:
        """Events a second of all sources together."""
        return sum(self.load_per_s.values())

    @property
    def carrying(self) -> tuple[str, ...]:
        """Plans that keep up with the load, the smallest first: fewest instances, then fewest cores in use."""
        keeping = [name for name, estimate in self.estimates.items() if estimate.stable]
        return tuple(
            sorted(keeping, key=lambda name: (self.plans[name].instances, self.estimates[name].resources.total_cores))
        )

    def as_small(self, name: str, other: str) -> bool:
        """Whether two plans have the same number of instances and, up to rounding, of cores in use."""
        cores = (self.estimates[each].resources.total_cores for each in (name, other))
        return self.plans[name].instances == self.plans[other].instances and isclose(*cores)

    def fits(self, name: str) -> bool:
        """Whether a plan fits in its containers; frequent garbage collection counts as fitting."""
        return all(one.resource is Resource.GC for one in self.estimates[name].resources.over)
