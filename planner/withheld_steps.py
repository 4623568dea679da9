"""Due steps of a schedule that wait because the job needs what they would take away (planner/guard/withheld.py).

A withheld step is checked again until a later step or schedule replaces it, or it expires.
"""

from datetime import datetime

from modeling.inputs.topology import Topology
from planner.clusters.cluster import Cluster, ClusterState, Status
from planner.errors import LedgerError
from planner.guard.terms import GuardTerms
from planner.guard.window import window_of
from planner.guard.withheld import withheld
from planner.guard_facts import ActionKind, Reason
from planner.ledger.entries import StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import TO_DEPLOY, StepState
from planner.step_cause import StepCause, StepCauseKind


def withheld_because(
    step: StepEntry, topology: Topology, terms: GuardTerms, ledger: Ledger, cluster: Cluster, now: datetime
) -> Reason | None:
    """Why an approved step of a schedule waits now; None if it may be deployed.

    Uses the guard's looks, so it withholds nothing while the guard is off. Steps that a person or the guard requested
    never wait. Raises ClusterError if the cluster does not answer.
    """
    before = step.replaces.parallelism
    if step.schedule_id is None or step.state not in TO_DEPLOY or not step.deploy_at <= now < step.expires_at:
        return None
    if any(plan.keys() != set(topology.order) for plan in (before, step.plan.parallelism)):
        return None  # the topology has changed; the deployment reports that
    state = cluster.state()
    running, since = state.plan.parallelism, state.running_since
    if state.status is not Status.RUNNING or since is None:
        return None
    window = window_of(topology, ledger.guard.looks(topology.name), running, since, now, terms.window_s)
    settles_s = terms.settle_s - (now - since).total_seconds() if _grown_unforeseen(step, ledger, state, since) else 0.0
    return withheld(step.plan.parallelism, before, window, terms, settles_s)


def _grown_unforeseen(step: StepEntry, ledger: Ledger, state: ClusterState, since: datetime) -> bool:
    """Whether the guard's last scale-up runs, and began to after the step's forecasts were made."""
    grown = next(
        (each for each in ledger.guard.actions(step.topology) if each.action == ActionKind.SCALE_UP and each.step_id),
        None,
    )
    if grown is None or dict(grown.plan) != dict(state.plan.parallelism):
        return False
    schedule_id = str(step.schedule_id)
    issued = [each.issued_at for each in ledger.forecasts_of(schedule_id)]
    return since > min(issued, default=ledger.schedule(schedule_id).schedule.made_at)


def withhold(step: StepEntry, reason: Reason, ledger: Ledger, now: datetime, by: str) -> None:
    """Record once that a step waits and why."""
    if step.state is StepState.WITHHELD:
        return
    why = StepCause(StepCauseKind.NEEDED)
    try:
        ledger.transition(step.id, expected=step.state, to=StepState.WITHHELD, at=now, by=by, why=why, withheld=reason)
    except LedgerError:
        # Another process changed the step first; what it recorded holds.
        if ledger.step(step.id).state is step.state:
            raise
