"""Judges whether an action had its effect, and which pairs of diagnosis and action keep failing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.guard.actions import ActionKind
from planner.guard.diagnoses import DiagnosisKind, diagnoses, distressed
from planner.guard.symptoms import symptoms
from planner.guard.terms import GuardTerms
from planner.guard.window import Window

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
    why: str
    measured: Mapping[str, float]


def judged(
    action: ActionKind,
    diagnosis: DiagnosisKind,
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
        why = "a backlog drains in time" if distressed(found) else "the job keeps up"
        return Verdict(VerdictKind.EFFECTIVE, why, measured)
    if action is ActionKind.SCALE_UP:
        wanted = before["taken_per_s"] + HALF * (expected["sustained_per_s"] - before["taken_per_s"])
        if taken >= wanted:
            why = f"{taken:.4g}/s are taken in, {before['taken_per_s']:.4g}/s before; still {ill[0].why}"
            return Verdict(VerdictKind.EFFECTIVE, why, measured)
    if not window.unmeasured and offered > OTHER_LOAD * before["offered_per_s"]:
        why = f"{offered:.4g}/s come, and it was sized for {before['offered_per_s']:.4g}/s"
        return Verdict(VerdictKind.MOOT, why, measured)
    return Verdict(VerdictKind.INEFFECTIVE, f"still {diagnosis}: {ill[0].why}", measured)


def keeps_failing(newest_first: Sequence[VerdictKind], after: int) -> bool:
    """Whether the last `after` verdicts that are not moot are failures."""
    telling = [kind for kind in newest_first if kind is not VerdictKind.MOOT]
    return len(telling) >= after and all(kind is VerdictKind.INEFFECTIVE for kind in telling[:after])
