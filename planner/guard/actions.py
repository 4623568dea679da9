"""Resolvers: the action for a diagnosis, and its expected effect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.guard.sizing import Sizing
from planner.guard.terms import Backlog, GuardTerms, RescueWorth
from planner.guard.window import Window
from planner.guard_facts import (
    ActionKind,
    Diagnosis,
    DiagnosisKind,
    Reason,
    ReasonKind,
    Scaling,
    Symptom,
    SymptomKind,
)

SHOWN_KEYS = 3

WORTH_IT = 0.1
"""Smallest share of all instances that a scale-down must save."""


ACTION_FOR: Mapping[DiagnosisKind, ActionKind] = {
    DiagnosisKind.UNDER_PROVISIONED: ActionKind.SCALE_UP,
    DiagnosisKind.TARGET_MISSED: ActionKind.SCALE_UP,
    DiagnosisKind.OVER_PROVISIONED: ActionKind.SCALE_DOWN,
    DiagnosisKind.SLOW_INSTANCE: ActionKind.RESTART_INSTANCE,
    DiagnosisKind.DATA_SKEW: ActionKind.REPORT_KEYS,
}
"""The action that resolves each diagnosis."""


@dataclass(frozen=True)
class Action:
    """plan: parallelism to deploy, None if a person must act.

    before, expected: measured numbers, and those expected once it has settled, by the same names.
    """

    diagnosis: Diagnosis
    kind: ActionKind
    plan: Mapping[str, int] | None
    reason: Reason
    before: Mapping[str, float] = field(default_factory=dict)
    expected: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Schedule:
    """What the guard needs from the scaling schedule. floor: by operator, instances that it wants now or soon.
    planned_in_s: time until the next step, None if there is none; within lead_s before it, the guard lowers nothing.
    worth: when it counts on more instances; None for at once. held_s: how long it expects them to be kept.
    """

    floor: Mapping[str, int] = field(default_factory=dict)
    planned_in_s: float | None = None
    lead_s: float = 0.0
    worth: RescueWorth | None = None
    held_s: float = 0.0

    @property
    def step_ahead(self) -> bool:
        return self.planned_in_s is not None and self.planned_in_s <= self.lead_s


def resolved(
    diagnosis: Diagnosis, window: Window, found: Sequence[Symptom], terms: GuardTerms, schedule: Schedule, ran_s: float
) -> Action | Reason:
    """The action for a diagnosis, or why there is none. ran_s: how long the plan has run."""
    match ACTION_FOR[diagnosis.kind]:
        case ActionKind.SCALE_UP:
            return scale_up(diagnosis, window, terms, schedule)
        case ActionKind.SCALE_DOWN:
            return scale_down(diagnosis, window, found, terms, schedule, ran_s)
        case ActionKind.RESTART_INSTANCE:
            # Advice: no supported cluster can restart one instance of a running job.
            return Action(diagnosis, ActionKind.RESTART_INSTANCE, None, Reason(ReasonKind.RESTARTS, diagnosis))
        case ActionKind.REPORT_KEYS:
            return report_keys(diagnosis, terms)


def scale_up(diagnosis: Diagnosis, window: Window, terms: GuardTerms, schedule: Schedule) -> Action | Reason:
    """Scales all operators at once, so that one action suffices: the measured rates show the next bottleneck too. Where
    a schedule has minutes to spare, once the job would be late for longer than the instances are worth.
    """
    sizing, running = Sizing(window, terms), window.newest.parallelism
    plan = sizing.grown()
    if plan == running:
        return Reason(ReasonKind.NO_ROOM, diagnosis)
    growth_per_s = window.backlog_growth_per_s
    if schedule.worth is not None and growth_per_s is not None and not window.unmeasured:
        added = sum(plan.values()) - sum(running.values())
        patience_s = schedule.worth.patience_s(added * schedule.held_s / 3600.0)
        behind = Backlog(sum(window.backlog.values()), growth_per_s, sum(window.offered_per_s.values()))
        if not behind.late_for(terms.max_lag_s, terms.window_s + schedule.lead_s, patience_s):
            return Reason(ReasonKind.MAY_BE_LATE, diagnosis, observed=added, bound=patience_s)
    return _scaling(diagnosis, ActionKind.SCALE_UP, sizing, plan)


def scale_down(
    diagnosis: Diagnosis,
    window: Window,
    found: Sequence[Symptom],
    terms: GuardTerms,
    schedule: Schedule,
    ran_s: float,
) -> Action | Reason:
    """Lowers idle operators to what the load needs, not below the schedule, and not shortly before a planned step."""
    if schedule.step_ahead:
        return Reason(ReasonKind.STEP_AHEAD, diagnosis, observed=schedule.planned_in_s)
    if ran_s < terms.min_dwell_s:
        return Reason(ReasonKind.DWELLS, diagnosis, observed=ran_s, bound=terms.min_dwell_s)
    operators = {symptom.operator for symptom in found if symptom.kind is SymptomKind.IDLE}
    sizing = Sizing(window, terms)
    plan = sizing.shrunk(operators, schedule.floor)
    if plan == window.newest.parallelism:
        return Reason(ReasonKind.NEEDED, diagnosis)
    running = sum(window.newest.parallelism.values())
    saved = running - sum(plan.values())
    if saved < WORTH_IT * running:
        return Reason(ReasonKind.NOT_WORTH_IT, diagnosis, observed=saved, bound=running)
    return _scaling(diagnosis, ActionKind.SCALE_DOWN, sizing, plan)


def report_keys(diagnosis: Diagnosis, terms: GuardTerms) -> Action:
    """Advice: the job itself decides how keys are routed."""
    shares = {} if terms.model is None else terms.model.key_shares(diagnosis.operator)
    hottest = {key: shares[key] for key in sorted(shares, key=lambda key: -shares[key])[:SHOWN_KEYS]}
    return Action(diagnosis, ActionKind.REPORT_KEYS, None, Reason(ReasonKind.SPLITS_KEYS, diagnosis, keys=hottest))


def _scaling(diagnosis: Diagnosis, kind: ActionKind, sizing: Sizing, plan: Mapping[str, int]) -> Action:
    window, refuted = sizing.window, sizing.refuted
    running, offered = window.newest.parallelism, sum(window.offered_per_s.values())
    before = {
        "offered_per_s": offered,
        "taken_per_s": sum(window.taken_per_s.values()),
        "backlog": sum(window.backlog.values()),
        "sustained_per_s": sizing.sustained_per_s(running),
    }
    expected = {"sustained_per_s": sizing.sustained_per_s(plan), "utilisation": sizing.utilisation(plan)}
    scaling = Scaling(running, plan, offered, bool(window.unmeasured))
    if refuted is not None:
        scaling = replace(scaling, carried_per_s=refuted.carried_per_s, taken_per_s=refuted.taken_per_s)
    else:
        scaling = replace(scaling, uneven=sizing.beyond_even(plan))
    return Action(diagnosis, kind, plan, Reason(ReasonKind.SCALES, diagnosis, scaling=scaling), before, expected)
