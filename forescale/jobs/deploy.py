"""Deployment of a schedule's step, and of a plan that a person requests."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from forescale.codec import Moment
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.jobs.clock_check import set_aside_what_is_ahead
from forescale.jobs.deployment_lock import deployment_lock
from forescale.jobs.planning_case import changes_before
from forescale.situation.known_guard import known_guard
from forescale.situation.learned_rescale import learned_planning
from forescale.situation.workspace import Workspace
from forescale.wiring.backlogs import recorded_backlogs
from forescale.wiring.parts import (
    change_terms_of,
    planned_limits_of,
    rules_of,
)
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.rescaling.state_restore import NO_RESTORE
from planner.clusters.cluster import Cluster
from planner.deployment import Deployment, Patience, deploy_step
from planner.edit_facts import LimitPassed
from planner.edited_steps import check_bounds, check_override, limits_passed
from planner.errors import DeploymentFailed, DeploymentUnderWay, PlanError, StepWithheld
from planner.horizon.horizon_plan import Change, Present
from planner.ledger.entries import StepEntry
from planner.ledger.step_state import TO_DEPLOY, UNDER_WAY, WAITING, Maker
from planner.withheld_steps import withheld_because, withhold

logger = logging.getLogger(__name__)

GOOD_FOR = timedelta(hours=1)
"""How long after its time a requested plan may still be deployed."""


@dataclass(frozen=True)
class StepToDeploy:
    """An approved step of the ledger."""

    step_id: str
    deploy_at: Moment


@dataclass(frozen=True)
class DueSteps:
    """What was done with the steps of a topology. expired: ids of those whose time has passed; failed: reasons by id.
    held: reasons by id of steps not deployed now: approved before the topology was put in shadow mode, withheld
    because the job needs the instances they would remove, or being deployed by another process.
    """

    expired: tuple[str, ...]
    deployed: tuple[Deployment, ...]
    failed: Mapping[str, str]
    held: Mapping[str, str] = field(default_factory=dict)


def request_deployment(
    workspace: Workspace,
    topology: str,
    *,
    parallelism: Mapping[str, int],
    deploy_at: datetime | None,
    by: str,
    request_id: str,
    why: str = "",
    override: bool = False,
) -> StepToDeploy:
    """Record a plan that a person requests as an approved step; once per request_id.

    Operators that `parallelism` does not name keep their running parallelism. deploy_at: None for at once. In shadow
    mode it is deployed too: only forescale itself does not act there, and what people deploy is what really runs.
    override: limits that protect the job may be exceeded, for a reason that is recorded. Raises ModelError for an
    invalid plan, PlanError for a time that is past or has no zone, and for exceeded limits without override.
    """
    config = workspace.config(topology)
    clock, ledger = workspace.clock, workspace.ledger
    known = ledger.hand_made_step(config.topology, request_id)
    if known is not None and parallelism.items() <= known.plan.parallelism.items():
        return StepToDeploy(known.id, known.deploy_at)  # already checked at the first request
    now = clock.now()
    deploy_at = now if deploy_at is None else _checked(deploy_at, now)
    running = workspace.cluster(config).state().plan
    plan = PhysicalPlan(config.topology, {**running.parallelism, **parallelism})
    check_bounds(plan, config.as_topology(), planned_limits_of(config.planning))
    passed = _limits_passed(workspace, config, running, plan, deploy_at)
    check_override(passed, override=override, why=why)
    step_id = ledger.record_hand_made_step(
        request_id,
        plan,
        replaces=running,
        deploy_at=deploy_at,
        expires_at=deploy_at + GOOD_FOR,
        at=now,
        by=by,
        why=f"asked for by {by}"
        + (f" ({why.strip()})" if why.strip() else "")
        + (f", which overrides: {'; '.join(map(str, passed))}" if passed else ""),
    )
    return StepToDeploy(step_id, ledger.step(step_id).deploy_at)


def _limits_passed(
    workspace: Workspace,
    config: TopologyConfig,
    running: PhysicalPlan,
    plan: PhysicalPlan,
    deploy_at: datetime,
) -> tuple[LimitPassed, ...]:
    """Limits that the change from the running plan exceeds; the running plan itself exceeds none."""
    if plan.same_parallelism(running):
        return ()
    planning, restore = config.planning, NO_RESTORE
    try:
        learned = learned_planning(workspace.situation(config), workspace.ledger.past_damage())
        planning, restore = learned.planning, learned.restore
    except FileError as error:  # a damaged file must not prevent a deployment by hand
        logger.warning("limits of %s are judged by its file alone: %s", config.topology, error)
    at_s = deploy_at.timestamp()
    return limits_passed(
        [Change(plan, at_s)],
        0,
        config.as_topology(),
        change_terms_of(planning, config.forecast.every_s, restore),
        Present(at_s, running.parallelism, changes=changes_before(workspace.ledger, config.topology, deploy_at)),
        rules_of(config.planning, deploy_at, deploy_at + timedelta(days=1)),
        config.planning.min_parallelism,
    )


def deploy(workspace: Workspace, step_id: str) -> Deployment:
    """Deploy a step that is due. Safe to run again after a kill.

    Raises DeploymentFailed when the plan was refused or had to be undone, PlanError when the step is not approved, not
    due or of a topology in shadow mode, DeploymentUnderWay while another process deploys it. StepWithheld (the job
    needs the instances it would remove) and ClusterError (the cluster cannot be reached) may be retried.
    """
    workspace.ledger.step(step_id)  # an unknown step leaves no lock, which tells of a deployment
    with deployment_lock(workspace, step_id) as alone:
        if not alone:
            raise DeploymentUnderWay(f"step {step_id} is deployed by another process right now; see how that ends")
        return _deployed(workspace, step_id)


def _deployed(workspace: Workspace, step_id: str) -> Deployment:
    clock, ledger = workspace.clock, workspace.ledger
    step = ledger.step(step_id)
    config = workspace.config(step.topology)
    if why := _withheld_because(config, step):
        raise PlanError(why)
    cluster = workspace.cluster(config)
    _refuse_withheld(step, config, workspace, cluster)
    planning = config.planning
    patience = Patience(planning.deploy_timeout_s, hold_s=planning.hold_s, catch_up_s=planning.max_catch_up_s)
    deployment = deploy_step(
        step_id,
        ledger,
        cluster,
        clock,
        by="deploy",
        patience=patience,
        backlogs=recorded_backlogs(config, cluster, ledger, clock),
        floor_within=planning.max_instances if planning.floor else None,
    )
    if deployment.undone:
        raise DeploymentFailed(f"step {step_id} ({step.plan.brief()}): {deployment.detail}")
    return deployment


def deploy_due(workspace: Workspace, topology: str) -> DueSteps:
    """Deploy every approved step that is due, resume interrupted deployments, and call off steps whose time has passed.

    For installations without Airflow, run from cron every minute or so.
    """
    config = workspace.config(topology)
    ledger, now = workspace.ledger, workspace.clock.now()
    set_aside_what_is_ahead(workspace, config, now, by="deploy")
    expired = ledger.expire_steps(now, by="deploy", topology=config.topology)
    deployed, failed, held = [], {}, {}
    cut_short = ledger.steps(topology=config.topology, states=UNDER_WAY)
    for step in (*cut_short, *ledger.due_steps(now, topology=config.topology)):
        if why := _withheld_because(config, step):
            held[step.id] = why
            continue
        try:
            deployed.append(deploy(workspace, step.id))
        except (StepWithheld, DeploymentUnderWay) as withheld:
            held[step.id] = str(withheld)
        except DeploymentFailed as failure:
            failed[step.id] = str(failure)
    return DueSteps(tuple(expired), tuple(deployed), failed, held)


def approved_steps(workspace: Workspace, schedule_id: str) -> tuple[StepToDeploy, ...]:
    """The approved steps of a schedule, whoever approved them."""
    steps = workspace.ledger.steps(schedule_id=schedule_id, states=TO_DEPLOY)
    return tuple(StepToDeploy(step.id, step.deploy_at) for step in steps)


def _withheld_because(config: TopologyConfig, step: StepEntry) -> str:
    """Why a step is not deployed in shadow mode; empty if it is. A deployment that has begun is finished, and a plan
    that a person requested is deployed.
    """
    of_person = step.made_by is Maker.PERSON
    if not config.planning.shadow or of_person or step.state not in WAITING:
        return ""
    return (
        f"step {step.id} is not deployed: topology {config.topology!r} is in shadow mode; set "
        "planning.mode: act in its file, or deploy a plan of yours with `forescale deploy plan`"
    )


def _refuse_withheld(step: StepEntry, config: TopologyConfig, workspace: Workspace, cluster: Cluster) -> None:
    ledger, now = workspace.ledger, workspace.clock.now()
    step = ledger.take_withheld_places(step, at=now, by="deploy")
    topology, terms = config.as_topology(), known_guard(workspace, config).terms
    if why := withheld_because(step, topology, terms, ledger, cluster, now):
        raise StepWithheld(withhold(step, why, ledger, now, "deploy"))


def _checked(deploy_at: datetime, now: datetime) -> datetime:
    if deploy_at.tzinfo is None:
        raise PlanError(f"deploy time {deploy_at.isoformat()} has no time zone; give it like 2026-03-01T06:45:00+00:00")
    if deploy_at < now - timedelta(minutes=1):
        raise PlanError(
            f"deploy time {deploy_at.isoformat()} is past, it is {now.isoformat()}; leave it out to deploy at once"
        )
    return deploy_at.astimezone(UTC)
