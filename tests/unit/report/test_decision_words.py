"""Facts of a decision in words, as every page and command says them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from forescale.report.kit.decision_words import (
    calibration_notes,
    calibration_words,
    causes_words,
    price_words,
    unknown_cost_words,
)
from forescale.report.kit.step_reasons import reason_words, review_cause_words
from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import CalibrationFacts, DecisionBasis, DriftFacts, PriceFacts
from planner.guard_facts import Reason, ReasonKind
from planner.ledger.entries import StepEntry
from planner.ledger.step_state import Moved, StepState
from planner.pricing.instance_cost import CostQuantity, UnknownCost
from planner.review_cause import ReviewCause, ReviewCauseKind

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
