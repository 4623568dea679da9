"""Deploys one step: at its time, compare-and-set, verified on the cluster, and undone if it fails.

Safe to run again after a kill at any point: the ledger records the progress, and the cluster shows what runs.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from modeling.inputs.physical_plan import PhysicalPlan
from planner.catch_up import CatchUpWatch
from planner.clock import Clock
from planner.clusters.cluster import (
    Accepted,
    Backlogs,
    Cluster,
    Failed,
    Pending,
    PlanSetter,
    Refusal,
    Status,
    StopsFirst,
    Verified,
    applied_by,
)
from planner.clusters.settled_state import settled
from planner.errors import ClusterError, LedgerError, PlanError
from planner.floor_step import FloorStep
from planner.ledger.entries import Outcome, StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import UNDER_WAY, WAITING, StepState
from planner.step_cause import StepCause, StepCauseKind, Why


@dataclass(frozen=True)
class Patience:
    """Limits in seconds: until a rescale is undone, between two looks, and how long the plan must hold.

    catch_up_s: how long the backlog is watched after the plan runs, if the cluster reports it; 0 to skip.
    """

    timeout_s: float = 300.0
    poll_s: float = 5.0
    hold_s: float = 30.0
    catch_up_s: float = 0.0


@dataclass(frozen=True)
class Deployment:
    """State of a step after an attempt, and why."""

    step_id: str
    state: StepState
    why: Why

    @property
    def undone(self) -> bool:
        return self.state is StepState.ROLLED_BACK


@dataclass(frozen=True)
class _Attempt:
    """One attempt at a step. floor: set if the step's plan is only a lower bound of what runs."""

    ledger: Ledger
    cluster: Cluster
    clock: Clock
    by: str
    patience: Patience
    floor: FloorStep | None

    @property
    def setter(self) -> PlanSetter:
        return self.cluster if self.floor is None else self.floor.setter


def deploy_step(
    step_id: str,
    ledger: Ledger,
    cluster: Cluster,
    clock: Clock,
    *,
    by: str,
    patience: Patience = Patience(),
    backlogs: Backlogs | None = None,
    floor_within: int | None = None,
) -> Deployment:
    """Deploy a step that is approved and due, and record the outcome.

    A step that is called off, expired or done already changes nothing. backlogs: None for those of the cluster. The
    catch-up is watched once the step is verified, and stays unknown if that is cut short. floor_within: most instances
    that may run where the plan is only a lower bound (FloorStep); None where it is the plan to run.

    Raises PlanError for a step that is not approved, not yet due or of a shadow schedule, and LedgerError for an
    unknown one. Raises ClusterError while the cluster cannot be reached, or during a rescale that may or may not be
    this step's: the step then stays as it is, and the same call resumes it.
    """
    step = ledger.step(step_id)
    refuse_shadow(step)
    again = step.state in UNDER_WAY
    floor = None
    if floor_within is not None and step.schedule_id is not None:
        floor = FloorStep(step.id, ledger, cluster, clock, by, floor_within, patience.timeout_s, patience.poll_s)
    attempt = _Attempt(ledger, cluster, clock, by, patience, floor)
    setter = attempt.setter
    if step.state in WAITING:
        not_admitted = _admitted(step, ledger, clock.now(), by)
        if not_admitted is not None:
            return not_admitted
        if floor is not None:
            step = floor.resolved(StepState.DUE)
        asked = StepCause(StepCauseKind.ASKED)
        ledger.transition(step.id, expected=StepState.DUE, to=StepState.DEPLOYING, at=clock.now(), by=by, why=asked)
    elif again:
        taken_up = _taken_up(step, attempt)
        if taken_up is not None:
            return taken_up
    else:
        return Deployment(step_id, step.state, step.why)
    answer = applied_by(setter, step.plan, expected=step.replaces, latest=step.expires_at)
    if floor is not None:
        step, answer = floor.asked_again(step, answer)
    if isinstance(answer, Refusal):
        # A step that is taken up again may have changed something in its first attempt.
        refused = StepCause(StepCauseKind.REFUSED_AGAIN if again else StepCauseKind.REFUSED, detail=answer.reason)
        return _ended(step, StepState.ROLLED_BACK, refused, ledger, clock.now(), by)
    watch = None
    if patience.catch_up_s > 0:
        watch = CatchUpWatch(cluster, backlogs or cluster.backlogs, _capacity_per_s(step, ledger))
    result = _awaited(setter, clock, answer, patience, watch)
    if isinstance(result, Failed) and floor is not None:
        result = floor.kept(step, result)
    if isinstance(result, Verified):
        _record(step, _measured(answer, result, asked_once=not again), result, ledger)
        runs = StepCause(
            StepCauseKind.RUNS,
            at=result.running_since,
            downtime_s=result.downtime_s,
            plan={} if floor is None else dict(result.plan.parallelism),
            floor={} if floor is None else dict(ledger.planned(step).parallelism),
            detail=answer.note,
        )
        ended = _ended(step, StepState.VERIFIED, runs, ledger, clock.now(), by)
        if watch is not None:
            _record_catch_up(step, watch, result.running_since, ledger, clock, patience)
        return ended
    return _rolled_back(step, answer, StepCause(StepCauseKind.FAILED, detail=result.reason), attempt)


