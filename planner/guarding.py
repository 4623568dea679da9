"""One turn of the guard: one look at the job and at most one action, deployed like any step and judged once settled.

Safe to run again after a kill at any point, and in several processes at once: the ledger has an action and its step
before the cluster is asked, and the next turn resumes what is open.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import inf

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clock import Clock
from planner.clusters.cluster import Backlogs, Cluster, ClusterState, Status
from planner.clusters.waiting import waiting
from planner.deployment import Patience, deploy_step
from planner.guard.actions import Action, Schedule
from planner.guard.assessment import Assessment, assessed
from planner.guard.judgement import Verdict, VerdictKind, judged
from planner.guard.look import look_of
from planner.guard.terms import SPARE_H, GuardTerms, RescueWorth
from planner.guard.window import Window, window_of
from planner.guard_facts import ActionKind, DiagnosisKind, GuardState, Reason, ReasonKind
from planner.ledger.entries import GuardAction, StepEntry
from planner.ledger.guard_records import GUARD
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import UNDER_WAY, WAITING, Maker, StepState
from planner.step_cause import StepCause, StepCauseKind
from planner.withheld_steps import withheld_because

ADVISED_AGAIN = timedelta(hours=1)
"""Time before the same advice is repeated."""

_NEWEST = 10
"""Number of schedules that are searched for the one in force; those of shadow mode are skipped."""


@dataclass(frozen=True)
class Guarded:
    """A topology and how it is guarded. acts: False to give advice only. look_s: span of one look. lead_s: planning's
    lead time. floor: the schedule's plans are lower bounds (planning.mode). rescale_h: price of a change of plan, in
    instance-hours; held_s: how long a schedule expects instances that the guard adds to be kept; most_late_s: longest
    that the job may be late before it adds some. alone: a lock; True while no other process deploys the step with that
    id.
    """

    topology: Topology
    terms: GuardTerms
    acts: bool
    look_s: float = 60.0
    lead_s: float = 300.0
    patience: Patience = field(default_factory=Patience)
    floor: bool = False
    rescale_h: float = 1.0
    held_s: float = 0.0
    most_late_s: float = inf
    alone: Callable[[str], AbstractContextManager[bool]] = lambda step_id: nullcontext(True)


@dataclass(frozen=True)
class GuardTurn:
    """What one turn saw and did. assessment: None if nothing was assessed. reasons: what
    it concluded, at least one.

    judged: an earlier action that this turn judged; action: the one it began; advice: new advice. looks: number of
    those that were assessed. timed: operators at which they saw tuples.
    """

    topology: str
    at: datetime
    plan: Mapping[str, int]
    assessment: Assessment | None
    reasons: tuple[Reason, ...]
    judged: GuardAction | None = None
    action: GuardAction | None = None
    advice: tuple[GuardAction, ...] = ()
    looks: int = 0
    timed: tuple[str, ...] = ()


def guard_turn(
    guarded: Guarded, ledger: Ledger, cluster: Cluster, clock: Clock, backlogs: Backlogs | None = None
) -> GuardTurn:
    """Run one turn. backlogs: None for those of the cluster.

    Raises ClusterError if the cluster does not answer or has no counters; the next turn resumes from there.
    """
    name = guarded.topology.name
    earlier = ledger.guard.open_action(name)
    if earlier is not None:
        earlier = _deployed(earlier, guarded, ledger, cluster, clock)
    state = cluster.state()
    guarded = _within(guarded, state.most)
    plan, since = state.plan.parallelism, state.running_since
    if state.status is not Status.RUNNING or since is None:
        reason = Reason(ReasonKind.NOT_RUNNING, state=state.status.value)
        return GuardTurn(name, state.observed_at, plan, None, (reason,), _closed_one(earlier))
    if earlier is not None and (elsewhere := _elsewhere(earlier, ledger)):
        return GuardTurn(name, state.observed_at, plan, None, (elsewhere,))
    now, window = _window(guarded, ledger, cluster, clock, since, backlogs or cluster.backlogs)
    if earlier is not None and earlier.state is GuardState.OPEN:
        earlier = _judged(earlier, guarded, ledger, state, window, now)
        if earlier.state is GuardState.OPEN:
            reason = Reason(ReasonKind.ACTION_SETTLES, action=ActionKind(earlier.action), at=earlier.decided_at)
            return GuardTurn(name, now, plan, None, (reason,))
    if not_now := _not_now(guarded, ledger, cluster, since, now):
        return GuardTurn(name, now, plan, None, (not_now,), earlier)
    barred = {(DiagnosisKind(each.diagnosis), ActionKind(each.action)) for each in ledger.guard.barred(name)}
    ran_s = (now - since).total_seconds()
    found = assessed(window, guarded.terms, _schedule(guarded, ledger, now), barred, ran_s)
    advice = found.advice if guarded.acts or found.action is None else (*found.advice, found.action)
    said = [ledger.guard.advise(name, each, at=now, said_since=now - ADVISED_AGAIN) for each in advice]
    begun, reasons = None, found.reasons
    if found.action is not None and guarded.acts:
        begun = _begun(found.action, guarded, ledger, state, now)
        begun = _deployed(begun, guarded, ledger, cluster, clock)
        if elsewhere := _elsewhere(begun, ledger):
            reasons = (*reasons, elsewhere)
    new = tuple(each for each in said if each is not None)
    turn = GuardTurn(name, now, plan, found, reasons, earlier, begun, new)
    if window is None:
        return turn
    timed = tuple(each for each, per_s in window.received_per_s.items() if sum(per_s) > 0)
    return replace(turn, looks=len(window.looks), timed=timed)


def _within(guarded: Guarded, most: Mapping[str, int]) -> Guarded:
    """Not beyond what the job was submitted with."""
    if not most:
        return guarded
    limits = guarded.terms.limits
    lower = {name: min(count, limits.max_parallelism.get(name, count)) for name, count in most.items()}
    limits = replace(limits, max_parallelism={**limits.max_parallelism, **lower})
    return replace(guarded, terms=replace(guarded.terms, limits=limits))


def _closed_one(action: GuardAction | None) -> GuardAction | None:
    return None if action is None or action.state is GuardState.OPEN else action


def _window(
    guarded: Guarded, ledger: Ledger, cluster: Cluster, clock: Clock, since: datetime, backlogs: Backlogs
) -> tuple[datetime, Window | None]:
    """Take one more look and return it with those before."""
    name, terms = guarded.topology.name, guarded.terms
    samples = cluster.operator_samples(guarded.look_s)
    at = clock.now()
    waits = backlogs()  # may take some seconds
    now = clock.now()
    look = look_of(guarded.topology, samples, at, waiting(waits, now))
    keep = timedelta(seconds=2 * terms.window_s)
    ledger.guard.record_look(name, look, forget_before=now - keep)
    looks = ledger.guard.looks(name)
    # A job that warms up is slow by itself: no plan repairs that.
    warm = since + timedelta(seconds=terms.warm_up.warm_s)
    return now, window_of(guarded.topology, looks, look.parallelism, warm, now, terms.window_s)


def _begun(action: Action, guarded: Guarded, ledger: Ledger, state: ClusterState, now: datetime) -> GuardAction:
    plan = PhysicalPlan(guarded.topology.name, dict(action.plan or {}))
    # An action fits the moment it was decided in, so it expires soon.
    expires_at = now + timedelta(seconds=guarded.terms.settle_s)
    return ledger.guard.begin(action, plan, state.plan, at=now, expires_at=expires_at)


def _deployed(opened: GuardAction, guarded: Guarded, ledger: Ledger, cluster: Cluster, clock: Clock) -> GuardAction:
    """The action after its step has ended; closed if the step was not verified."""
    step = ledger.step(str(opened.step_id))
    if step.state in WAITING and not guarded.acts:
        why = StepCause(StepCauseKind.GUARD_ADVISES)
        ledger.transition(step.id, expected=step.state, to=StepState.VETOED, at=clock.now(), by=GUARD, why=why)
    elif step.state in (*WAITING, *UNDER_WAY):
        with guarded.alone(step.id) as alone:
            if not alone:
                return opened
            deploy_step(step.id, ledger, cluster, clock, by=GUARD, patience=guarded.patience)
    step = ledger.step(step.id)
    if step.state is StepState.VERIFIED:
        # In floor mode steps apply to whatever runs by then, so they need no rebase.
        if not guarded.floor and cluster.state().plan.same_parallelism(step.plan):
            most = guarded.terms.limits.max_instances
            ledger.guard.rebase(step.replaces, step.plan, max_instances=most, at=clock.now())
        return opened
    failed = step.state is StepState.ROLLED_BACK and not step.never_asked
    kind = VerdictKind.INEFFECTIVE if failed else VerdictKind.MOOT
    reason = Reason(ReasonKind.NOT_DEPLOYED, state=step.state.value, detail=step.reason, cause=step.cause)
    verdict = Verdict(kind, reason, {})
    return _closed(opened, verdict, guarded, ledger, clock.now())


def _judged(
    opened: GuardAction, guarded: Guarded, ledger: Ledger, state: ClusterState, window: Window | None, now: datetime
) -> GuardAction:
    """The action with its verdict, or unchanged while it settles."""
    terms, since = guarded.terms, state.running_since
    if dict(state.plan.parallelism) != dict(opened.plan):
        verdict = Verdict(VerdictKind.MOOT, Reason(ReasonKind.REPLACED, plan=dict(state.plan.parallelism)), {})
        return _closed(opened, verdict, guarded, ledger, now)
    settled = since is not None and now >= since + timedelta(seconds=terms.settle_s)
    if not settled or window is None or not window.covers(terms.window_s):
        return opened
    verdict = judged(ActionKind(opened.action), opened.before, opened.expected, window, terms)
    return _closed(opened, verdict, guarded, ledger, now)


def _closed(opened: GuardAction, verdict: Verdict, guarded: Guarded, ledger: Ledger, now: datetime) -> GuardAction:
    ledger.guard.judge(opened.id, verdict, at=now, blacklist_after=guarded.terms.blacklist_after)
    return ledger.guard.action(opened.id)


def _not_now(guarded: Guarded, ledger: Ledger, cluster: Cluster, since: datetime, now: datetime) -> Reason | None:
    """Why nothing is decided now; None if something may be. Right after a change, metrics reflect the change instead of
    the load.
    """
    settle = timedelta(seconds=guarded.terms.settle_s)
    if now < since + settle:
        return Reason(ReasonKind.PLAN_SETTLES, at=since, bound=guarded.terms.settle_s)
    # A step that is never deployed, or whose deployment was cut short, must not block the guard forever.
    long_ago = now - max(settle, timedelta(seconds=2 * guarded.patience.timeout_s))
    for step in _planned(guarded, ledger):
        begun = _deploying_since(step, ledger) if step.state in UNDER_WAY else step.deploy_at
        if not long_ago < begun <= now:
            continue
        if not withheld_because(step, guarded.topology, guarded.terms, ledger, cluster, now):
            return Reason(ReasonKind.STEP_FIRST, step_id=step.id, state=step.state.value)
    return None


def _deploying_since(step: StepEntry, ledger: Ledger) -> datetime:
    """When its first attempt began: repeated attempts do not block the guard any longer."""
    began = (event.at for event in ledger.past_damage().events(step.id) if event.to_state is StepState.DEPLOYING)
    return next(began, step.updated_at)


def _elsewhere(action: GuardAction, ledger: Ledger) -> Reason | None:
    """Set if another process deploys the action's step, so that its result is unknown."""
    step = ledger.step(str(action.step_id))
    if step.state not in (*WAITING, *UNDER_WAY):
        return None
    return Reason(ReasonKind.DEPLOYED_ELSEWHERE, action=ActionKind(action.action), step_id=step.id)


