"""Forecasts → scaling schedule: calibrate, plan for the demand, record it in the ledger, write its report."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forecasting.forecast_file import read_forecast
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.jobs.alternatives import beside_acting_guard, beside_reactive
from forescale.jobs.approvals import settle
from forescale.jobs.clock_check import set_aside_what_is_ahead
from forescale.jobs.joint_forecasts import joint_forecasts
from forescale.jobs.last_day import day_before
from forescale.jobs.locks import planning_one
from forescale.jobs.observe import record_observation
from forescale.jobs.planning_case import (
    PlanningCase,
    Start,
    calibrated_situation,
    planning_case,
    question_of,
    running_start,
)
from forescale.jobs.proposed_schedule import ProposedSchedule, proposed
from forescale.jobs.report import track_schedule, write_schedule_report
from forescale.jobs.rungs import planning_basis
from forescale.jobs.shadow import accrue
from forescale.report.kit.decision_words import basis_summary
from forescale.report.kit.schedule_words import ledger_words
from forescale.situation.situation import Situation
from forescale.situation.workspace import Workspace
from forescale.wiring.planning_terms import bounded_spans, change_terms_of
from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import DecisionBasis
from planner.errors import PlanError
from planner.fallback import held_schedule
from planner.ledger.entries import ForecastEntry, ScheduleEntry
from planner.ledger.ledger import Ledger
from planner.limits import BoundError, too_few, too_many
from planner.replay.last_day import LastDay
from planner.scaling_schedule import ScalingSchedule

logger = logging.getLogger(__name__)

BOUNDS_AHEAD = timedelta(days=1)
"""How far ahead a held schedule says which of planning.windows nothing keeps."""


@dataclass(frozen=True)
class PlanRequest:
    """The inputs of one schedule. situation: before the calibration of this plan. basis: the rung, why it is no better,
    and what the schedule answers. folders: of the forecast of each source, empty if there is nothing to plan by;
    entries: of the forecasts in the ledger. running: what really runs, also in shadow mode. candidates: plans proposed
    by a person.
    """

    situation: Situation
    now: datetime
    basis: DecisionBasis
    folders: Mapping[str, Path]
    entries: Mapping[str, ForecastEntry]
    start: Start
    running: PhysicalPlan
    candidates: Mapping[str, PhysicalPlan]

    @property
    def config(self) -> TopologyConfig:
        return self.situation.config

    def forecasts(self) -> dict[str, Forecast]:
        return {source: read_forecast(folder) for source, folder in self.folders.items()}


def plan(workspace: Workspace, topology: str, candidates: Mapping[str, PhysicalPlan] | None = None) -> ProposedSchedule:
    """Make the schedule for the newest forecasts and the running plan; once for the same two. In shadow mode, for the
    plan that would run, had the earlier schedules been deployed. candidates: plans proposed by a person, by name.

    Without usable forecasts the next lower rung is used, and the schedule says so (`rungs`). Raises ClusterError if
    the cluster does not report what runs.
    """
    ledger, config = workspace.ledger, workspace.config(topology)
    with planning_one(workspace.settings, config.topology):
        request = plan_request(workspace, config, candidates)
        forecasts, situation = request.forecasts(), request.situation
        case, earlier = None, earlier_schedule(request, ledger)
        made = earlier
        if made is None:
            situation, case, schedule = _new_schedule(workspace, request, forecasts)
            made = kept(request, schedule, ledger)
    made = beside_reactive(ledger, situation, made, forecasts, case.present.waiting if case is not None else 0.0)
    if case is not None:
        joined = joint_forecasts(request.situation, ledger, forecasts)
        made = beside_acting_guard(ledger, situation, case, made, joined.forecasts)
    last_day = day_before(workspace, situation, made)
    answer = published(workspace, request, situation, made, forecasts, last_day)
    return answer if earlier is None else replace(answer, earlier_at=earlier.schedule.made_at)


def _new_schedule(
    workspace: Workspace, request: PlanRequest, forecasts: Mapping[str, Forecast]
) -> tuple[Situation, PlanningCase | None, ScalingSchedule]:
    """The schedule, with the situation and case that it was made in. With nothing to plan by, it holds the running plan
    and has no case.
    """
    if request.basis.rung.plans:
        situation, case = request_case(workspace, request, forecasts)
        return situation, case, request_schedule(workspace, request, case, forecasts)
    held, planning = request.start.plan, request.config.planning
    basis = replace(request.basis, bounded=tuple(bounded_spans(planning, request.now, request.now + BOUNDS_AHEAD)))
    schedule = held_schedule(request.config.topology, request.now, held, basis, planning.quantile)
    return request.situation, None, schedule


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
    situation = workspace.situation(config, now).as_submitted(state.most)
    basis = planning_basis(workspace, situation, now)
    if shadow:
        record_observation(config, workspace.ledger, cluster)
    start = _shadow_start(workspace, situation, now) or running_start(state)
    folders = {source: Path(entry.folder) for source, entry in basis.entries.items()} | dict(basis.profiles)
    return PlanRequest(
        situation,
        now,
        replace(
            question_of(workspace, situation.config, basis, start), candidates=_proposed(candidates or {}, situation)
        ),
        {source: folders[source] for source in basis.forecasts},
        basis.entries,
        start,
        state.plan,
        candidates or {},
    )


def _proposed(candidates: Mapping[str, PhysicalPlan], situation: Situation) -> dict[str, str]:
    """Ids of the plans by name. Raises BoundError for a candidate beyond the limits."""
    for name, plan in candidates.items():
        fewest = situation.config.planning.min_parallelism
        for excess in (*too_many(plan, situation.limits), *too_few(plan, fewest)):
            raise BoundError(replace(excess, candidate=name))
    return {name: plan.plan_id for name, plan in candidates.items()}


def request_case(
    workspace: Workspace, request: PlanRequest, forecasts: Mapping[str, Forecast]
) -> tuple[Situation, PlanningCase]:
    """The situation, calibrated on the cluster now, and the case in it. Raises PlanError if there is nothing to plan
    by.
    """
    if not request.basis.rung.plans:
        raise PlanError(
            f"topology {request.config.topology!r}: {basis_summary(request.basis)}; plan it alone to record that"
        )
    cluster = workspace.cluster(request.config)
    calibrated = calibrated_situation(workspace, request.situation, cluster)
    case = planning_case(workspace, calibrated, cluster, forecasts, request.start, request.basis)
    return calibrated.situation, replace(case, candidates=request.candidates)


def request_schedule(
    workspace: Workspace,
    request: PlanRequest,
    case: PlanningCase,
    forecasts: Mapping[str, Forecast],
    at_most: int | None = None,
) -> ScalingSchedule:
    """at_most: instances, as in PlanningCase.planned. Raises PlanError if the forecasts are over."""
    joined = joint_forecasts(request.situation, workspace.ledger, forecasts)
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
    situation: Situation,
    entry: ScheduleEntry,
    forecasts: Mapping[str, Forecast],
    last_day: LastDay | None = None,
) -> ProposedSchedule:
    """Approve what needs no review, write and track the report; in shadow mode accrue the days.
    last_day: the day before the decision under other policies, for the report; a fleet leaves that out.
    """
    config = request.config
    if request.basis.rung.plans:
        settle(config, workspace.ledger, entry, request.now)
    if config.planning.shadow:
        _accrue(workspace, config)
    written = write_schedule_report(workspace, situation, entry, forecasts, last_day=last_day)
    track_schedule(workspace, request.entries, entry, written.path)
    return proposed(config, workspace.ledger, entry, forecasts, written, last_day)


def _shadow_start(workspace: Workspace, situation: Situation, now: datetime) -> Start | None:
    """The plan that would run; None outside shadow mode, and at its beginning, when that is the running plan."""
    config = situation.config
    span = workspace.ledger.shadow.span(config.topology) if config.planning.shadow else None
    if span is None or set(span.first.parallelism) != set(config.operators):
        return None
    if not (followed := span.followed(now)):
        return Start(span.first, None)
    last = followed[-1]
    learned = situation.learned
    terms = change_terms_of(learned.planning, config.forecast.every_s, learned.restore, learned.warmed.warm_up)
    down_s = terms.down_s(config.as_topology(), last.replaces, last.plan)
    ahead_s = terms.stops_after_s(last.replaces, last.plan) + down_s
    return Start(last.plan, last.deploy_at + timedelta(seconds=ahead_s))


def _accrue(workspace: Workspace, config: TopologyConfig) -> None:
    """Planning goes on if a day of the shadow cannot be accrued: `forescale replay --live` says why."""
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
