"""One assessment: from a window of metrics to at most one action, with everything observed on the way."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from planner.guard.actions import ACTION_FOR, Action, Schedule, resolved
from planner.guard.diagnoses import diagnoses, distressed, drains, may_drain
from planner.guard.symptoms import symptoms
from planner.guard.terms import GuardTerms
from planner.guard.window import MIN_LOOKS, Window
from planner.guard_facts import ActionKind, Diagnosis, DiagnosisKind, Reason, ReasonKind, Symptom

Pair = tuple[DiagnosisKind, ActionKind]


@dataclass(frozen=True)
class Assessment:
    """action: to deploy, None to keep the plan. advice: what people must do themselves. reasons: the conclusions,
    at least one.

    unmeasured: for each source whose arrival rate is estimated, why.
    """

    symptoms: tuple[Symptom, ...]
    diagnoses: tuple[Diagnosis, ...]
    action: Action | None
    advice: tuple[Action, ...]
    reasons: tuple[Reason, ...]
    unmeasured: Mapping[str, str] = field(default_factory=dict)


def assessed(
    window: Window | None, terms: GuardTerms, schedule: Schedule, barred: Set[Pair], ran_s: float
) -> Assessment:
    """window: of the running plan, None without a look at it. ran_s: how long the plan has run."""
    if window is None or not window.covers(terms.window_s):
        return Assessment((), (), None, (), (_too_little(window, terms),))
    found = symptoms(window, terms)
    if distressed(found) and may_drain(window, terms, ran_s):
        source, said = next(iter(window.unmeasured.items()))
        reason = Reason(ReasonKind.MAY_DRAIN, operator=source, observed=ran_s, bound=terms.drain_s, detail=said)
        return Assessment(found, (), None, (), (reason,), window.unmeasured)
    causes = diagnoses(window, found, terms)
    if not causes:
        kind = ReasonKind.DRAINS if found and drains(window, terms) else ReasonKind.HEALTHY
        return Assessment(found, (), None, (), (Reason(kind),), window.unmeasured)
    action, advice, reasons = None, list[Action](), list[Reason]()
    for cause in causes:
        pair = (cause.kind, ACTION_FOR[cause.kind])
        if pair in barred:
            reasons.append(Reason(ReasonKind.BARRED, cause, pair[1]))
            continue
        answer = resolved(cause, window, found, terms, schedule, ran_s)
        if isinstance(answer, Reason):
            reasons.append(answer)
        elif answer.plan is None:
            advice.append(answer)
            reasons.append(answer.reason)
        elif action is None:
            action = answer
            reasons.append(answer.reason)
    return Assessment(found, causes, action, tuple(advice), tuple(reasons), window.unmeasured)


def _too_little(window: Window | None, terms: GuardTerms) -> Reason:
    """Why a window is not assessed."""
    if window is not None and len(window.looks) < MIN_LOOKS:
        return Reason(ReasonKind.ONE_LOOK)
    known_s = 0.0 if window is None else window.span_s
    return Reason(ReasonKind.SHORT_WINDOW, observed=known_s, bound=terms.window_s)
