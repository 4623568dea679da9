"""The guard's reasons in words, each from its facts."""

from datetime import UTC, datetime

import pytest

from forescale.report.kit.guard_words import barred_words, reason_words, symptom_words
from planner.guard_facts import (
    ActionKind,
    Diagnosis,
    DiagnosisKind,
    Need,
    Reason,
    ReasonKind,
    Scaling,
    Symptom,
    SymptomKind,
)
from planner.ledger.entries import BarredPair

AT = datetime(2026, 3, 2, 8, 5, tzinfo=UTC)
FULL = Diagnosis(DiagnosisKind.UNDER_PROVISIONED, "work", (Symptom(SymptomKind.SATURATION, "work", 1.0, 0.95),))
SLOW = Diagnosis(DiagnosisKind.SLOW_INSTANCE, "work", (), 1)
IDLE = Diagnosis(DiagnosisKind.OVER_PROVISIONED, "work", (Symptom(SymptomKind.IDLE, "work", 0.1, 0.35),))
IS_FULL, IS_IDLE = (
    "work is full: the busiest instance of work works 100% of the time",
    "no instance of work works more than 10% of the time",
)
MORE = Scaling({"work": 2}, {"work": 5}, 30.0, True, {"work": 1})
REFUTED = Scaling({"work": 2}, {"work": 5}, 30.0, carried_per_s=10.0, taken_per_s=20.0)


@pytest.mark.parametrize(
    ("symptom", "words"),
    [
        (Symptom(SymptomKind.BACKPRESSURE, "read", 0.5, 0.02), "read waits for room downstream 50% of the time"),
        (
            Symptom(SymptomKind.GROWING_QUEUE, "", 5.0, 0.6, offered_per_s=30.0),
            "the backlog grows by 5/s of 30/s that come",
        ),
        (Symptom(SymptomKind.LAG, "", 200.0, 180.0), "lag is 200 s, beyond 180 s"),
        (
            Symptom(SymptomKind.RATE_SKEW, "work", 5.0, 1.5, 1, 10.0, 2.0),
            "instance 1 of work receives 10/s, another one 2/s",
        ),
        (
            Symptom(SymptomKind.SERVICE_SKEW, "work", 2.0, 1.5, 0, 0.2, 0.1),
            "instance 0 of work takes 0.2 s a tuple, its peers 0.1 s",
        ),
    ],
)
def test_symptom__says_its_numbers(symptom: Symptom, words: str) -> None:
    assert symptom_words(symptom) == words


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            Reason(ReasonKind.UNFORESEEN, observed=239.6),
            "the guard has added instances since its forecast was made, which settle for 240 s more",
        ),
        (Reason(ReasonKind.BACKLOG_DRAINS, observed=6600.0), "a backlog of 6,600 tuples drains"),
        (
            Reason(ReasonKind.NEEDS_MORE, need=Need(10.0, 6600.0, 21.0, 20.0)),
            "10/s come and 6,600 tuples wait, which takes 21/s, and its plan carries 20/s",
        ),
        (Reason(ReasonKind.NOT_RUNNING, state="down"), "the job is down, so nothing is measured"),
        (
            Reason(ReasonKind.ACTION_SETTLES, action=ActionKind.SCALE_UP, at=AT),
            "scale-up of 08:05:00 UTC settles before it is judged",
        ),
        (
            Reason(ReasonKind.PLAN_SETTLES, at=AT, bound=300.0),
            "the plan runs since 08:05:00 UTC and settles for 300 s",
        ),
        (Reason(ReasonKind.STEP_FIRST, step_id="s-1", state="due"), "step s-1 is due and goes first"),
        (
            Reason(ReasonKind.BARRED, FULL, ActionKind.SCALE_UP),
            f"under-provisioned: {IS_FULL}; scale-up has kept failing and is barred",
        ),
        (
            Reason(ReasonKind.NO_ROOM, FULL),
            f"{IS_FULL}; more instances are not allowed or would not help: raise planning.max_instances",
        ),
        (
            Reason(ReasonKind.MAY_BE_LATE, FULL, observed=3, bound=75.0),
            f"{IS_FULL}; 3 more instances cost as much as 75 s of being late at the schedule's price, and so many are "
            "not in sight",
        ),
        (
            Reason(ReasonKind.NOT_WORTH_IT, IDLE, observed=1, bound=11),
            f"{IS_IDLE}; 1 of 11 instances less are not worth a rescale",
        ),
        (
            Reason(ReasonKind.SCALES, FULL, scaling=MORE),
            f"{IS_FULL}; 30/s come by estimate: work 2 → 5; of these for uneven keys, slow nodes, few cores and "
            "waiting threads: work 1",
        ),
        (
            Reason(ReasonKind.SCALES, FULL, scaling=REFUTED),
            f"{IS_FULL}; 30/s come: work 2 → 5; sized by the measured busy time alone: by the model the running plan "
            "carries 10/s at most, and it takes in 20/s",
        ),
        (
            Reason(ReasonKind.RESTARTS, SLOW),
            "restart instance 1 of operator work by hand, on another node if it stays slow",
        ),
        (
            Reason(ReasonKind.SPLITS_KEYS, keys={"a": 0.6}),
            "its heaviest keys are 'a' (60%): split the hot key, or combine before it is grouped",
        ),
        (
            Reason(ReasonKind.TAKES_MORE, FULL, observed=31.0, bound=10.0),
            f"31/s are taken in, 10/s before; still {IS_FULL}",
        ),
        (Reason(ReasonKind.STILL_ILL, FULL), f"still under-provisioned: {IS_FULL}"),
        (Reason(ReasonKind.REPLACED, plan={"work": 7}), "work 7 took its place before it could be judged"),
        (Reason(ReasonKind.WORDED, detail="more come"), "more come"),
    ],
)
def test_reason__is_worded_from_its_facts(reason: Reason, words: str) -> None:
    assert reason_words(reason) == words


@pytest.mark.parametrize("kind", ReasonKind)
def test_every_kind_of_reason__has_words(kind: ReasonKind) -> None:
    whole = Reason(kind, SLOW, ActionKind.SCALE_UP, "read", 1.0, 2.0, MORE, {}, {"work": 1}, "s-1", "due", AT, "lost")
    assert reason_words(whole).strip("; ")


def test_barred_pair__says_how_often_it_failed_and_why_at_last() -> None:
    pair = BarredPair("calls", "under-provisioned", "scale-up", AT, 2, Reason(ReasonKind.STILL_ILL, FULL))
    assert barred_words(pair) == f"2 times in a row without effect, at last: still under-provisioned: {IS_FULL}"