def _planned(guarded: Guarded, ledger: Ledger) -> list[StepEntry]:
    """Steps to come or under way that the guard did not make."""
    steps = ledger.steps(topology=guarded.topology.name, states=(*WAITING, *UNDER_WAY))
    return [step for step in steps if step.made_by is not Maker.GUARD]


def _schedule(guarded: Guarded, ledger: Ledger, now: datetime) -> Schedule:
    """The plan in force, raised to every step due within the minimum dwell time."""
    planned = [step for step in _planned(guarded, ledger) if now < step.expires_at]
    soon = now + timedelta(seconds=guarded.terms.min_dwell_s)
    plans = [_wanted(step, guarded, ledger) for step in planned if step.deploy_at <= soon]
    made = ledger.schedules(guarded.topology.name, limit=_NEWEST)
    in_force = next((each for each in made if not each.shadow and each.schedule.start <= now < each.schedule.end), None)
    worth = None
    if in_force is not None and in_force.replaced_by:
        plans.append(ledger.step(in_force.replaced_by).plan)  # a person decided what runs
    elif in_force is not None:
        if 0 < in_force.schedule.violation_price_h <= SPARE_H and guarded.acts and not guarded.floor:
            worth = RescueWorth.at(in_force.schedule.violation_price_h, guarded.rescale_h, guarded.most_late_s)
        verified = ledger.steps(schedule_id=in_force.id, states=(StepState.VERIFIED,))
        plans.append(_wanted(verified[-1], guarded, ledger) if verified else in_force.schedule.current)
    names = guarded.topology.order
    floor = {name: max((plan.parallelism.get(name, 1) for plan in plans), default=1) for name in names}
    planned_in_s = min(((step.deploy_at - now).total_seconds() for step in planned), default=None)
    return Schedule(floor, planned_in_s, guarded.lead_s, worth, guarded.held_s)


def _wanted(step: StepEntry, guarded: Guarded, ledger: Ledger) -> PhysicalPlan:
    """The plan of a step; in floor mode its floor only, whatever runs above it."""
    return ledger.planned(step) if guarded.floor else step.plan
