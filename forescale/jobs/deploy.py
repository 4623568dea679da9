"""Deployment of the steps that are due: of a schedule, and of plans that a person requested."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from shlex import quote

from forescale.codec import Moment
from forescale.files.topology import TopologyConfig
from forescale.jobs.clock_check import set_aside_what_is_ahead
from forescale.jobs.locks import deployment_lock
from forescale.jobs.step_to_deploy import StepToDeploy
from forescale.report.kit.guard_words import reason_words
from forescale.report.kit.step_reasons import why_words
from forescale.situation.known_guard import known_guard
from forescale.situation.workspace import Workspace
from forescale.wiring.backlogs import recorded_backlogs
from forescale.wiring.planning_terms import planned_limits_of
from modeling.inputs.physical_plan import PhysicalPlan, adds_instances
from planner.clusters.cluster import Cluster
from planner.clusters.offered_cluster import OfferedCluster
from planner.deployment import Deployment, Patience, deploy_step
from planner.errors import DeploymentFailed, DeploymentUnderWay, PlanError, StepWithheld
from planner.ledger.entries import StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import TO_DEPLOY, UNDER_WAY, WAITING, Maker, StepState
from planner.limits import too_many
from planner.withheld_steps import withheld_because, withhold


@dataclass(frozen=True)
class ComingStep:
    """An approved step that is not due yet. plan: in words."""

    step_id: str
    deploy_at: Moment
    plan: str


@dataclass(frozen=True)
class DueSteps:
    """What was done with the steps of a topology. expired: ids of those whose time has passed; failed: reasons by id.
    held: reasons by id of steps not deployed now: approved before the topology was put in shadow mode, withheld
    because the job needs the instances they would remove, or being deployed by another process. coming: the next
    approved step, None if there is none. unanswered: number of steps that wait for an approval.
    """

    expired: tuple[str, ...]
    deployed: tuple[Deployment, ...]
    failed: Mapping[str, str]
    held: Mapping[str, str] = field(default_factory=dict)
    coming: ComingStep | None = None
    unanswered: int = 0

    @property
    def were_none(self) -> bool:
        """Whether nothing was due."""
        return not (self.expired or self.deployed or self.failed or self.held)


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


def check_runs_on(workspace: Workspace, step_id: str) -> None:
    """Raises PlanError, for a person who would deploy it, for a verified step whose plan another step has replaced."""
    step = workspace.ledger.step(step_id)
    if step.state is StepState.VERIFIED and (other := replaced_since(step, workspace.ledger)) is not None:
        raise PlanError(
            f"step {step_id} is not deployed again: it was verified at {step.updated_at:%Y-%m-%d %H:%M} UTC, and step "
            f"{other.id} has put {other.plan.brief()} in its place; to return: "
            f"`{deploy_now_words(step.plan, other.plan)}`"
        )


def replaced_since(step: StepEntry, ledger: Ledger) -> StepEntry | None:
    """The last step that was verified after this one, if its plan is another; None if this step's plan runs on."""
    verified = ledger.steps(topology=step.topology, states=(StepState.VERIFIED,), changed_since=step.updated_at)
    last = max(verified, key=lambda each: (each.updated_at, each.deploy_at), default=step)
    return None if last.plan.same_parallelism(step.plan) else last


def deploy_now_words(plan: PhysicalPlan, running: PhysicalPlan) -> str:
    """The command that puts a plan in place of the one that runs: operators that it does not name keep theirs."""
    other = {name: count for name, count in plan.parallelism.items() if running.parallelism.get(name) != count}
    counts = " --set ".join(quote(f"{name}={count}") for name, count in (other or plan.parallelism).items())
    return f"forescale deploy now {plan.topology} --set {counts}"


