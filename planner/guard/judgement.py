"""Judges whether an action had its effect, and which pairs of diagnosis and action keep failing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.guard.diagnoses import diagnoses, distressed
from planner.guard.symptoms import symptoms
from planner.guard.terms import GuardTerms
from planner.guard.window import Window
from planner.guard_facts import ActionKind, DiagnosisKind, Reason, ReasonKind

HALF = 0.5
"""Share of the expected gain in throughput from which an action has helped, even if the job is not healthy yet."""

OTHER_LOAD = 1.1
"""Load as a multiple of what an action was sized for, above which its effect cannot be judged."""


class VerdictKind(StrEnum):
    EFFECTIVE = "effective"
    INEFFECTIVE = "ineffective"
    MOOT = "moot"


@dataclass(frozen=True)
class Verdict:
    """measured: by the same names as what was expected. Moot: the action cannot be judged."""

    kind: VerdictKind
    reason: Reason
    measured: Mapping[str, float]


def judged(
    action: ActionKind,
    before: Mapping[str, float],
    expected: Mapping[str, float],
    window: Window,
    terms: GuardTerms,
) -> Verdict:
    """Judge by a window that lies wholly under the new plan."""
    found = symptoms(window, terms)
    taken, offered = sum(window.taken_per_s.values()), sum(window.offered_per_s.values())
    measured = {"taken_per_s": taken, "offered_per_s": offered, "backlog": sum(window.backlog.values())}
    ill = [each for each in diagnoses(window, found, terms) if each.kind is not DiagnosisKind.OVER_PROVISIONED]
    if not ill:
        kind = ReasonKind.DRAINS if distressed(found) else ReasonKind.KEEPS_UP
        return Verdict(VerdictKind.EFFECTIVE, Reason(kind), measured)
    if action is ActionKind.SCALE_UP:
        wanted = before["taken_per_s"] + HALF * (expected["sustained_per_s"] - before["taken_per_s"])
        if taken >= wanted:
            reason = Reason(ReasonKind.TAKES_MORE, ill[0], observed=taken, bound=before["taken_per_s"])
            return Verdict(VerdictKind.EFFECTIVE, reason, measured)
    if not window.unmeasured and offered > OTHER_LOAD * before["offered_per_s"]:
        reason = Reason(ReasonKind.OTHER_LOAD, observed=offered, bound=before["offered_per_s"])
        return Verdict(VerdictKind.MOOT, reason, measured)
    return Verdict(VerdictKind.INEFFECTIVE, Reason(ReasonKind.STILL_ILL, ill[0]), measured)


def keeps_failing(newest_first: Sequence[VerdictKind], after: int) -> bool:
    """Whether the last `after` verdicts that are not moot are failures."""
    telling = [kind for kind in newest_first if kind is not VerdictKind.MOOT]
    return len(telling) >= after and all(kind is VerdictKind.INEFFECTIVE for kind in telling[:after])
