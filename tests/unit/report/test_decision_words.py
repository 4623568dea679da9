"""Facts of a decision in words, as every page and command says them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from forescale.report.kit.decision_words import (
    arrival_words,
    basis_rows,
    calibration_notes,
    calibration_words,
    causes_words,
    price_words,
    unknown_cost_words,
)
from forescale.report.kit.guard_words import reason_words as guard_reason_words
from forescale.report.kit.step_reasons import reason_words, review_cause_words
from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import ArrivalFacts, CalibrationFacts, DecisionBasis, DriftFacts, PriceFacts
from planner.edit_facts import LimitKind, LimitPassed
from planner.guard_facts import Reason, ReasonKind
from planner.ledger.entries import StepEntry
from planner.ledger.step_state import Moved, StepState
from planner.pricing.instance_cost import CostQuantity, UnknownCost
from planner.step_cause import ReviewCause, ReviewCauseKind, StepCause, StepCauseKind

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_prices_that_are_unknown__name_the_operators_and_what_to_declare() -> None:
    unknown = UnknownCost(CostQuantity.PRICE, ("ingest",))
    assert unknown_cost_words(unknown).endswith("of ingest is not known; declare price_per_hour")
    assert price_words(PriceFacts(unpriced=("read",))) == (
        "all instances count the same; no price: the price of an instance of read is not known; declare price_per_hour"
    )


def test_a_calibration__names_what_was_never_measured_what_drifted_and_what_waits_for_a_second_look() -> None:
    assert calibration_words(CalibrationFacts(unmeasured=("lines", "count"), untracked="refused")) == (
        "never measured: lines, count; the topology file's values count until forescale model calibrate; "
        "not in MLflow: refused"
    )
    drift = DriftFacts("split", "service_s", 0.004, 0.006, 0.002)
    assert "drifted: split: service_s was 0.004, is 0.006 (+50%" in calibration_words(CalibrationFacts(drifts=(drift,)))
    assert "one look at split contradicts" in calibration_words(CalibrationFacts(contradicted=("split",)))
    assert calibration_words(CalibrationFacts(failure="away")) == "not measured now: away"


def test_a_plan_that_has_just_begun_to_run__is_a_note_and_no_alarm() -> None:
    fresh = CalibrationFacts(version="calls/3", fresh_since=NOON)
    assert calibration_notes(fresh) == (
        "nothing is measured yet of the plan that runs since 12:00:00 UTC, so what was known before counts",
    )
    assert causes_words(DecisionBasis(calibration=fresh)) == ""
    assert causes_words(DecisionBasis(calibration=replace(fresh, failure="away"))).startswith("calibration: ")
    assert calibration_notes(CalibrationFacts()) == ()


def test_the_first_calibration__is_not_called_one_that_drifted() -> None:
    assert ("last calibration that changed", "e1f17f026122") in basis_rows(
        DecisionBasis(calibration_digest="e1f17f026122")
    )


PLANS = [PhysicalPlan("calls", {"work": work}) for work in (1, 5)]
STEP = StepEntry(
    "s1-1", "s1", 1, "calls", NOON, NOON, *PLANS, StepState.APPROVED, "as planned", NOON, "anna", 0
)  # fmt: skip


def test_a_step_against_the_guard__says_what_it_takes_back_and_that_it_waits() -> None:
    assert reason_words(replace(STEP, moved=Moved.AGAINST_GUARD)).startswith(
        "as planned; follows on work 5, which the guard has put in place, and takes back instances that it added"
    )


def test_a_withheld_step__says_why_it_waits_while_it_does() -> None:
    waits = replace(STEP, state=StepState.WITHHELD, withheld=Reason(ReasonKind.BACKLOG_DRAINS, observed=400.0))
    assert reason_words(waits) == "a backlog of 400 tuples drains"
    assert reason_words(replace(waits, state=StepState.VERIFIED, reason="runs")) == "runs"
    # A release that kept it in words.
    assert reason_words(replace(waits, withheld=None, reason="a backlog of 5 s")) == "a backlog of 5 s"


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (
            ReviewCause(ReviewCauseKind.COST, 8.0, 5),
            "the schedule costs 8 instance-hours more than holding, planning.auto_approve allows 5",
        ),
        (
            ReviewCause(ReviewCauseKind.COST, 8.0, 5, 16.0),
            "the schedule costs 8 instance-hours (a price of 16) more than holding, planning.auto_approve allows 5",
        ),
        (
            ReviewCause(ReviewCauseKind.PRICE, 16.0, 15),
            "the schedule costs a price of 16 more than holding, planning.auto_approve allows 15",
        ),
        (
            ReviewCause(ReviewCauseKind.UNPRICED, bound=15),
            "prices of plans are unknown, so planning.auto_approve.max_cost_price cannot be checked; give operators, "
            "or the site of the section packing, a price_per_hour",
        ),
        (
            ReviewCause(ReviewCauseKind.PROBABILITY, 0.2, 0.1),
            "a violation is expected with a probability of 20%, planning.auto_approve allows 10%",
        ),
        (
            ReviewCause(ReviewCauseKind.MAX_STEP, 3, 2),
            "it starts or stops 3 instances, planning.auto_approve allows 2",
        ),
        (
            ReviewCause(ReviewCauseKind.CALLS_OFF, step="s0-1", approved_by="ben"),
            "it would call off step s0-1, which ben approved",
        ),
        (ReviewCause(ReviewCauseKind.FOLLOWS, step="s1-1"), "it follows on step s1-1, which is not approved"),
    ],
)
def test_a_proposed_step__says_why_a_person_is_asked(cause: ReviewCause, words: str) -> None:
    assert review_cause_words(cause) == words
    asked = replace(STEP, state=StepState.PROPOSED, review_cause=cause)
    assert reason_words(asked) == f"as planned; asked because {words}"
    # A release that kept it in words.
    assert reason_words(replace(asked, review_cause=None, asked_because="it is large")).endswith("because it is large")
    assert reason_words(replace(asked, state=StepState.APPROVED)) == "as planned"


COUNTS = {"work": 5, "tail": 4}
LIMITS = (LimitPassed(LimitKind.MAX_STEP, 4, 3, before={"work": 1}, plan={"work": 5}),)
BOUNDS = (
    ReviewCause(ReviewCauseKind.MAX_STEP, bound=2),
    ReviewCause(ReviewCauseKind.COST, 8.0, 9),
    ReviewCause(ReviewCauseKind.PRICE, 16.0, 20),
    ReviewCause(ReviewCauseKind.PROBABILITY, 0.2, 0.25),
)
Kind = StepCauseKind
CAUSES = {
    "asked for by anna": StepCause(Kind.ASKED_FOR, by="anna"),
    "asked for by anna (a fair), which overrides: from work 1 to work 5 4 instances start or stop > planning.max_step "
    "of 3": StepCause(Kind.ASKED_FOR, by="anna", detail="a fair", limits=LIMITS),
    "approved with the edit by anna: a fair": StepCause(Kind.EDITED, by="anna", detail="a fair"),
    "scale-up: data-skew": StepCause(Kind.GUARD_ACTS, action="scale-up", diagnosis="data-skew"),
    "approved before by anna, as step s0-1 at Mon 12:00: the peak": StepCause(
        Kind.APPROVED_BEFORE, by="anna", step="s0-1", at=NOON, detail="the peak"
    ),
    "within planning.auto_approve: at most 2 instances a step, 8 of 9 instance-hours over holding, a price of 16 of 20 "
    "over holding, violation with 20% of 25%": StepCause(Kind.WITHIN_BOUNDS, bounds=BOUNDS),
    "its time has come": StepCause(Kind.DUE),
    "asked the cluster": StepCause(Kind.ASKED),
    "taken up again after it was cut short": StepCause(Kind.RESUMED),
    "floor work 3 · tail 8 on what runs; work 5 above the floor is not forescale's to lower; planning.max_instances of "
    "14 leaves room for tail 4 of 8": StepCause(Kind.FLOORED, plan=COUNTS, floor={"work": 3, "tail": 8}, bound=14),
    "the job needs what the step would take away": StepCause(Kind.NEEDED),
    "in place at 2026-03-02 12:00:00 UTC after 25 s of downtime; two containers": StepCause(
        Kind.RUNS, at=NOON, downtime_s=25.0, detail="two containers"
    ),
    "work 5 · tail 4 in place at 2026-03-02 12:00:00 UTC; the floor is work 3": StepCause(
        Kind.RUNS, at=NOON, plan=COUNTS, floor={"work": 3}
    ),
    "refused, nothing changed: no slots": StepCause(Kind.REFUSED, detail="no slots"),
    "refused when it was taken up again: no slots": StepCause(Kind.REFUSED_AGAIN, detail="no slots"),
    "it fails": StepCause(Kind.FAILED, detail="it fails"),
    "it fails; undone, work 5 · tail 4 runs again": StepCause(Kind.UNDONE, plan=COUNTS, detail="it fails"),
    "it fails; could not be undone: away": StepCause(Kind.NOT_UNDONE, detail="it fails", more="away"),
    "it fails; undoing it failed too: away": StepCause(Kind.UNDOING_FAILED, detail="it fails", more="away"),
    "cut short before the cluster took it, and its time has gone by at 2026-03-02 12:00 UTC; nothing "
    "changed": StepCause(Kind.NEVER_ASKED, until=NOON),
    "it is 2026-03-02 12:00 UTC, and the step was only good until 2026-03-02 12:00": StepCause(
        Kind.TOO_LATE, at=NOON, until=NOON
    ),
    "the guard only advises now (planning.guard.mode, planning.mode)": StepCause(Kind.GUARD_ADVISES),
    "schedule s2 takes its place": StepCause(Kind.OTHER_SCHEDULE, schedule="s2"),
    "a schedule that was made later had been recorded before": StepCause(Kind.LATER_SCHEDULE),
    "step s2-1 is the same and takes its place": StepCause(Kind.SAME_STEP, step="s2-1"),
    "step s1-2 takes its place, which was withheld": StepCause(Kind.STEP_AFTER, step="s1-2"),
    "work 5 · tail 4 was deployed by hand (step hand-1): decide anew": StepCause(
        Kind.BY_HAND, plan=COUNTS, step="hand-1"
    ),
    "the guard has put work 5 · tail 4 in place of work 1: decide anew": StepCause(
        Kind.GUARD_PLAN, plan=COUNTS, before={"work": 1}
    ),
    "made while a clock was ahead: decide anew": StepCause(Kind.CLOCK_AHEAD),
    "superseded while a clock was ahead (2026-03-02 12:00 UTC), so it waits again": StepCause(
        Kind.CLOCK_RIGHT, state="superseded", at=NOON
    ),
    "decided again at the right time": StepCause(Kind.DECIDED_AGAIN),
}


@pytest.mark.parametrize(("words", "cause"), CAUSES.items())
def test_a_step__says_why_it_is_in_its_state(words: str, cause: StepCause) -> None:
    assert reason_words(replace(STEP, reason="", cause=cause)) == words
    not_deployed = Reason(ReasonKind.NOT_DEPLOYED, state="rolled back", cause=cause)
    assert guard_reason_words(not_deployed) == f"not deployed, the step is rolled back: {words}"


def test_every_kind_of_cause__has_words() -> None:
    assert {cause.kind for cause in CAUSES.values()} == set(StepCauseKind)


def test_a_person_who_gives_no_reason__is_named() -> None:
    assert reason_words(replace(STEP, reason="")) == "approved by anna"
    assert reason_words(replace(STEP, state=StepState.VETOED, reason="sale is off")) == "sale is off"


def test_arrivals__that_hardly_rise_are_steady_and_long_bursts_are_written_out() -> None:
    steady = ArrivalFacts("cards", factor=1.002, mean_s=1090.0, share=0.97, windows=9000, window_s=60)
    assert arrival_words(steady) == "arrivals at cards are steady: measured in windows of 60 s"
    said = arrival_words(replace(steady, factor=1.85, share=0.05))
    assert said.startswith("arrivals at cards rise to 1.85 times their rate for 1,090 s, 5% of the time")
