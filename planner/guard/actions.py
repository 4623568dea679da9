"""Resolvers: the action for a diagnosis, and its expected effect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from planner.guard.diagnoses import Diagnosis, DiagnosisKind
from planner.guard.sizing import Sizing
from planner.guard.symptoms import Symptom, SymptomKind
from planner.guard.terms import GuardTerms
from planner.guard.window import Window

SHOWN_KEYS = 3

WORTH_IT = 0.1
"""Smallest share of all instances that a scale-down must save."""


class ActionKind(StrEnum):
    SCALE_UP = "scale-up"
    SCALE_DOWN = "scale-down"
    RESTART_INSTANCE = "restart-instance"
    REPORT_KEYS = "report-keys"


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
    """plan: parallelism to deploy, None if a person must act. why: one sentence.

    before, expected: measured numbers, and those expected once it has settled, by the same names.
    """

    diagnosis: Diagnosis
    kind: ActionKind
    plan: Mapping[str, int] | None
    why: str
    before: Mapping[str, float] = field(default_factory=dict)
    expected: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Schedule:
    """What the guard needs from the scaling schedule. floor: by operator, instances that it wants now or soon.
    planned_in_s: time until the next step, None if there is none; within lead_s before it, the guard lowers nothing.
    """

    floor: Mapping[str, int] = field(default_factory=dict)
    planned_in_s: float | None = None
    lead_s: float = 0.0

    @property
    def step_ahead(self) -> bool:
        return self.planned_in_s is not None and self.planned_in_s <= self.lead_s


def resolved(
    diagnosis: Diagnosis, window: Window, found: Sequence[Symptom], terms: GuardTerms, schedule: Schedule, ran_s: float
) -> Action | str:
    """The action for a diagnosis, or why there is none. ran_s: how long the plan has run."""
    match ACTION_FOR[diagnosis.kind]:
        case ActionKind.SCALE_UP:
            return scale_up(diagnosis, window, terms)
        case ActionKind.SCALE_DOWN:
            return scale_down(diagnosis, window, found, terms, schedule, ran_s)
        case ActionKind.RESTART_INSTANCE:
            return restart_instance(diagnosis)
        case ActionKind.REPORT_KEYS:
            return report_keys(diagnosis, terms)


def scale_up(diagnosis: Diagnosis, window: Window, terms: GuardTerms) -> Action | str:
    """Scales all operators at once, so that one action suffices: the measured rates show the next bottleneck too."""
    sizing = Sizing(window, terms)
    plan = sizing.grown()
    if plan == window.newest.parallelism:
        return f"{diagnosis.why}; more instances are not allowed or would not help: raise planning.max_instances"
    return _scaling(diagnosis, ActionKind.SCALE_UP, sizing, plan)


def scale_down(
    diagnosis: Diagnosis,
    window: Window,
    found: Sequence[Symptom],
    terms: GuardTerms,
    schedule: Schedule,
    ran_s: float,
) -> Action | str:
    """Lowers idle operators to what the load needs, not below the schedule, and not shortly before a planned step."""
    if schedule.step_ahead:
        return f"{diagnosis.why}; a planned step is {schedule.planned_in_s:.0f} s ahead, so the plan is held"
    if ran_s < terms.min_dwell_s:
        return f"{diagnosis.why}; the plan runs for {ran_s:.0f} s, and is held for {terms.min_dwell_s:.0f} s"
    operators = {symptom.operator for symptom in found if symptom.kind is SymptomKind.IDLE}
    sizing = Sizing(window, terms)
    plan = sizing.shrunk(operators, schedule.floor)
    if plan == window.newest.parallelism:
        return f"{diagnosis.why}; the load or the schedule needs as many"
    running = sum(window.newest.parallelism.values())
    if running - sum(plan.values()) < WORTH_IT * running:
        return f"{diagnosis.why}; {running - sum(plan.values())} of {running} instances less are not worth a rescale"
    return _scaling(diagnosis, ActionKind.SCALE_DOWN, sizing, plan)


def restart_instance(diagnosis: Diagnosis) -> Action:
    """Advice: no supported cluster can restart one instance of a running job."""
    where = f"instance {diagnosis.instance} of operator {diagnosis.operator}"
    why = f"{diagnosis.why}: restart {where} by hand, on another node if it stays slow"
    return Action(diagnosis, ActionKind.RESTART_INSTANCE, None, why)


def report_keys(diagnosis: Diagnosis, terms: GuardTerms) -> Action:
    """Advice: the job itself decides how keys are routed."""
    shares = {} if terms.model is None else terms.model.key_shares(diagnosis.operator)
    hottest = sorted(shares, key=lambda key: -shares[key])[:SHOWN_KEYS]
    keys = ", ".join(f"{key!r} ({shares[key]:.0%})" for key in hottest)
    known_keys = f"its heaviest keys are {keys}" if keys else "its keys are not known (key_shares of the topology file)"
    why = f"{diagnosis.why}; {known_keys}: split the hot key, or combine before it is grouped"
    return Action(diagnosis, ActionKind.REPORT_KEYS, None, why)


def _scaling(diagnosis: Diagnosis, kind: ActionKind, sizing: Sizing, plan: Mapping[str, int]) -> Action:
    window = sizing.window
    running, offered = window.newest.parallelism, sum(window.offered_per_s.values())
    changes = ", ".join(f"{name} {running[name]} → {n}" for name, n in plan.items() if n != running[name])
    before = {
        "offered_per_s": offered,
        "taken_per_s": sum(window.taken_per_s.values()),
        "backlog": sum(window.backlog.values()),
        "sustained_per_s": sizing.sustained_per_s(running),
    }
    expected = {"sustained_per_s": sizing.sustained_per_s(plan), "utilisation": sizing.utilisation(plan)}
    come = f"{offered:.4g}/s come{' by estimate' if window.unmeasured else ''}"
    return Action(
        diagnosis, kind, plan, f"{diagnosis.why}; {come}: {changes}{_model_words(sizing, plan)}", before, expected
    )


def _model_words(sizing: Sizing, plan: Mapping[str, int]) -> str:
    """What the plan model adds to the measured busy time, or why it has no say; empty if they agree."""
    if (refuted := sizing.refuted) is not None:
        return (
            "; sized by the measured busy time alone: by the model the running plan carries "
            f"{refuted.carried_per_s:.4g}/s at most, and it takes in {refuted.taken_per_s:.4g}/s"
        )
    more = ", ".join(f"{name} {count}" for name, count in sizing.beyond_even(plan).items())
    return f"; of these for uneven keys, slow nodes and few cores: {more}" if more else ""
