"""Edits one step of a schedule, its plan or its time, and checks the result.

Hard limits are refused here: the engine's, quotas, the order of steps. Limits that protect the job (`limits_passed`)
may be overridden by a person with a reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from math import inf

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.rescaling.instance_changes import instance_changes
from planner.edit_facts import LimitKind, LimitPassed, OverrideError, utc_minute
from planner.errors import PlanError
from planner.horizon.horizon_plan import NO_RULES, Change, ChangeRules, Present, most_a_day
from planner.horizon.prices import ChangeTerms
from planner.horizon.spans import passed_spans
from planner.limits import BoundError, BoundKind, Excess, Limits, too_few, too_many

ROUNDING_S = 1.0


@dataclass(frozen=True)
class StepEdit:
    """number: index among the steps still to come. parallelism: new counts of the operators that change. at_s: new time
    of the request in epoch seconds; None keeps it.
    """

    number: int
    parallelism: Mapping[str, int]
    at_s: float | None = None


def edited_steps(
    steps: Sequence[Change],
    edit: StepEdit,
    topology: Topology,
    limits: Limits,
    terms: ChangeTerms,
    present: Present,
) -> tuple[Change, ...]:
    """All steps, with the edited one in its place. Raises PlanError, or ModelError for a plan that the topology does
    not allow; each names a remedy.
    """
    old = steps[edit.number]
    plan = old.plan
    if edit.parallelism:
        plan = PhysicalPlan(topology.name, {**old.plan.parallelism, **edit.parallelism})
    changed = replace(old, plan=plan, at_s=old.at_s if edit.at_s is None else edit.at_s)
    if changed.plan.same_parallelism(old.plan) and changed.at_s == old.at_s:
        raise PlanError(
            f"the step has {old.plan.brief()} at {utc_minute(old.at_s)} already; give it another plan or another time"
        )
    check_bounds(plan, topology, limits)
    made = (*steps[: edit.number], changed, *steps[edit.number + 1 :])
    running = PhysicalPlan(topology.name, dict(present.running))
    _check_differs([running, *(step.plan for step in made)], edit.number)
    if changed.at_s < present.at_s - 60:
        raise BoundError(Excess(BoundKind.PRESENT, changed.at_s, present.at_s))
    _check_order(made, edit.number, running, topology, terms, present.free_at_s)
    return made


def limits_passed(
    steps: Sequence[Change],
    number: int,
    topology: Topology,
    terms: ChangeTerms,
    present: Present,
    rules: ChangeRules = NO_RULES,
    least: Mapping[str, int] | None = None,
) -> tuple[LimitPassed, ...]:
    """Limits of the topology file that the edited step exceeds, or makes the next step exceed.

    least: min_parallelism by operator.
    """
    plans = [PhysicalPlan(topology.name, dict(present.running)), *(step.plan for step in steps)]
    edited = plans[number + 1]
    passed = [
        LimitPassed(LimitKind.MIN_PARALLELISM, each.value, each.bound, each.operator)
        for each in too_few(edited, least or {})
    ]
    for before, plan in pairwise(plans[number : number + 3]):
        change = dict(before.parallelism), dict(plan.parallelism)
        changes = instance_changes(before, plan)
        if (started := changes.started + changes.stopped) > terms.max_step:
            passed.append(LimitPassed(LimitKind.MAX_STEP, started, terms.max_step, "", *change))
        if terms.only_out and changes.stopped:
            passed.append(LimitPassed(LimitKind.SCALE_OUT_ONLY, changes.stopped, 0, "", *change))
    if rules.most_a_day is not None:
        stops_s = [
            step.at_s + terms.stops_after_s(before, step.plan) for before, step in zip(plans, steps, strict=False)
        ]
        most = most_a_day(present.changes, stops_s)
        if most > rules.most_a_day:
            passed.append(LimitPassed(LimitKind.MAX_RESCALES_A_DAY, most, rules.most_a_day))
    passed += _windows_passed(plans, steps, number, topology, terms, rules)
    # The next step now follows on another plan, so it may stop the job later and for longer.
    for before, step in zip(plans[number : number + 2], steps[number : number + 2], strict=False):
        back_s = step.at_s + terms.stops_after_s(before, step.plan) + terms.down_s(topology, before, step.plan)
        if (span := rules.closed_for(step.at_s, back_s)) is not None:
            since = datetime.fromtimestamp(span[0], UTC)
            passed.append(LimitPassed(LimitKind.FREEZE, step.at_s, span[1], since=since))
    return tuple(passed)


def _windows_passed(
    plans: Sequence[PhysicalPlan],
    steps: Sequence[Change],
    number: int,
    topology: Topology,
    terms: ChangeTerms,
    rules: ChangeRules,
) -> list[LimitPassed]:
    """Windows whose bounds the edited step breaks while it runs. plans: the running one, then those of the steps."""
    before, edited, step = plans[number], plans[number + 1], steps[number]
    from_s = step.at_s + terms.stops_after_s(before, edited) + terms.down_s(topology, before, edited)
    until_s = inf
    if number + 1 < len(steps):
        until_s = steps[number + 1].at_s + terms.stops_after_s(edited, plans[number + 2])
    return [
        LimitPassed(
            LimitKind.WINDOWS,
            count,
            bound,
            name,
            since=datetime.fromtimestamp(span.start_s, UTC),
            until=datetime.fromtimestamp(span.end_s, UTC),
        )
        for span, name, count, bound in passed_spans(edited.parallelism, from_s, until_s, rules.bounded)
    ]


def check_override(passed: Sequence[LimitPassed], *, override: bool, why: str) -> None:
    """Raises OverrideError if limits are exceeded without an override, or without a reason for it."""
    excess = "; ".join(map(str, passed))
    if passed and not override:
        raise OverrideError(
            f"{excess}: give another plan or time, or override that with a reason, which the ledger keeps "
            "(--override --why REASON; in Airflow, Override or that word in Edit, and Why)",
            passed,
        )
    if passed and not why.strip():
        raise OverrideError(f"{excess}: overridden without a reason; say why (--why; in Airflow, Why)", passed)


def check_bounds(plan: PhysicalPlan, topology: Topology, limits: Limits) -> None:
    """Raises BoundError for a plan beyond a hard limit, ModelError for one that the topology does not allow."""
    plan.check(topology)
    for excess in too_many(plan, limits):
        raise BoundError(excess)


def _check_differs(plans: Sequence[PhysicalPlan], number: int) -> None:
    """plans: the running one, then those of the steps."""
    before, plan = plans[number], plans[number + 1]
    if plan.same_parallelism(before):
        raise PlanError(
            f"{plan.brief()} runs already when that step's time comes: it would change nothing; give another plan, or "
            "veto the schedule"
        )
    if number + 2 < len(plans) and plan.same_parallelism(plans[number + 2]):
        raise PlanError(
            f"{plan.brief()} is the plan of the next step, which would change nothing then; give that step an earlier "
            "time instead"
        )


def _check_order(
    steps: Sequence[Change],
    number: int,
    running: PhysicalPlan,
    topology: Topology,
    terms: ChangeTerms,
    free_at_s: float,
) -> None:
    """A step is requested only after the one before it runs and has dwelt, as in every schedule."""
    plans = [running, *(step.plan for step in steps)]

    def free_after_s(at: int) -> float:
        stop_s = steps[at].at_s + terms.stops_after_s(plans[at], plans[at + 1])
        return stop_s + terms.down_s(topology, plans[at], plans[at + 1]) + terms.apart_s

    at_s, earliest_s = steps[number].at_s, free_after_s(number - 1) if number else free_at_s
    if at_s < earliest_s - ROUNDING_S:
        before = steps[number - 1].plan.parallelism if number else {}
        raise BoundError(Excess(BoundKind.EARLIEST, at_s, earliest_s, plan=before))
    if number + 1 < len(steps) and free_after_s(number) > steps[number + 1].at_s + ROUNDING_S:
        after = steps[number + 1]
        latest_s = at_s - (free_after_s(number) - after.at_s)
        excess = Excess(BoundKind.LATEST, at_s, latest_s, plan=after.plan.parallelism, next_at_s=after.at_s)
        raise BoundError(excess)
