"""Edits one step of a schedule, its plan or its time, and checks the result.

Hard limits are refused here: the engine's, quotas, the order of steps. Limits that protect the job (`limits_passed`)
may be overridden by a person with a reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.rescaling.instance_changes import instance_changes
from modeling.wording import count_of
from planner.edit_facts import LimitKind, LimitPassed
from planner.errors import PlanError
from planner.horizon.horizon_plan import NO_RULES, Change, ChangeRules, Present, most_a_day
from planner.horizon.prices import ChangeTerms
from planner.limits import Limits

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
            f"the step has {old.plan.brief()} at {_moment(old.at_s)} already; give it another plan or another time"
        )
    check_bounds(plan, topology, limits)
    made = (*steps[: edit.number], changed, *steps[edit.number + 1 :])
    running = PhysicalPlan(topology.name, dict(present.running))
    _check_differs([running, *(step.plan for step in made)], edit.number)
    if changed.at_s < present.at_s - 60:
        raise PlanError(f"{_moment(changed.at_s)} is past, it is {_moment(present.at_s)}; give a later time")
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
        LimitPassed(LimitKind.MIN_PARALLELISM, edited.parallelism[name], fewest, operator=name)
        for name, fewest in (least or {}).items()
        if edited.parallelism[name] < fewest
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
    # The next step now follows on another plan, so it may stop the job later and for longer.
    for before, step in zip(plans[number : number + 2], steps[number : number + 2], strict=False):
        back_s = step.at_s + terms.stops_after_s(before, step.plan) + terms.down_s(topology, before, step.plan)
        if (span := rules.closed_for(step.at_s, back_s)) is not None:
            since = datetime.fromtimestamp(span[0], UTC)
            passed.append(LimitPassed(LimitKind.FREEZE, step.at_s, span[1], since=since))
    return tuple(passed)


def check_override(passed: Sequence[LimitPassed], *, override: bool, why: str) -> None:
    """Raises PlanError if limits are exceeded without an override, or without a reason for it."""
    excess = "; ".join(map(str, passed))
    if passed and not override:
        raise PlanError(
            f"{excess}: give another plan or time, or override that with a reason, which the ledger keeps "
            "(--override --why REASON; in Airflow, Override and Why)"
        )
    if passed and not why.strip():
        raise PlanError(f"{excess}: overridden without a reason; say why (--why; in Airflow, Why)")


def check_bounds(plan: PhysicalPlan, topology: Topology, limits: Limits) -> None:
    """Raises PlanError for a plan beyond a hard limit, ModelError for one that the topology does not allow."""
    plan.check(topology)
    for operator, most in limits.max_parallelism.items():
        if (count := plan.parallelism.get(operator, 0)) > most:
            raise PlanError(
                f"{count_of(count, 'instance')} of operator {operator!r} > planning.max_parallelism of {most}; give "
                "fewer, or raise that"
            )
    if plan.instances > limits.max_instances:
        raise PlanError(
            f"{plan.brief()} has {count_of(plan.instances, 'instance')} > planning.max_instances of "
            f"{limits.max_instances}; give fewer, or raise that"
        )


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

    earliest_s = free_after_s(number - 1) if number else free_at_s
    if steps[number].at_s < earliest_s - ROUNDING_S:
        before = f"the step before it ({steps[number - 1].plan.brief()})" if number else "the running plan"
        raise PlanError(
            f"{_moment(steps[number].at_s)} is too early: {before} is in place and has run for planning.min_dwell_s by "
            f"{_moment(earliest_s)}; give that or later"
        )
    if number + 1 < len(steps) and free_after_s(number) > steps[number + 1].at_s + ROUNDING_S:
        raise PlanError(
            f"{_moment(steps[number].at_s)} is too late: it is in place and has run for planning.min_dwell_s by "
            f"{_moment(free_after_s(number))}, and the next step ({steps[number + 1].plan.brief()}) is asked for at "
            f"{_moment(steps[number + 1].at_s)}; give an earlier time, or edit that step first"
        )


def _moment(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M} UTC"
