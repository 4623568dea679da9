"""Deployment: of a step of a schedule, and of a plan that a person asks for."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from forecasting.errors import TrackingError
from forescale.codec import Moment
from forescale.settings import Settings
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config, tracker_of
from modeling.inputs.physical_plan import PhysicalPlan
from planner.deployment import Deployment, Patience, deploy_step
from planner.errors import PlanError
from planner.ledger.entries import StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState

logger = logging.getLogger(__name__)

GOOD_FOR = timedelta(hours=1)
"""How long after its time a plan that a person asked for may still be deployed."""


class DeploymentFailed(RuntimeError):  # noqa: N818 (it is what happened, and nothing is wrong with the call)
    """The plan was refused or did not hold, and the one before it runs again. The message says why."""


@dataclass(frozen=True)
class StepToDeploy:
    """An approved step of the ledger."""

    step_id: str
    deploy_at: Moment


@dataclass(frozen=True)
class DueSteps:
    """What was done about the steps of a topology. expired: ids of those whose time has gone by; failed: why, by id."""

    expired: tuple[str, ...]
    deployed: tuple[Deployment, ...]
    failed: Mapping[str, str]


def request_deployment(
    settings: Settings,
    topology: str,
    *,
    parallelism: Mapping[str, int],
    deploy_at: datetime | None,
    by: str,
    request_id: str,
) -> StepToDeploy:
    """Keep a plan that a person asks for as an approved step; once for a request_id.

    Operators that `parallelism` does not name keep what they run with. deploy_at: None for at once.
    Raises ModelError for a plan that cannot be, PlanError for a time that is past or has no zone.
    """
    config = topology_config(topology, settings)
    clock, ledger = clock_of(settings), ledger_of(settings)
    now = clock.now()
    deploy_at = now if deploy_at is None else _checked(deploy_at, now)
    running = cluster_of(config, settings, clock).state().plan
    plan = PhysicalPlan(config.topology, {**running.parallelism, **parallelism})
    plan.check(config.as_topology())
    step_id = ledger.record_hand_made_step(
        request_id,
        plan,
        replaces=running,
        deploy_at=deploy_at,
        expires_at=deploy_at + GOOD_FOR,
        at=now,
        by=by,
        why=f"asked for by {by}",
    )
    return StepToDeploy(step_id, ledger.step(step_id).deploy_at)


def deploy(settings: Settings, step_id: str) -> Deployment:
    """Deploy a step that is due. Safe to run again after a kill.

    Raises DeploymentFailed when the plan was refused or had to be undone, PlanError when the step is not approved or
    not due, ClusterError when the cluster cannot be reached (run it again).
    """
    clock, ledger = clock_of(settings), ledger_of(settings)
    step = ledger.step(step_id)
    config = topology_config(step.topology, settings)
    cluster = cluster_of(config, settings, clock)
    patience = Patience(config.planning.deploy_timeout_s, hold_s=config.planning.hold_s)
    deployment = deploy_step(step_id, ledger, cluster, clock, by="deploy", patience=patience)
    _track(settings, ledger, step, f"{deployment.state}: {deployment.detail}")
    if deployment.undone:
        raise DeploymentFailed(f"step {step_id} ({step.plan.brief()}): {deployment.detail}")
    return deployment


def deploy_due(settings: Settings, topology: str) -> DueSteps:
    """Deploy every approved step whose time has come, and call off those whose time has gone by.

    For installations without Airflow, run from cron every minute or so.
    """
    name = topology_config(topology, settings).topology
    ledger, now = ledger_of(settings), clock_of(settings).now()
    expired = ledger.expire_steps(now, by="deploy", topology=name)
    deployed, failed = [], {}
    for step in ledger.due_steps(now, topology=name):
        try:
            deployed.append(deploy(settings, step.id))
        except DeploymentFailed as failure:
            failed[step.id] = str(failure)
    return DueSteps(tuple(expired), tuple(deployed), failed)


def approved_steps(settings: Settings, schedule_id: str) -> tuple[StepToDeploy, ...]:
    """Steps of a schedule that were approved, wherever that was done."""
    steps = ledger_of(settings).steps(schedule_id=schedule_id, states=(StepState.APPROVED, StepState.DUE))
    return tuple(StepToDeploy(step.id, step.deploy_at) for step in steps)


def _checked(deploy_at: datetime, now: datetime) -> datetime:
    if deploy_at.tzinfo is None:
        raise PlanError(f"deploy time {deploy_at.isoformat()} has no time zone; give it like 2026-03-01T06:45:00+00:00")
    if deploy_at < now - timedelta(minutes=1):
        raise PlanError(
            f"deploy time {deploy_at.isoformat()} is past, it is {now.isoformat()}; leave it out to deploy at once"
        )
    return deploy_at.astimezone(UTC)


def _track(settings: Settings, ledger: Ledger, step: StepEntry, outcome: str) -> None:
    """The plan's outcome on the runs of the forecasts that it was derived from.

    A deployment does not fail because the tracking server is away: the ledger has its outcome.
    """
    if step.schedule_id is None:
        return
    tracker = tracker_of(settings)
    try:
        for entry in ledger.forecasts_of(step.schedule_id):
            tracker.link_decision(entry.run_id, {f"outcome {step.position}": outcome})
    except TrackingError as error:
        logger.warning("the outcome of step %s is not in MLflow: %s", step.id, error)
