"""The deployment of one step: at its time, compare-and-set, verified on the cluster, and undone when it does not hold.

Safe to run again after a kill at any point: the ledger says how far it came, and the cluster what runs.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from planner.clock import Clock
from planner.clusters.cluster import Accepted, Cluster, Failed, Pending, Refusal, Verified
from planner.errors import LedgerError, PlanError
from planner.ledger.entries import Outcome, StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import WAITING, StepState

NEVER_ASKED = "cut short before the cluster took it"
"""How the reason of a step begins that was rolled back without ever having been tried."""


@dataclass(frozen=True)
class Patience:
    """How long a rescale may take before it is undone, how often to look, and how long it must hold, in seconds."""

    timeout_s: float = 300.0
    poll_s: float = 5.0
    hold_s: float = 30.0


@dataclass(frozen=True)
class Deployment:
    """Where a step stands after an attempt, and why."""

    step_id: str
    state: StepState
    detail: str

    @property
    def undone(self) -> bool:
        return self.state is StepState.ROLLED_BACK


def deploy_step(
    step_id: str, ledger: Ledger, cluster: Cluster, clock: Clock, *, by: str, patience: Patience = Patience()
) -> Deployment:
    """Deploy a step that is approved and due, and record what became of it.

    A step that is called off, too late or done already changes nothing. Raises PlanError for a step that is not
    approved, not yet due or of a shadow schedule, LedgerError for an unknown one, and ClusterError while the cluster
    cannot be reached: the step then stays as it is, and the same call takes it up again.
    """
    step = ledger.step(step_id)
    refuse_shadow(step)
    if step.state in WAITING:
        refused = _admitted(step, ledger, clock.now(), by)
        if refused is not None:
            return refused
    elif step.state is StepState.DEPLOYING:
        now = clock.now()
        if now > step.expires_at and cluster.state().plan.same_parallelism(step.replaces):
            late = f"{NEVER_ASKED}, and its time has gone by at {step.expires_at}; nothing changed"
            return _ended(step, StepState.ROLLED_BACK, late, ledger, now, by)
        ledger.resume(step_id, at=clock.now(), by=by, why="taken up again after it was cut short")
    else:
        return Deployment(step_id, step.state, step.reason or f"the step is {step.state}")
    answer = cluster.apply(step.plan, expected=step.replaces)
    if isinstance(answer, Refusal):
        return _ended(
            step, StepState.ROLLED_BACK, f"refused, nothing changed: {answer.reason}", ledger, clock.now(), by
        )
    result = _awaited(cluster, clock, answer, patience)
    if isinstance(result, Verified):
        _record(step, result, ledger)
        downtime = "" if result.downtime_s is None else f" after {result.downtime_s:.2g} s of downtime"
        detail = f"{step.plan.brief()} runs since {result.running_since:%Y-%m-%d %H:%M:%S} UTC{downtime}"
        return _ended(step, StepState.VERIFIED, detail, ledger, clock.now(), by)
    undone = _undone(cluster, clock, answer, patience)
    return _ended(step, StepState.ROLLED_BACK, f"{result.reason}; {undone}", ledger, clock.now(), by)


def refuse_shadow(step: StepEntry) -> None:
    """Raises PlanError for a step that was made in shadow mode."""
    if step.state is StepState.SHADOW:
        raise PlanError(
            f"step {step.id} was made in shadow mode and is never deployed; set planning.mode: act in the topology "
            "file and plan again"
        )


def _admitted(step: StepEntry, ledger: Ledger, now: datetime, by: str) -> Deployment | None:
    """Moves an approved step that is due to `deploying`, or says why not."""
    if now > step.expires_at:
        why = f"it is {now:%Y-%m-%d %H:%M} UTC, and the step was only good until {step.expires_at:%Y-%m-%d %H:%M}"
        return _ended(step, StepState.EXPIRED, why, ledger, now, by)
    if step.state is StepState.PROPOSED:
        raise PlanError(f"step {step.id} is not approved; approve its schedule, or veto it")
    if now < step.deploy_at:
        raise PlanError(f"step {step.id} is due at {step.deploy_at}, and it is {now}; wait until then")
    if step.state is StepState.APPROVED:
        ledger.transition(
            step.id, expected=StepState.APPROVED, to=StepState.DUE, at=now, by=by, why="its time has come"
        )
    ledger.transition(step.id, expected=StepState.DUE, to=StepState.DEPLOYING, at=now, by=by, why="asked the cluster")
    return None


def _awaited(cluster: Cluster, clock: Clock, accepted: Accepted, patience: Patience) -> Verified | Failed:
    """Until the plan runs and has held, or has failed, or patience is at its end."""
    deadline = clock.now() + timedelta(seconds=patience.timeout_s)
    while True:
        result = cluster.progress(accepted)
        if isinstance(result, Failed):
            return result
        if isinstance(result, Verified):
            clock.wait(patience.hold_s)
            still = cluster.progress(accepted)
            if isinstance(still, Verified) and still.running_since == result.running_since:
                return result
            if isinstance(still, Failed):
                return still
            result = still
        if clock.now() >= deadline:
            reason = result.reason if isinstance(result, Pending) else "it does not hold"
            return Failed(f"not in place {patience.timeout_s:.0f} s after it was accepted: {reason}")
        clock.wait(patience.poll_s)


def _undone(cluster: Cluster, clock: Clock, accepted: Accepted, patience: Patience) -> str:
    answer = cluster.undo(accepted)
    if isinstance(answer, Refusal):
        return f"could not be undone: {answer.reason}"
    back = _awaited(cluster, clock, answer, patience)
    if isinstance(back, Verified):
        return f"undone, {answer.plan.brief()} runs again"
    return f"the undoing did not come through either: {back.reason}"


def _ended(step: StepEntry, state: StepState, detail: str, ledger: Ledger, now: datetime, by: str) -> Deployment:
    before = step.state if state is StepState.EXPIRED else StepState.DEPLOYING
    try:
        ledger.transition(step.id, expected=before, to=state, at=now, by=by, why=detail)
    except LedgerError:
        # Another attempt at the same step was quicker; what it recorded holds.
        current = ledger.step(step.id)
        if current.state is before:
            raise
        return Deployment(step.id, current.state, current.reason)
    return Deployment(step.id, state, detail)


def _record(step: StepEntry, verified: Verified, ledger: Ledger) -> None:
    """What was measured, beside what the schedule had said of it; a person's own plan was never predicted."""
    predicted = {}
    if step.schedule_id is not None:
        scheduled = ledger.schedule(step.schedule_id).schedule.steps[step.position - 1]
        predicted = {
            "downtime_s": scheduled.downtime_s,
            "catch_up_s": scheduled.catch_up_s,
            "utilisation": scheduled.utilisation,
        }
    measured = {} if verified.downtime_s is None else {"downtime_s": verified.downtime_s}
    ledger.record_outcome(
        Outcome(
            step.id,
            verified_at=verified.running_since,
            downtime_s=verified.downtime_s,
            predicted=predicted,
            measured=measured,
        )
    )