def _deployed(workspace: Workspace, step_id: str) -> Deployment:
    clock, ledger = workspace.clock, workspace.ledger
    step = ledger.step(step_id)
    config = workspace.config(step.topology)
    if why := _withheld_because(config, step):
        raise PlanError(why)
    cluster = workspace.cluster(config)
    _refuse_withheld(step, config, workspace, cluster)
    planning = config.planning
    if planning.served:
        cluster = OfferedCluster(cluster, clock)
    patience = Patience(planning.deploy_timeout_s, hold_s=planning.hold_s, catch_up_s=planning.max_catch_up_s)
    deployment = deploy_step(
        step_id,
        ledger,
        cluster,
        clock,
        by="deploy",
        patience=patience,
        backlogs=recorded_backlogs(config, cluster, ledger, clock),
        floor_within=planning.max_instances if planning.floor and not planning.served else None,
    )
    if deployment.undone:
        raise DeploymentFailed(f"step {step_id} ({step.plan.brief()}): {why_words(deployment.why)}")
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
    waiting = ledger.steps(topology=config.topology, states=WAITING)
    later = (step for step in waiting if step.state in TO_DEPLOY and step.deploy_at > now)
    coming = next((ComingStep(step.id, step.deploy_at, step.plan.brief()) for step in later), None)
    unanswered = sum(step.state not in TO_DEPLOY for step in waiting)
    return DueSteps(tuple(expired), tuple(deployed), failed, held, coming, unanswered)


def approved_steps(workspace: Workspace, schedule_id: str) -> tuple[StepToDeploy, ...]:
    """The approved steps of a schedule, whoever approved them."""
    steps = workspace.ledger.steps(schedule_id=schedule_id, states=TO_DEPLOY)
    return tuple(StepToDeploy(step.id, step.deploy_at) for step in steps)


def _withheld_because(config: TopologyConfig, step: StepEntry) -> str:
    """Why a step is not deployed in shadow mode, or with more instances than its file allows by now; empty if it is. A
    deployment that has begun is finished, and a plan that a person requested is deployed in shadow mode, too.
    """
    if step.state not in WAITING:
        return ""
    if beyond := beyond_now(config, step):
        return f"step {step.id} is not deployed: {beyond}"
    if not config.planning.shadow or step.made_by is Maker.PERSON:
        return ""
    return (
        f"step {step.id} is not deployed: topology {config.topology!r} is in shadow mode; set "
        "planning.mode: act in its file, or deploy a plan of yours with `forescale deploy now`"
    )


def beyond_now(config: TopologyConfig, step: StepEntry) -> str:
    """Which hard limit of its file a step that adds instances exceeds by now, as that file was changed after it was
    planned, and the remedy; empty if none. In floor mode a step leaves out what exceeds them.
    """
    before, plan = step.replaces.parallelism, step.plan.parallelism
    if config.planning.floor or before.keys() != plan.keys() or not adds_instances(before, plan):
        return ""
    excess = next(too_many(step.plan, planned_limits_of(config.planning)), None)
    if excess is None:
        return ""
    return (
        f"{step.plan.brief()} has {excess.value:g} instances{f' of {excess.operator}' if excess.operator else ''}, and "
        f"{excess.field} of its file is {excess.bound:g} by now; plan again: `forescale plan {config.topology}`"
    )


def _refuse_withheld(step: StepEntry, config: TopologyConfig, workspace: Workspace, cluster: Cluster) -> None:
    ledger, now = workspace.ledger, workspace.clock.now()
    step = ledger.take_skipped_places(step, at=now, by="deploy")
    topology, terms = config.as_topology(), known_guard(workspace, config).terms
    if (reason := withheld_because(step, topology, terms, ledger, cluster, now)) is not None:
        withhold(step, reason, ledger, now, "deploy")
        raise StepWithheld(
            f"step {step.id} ({step.plan.brief()}) is withheld: {reason_words(reason)}; it is tried again until the "
            f"next schedule or {step.expires_at:%Y-%m-%d %H:%M} UTC; `forescale deploy now` deploys it all the same"
        )
