"""The instances that a topology holds while it cannot be planned: its running plan and remaining steps."""

from dataclasses import replace
from datetime import datetime

from forescale.files.topology import TopologyConfig
from forescale.situation.workspace import Workspace
from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import ClusterError
from planner.fleet.holding import Holding
from planner.ledger.step_state import WAITING
from planner.scaling_schedule import ScalingSchedule


def standing(workspace: Workspace, config: TopologyConfig) -> Holding | None:
    """None if neither the cluster nor the ledger knows what runs."""
    now = workspace.clock.now()
    newest = next(iter(workspace.ledger.schedules(config.topology, limit=1)), None)
    last = None if newest is None else newest.schedule
    running = _running(workspace, config) or _by_schedule(last, now)
    if running is None:
        return None
    if newest is None or last is None or newest.shadow:
        return Holding(ScalingSchedule(config.topology, now, now, now, 0.95, running, (), 0.0, ""), fixed=True)
    waiting = {step.position for step in workspace.ledger.steps(schedule_id=newest.id) if step.state in WAITING}
    steps = [step for number, step in enumerate(last.steps, 1) if number in waiting and step.deploy_at > now]
    return Holding(replace(last, start=now, current=running, steps=tuple(steps)), fixed=True)


def _running(workspace: Workspace, config: TopologyConfig) -> PhysicalPlan | None:
    try:
        return workspace.cluster(config).state().plan
    except ClusterError:
        return None


def _by_schedule(last: ScalingSchedule | None, now: datetime) -> PhysicalPlan | None:
    """The plan that would run, had the last schedule been deployed."""
    if last is None:
        return None
    return next((step.plan for step in reversed(last.steps) if step.deploy_at <= now), last.current)
