"""The edit of a schedule: one step gets another plan or time, the rest stays, and the cost is estimated again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from forecasting.forecast import Forecast
from forescale.files.topology import TopologyConfig
from forescale.jobs.approvals import SAME_WITHIN
from forescale.jobs.joint_forecasts import joint_forecasts
from forescale.jobs.last_day import day_before
from forescale.jobs.planning_case import (
    PlanningCase,
    Start,
    calibrated_situation,
    planning_case,
    question_of,
    running_start,
)
from forescale.jobs.proposed_schedule import ProposedSchedule, proposed
from forescale.jobs.report import write_schedule_report
from forescale.jobs.rungs import recorded_basis
from forescale.report.kit.schedule_words import ledger_words
from forescale.report.kit.step_reasons import reason_words
from forescale.situation.workspace import Workspace
from planner.deployment import refuse_shadow
from planner.edit_facts import Edit, ExpectedValues
from planner.edited_steps import StepEdit, check_override, edited_steps, limits_passed
from planner.errors import PlanError
from planner.horizon.horizon_plan import Change, HorizonPlan
from planner.ledger.entries import ScheduleEntry, StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import WAITING, StepState
from planner.scaling_schedule import ScalingSchedule
from planner.step_cause import StepCause, StepCauseKind


def edit(
    workspace: Workspace,
    step_id: str,
    *,
    parallelism: Mapping[str, int],
    deploy_at: datetime | None,
    by: str,
    why: str = "",
    approve: bool = False,
    override: bool = False,
) -> ProposedSchedule:
    """Record a schedule that has another plan or time for one step. Operators that parallelism does not name keep
    theirs; a time of None keeps the step's.

    With approve, the edited step is approved and earlier approvals stay; otherwise it is proposed, and earlier
    approvals stand until it is approved. override: limits that protect the job may be exceeded, for a reason that
    is recorded. The same edit again finishes what a killed one has recorded. Raises PlanError, ModelError or
    LedgerError for an impossible edit.
    """
    ledger, now = workspace.ledger, workspace.clock.now()
    step = _own_step(ledger, step_id)
    made = ledger.schedule(str(step.schedule_id))
    config = workspace.config(step.topology)
    if config.planning.shadow:
        raise PlanError(
            f"step {step_id} is not edited: topology {config.topology!r} is in shadow mode; set planning.mode: act in "
            "its file and plan again"
        )
    entry = _recorded_before(ledger, step, parallelism, deploy_at, by=by, why=why)
    if entry is None:
        _check_open(step, now)
    cluster = workspace.cluster(config)
    state = cluster.state()
    start = running_start(state)
    basis = recorded_basis(workspace, made)
    forecasts = _forecasts(config, basis.forecasts)
    steps = ledger.steps(schedule_id=made.id, states=WAITING)
    if entry is None:
        _check_chain(steps, start)
    known = workspace.situation(config, now).as_submitted(state.most)
    question = question_of(workspace, known.config, basis, start)
    calibrated = calibrated_situation(workspace, known, cluster)
    situation = calibrated.situation
    also_approved: set[int] = set()
    if entry is None:
        case = planning_case(workspace, calibrated, cluster, forecasts, start, question)
        number = [each.id for each in steps].index(step_id)
        also_approved = {at for at, each in enumerate(steps) if each.state is not StepState.PROPOSED}
        wanted = StepEdit(number, parallelism, None if deploy_at is None else deploy_at.timestamp())
        joint = joint_forecasts(situation, ledger, forecasts).forecasts
        schedule = _edited(case, joint, made, steps, wanted, now, by=by, why=why, override=override)
        newest = ledger.schedules(config.topology, limit=1)[0]
        # Later than the newest, which it replaces even if the clock stands still.
        made_at = max(schedule.made_at, newest.schedule.made_at + timedelta(microseconds=1))
        schedule = replace(schedule, made_at=made_at)
        schedule_id = ledger.record_schedule(
            schedule, forecasts=[entry.id for entry in basis.entries.values()], by=by, words=ledger_words(schedule)
        )
        entry = ledger.schedule(schedule_id)
    ledger.approvals.inherit(entry.id, within=SAME_WITHIN, at=now)
    if approve:
        edited = _edit_of(entry).step - 1
        own = ledger.steps(schedule_id=entry.id)
        cause = StepCause(StepCauseKind.EDITED, by=by, detail=why)
        only = {own[at].id for at in {edited, *also_approved}}
        ledger.approve_schedule(entry.id, at=now, by=by, why=cause, only=only)
    entry = ledger.schedule(entry.id)
    last_day = day_before(workspace, situation, entry)
    written = write_schedule_report(workspace, situation, entry, forecasts, last_day=last_day)
    return proposed(config, ledger, entry, forecasts, written, last_day)


def _edited(
    case: PlanningCase,
    joint: Mapping[str, Forecast],
    made: ScheduleEntry,
    steps: Sequence[StepEntry],
    wanted: StepEdit,
    now: datetime,
    *,
    by: str,
    why: str,
    override: bool,
) -> ScalingSchedule:
    """steps: of the schedule `made`, which still wait."""
    step = steps[wanted.number]
    unchanged = [Change(each.plan, max(each.deploy_at, now).timestamp()) for each in steps]
    changed = edited_steps(unchanged, wanted, case.model.topology, case.limits, case.terms, case.present)
    earlier = made.schedule.basis.edit
    overridden_before = earlier.all_overridden if earlier is not None else ()
    passed = limits_passed(
        changed, wanted.number, case.model.topology, case.terms, case.present, case.rules, case.min_parallelism
    )
    passed = tuple(limit for limit in passed if limit not in overridden_before)
    check_override(passed, override=override, why=why)
    before, after = case.followed(joint, [unchanged, changed], made.schedule.violation_price_h)
    edit_facts = Edit(
        by,
        why,
        made.id,
        wanted.number + 1,
        step.deploy_at,
        dict(step.plan.parallelism),
        passed,
        overridden_before,
        _expected(before),
        _expected(after),
    )
    schedule = _at_its_times(case.schedule(after), changed)
    return replace(schedule, basis=replace(schedule.basis, edit=edit_facts))


def _own_step(ledger: Ledger, step_id: str) -> StepEntry:
    """Raises PlanError for a step that could never be edited."""
    step = ledger.step(step_id)
    refuse_shadow(step)
    if step.schedule_id is None:
        raise PlanError(
            f"step {step_id} belongs to no schedule: a person requested its plan; request another with `forescale "
            "deploy now`"
        )
    return step


def _recorded_before(
    ledger: Ledger, step: StepEntry, parallelism: Mapping[str, int], deploy_at: datetime | None, *, by: str, why: str
) -> ScheduleEntry | None:
    """The topology's newest schedule if it is this very edit, by a command that was killed before its end."""
    newest = ledger.schedules(step.topology, limit=1)[0]
    made = newest.schedule.basis.edit
    was = (step.schedule_id, step.deploy_at, dict(step.plan.parallelism), by, why)
    if made is None or was != (made.in_place_of, made.was_at, dict(made.was_plan), made.by, made.why):
        return None
    own = ledger.steps(schedule_id=newest.id)[made.step - 1]
    same = dict(own.plan.parallelism) == {**step.plan.parallelism, **parallelism}
    same = same and (deploy_at is None or own.deploy_at == deploy_at)
    return newest if same and own.state in (StepState.PROPOSED, StepState.APPROVED) else None