def refuse_shadow(step: StepEntry) -> None:
    """Raises PlanError for a step of shadow mode."""
    if step.state is StepState.SHADOW:
        raise PlanError(
            f"step {step.id} was made in shadow mode and is never deployed; set planning.mode: act in the topology "
            "file and plan again"
        )


def _admitted(step: StepEntry, ledger: Ledger, now: datetime, by: str) -> Deployment | None:
    """Move an approved step whose time has come to `due`, or return why not."""
    if now >= step.expires_at:
        late = StepCause(StepCauseKind.TOO_LATE, at=now, until=step.expires_at)
        return _ended(step, StepState.EXPIRED, late, ledger, now, by)
    if step.state is StepState.PROPOSED:
        raise PlanError(f"step {step.id} is not approved; approve its schedule, or veto it")
    if now < step.deploy_at:
        raise PlanError(f"step {step.id} is due at {step.deploy_at}, and it is {now}; wait until then")
    if step.state in (StepState.APPROVED, StepState.WITHHELD):
        due = StepCause(StepCauseKind.DUE)
        ledger.transition(step.id, expected=step.state, to=StepState.DUE, at=now, by=by, why=due)
    return None


def _taken_up(step: StepEntry, attempt: _Attempt) -> Deployment | None:
    """The end of a deployment that was cut short; None if the cluster is to be asked again."""
    ledger, by, now = attempt.ledger, attempt.by, attempt.clock.now()
    if step.state is StepState.UNDOING:
        ledger.resume(step.id, expected=step.state, at=now, by=by, why=step.why)
        return _undone(step, Accepted(step.plan, step.replaces, now), step.why, attempt)
    if now > step.expires_at and _never_asked(step, attempt):
        late = StepCause(StepCauseKind.NEVER_ASKED, until=step.expires_at)
        return _ended(step, StepState.ROLLED_BACK, late, ledger, now, by, never_asked=True)
    ledger.resume(step.id, expected=step.state, at=now, by=by, why=StepCause(StepCauseKind.RESUMED))
    return None


def _never_asked(step: StepEntry, attempt: _Attempt) -> bool:
    """Whether the plan from before the step still runs and no rescale is under way. Raises ClusterError during a
    rescale: the step may have asked for it.
    """
    scaler = None if attempt.floor is None else attempt.floor.scaler
    if scaler is not None:
        return _as_before(scaler.floor(), step)
    patience = attempt.patience
    state = settled(attempt.cluster, attempt.clock, patience.timeout_s, patience.poll_s)
    # A job that this step has stopped is started again, however late: nothing else would do so.
    if not _as_before(state.plan, step) or _stopped_for(step, attempt.cluster):
        return False
    if state.status is Status.RESCALING:
        raise ClusterError(
            f"topology {state.topology!r} is still rescaling after {patience.timeout_s:.0f} s, perhaps to what step "
            f"{step.id} has asked for; deploy the step again once that is over"
        )
    return True


def _as_before(present: PhysicalPlan, step: StepEntry) -> bool:
    """False for a step that changes nothing: it leaves no trace by which to tell whether it was asked for."""
    return present.same_parallelism(step.replaces) and not present.same_parallelism(step.plan)


def _stopped_for(step: StepEntry, cluster: Cluster) -> bool:
    return isinstance(cluster, StopsFirst) and cluster.stopped_for(step.plan)


def _awaited(
    setter: PlanSetter, clock: Clock, accepted: Accepted, patience: Patience, watch: CatchUpWatch | None = None
) -> Verified | Failed:
    """Wait until the plan runs and has held, has failed, or patience ends."""
    deadline = clock.now() + timedelta(seconds=patience.timeout_s)
    while True:
        result = setter.progress(accepted)
        if isinstance(result, Failed):
            return result
        if isinstance(result, Verified):
            _hold(clock, patience, watch, result.running_since)
            still = setter.progress(accepted)
            if isinstance(still, Verified) and still.running_since == result.running_since:
                return result
            if isinstance(still, Failed):
                return still
            result = still
        if clock.now() >= deadline:
            reason = result.reason if isinstance(result, Pending) else "it does not hold"
            return Failed(f"not in place {patience.timeout_s:.0f} s after it was accepted: {reason}")
        clock.wait(patience.poll_s)


def _hold(clock: Clock, patience: Patience, watch: CatchUpWatch | None, since: datetime) -> None:
    end = clock.now() + timedelta(seconds=patience.hold_s)
    while (left_s := (end - clock.now()).total_seconds()) > 0:
        if watch is None or watch.caught_up:
            clock.wait(left_s)
        else:
            watch.look(since)
            clock.wait(min(left_s, patience.poll_s))


