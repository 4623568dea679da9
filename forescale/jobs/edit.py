"""The edit of a schedule: one step gets another plan or time, the rest stays, and the cost is estimated again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from forecasting.forecast import Forecast
from forescale.codec import Moment
from forescale.files.topology import TopologyConfig
from forescale.jobs.approvals import SAME_WITHIN
from forescale.jobs.joint_forecasts import joint_forecasts
from forescale.jobs.last_day import day_before
from forescale.jobs.planning_case import Start, planning_case, question_of, running_start
from forescale.jobs.report import write_schedule_report
from forescale.jobs.rungs import recorded_basis
from forescale.report.kit.decision_words import effect
from forescale.report.kit.schedule_words import ledger_words
from forescale.situation.workspace import Workspace
from planner.deployment import refuse_shadow
from planner.edit_facts import Edit, ExpectedValues
from planner.edited_steps import StepEdit, check_override, edited_steps, limits_passed
from planner.errors import PlanError
from planner.horizon.horizon_plan import Change, HorizonPlan
from planner.ledger.entries import StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import WAITING, StepState
from planner.provenance import Ground
from planner.scaling_schedule import ScalingSchedule


@dataclass(frozen=True)
class EditedSchedule:
    """A new schedule in place of the edited one. before, after: over the same paths of the same forecasts. states: of
    its steps, by id. passed: limits of the topology file that this edit is the first to override. stands_on: as in its
    basis.
    """

    topology: str
    schedule_id: str
    in_place_of: str
    step_id: str
    change: str
    before: ExpectedValues
    after: ExpectedValues
    states: Mapping[str, StepState]
    deploy_at: Moment
    report: Path
    passed: tuple[str, ...] = ()
    stands_on: tuple[Ground, ...] = ()

    @property
    def effect(self) -> str:
        """Effect of the edit, in words."""
        return effect(self.before, self.after)


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
) -> EditedSchedule:
    """Record a schedule that has another plan or time for one step. Operators that parallelism does not name keep
    theirs; a time of None keeps the step's.

    With approve, the edited step is approved and earlier approvals stay; otherwise it is proposed, and earlier
    approvals stand until it is approved. override: limits that protect the job may be exceeded, for a reason that is
    recorded. Raises PlanError, ModelError or LedgerError for an impossible edit.
    """
    ledger, clock = workspace.ledger, workspace.clock
    now = clock.now()
    step = _open_step(ledger, step_id, now)
    made = ledger.schedule(str(step.schedule_id))
    config = workspace.config(step.topology)
    if config.planning.shadow:
        raise PlanError(
            f"step {step_id} is not edited: topology {config.topology!r} is in shadow mode; set planning.mode: act in "
            "its file and plan again"
        )
    cluster = workspace.cluster(config)
    start = running_start(cluster.state())
    steps = ledger.steps(schedule_id=made.id, states=WAITING)
    _check_chain(steps, start)
    basis = recorded_basis(workspace, made)
    forecasts = _forecasts(config, basis.forecasts)
    question = question_of(workspace, config, basis, start)
    case = planning_case(workspace, config, cluster, forecasts, start, now, question)
    number = [each.id for each in steps].index(step_id)
    unchanged = [Change(each.plan, max(each.deploy_at, now).timestamp()) for each in steps]
    wanted = StepEdit(number, parallelism, None if deploy_at is None else deploy_at.timestamp())
    changed = edited_steps(unchanged, wanted, case.model.topology, case.limits, case.terms, case.present)
    overridden_before = made.schedule.basis.edit.all_overridden if made.schedule.basis.edit is not None else ()
    passed = limits_passed(
        changed, number, case.model.topology, case.terms, case.present, case.rules, case.min_parallelism
    )
    passed = tuple(limit for limit in passed if limit not in overridden_before)
    check_override(passed, override=override, why=why)
    before, after = case.followed(
        joint_forecasts(workspace, config, forecasts).forecasts, [unchanged, changed], made.schedule.violation_price_h
    )
    made_by = Edit(
        by,
        why,
        made.id,
        number + 1,
        step.deploy_at,
        dict(step.plan.parallelism),
        passed,
        overridden_before,
        _expected(before),
        _expected(after),
    )
    schedule = _at_its_times(case.schedule(after), changed)
    newest = ledger.schedules(config.topology, limit=1)[0]
    schedule = replace(
        schedule,
        # Later than the newest, which it replaces even if the clock stands still.
        made_at=max(schedule.made_at, newest.schedule.made_at + timedelta(microseconds=1)),
        basis=replace(schedule.basis, edit=made_by),
    )
    schedule_id = ledger.record_schedule(
        schedule, forecasts=[entry.id for entry in basis.entries.values()], by=by, words=ledger_words(schedule)
    )
    ledger.approvals.inherit(schedule_id, within=SAME_WITHIN, at=now)
    own = ledger.steps(schedule_id=schedule_id)
    if approve:
        approved = {own[at].id for at, each in enumerate(steps) if at == number or each.state is not StepState.PROPOSED}
        reason = f"approved with the edit by {by}" + (f": {why}" if why else "")
        ledger.approve_schedule(schedule_id, at=now, by=by, why=reason, only=approved)
    entry = ledger.schedule(schedule_id)
    last_day = day_before(workspace, workspace.situation(config), entry)
    report = write_schedule_report(workspace, config, entry, forecasts, last_day=last_day)
    return EditedSchedule(
        topology=config.topology,
        schedule_id=schedule_id,
        in_place_of=made.id,
        step_id=own[number].id,
        change=_change(step, schedule, number),
        before=_expected(before),
        after=_expected(after),
        states={each.id: each.state for each in ledger.steps(schedule_id=schedule_id)},
        deploy_at=own[number].deploy_at,
        report=report,
        passed=tuple(map(str, passed)),
        stands_on=schedule.basis.stands_on,
    )


def _open_step(ledger: Ledger, step_id: str, now: datetime) -> StepEntry:
    """Raises PlanError for a step that can no longer be edited, or never could."""
    step = ledger.step(step_id)
    refuse_shadow(step)
    if step.schedule_id is None:
        raise PlanError(
            f"step {step_id} belongs to no schedule: a person requested its plan; request another with `forescale "
            "deploy plan`"
        )
    if step.state in WAITING and step.expires_at <= now:
        raise PlanError(f"step {step_id}: it could be deployed until {step.expires_at:%Y-%m-%d %H:%M} UTC; plan again")
    if step.state not in (StepState.PROPOSED, StepState.APPROVED):
        raise PlanError(
            f"step {step_id} is {step.state} since {step.updated_at:%Y-%m-%d %H:%M} UTC ({step.reason}); only a "
            "proposed or approved step can be edited: `forescale deploy list` shows them"
        )
    return step


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


def _change(step: StepEntry, schedule: ScalingSchedule, number: int) -> str:
    made = schedule.steps[number]
    return (
        f"{made.plan.brief()} at {made.deploy_at:%a %H:%M} instead of {step.plan.brief()} at {step.deploy_at:%a %H:%M}"
    )
