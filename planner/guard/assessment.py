"""One assessment: from a window of metrics to at most one action, with everything observed on the way."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from planner.guard.actions import ACTION_FOR, Action, ActionKind, Schedule, resolved
from planner.guard.diagnoses import Diagnosis, DiagnosisKind, diagnoses, drains
from planner.guard.symptoms import Symptom, symptoms
from planner.guard.terms import GuardTerms
from planner.guard.window import Window

Pair = tuple[DiagnosisKind, ActionKind]


@dataclass(frozen=True)
class Assessment:
    """action: to deploy, None to keep the plan. advice: what people must do themselves. why: the conclusion.

    unmeasured: for each source whose arrival rate is estimated, why.
    """

    symptoms: tuple[Symptom, ...]
    diagnoses: tuple[Diagnosis, ...]
    action: Action | None
    advice: tuple[Action, ...]
    why: str
    unmeasured: Mapping[str, str] = field(default_factory=dict)


def assessed(
    window: Window | None, terms: GuardTerms, schedule: Schedule, barred: Set[Pair], ran_s: float
) -> Assessment:
    """window: of the running plan, None without a look at it. ran_s: how long the plan has run."""
    if window is None or not window.covers(terms.window_s):
        known_s = 0.0 if window is None else window.span_s
        why = f"{known_s:.0f} s of metrics are known of this plan, and {terms.window_s:.0f} s are asked for"
        return Assessment((), (), None, (), why)
    found = symptoms(window, terms)
    causes = diagnoses(window, found, terms)
    if not causes:
        why = "a backlog drains in time" if found and drains(window, terms) else "nothing is wrong"
        return Assessment(found, (), None, (), why, window.unmeasured)
    action, advice, reasons = None, [], []
    for cause in causes:
        pair = (cause.kind, ACTION_FOR[cause.kind])
        if pair in barred:
            reasons.append(f"{cause.kind}: {cause.why}; {pair[1]} has kept failing and is barred")
            continue
        answer = resolved(cause, window, found, terms, schedule, ran_s)
        if isinstance(answer, str):
            reasons.append(answer)
        elif answer.plan is None:
            advice.append(answer)
            reasons.append(answer.why)
        elif action is None:
            action = answer
            reasons.append(answer.why)
    return Assessment(found, causes, action, tuple(advice), "; ".join(reasons), window.unmeasured)
