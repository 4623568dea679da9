"""A plan that a person requests, as an approved step of the ledger."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.jobs.planning_case import changes_before
from forescale.jobs.step_to_deploy import StepToDeploy
from forescale.situation.workspace import Workspace
from forescale.wiring.planning_terms import change_terms_of, planned_limits_of, rules_of
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.rescaling.state_restore import NO_RESTORE
from planner.edit_facts import LimitPassed
from planner.edited_steps import check_bounds, check_override, limits_passed
from planner.errors import PlanError
from planner.horizon.horizon_plan import Change, Present
from planner.step_cause import StepCause, StepCauseKind

logger = logging.getLogger(__name__)

GOOD_FOR = timedelta(hours=1)
"""How long after its time a requested plan may still be deployed."""


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
        why=StepCause(StepCauseKind.ASKED_FOR, by=by, detail=why.strip(), limits=passed),
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
        learned = workspace.situation(config).with_ledger(workspace.ledger.past_damage()).learned
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


def _checked(deploy_at: datetime, now: datetime) -> datetime:
    if deploy_at.tzinfo is None:
        raise PlanError(f"deploy time {deploy_at.isoformat()} has no time zone; give it like 2026-03-01T06:45:00+00:00")
    if deploy_at < now - timedelta(minutes=1):
        raise PlanError(
            f"deploy time {deploy_at.isoformat()} is past, it is {now.isoformat()}; leave it out to deploy at once"
        )
    return deploy_at.astimezone(UTC)
