"""The report of a decision: written when it is made, and again later with its outcome."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from forecasting.arrivals.history import ArrivalHistory
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError, TrackingError
from forecasting.forecast import Forecast
from forescale.files.atomic import write_whole
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.jobs.last_day import day_before
from forescale.jobs.rungs import recorded_basis
from forescale.report.decision.decision import CapacityStep, DecisionOutcome, DecisionReport
from forescale.report.decision.page import decision_picture, render_report
from forescale.report.kit.local_time import LocalTime
from forescale.report.kit.step_reasons import reason_words, state_reasons
from forescale.situation.past import accrued_days, past_minutes
from forescale.situation.situation import Situation
from forescale.situation.workspace import Workspace
from forescale.wiring.engines.registry import cluster_kind
from modeling.errors import ModelError
from planner.errors import PlanError
from planner.horizon.capacity_use import CapacityUse
from planner.horizon.ladder import ladder_of
from planner.horizon.outlook import Outlook, outlook
from planner.lag_record import LagRecord
from planner.ledger.entries import ForecastEntry, ScheduleEntry, ShadowDay
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState
from planner.plan_model import PlanModel
from planner.replay.last_day import LastDay
from planner.scaling_schedule import ScalingSchedule

logger = logging.getLogger(__name__)

RECENT = timedelta(days=2)
_TRACKED_SCHEDULES = 3
"""Of a topology, the newest: steps of older ones have ended long ago."""


@dataclass(frozen=True)
class WrittenReport:
    """notes: of the model, on what it leaves out of the estimates of the running plan."""

    path: Path
    notes: tuple[str, ...]


def report(workspace: Workspace, schedule_id: str) -> Path:
    """Write the report of a recorded schedule again, with its outcome so far. Returns its path."""
    ledger = workspace.ledger
    made = ledger.schedule(schedule_id)
    config = workspace.config(made.schedule.topology)
    _check_plans(config, made)
    basis = recorded_basis(workspace, made)
    outcome = _outcome(workspace, config, made)
    if outcome is not None:
        _record_violations(ledger, made, outcome, config.planning.max_lag_s)
    situation = workspace.situation(config)
    last_day = day_before(workspace, situation, made)
    written = write_schedule_report(workspace, situation, made, basis.forecasts, outcome=outcome, last_day=last_day)
    track_schedule(workspace, basis.entries, made, written.path)
    return written.path


def _check_plans(config: TopologyConfig, entry: ScheduleEntry) -> None:
    """Raises PlanError if the topology file is no longer that of the schedule."""
    topology = config.as_topology()
    try:
        for plan in (entry.schedule.current, *(step.plan for step in entry.schedule.steps)):
            plan.check(topology)
    except ModelError as error:
        raise PlanError(
            f"schedule {entry.id} does not fit the topology file ({error}); restore the file of that time to write the "
            "report again"
        ) from None


def track_schedule(
    workspace: Workspace, entries: Mapping[str, ForecastEntry], made: ScheduleEntry, report: Path
) -> None:
    """Write the plans and their report to the MLflow runs of the forecasts, and how the steps of the last schedules
    ended: a deployment waits for no tracking server. Planning goes on while that does not answer; writing the report
    again makes up for it.
    """
    tracker = workspace.tracker
    plans = " | ".join(f"{step.deploy_at:%m-%d %H:%M} {step.plan.brief()}" for step in made.schedule.steps)
    tags = {"schedule": made.id, "plans": plans or f"hold {made.schedule.current.brief()}"}
    try:
        for run_id in dict.fromkeys(entry.run_id for entry in entries.values()):  # one batch forecasts many sources
            tracker.link_decision(run_id, tags)
            tracker.log_report(run_id, report)
        _track_outcomes(workspace, made)
    except TrackingError as error:
        logger.warning("schedule %s and its report are not in MLflow: %s", made.id, error)


def _track_outcomes(workspace: Workspace, made: ScheduleEntry) -> None:
    """Raises TrackingError."""
    ledger = workspace.ledger
    last = [each.id for each in ledger.schedules(made.schedule.topology, limit=_TRACKED_SCHEDULES)]
    for schedule_id in dict.fromkeys((made.id, *last)):
        ended = ledger.steps(schedule_id=schedule_id, states=(StepState.VERIFIED, StepState.ROLLED_BACK))
        if tags := {f"outcome {step.position}": f"{step.state}: {reason_words(step)}" for step in ended}:
            for run_id in dict.fromkeys(forecast.run_id for forecast in ledger.forecasts_of(schedule_id)):
                workspace.tracker.link_decision(run_id, tags)


def write_schedule_report(
    workspace: Workspace,
    situation: Situation,
    entry: ScheduleEntry,
    forecasts: Mapping[str, Forecast],
    *,
    outcome: DecisionOutcome | None = None,
    last_day: LastDay | None = None,
) -> WrittenReport:
    """Write the page, and beside it the picture for the review. Both show the last 36 hours before the decision.

    outcome: of the decision, once known. last_day: the day before the decision under other policies.
    """
    config, schedule = situation.config, entry.schedule
    planning, steps = config.planning, workspace.ledger.steps(schedule_id=entry.id)
    max_utilisation = planning.max_utilisation or 1.0
    profiles, model = situation.profiles, situation.model
    ahead = _outlook(config, schedule, forecasts) if schedule.basis.rung.plans else None
    decision = DecisionReport(
        schedule_id=entry.id,
        schedule=schedule,
        history=_recent_history(situation, schedule.made_at),
        forecasts=forecasts,
        capacity=() if ahead is None else planned_capacity(schedule, ahead, model, max_utilisation),
        profiles=profiles,
        max_utilisation=max_utilisation,
        max_lag_s=planning.max_lag_s,
        now_estimate=None if ahead is None else model.estimate(schedule.current, busiest_per_s(schedule, ahead, model)),
        step_estimates={}
        if ahead is None
        else {index: model.estimate(step.plan, step.load_per_s) for index, step in enumerate(schedule.steps)},
        declared=config.declared_profiles(),
        links={source: workspace.tracker.run_url(one.run_id) for source, one in forecasts.items() if one.run_id},
        states={number: str(step.state) for number, step in enumerate(steps)},
        reasons=state_reasons(steps),
        outcome=outcome,
        shadow_days=_shadow_days(workspace.ledger, entry) if entry.shadow else None,
        past=past_minutes(workspace.ledger, config.topology, schedule.made_at, shadow=entry.shadow),
        last_day=last_day,
        local=LocalTime(config.local_timezone),
    )
    folder = workspace.settings.reports_dir / config.topology
    page = render_report(decision)
    try:
        write_whole(decision_picture(decision), folder / f"{entry.id}.svg")
        written = write_whole(page, folder / f"{entry.id}.html")
    except OSError as error:
        raise FileError(
            f"schedule {entry.id} of {config.topology} is recorded and stands, as `forescale plan list "
            f"{config.topology}` shows; only its page was not written: {error.filename or folder}: {error.strerror}; "
            f"make room there, then run: forescale plan show {entry.id}"
        ) from None
    workspace.ledger.record_report(entry.id, str(written))
    return WrittenReport(written, decision.now_estimate.notes if decision.now_estimate else ())


def _shadow_days(ledger: Ledger, entry: ScheduleEntry) -> tuple[ShadowDay, ...]:
    """Days accrued since its shadow began; empty once another shadow has begun."""
    span = ledger.shadow.span(entry.schedule.topology)
    return () if span is None else accrued_days(ledger, span, entry.schedule.topology)


def _recent_history(situation: Situation, made_at: datetime) -> ArrivalHistory | None:
    """The last two days before the decision; None if they are unknown."""
    try:
        return situation.history.between(made_at - RECENT, made_at)
    except HistoryError as error:
        logger.warning("the report of %s shows no arrivals: %s", situation.config.topology, error)
        return None


def _outlook(config: TopologyConfig, schedule: ScalingSchedule, forecasts: Mapping[str, Forecast]) -> Outlook:
    """Raises PlanError if the forecasts do not reach beyond the schedule."""
    sources = config.as_topology().sources
    ahead = outlook(forecasts, sources, schedule.made_at.timestamp()) if forecasts else None
    if ahead is None:
        raise PlanError(f"schedule of {schedule.topology!r} has no forecast beyond {schedule.made_at}; plan again")
    return ahead


def _outcome(workspace: Workspace, config: TopologyConfig, entry: ScheduleEntry) -> DecisionOutcome | None:
    """The arrivals, lag and steps after the decision, as far as known; None while nothing is. If a cluster keeps no
    record of its lag, something is known only after a step has been deployed.
    """
    schedule, clock = entry.schedule, workspace.clock
    start, end = schedule.made_at, min(schedule.end, clock.now())
    # A shadow did not cause what ran: `forescale replay --live` compares the two.
    if entry.shadow or end <= start:
        return None
    steps = {
        step.position - 1: known
        for step in workspace.ledger.steps(schedule_id=entry.id)
        if (known := workspace.ledger.outcome(step.id)) is not None
    }
    record = workspace.cluster(config).record(start, end)
    if record is None:
        minutes = int((end - start).total_seconds() // 60)
        lag = LagRecord(start, 60, np.full(minutes, np.nan)) if steps else None
    else:
        lag = record.lag if record.minute.size else None
    if lag is None:
        return None
    truth = cluster_kind(config.cluster).truth
    folder = workspace.settings.history_dir if truth is None else truth(config.cluster, workspace.settings)
    arrived = {
        name: series.between(start, end)
        for name, series in read_history(folder, config.topology).series.items()
        if min(end, series.end) - max(start, series.start) >= timedelta(seconds=2 * series.window_s)
    }
    return DecisionOutcome(ArrivalHistory(config.topology, arrived), lag, steps) if arrived else None


def _record_violations(ledger: Ledger, entry: ScheduleEntry, outcome: DecisionOutcome, max_lag_s: float) -> None:
    """Record in the ledger the violation minutes while each step's plan ran."""
    for step in ledger.steps(schedule_id=entry.id):
        known = ledger.outcome(step.id)
        if known is None or known.verified_at is None or outcome.lag.largest_s is None:
            continue
        missed = outcome.lag.between(step.deploy_at, step.expires_at).violation_minutes(max_lag_s)
        ledger.record_outcome(replace(known, violation_minutes=int(missed)))


