"""Diagnosers: the common cause of a window's symptoms, with Dhalion's names."""

from collections.abc import Sequence

from planner.guard.symptoms import NOISE, SATURATED
from planner.guard.terms import GuardTerms
from planner.guard.window import Window
from planner.guard_facts import Diagnosis, DiagnosisKind, Symptom, SymptomKind

DISTRESS = frozenset({SymptomKind.BACKPRESSURE, SymptomKind.SATURATION, SymptomKind.GROWING_QUEUE, SymptomKind.LAG})
"""Symptoms of a job that does not keep up."""


def diagnoses(window: Window, found: Sequence[Symptom], terms: GuardTerms) -> tuple[Diagnosis, ...]:
    """The cause first; empty while a backlog drains in time, and for a healthy job."""
    if not {symptom.kind for symptom in found} & DISTRESS:
        return over_provisioned(found)
    if drains(window, terms):
        return ()
    cause = skewed(window, found) or slow_instance(window, found) or under_provisioned(window, found)
    return (*cause, *target_missed(found, cause))


def distressed(found: Sequence[Symptom]) -> bool:
    return any(symptom.kind in DISTRESS for symptom in found)


def drains(window: Window, terms: GuardTerms) -> bool:
    """Whether the backlog will be gone in time without action."""
    growth, waits = window.backlog_growth_per_s, sum(window.backlog.values())
    return growth is not None and growth < 0 and waits / -growth <= terms.drain_s


def may_drain(window: Window, terms: GuardTerms, ran_s: float) -> bool:
    """Whether a full job may be catching up after its start: the load of a source is unmeasured, and the window begins
    within the time in which a backlog should drain. ran_s: how long the plan has run.
    """
    return bool(window.unmeasured) and ran_s - window.span_s < terms.drain_s


def bottleneck(window: Window) -> str:
    """The operator that causes the backpressure: full, and not blocked itself."""
    free = [name for name, share in window.backpressured.items() if share <= NOISE]
    return max(free or window.topology.order, key=lambda name: max(window.busy[name]))


def skewed(window: Window, found: Sequence[Symptom]) -> tuple[Diagnosis, ...]:
    """The bottleneck's fullest instance receives more than its peers, which are not full."""
    of = _of_bottleneck(window, found, SymptomKind.RATE_SKEW)
    if of is None or not _alone_full(window, of):
        return ()
    return (Diagnosis(DiagnosisKind.DATA_SKEW, of.operator, (of,), of.instance),)


def slow_instance(window: Window, found: Sequence[Symptom]) -> tuple[Diagnosis, ...]:
    """The bottleneck's fullest instance takes longer per tuple than its peers, which are not full."""
    of = _of_bottleneck(window, found, SymptomKind.SERVICE_SKEW)
    if of is None or not _alone_full(window, of):
        return ()
    return (Diagnosis(DiagnosisKind.SLOW_INSTANCE, of.operator, (of,), of.instance),)


def under_provisioned(window: Window, found: Sequence[Symptom]) -> tuple[Diagnosis, ...]:
    """The load exceeds what the bottleneck's instances can do together."""
    signs = [symptom for symptom in found if symptom.kind in DISTRESS - {SymptomKind.LAG}]
    if not signs:
        return ()
    return (Diagnosis(DiagnosisKind.UNDER_PROVISIONED, bottleneck(window), tuple(signs)),)


def target_missed(found: Sequence[Symptom], cause: Sequence[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Lag beyond the target without another cause, or with one that people must remove."""
    late = next((symptom for symptom in found if symptom.kind is SymptomKind.LAG), None)
    if late is None or any(each.kind is DiagnosisKind.UNDER_PROVISIONED for each in cause):
        return ()
    return (Diagnosis(DiagnosisKind.TARGET_MISSED, "", (late,)),)


def over_provisioned(found: Sequence[Symptom]) -> tuple[Diagnosis, ...]:
    signs = [symptom for symptom in found if symptom.kind is SymptomKind.IDLE]
    if not signs:
        return ()
    least = min(signs, key=lambda sign: sign.value)
    return (Diagnosis(DiagnosisKind.OVER_PROVISIONED, least.operator, tuple(signs)),)


def _of_bottleneck(window: Window, found: Sequence[Symptom], kind: SymptomKind) -> Symptom | None:
    name = bottleneck(window)
    return next((each for each in found if each.kind is kind and each.operator == name), None)


def _alone_full(window: Window, skew: Symptom) -> bool:
    """Whether the outlier is always busy while the operator as a whole is not full."""
    busy, at = window.busy[skew.operator], skew.instance
    return at is not None and busy[at] >= SATURATED and sum(busy) / len(busy) < SATURATED
