"""The report of a decision: written when it is made, and again afterwards with what came of it."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from forecasting.arrivals.history import ArrivalHistory
from forecasting.arrivals.store import read_history
from forecasting.errors import TrackingError
from forecasting.forecast import Forecast
from forecasting.forecast_file import read_forecast
from forescale.files.topology import SimulatorEntry, TopologyConfig
from forescale.jobs.decision import decision_of
from forescale.jobs.known_profiles import kept_profiles
from forescale.report.decision.decision import DecisionOutcome, StepOutcome
from forescale.report.decision.page import write_report
from forescale.settings import Settings
from forescale.wiring.arrivals import below
from forescale.wiring.parts import clock_of, ledger_of, simulator_of, topology_config, tracker_of
from planner.ledger.entries import ScheduleEntry
from planner.ledger.ledger import Ledger

logger = logging.getLogger(__name__)


def report(settings: Settings, schedule_id: str) -> Path:
    """Write the report of a recorded schedule anew, with what has come of it so far. Its path."""
    ledger = ledger_of(settings)
    made = ledger.schedule(schedule_id)
    config = topology_config(made.schedule.topology, settings)
    folders = {entry.source: entry for entry in ledger.forecasts_of(schedule_id)}
    forecasts = {source: read_forecast(Path(entry.folder)) for source, entry in folders.items()}
    outcome = _outcome(config, settings, ledger, made)
    if outcome is not None:
        _record_violations(ledger, made, outcome, config.planning.max_lag_s)
    path = write_schedule_report(config, settings, ledger, made, forecasts, outcome=outcome)
    tracker = tracker_of(settings)
    try:
        for entry in folders.values():
            tracker.log_report(entry.run_id, path)
    except TrackingError as error:
        logger.warning("the report %s is not in MLflow: %s", path, error)
    return path


def write_schedule_report(
    config: TopologyConfig,
    settings: Settings,
    ledger: Ledger,
    made: ScheduleEntry,
    forecasts: Mapping[str, Forecast],
    *,
    outcome: DecisionOutcome | None = None,
) -> Path:
    steps = ledger.steps(schedule_id=made.id)
    decision = decision_of(
        config,
        made.id,
        made.schedule,
        read_history(settings.history_dir, config.topology),
        forecasts,
        kept_profiles(config, settings),
        links=_run_links(settings, forecasts),
        states={number: str(step.state) for number, step in enumerate(steps)},
        outcome=outcome,
    )
    written = write_report(decision, settings.reports_dir / config.topology / f"{made.id}.html")
    ledger.record_report(made.id, str(written))
    return written


def _run_links(settings: Settings, forecasts: Mapping[str, Forecast]) -> dict[str, str]:
    """MLflow run per source; none while the tracking server is away: a report is needed then more than ever."""
    tracker = tracker_of(settings)
    try:
        return {source: tracker.run_url(forecast.run_id) for source, forecast in forecasts.items()}
    except TrackingError as error:
        logger.warning("the report has no links to MLflow: %s", error)
        return {}


def _outcome(config: TopologyConfig, settings: Settings, ledger: Ledger, made: ScheduleEntry) -> DecisionOutcome | None:
    """What came after the decision, as far as it is known; None while nothing is."""
    schedule, clock = made.schedule, clock_of(settings)
    end = min(schedule.end, clock.now())
    if not isinstance(config.cluster, SimulatorEntry) or end <= schedule.made_at:
        return None
    record = simulator_of(config, config.cluster, settings, clock).record(schedule.made_at, end)
    if not record.minute.size:
        return None
    truth = read_history(Path(below(settings.home, config.cluster.truth)), config.topology)
    outcomes = {step.position - 1: ledger.outcome(step.id) for step in ledger.steps(schedule_id=made.id)}
    return DecisionOutcome(
        arrivals=ArrivalHistory(
            config.topology, {name: series.between(schedule.made_at, end) for name, series in truth.series.items()}
        ),
        lag=record.lag,
        steps={
            position: StepOutcome(known.verified_at, known.downtime_s)
            for position, known in outcomes.items()
            if known is not None
        },
    )


def _record_violations(ledger: Ledger, made: ScheduleEntry, outcome: DecisionOutcome, max_lag_s: float) -> None:
    """In the ledger, the minutes in which the target was missed while each step's plan ran."""
    for step in ledger.steps(schedule_id=made.id):
        known = ledger.outcome(step.id)
        if known is None or known.verified_at is None:
            continue
        missed = outcome.lag.between(step.deploy_at, step.expires_at).violation_minutes(max_lag_s)
        ledger.record_outcome(replace(known, violation_minutes=int(missed)))
