"""Limits on plans: what a plan must achieve and may use, in every search and schedule, and what is beyond them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.wording import count_of
from planner.decision_basis import BoundedSpan
from planner.edit_facts import brief, utc_minute, utc_minute_from
from planner.errors import PlanError

FULL = 0.999
"""Highest utilisation for planners that add no headroom."""
MAX_UTILISATION = 0.95
"""Of a plan's saturation at the planned quantile of its peak, unless a person sets planning.max_utilisation."""


@dataclass(frozen=True)
class Limits:
    """Bounds on any plan.

    max_utilisation: of the busiest instance, below 1 to leave headroom. max_latency_s: mean end to end;
    max_p95_latency_s: its p95; None for no bound. max_instances: over all operators. max_parallelism: per operator, in
    addition to the topology's.
    """

    max_utilisation: float = 0.85
    max_latency_s: float | None = None
    max_instances: int = 64
    max_parallelism: Mapping[str, int] = field(default_factory=dict)
    max_p95_latency_s: float | None = None

    @property
    def latency_bounds_s(self) -> dict[float | None, float]:
        """By quantile of the latency, None for the mean; empty if latency is unbounded."""
        bounds_s = {None: self.max_latency_s, 0.95: self.max_p95_latency_s}
        return {share: bound for share, bound in bounds_s.items() if bound is not None}

    def with_free_latency(self) -> "Limits":
        return replace(self, max_latency_s=None, max_p95_latency_s=None)


def raised_within(running: Mapping[str, int], wanted: Mapping[str, int], max_instances: int) -> dict[str, int]:
    """The running plan raised towards the wanted one, within max_instances. The operator that lacks the largest share
    comes first; no operator gets fewer instances than it has.
    """
    plan = dict(running)
    room = max(0, max_instances - sum(running.values()))
    lacking = sum(max(0, count - running[name]) for name, count in wanted.items())
    for _ in range(min(room, lacking)):
        name = max((each for each in plan if plan[each] < wanted[each]), key=lambda each: wanted[each] / plan[each])
        plan[name] += 1
    return plan


def within_spans(parallelism: Mapping[str, int], spans: Iterable[BoundedSpan]) -> dict[str, int]:
    """The plan with what its operators have at most in all spans, and then with what they have at least.

    >>> friday = BoundedSpan(0, 3600, least={"count": 12}), BoundedSpan(0, 600, most={"read": 2, "count": 8})
    >>> within_spans({"read": 4, "count": 5}, friday)
    {'read': 2, 'count': 12}
    """
    plan = dict(parallelism)
    for each in (spans := tuple(spans)):
        plan |= {name: min(count, each.most[name]) for name, count in plan.items() if name in each.most}
    for each in spans:
        plan |= {name: max(count, each.least[name]) for name, count in plan.items() if name in each.least}
    return plan


class BoundKind(StrEnum):
    """What no override lifts: settings of the section `planning`, and the times that a step may have."""

    MAX_INSTANCES = "max_instances"
    MAX_PARALLELISM = "max_parallelism"
    MIN_PARALLELISM = "min_parallelism"
    PRESENT = "present"
    EARLIEST = "earliest"
    LATEST = "latest"

    @property
    def is_time(self) -> bool:
        return self in (BoundKind.PRESENT, BoundKind.EARLIEST, BoundKind.LATEST)


@dataclass(frozen=True)
class Excess:
    """A value beyond a bound. value, bound: instances, or epoch seconds of a step's request. operator: whose instances,
    empty for those of all. candidate: name of the plan, if a person proposed it.

    plan: parallelism with those instances; of the step before, empty if none is, for EARLIEST; of the step after, asked
    for at next_at_s, for LATEST.
    """

    kind: BoundKind
    value: float
    bound: float
    operator: str = ""
    candidate: str = ""
    plan: Mapping[str, int] = field(default_factory=dict)
    next_at_s: float = 0.0

    @property
    def field(self) -> str:
        """Of the topology file, or of a step, with dots."""
        return "deploy_at" if self.kind.is_time else f"planning.{self.kind}"

    def __str__(self) -> str:
        if not self.kind.is_time:
            return self._instances
        at = utc_minute(self.value)
        match self.kind:
            case BoundKind.EARLIEST:
                before = f"the step before it ({brief(self.plan)})" if self.plan else "the running plan"
                free = f"is in place and has run for planning.min_dwell_s by {utc_minute_from(self.bound)}"
                return f"{at} is too early: {before} {free}; give that or later"
            case BoundKind.LATEST:
                free = f"is in place and has run for planning.min_dwell_s by {utc_minute_from(self._free_at_s)}"
                after = f"the next step ({brief(self.plan)}) is asked for at {utc_minute(self.next_at_s)}"
                return f"{at} is too late: it {free}, and {after}; give an earlier time, or edit that step first"
        return f"{at} is past, it is {utc_minute(self.bound)}; give a later time"

    @property
    def _instances(self) -> str:
        whose = f"candidate {self.candidate}" if self.candidate else brief(self.plan)
        of = f" of {self.operator}" if self.operator else ""
        sign, change, other = (">", "raise", "give fewer")
        if self.kind is BoundKind.MIN_PARALLELISM:
            sign, change, other = ("<", "lower", "give more")
        remedy = "leave it out" if self.candidate else other
        number = f"{count_of(round(self.value), 'instance')}{of}"
        return f"{whose} has {number} {sign} {self.field} of {self.bound:g}; {remedy}, or {change} that"

    @property
    def _free_at_s(self) -> float:
        """For LATEST: when the step after may be asked for."""
        return self.next_at_s + self.value - self.bound


class BoundError(PlanError):
    """A value is beyond a bound."""

    def __init__(self, excess: Excess) -> None:
        super().__init__(excess)
        self.excess = excess


def too_many(plan: PhysicalPlan, limits: Limits) -> Iterator[Excess]:
    """Where a plan has more instances than allowed."""
    counts = plan.parallelism
    for name, most in limits.max_parallelism.items():
        if (count := counts.get(name, 0)) > most:
            yield Excess(BoundKind.MAX_PARALLELISM, count, most, name, plan=counts)
    if plan.instances > limits.max_instances:
        yield Excess(BoundKind.MAX_INSTANCES, plan.instances, limits.max_instances, plan=counts)


def too_few(plan: PhysicalPlan, min_parallelism: Mapping[str, int]) -> Iterator[Excess]:
    """Where an operator has fewer instances than allowed."""
    for name, least in min_parallelism.items():
        if (count := plan.parallelism.get(name, least)) < least:
            yield Excess(BoundKind.MIN_PARALLELISM, count, least, name, plan=plan.parallelism)
