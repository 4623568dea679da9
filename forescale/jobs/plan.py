"""Forecasts → scaling schedule: calibrate, plan for the demand, record it in the ledger, write its report."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forecasting.forecast_file import read_forecast
from forescale.codec import Moment
from forescale.files.file_error import FileError
from forescale.files.planning_section import Planning
from forescale.files.topology import TopologyConfig
from forescale.jobs.approvals import needs_review, settle
from forescale.jobs.clock_check import set_aside_what_is_ahead
from forescale.jobs.joint_forecasts import joint_forecasts
from forescale.jobs.last_day import day_before
from forescale.jobs.observe import record_observation
from forescale.jobs.planning_case import PlanningCase, Start, planning_case, question_of, running_start
from forescale.jobs.planning_lock import planning_one
from forescale.jobs.proposals import proposal_of
from forescale.jobs.reactive import beside_reactive
from forescale.jobs.report import track_schedule, write_schedule_report
from forescale.jobs.rungs import planning_basis
from forescale.jobs.shadow import accrue
from forescale.jobs.violation_budget import BudgetUse, budget_use
from forescale.report.decision.brief import markdown
from forescale.report.kit.decision_words import basis_summary, causes_words
from forescale.report.kit.schedule_words import (
    alternative_name,
    alternative_words,
    ledger_words,
    schedule_words,
    step_words,
)
from forescale.situation.learned_rescale import learned_planning
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import (
    change_terms_of,
)
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.wording import count_of
from planner.decision_basis import DecisionBasis, Rung
from planner.errors import PlanError
from planner.fallback import held_schedule
from planner.ledger.entries import ForecastEntry, ScheduleEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState
from planner.provenance import Ground
from planner.replay.last_day import LastDay
from planner.scaling_schedule import Alternative, AlternativeKind, Disruption, ScalingSchedule
from planner.schedule import VIOLATION

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PlannedStep:
    """A step of the ledger. plan: parallelism of each operator, in brief. disruption, downtime_s, price_per_hour,
    more_per_hour: as in the schedule.
    """

    step_id: str
    deploy_at: Moment
    plan: str
    why: str
    state: StepState = StepState.PROPOSED
    downtime_s: float = 0.0
    disruption: Disruption | None = None
    price_per_hour: float | None = None
    more_per_hour: float | None = None


@dataclass(frozen=True)
class ConsideredSchedule:
    """An alternative in words: excuse: why it was not chosen."""

    name: str
    cost_instance_hours: float
    rescales: int
    violation_minutes: float
    excuse: str
    price: float | None = None
    kind: AlternativeKind = AlternativeKind.OTHER


def _considered(schedule: ScalingSchedule, other: Alternative) -> ConsideredSchedule:
    return ConsideredSchedule(
        alternative_name(other),
        other.cost_instance_hours,
        other.rescales,
        other.violation_minutes,
        alternative_words(schedule, other),
        other.price,
        other.kind,
    )


@dataclass(frozen=True)
class PlannedSchedule:
    """The decision; no steps if the running plan is held. peaks_per_s: of the forecasts, by source, horizon and
    quantile. budget: of violations. report: its page; summary: for the reviewer. shadow: nothing of it is deployed;
    floor: its plans are lower bounds, and others decide what runs above them. asks: a person has to approve some of
    it. rung: of the ladder it was planned by; cause: why no better rung, and other problems. alternatives: over the
    same horizon; last_day: the day before under other policies, None if unknown. price, instance_price_per_hour: as in
    the schedule. excuses: what is impossible within the limits, why, and what to change. stands_on: as in its basis.
    earlier_at: when it was made, if it was not made now as it answers the same question.
    """

    topology: str
    schedule_id: str
    steps: tuple[PlannedStep, ...]
    why: str
    cost_instance_hours: float
    peaks_per_s: Mapping[str, Mapping[int, Mapping[float, float]]]
    budget: BudgetUse
    report: Path
    summary: str
    shadow: bool = False
    floor: bool = False
    asks: bool = True
    rung: Rung = Rung.FORECAST
    cause: str = ""
    candidates: tuple[ConsideredSchedule, ...] = ()
    price: float | None = None
    instance_price_per_hour: float | None = None
    alternatives: tuple[ConsideredSchedule, ...] = ()
    last_day: LastDay | None = None
    excuses: tuple[str, ...] = ()
    stands_on: tuple[Ground, ...] = ()
    earlier_at: Moment | None = None


@dataclass(frozen=True)
class PlanRequest:
    """The inputs of one schedule. basis: the rung, why it is no better, and what the
    schedule answers. folders: of the forecast of each source,
    empty if there is nothing to plan by; entries: of the forecasts in the ledger. running: what really runs, also in
    shadow mode. candidates: plans proposed by a person.
    """

    config: TopologyConfig
    now: datetime
    basis: DecisionBasis
    folders: Mapping[str, Path]
    entries: Mapping[str, ForecastEntry]
    start: Start
    running: PhysicalPlan
    candidates: Mapping[str, PhysicalPlan]

    def forecasts(self) -> dict[str, Forecast]:
        return {source: read_forecast(folder) for source, folder in self.folders.items()}


def plan(workspace: Workspace, topology: str, candidates: Mapping[str, PhysicalPlan] | None = None) -> PlannedSchedule:
    """Make the schedule for the newest forecasts and the running plan; once for the same two. In shadow mode, for the
    plan that would run, had the earlier schedules been deployed. candidates: plans proposed by a person, by name.

    Without usable forecasts the next lower rung is used, and the schedule says so (`rungs`). Raises ClusterError if
    the cluster does not report what runs.
    """
    ledger, config = workspace.ledger, workspace.config(topology)
    with planning_one(workspace.settings, config.topology):
        request = plan_request(workspace, config, candidates)
        forecasts = request.forecasts()
        earlier = earlier_schedule(request, ledger)
        made = earlier or kept(request, _new_schedule(workspace, request, forecasts), ledger)
    last_day = day_before(workspace, workspace.situation(request.config), made)
    answer = published(workspace, request, made, forecasts, last_day)
    return answer if earlier is None else replace(answer, earlier_at=earlier.schedule.made_at)


def _new_schedule(workspace: Workspace, request: PlanRequest, forecasts: Mapping[str, Forecast]) -> ScalingSchedule:
    """The schedule; it holds the running plan if there is nothing to plan by."""
    if request.basis.rung.plans:
        case = request_case(workspace, request, forecasts)
        schedule = request_schedule(workspace, request, case, forecasts)
        return beside_reactive(workspace.situation(request.config), workspace.ledger, schedule, forecasts)
    quantile = request.config.planning.quantile
    return held_schedule(request.config.topology, request.now, request.start.plan, request.basis, quantile)


def plan_request(
    workspace: Workspace,
    config: TopologyConfig,
    candidates: Mapping[str, PhysicalPlan] | None = None,
) -> PlanRequest:
    """Also calls off steps whose time has passed and, in shadow mode, records what runs. Raises as `plan`."""
    clock, shadow = workspace.clock, config.planning.shadow
    cluster = workspace.cluster(config)
    state = cluster.state()
    now = clock.now()
    set_aside_what_is_ahead(workspace, config, now, by="plan", state=state)
    workspace.ledger.expire_steps(now, by="plan", topology=config.topology)
    basis = planning_basis(workspace, config, now)
    if shadow:
        record_observation(config, workspace.ledger, cluster)
    start = _shadow_start(workspace, config, now) or running_start(state)
    folders = {source: Path(entry.folder) for source, entry in basis.entries.items()} | dict(basis.profiles)
    return PlanRequest(
        config,
        now,
        replace(question_of(workspace, config, basis, start), candidates=_proposed(candidates or {}, config.planning)),
        {source: folders[source] for source in basis.forecasts},
        basis.entries,
        start,
        state.plan,
        candidates or {},
    )


def _proposed(candidates: Mapping[str, PhysicalPlan], planning: Planning) -> dict[str, str]:
    """Ids of the plans by name. Raises PlanError for a candidate beyond the limits."""
    for name, plan in candidates.items():
        if plan.instances > planning.max_instances:
            raise PlanError(
                f"candidate {name} has {count_of(plan.instances, 'instance')} > planning.max_instances of "
                f"{planning.max_instances}; leave it out, or raise that"
            )
        for operator, maximum in planning.max_parallelism.items():
            if plan.parallelism.get(operator, 0) > maximum:
                raise PlanError(
                    f"candidate {name} has {count_of(plan.parallelism[operator], 'instance')} of {operator} > "
                    f"planning.max_parallelism of {maximum}; leave it out, or raise that"
                )
        for operator, minimum in planning.min_parallelism.items():
            if (count := plan.parallelism.get(operator, minimum)) < minimum:
                raise PlanError(
                    f"candidate {name} has {count_of(count, 'instance')} of {operator} < planning.min_parallelism of "
                    f"{minimum}; leave it out, or lower that"
                )
    return {name: plan.plan_id for name, plan in candidates.items()}


def request_case(workspace: Workspace, request: PlanRequest, forecasts: Mapping[str, Forecast]) -> PlanningCase:
    """The case, calibrated on the cluster now, with what past deployments teach. Raises PlanError if there is nothing
    to plan by.
    """
    if not request.basis.rung.plans:
        raise PlanError(
            f"topology {request.config.topology!r}: {basis_summary(request.basis)}; plan it alone to record that"
        )
    cluster = workspace.cluster(request.config)
    case = planning_case(workspace, request.config, cluster, forecasts, request.start, request.now, request.basis)
    return replace(case, candidates=request.candidates)


def request_schedule(
    workspace: Workspace,
    request: PlanRequest,
    case: PlanningCase,
    forecasts: Mapping[str, Forecast],
    at_most: int | None = None,
) -> ScalingSchedule:
    """at_most: instances, as in PlanningCase.planned. Raises PlanError if the forecasts are over."""
    joined = joint_forecasts(workspace, request.config, forecasts)
    made = case.decided(joined.forecasts, at_most).due_from(workspace.clock.now())
    return replace(made, basis=replace(made.basis, fleet=request.basis.fleet, unjoined=joined.note))


def kept(request: PlanRequest, schedule: ScalingSchedule, ledger: Ledger) -> ScheduleEntry:
    """The schedule as recorded in the ledger; that of another planner with the same inputs, if it was faster."""
    ids, shadow = [entry.id for entry in request.entries.values()], request.config.planning.shadow
    for newest in ledger.schedules(request.config.topology, limit=1):
        schedule = schedule.decided_after(newest.schedule)
    return ledger.schedule(
        ledger.record_schedule(
            schedule,
            forecasts=ids,
            shadow=shadow,
            decides=request.basis.rung.plans,
            asked=request.basis,
            words=ledger_words(schedule),
        )
    )


def published(
    workspace: Workspace,
    request: PlanRequest,
    entry: ScheduleEntry,
    forecasts: Mapping[str, Forecast],
    last_day: LastDay | None = None,
) -> PlannedSchedule:
    """Approve what needs no review, write and track the report; in shadow mode accrue the days.
    last_day: the day before the decision under other policies, for the report; a fleet leaves that out.
    """
    config = request.config
    if request.basis.rung.plans:
        settle(config, workspace.ledger, entry, request.now)
    if config.planning.shadow:
        _accrue(workspace, config)
    report = write_schedule_report(workspace, config, entry, forecasts, last_day=last_day)
    track_schedule(workspace, request.entries, entry, report)
    return _planned(config, entry, workspace.ledger, forecasts, report, last_day)


def _shadow_start(workspace: Workspace, config: TopologyConfig, now: datetime) -> Start | None:
    """The plan that would run; None outside shadow mode, and at its beginning, when that is the running plan."""
    span = workspace.ledger.shadow.span(config.topology) if config.planning.shadow else None
    if span is None or set(span.first.parallelism) != set(config.operators):
        return None
    if not (followed := span.followed(now)):
        return Start(span.first, None)
    last = followed[-1]
    learned = learned_planning(workspace.situation(config), workspace.ledger)
    terms = change_terms_of(learned.planning, config.forecast.every_s, learned.restore)
    down_s = terms.down_s(config.as_topology(), last.replaces, last.plan)
    ahead_s = terms.stops_after_s(last.replaces, last.plan) + down_s
    return Start(last.plan, last.deploy_at + timedelta(seconds=ahead_s))


def _accrue(workspace: Workspace, config: TopologyConfig) -> None:
    """Planning goes on if a day of the shadow cannot be accrued: `forescale shadow` says why."""
    try:
        accrue(workspace, config)
    except (HistoryError, FileError) as error:
        logger.warning("days of the shadow of %s are not accrued: %s", config.topology, error)


def earlier_schedule(request: PlanRequest, ledger: Ledger) -> ScheduleEntry | None:
    """The schedule made earlier from the same forecasts for the same running plan, until it is over: a task that runs
    again makes no other.
    """
    for entry in ledger.schedules(request.config.topology, limit=1):
        if entry.schedule.answers(request.basis, request.now):
            return entry
    return None


def _planned(
    config: TopologyConfig,
    entry: ScheduleEntry,
    ledger: Ledger,
    forecasts: Mapping[str, Forecast],
    report: Path,
    last_day: LastDay | None,
) -> PlannedSchedule:
    schedule, steps = entry.schedule, ledger.steps(schedule_id=entry.id)
    others = [_considered(schedule, each) for each in schedule.alternatives]
    return PlannedSchedule(
        topology=schedule.topology,
        schedule_id=entry.id,
        steps=tuple(
            PlannedStep(
                step.id,
                step.deploy_at,
                step.plan.brief(),
                step_words(schedule, index),
                step.state,
                scheduled.downtime_s,
                scheduled.disruption,
                scheduled.price_per_hour,
                scheduled.more_per_hour,
            )
            for index, (step, scheduled) in enumerate(zip(steps, schedule.steps, strict=True))
        ),
        why=schedule_words(schedule),
        cost_instance_hours=schedule.cost_instance_hours,
        peaks_per_s={
            source: {
                horizon_s: dict(zip(forecast.quantiles, peak.tolist(), strict=True))
                for horizon_s, peak in forecast.peak_per_s.items()
            }
            for source, forecast in forecasts.items()
        },
        budget=budget_use(ledger, entry),
        report=report,
        summary=markdown(proposal_of(config, entry, steps, schedule.made_at)),
        shadow=entry.shadow,
        floor=schedule.basis.floor,
        asks=needs_review(ledger, entry),
        rung=schedule.basis.rung,
        cause=causes_words(schedule.basis),
        candidates=tuple(each for each in others if each.kind is AlternativeKind.CANDIDATE),
        price=schedule.price,
        instance_price_per_hour=schedule.instance_price_per_hour,
        alternatives=tuple(each for each in others if each.kind is not AlternativeKind.CANDIDATE),
        last_day=last_day,
        # The report says why a plan is not smaller.
        excuses=tuple(str(each) for each in schedule.excuses if each.target != VIOLATION),
        stands_on=schedule.basis.stands_on,
    )