def _edit_of(entry: ScheduleEntry) -> Edit:
    made = entry.schedule.basis.edit
    assert made is not None
    return made


def _check_open(step: StepEntry, now: datetime) -> None:
    """Raises PlanError for a step that can no longer be edited."""
    if step.state in WAITING and step.expires_at <= now:
        raise PlanError(f"step {step.id}: it could be deployed until {step.expires_at:%Y-%m-%d %H:%M} UTC; plan again")
    if step.state not in (StepState.PROPOSED, StepState.APPROVED):
        raise PlanError(
            f"step {step.id} is {step.state} since {step.updated_at:%Y-%m-%d %H:%M} UTC ({reason_words(step)}); only a "
            "proposed or approved step can be edited: `forescale plan list` shows them"
        )


def _check_chain(steps: Sequence[StepEntry], start: Start) -> None:
    """Raises PlanError if the remaining steps do not start from the running plan."""
    runs = start.plan
    for step in steps:
        if not step.replaces.same_parallelism(runs):
            raise PlanError(
                f"step {step.id} replaces {step.replaces.brief()}, but {runs.brief()} will run by then; plan again "
                f"with `forescale plan {step.topology}`, and edit that schedule"
            )
        runs = step.plan


def _forecasts(config: TopologyConfig, of: Mapping[str, Forecast]) -> dict[str, Forecast]:
    """Forecasts in the order of the topology's sources."""
    if lacking := [source for source in config.as_topology().sources if source not in of]:
        raise PlanError(f"the schedule has no forecast of source {lacking[0]!r}; plan again, and edit the new one")
    return {source: of[source] for source in config.as_topology().sources}


def _expected(planned: HorizonPlan) -> ExpectedValues:
    found = planned.found
    price = None if planned.pricing is None else found.paid_h * planned.pricing.instance_per_hour
    return ExpectedValues(found.instance_hours, found.violation_minutes, float((found.late_minutes > 0).mean()), price)


def _at_its_times(schedule: ScalingSchedule, changes: Sequence[Change]) -> ScalingSchedule:
    """Exact deploy times, to the microsecond: seconds from the start of the horizon are rounded."""
    steps = tuple(
        replace(step, deploy_at=datetime.fromtimestamp(change.at_s, UTC))
        for step, change in zip(schedule.steps, changes, strict=True)
    )
    return replace(schedule, steps=steps)