def _rolled_back(step: StepEntry, accepted: Accepted, why: StepCause, attempt: _Attempt) -> Deployment:
    """Undo what was accepted. The ledger records first that undoing has begun, so that another attempt resumes it."""
    ledger, clock, by = attempt.ledger, attempt.clock, attempt.by
    try:
        expected, to = StepState.DEPLOYING, StepState.UNDOING
        step = ledger.transition(step.id, expected=expected, to=to, at=clock.now(), by=by, why=why)
    except LedgerError as error:
        return _ended_by_another(step, StepState.DEPLOYING, ledger, error)
    return _undone(step, accepted, why, attempt)


def _undone(step: StepEntry, accepted: Accepted, why: Why, attempt: _Attempt) -> Deployment:
    """The end of a step in state UNDOING."""
    failed = why if isinstance(why, str) else why.detail
    ended = replace(_undo(accepted, attempt), detail=failed)
    return _ended(step, StepState.ROLLED_BACK, ended, attempt.ledger, attempt.clock.now(), attempt.by)


def _undo(accepted: Accepted, attempt: _Attempt) -> StepCause:
    answer = attempt.setter.undo(accepted)
    if isinstance(answer, Refusal):
        return StepCause(StepCauseKind.NOT_UNDONE, more=answer.reason)
    back = _awaited(attempt.setter, attempt.clock, answer, attempt.patience)
    if isinstance(back, Verified):
        return StepCause(StepCauseKind.UNDONE, plan=dict(answer.plan.parallelism))
    return StepCause(StepCauseKind.UNDOING_FAILED, more=back.reason)


def _ended(
    step: StepEntry,
    state: StepState,
    why: StepCause,
    ledger: Ledger,
    now: datetime,
    by: str,
    *,
    never_asked: bool = False,
) -> Deployment:
    kept = state is StepState.EXPIRED or step.state is StepState.UNDOING
    before = step.state if kept else StepState.DEPLOYING
    try:
        ledger.transition(step.id, expected=before, to=state, at=now, by=by, why=why, never_asked=never_asked)
    except LedgerError as error:
        return _ended_by_another(step, before, ledger, error)
    return Deployment(step.id, state, why)


def _ended_by_another(step: StepEntry, before: StepState, ledger: Ledger, error: LedgerError) -> Deployment:
    """The state that another, faster attempt at the same step has recorded. Raises the error if there was none."""
    current = ledger.step(step.id)
    if current.state is before:
        raise error
    return Deployment(step.id, current.state, current.why)


def _measured(accepted: Accepted, verified: Verified, *, asked_once: bool) -> dict[str, float]:
    """What the cluster reports about a change; empty if the plan ran already.

    lead_s: seconds from the request until the job stopped for the change, while instances were acquired. Unknown for a
    deployment that was taken up again, as the time of its first request is.
    """
    before, after = accepted.replaced.parallelism, accepted.plan.parallelism
    if accepted.replaced.same_parallelism(accepted.plan) or not accepted.plan.same_parallelism(verified.plan):
        return {}
    added = sum(max(0, count - before.get(name, 0)) for name, count in after.items())
    measured = {"instances_added": float(added)}
    if verified.state_gib is not None:
        measured["state_gib"] = verified.state_gib
    if verified.downtime_s is not None:
        measured["downtime_s"] = verified.downtime_s
        whole_s = (verified.running_since - accepted.at).total_seconds()
        if added and asked_once:
            measured["lead_s"] = max(0.0, whole_s - verified.downtime_s)
    return measured


def _capacity_per_s(step: StepEntry, ledger: Ledger) -> float | None:
    """Predicted for the step's plan; None where nobody has predicted it, or the plan is only a lower bound."""
    if step.schedule_id is None:
        return None
    scheduled = ledger.schedule(step.schedule_id).schedule.steps[step.position - 1]
    return scheduled.capacity_per_s if scheduled.plan.same_parallelism(step.plan) else None


def _record(step: StepEntry, measured: dict[str, float], verified: Verified, ledger: Ledger) -> None:
    """Record what was measured beside what the schedule predicted. A person's own plan has no prediction."""
    predicted = {}
    if step.schedule_id is not None:
        scheduled = ledger.schedule(step.schedule_id).schedule.steps[step.position - 1]
        predicted = {
            "downtime_s": scheduled.downtime_s,
            "catch_up_s": scheduled.catch_up_s,
            "utilisation": scheduled.utilisation,
        }
    ledger.record_outcome(
        Outcome(
            step.id,
            verified_at=verified.running_since,
            downtime_s=verified.downtime_s,
            predicted=predicted,
            measured=measured,
        )
    )


def _record_catch_up(
    step: StepEntry, watch: CatchUpWatch, since: datetime, ledger: Ledger, clock: Clock, patience: Patience
) -> None:
    """Watch until it has caught up, the backlog is no longer reported, or patience ends; add that to the outcome, and
    record how fast the job was meanwhile.
    """
    end = clock.now() + timedelta(seconds=max(0.0, patience.catch_up_s - patience.hold_s))
    while not watch.caught_up and not watch.hopeless and clock.now() < end:
        clock.wait(patience.poll_s)
        watch.look(since)
    known = ledger.outcome(step.id)
    if known is not None and (caught_up := watch.measured()):
        ledger.record_outcome(replace(known, measured={**known.measured, **caught_up}))
    if watch.speeds:
        ledger.speeds.record(step.id, watch.speeds)