def busiest_per_s(schedule: ScalingSchedule, ahead: Outlook, model: PlanModel) -> dict[str, float]:
    """Rates by source at which the plan that runs before all steps would be busiest, at the schedule's quantile."""
    peak = CapacityUse(ahead, ladder_of([schedule.current], model)).peak_per_s(0, schedule.quantile)
    return dict(zip(model.topology.sources, peak.tolist(), strict=True))


def planned_capacity(
    schedule: ScalingSchedule, ahead: Outlook, model: PlanModel, max_utilisation: float
) -> tuple[CapacityStep, ...]:
    """Of several sources, each for itself while the others come at the median of their forecasts, which changes with
    every step of the outlook.
    """
    placed, sources = schedule.plans_running(), model.topology.sources
    plans = list({plan.plan_id: plan for plan, _, _ in placed}.values())
    load_per_s = np.median(ahead.rate_per_s, axis=2)
    if len(sources) == 1:
        load_per_s = load_per_s[:, :1]
    highest = dict(zip(sources, load_per_s.max(axis=1).tolist(), strict=True))
    all_of_it = ladder_of(plans, model, load_per_s=highest).beside_per_s(load_per_s)
    usable = ladder_of(plans, model, max_utilisation, highest).beside_per_s(load_per_s)
    number = {plan.plan_id: at for at, plan in enumerate(plans)}
    edges = [datetime.fromtimestamp(ahead.start_s + edge_s, UTC) for edge_s in ahead.edges_s.tolist()]
    steps = []
    for plan, start, end in placed:
        inner = [edge for edge in edges[1:-1] if start < edge < end] if len(sources) > 1 else []
        for begin, until in zip([start, *inner], [*inner, end], strict=True):
            at = min(ahead.step_at(begin.timestamp() - ahead.start_s), load_per_s.shape[1] - 1)
            mst, within = (
                dict(zip(sources, most[number[plan.plan_id], :, max(at, 0)].tolist(), strict=True))
                for most in (all_of_it, usable)
            )
            steps.append(CapacityStep(begin, until, plan, mst, within))
    return tuple(steps)
