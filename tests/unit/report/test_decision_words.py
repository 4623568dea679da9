"""Facts of a decision in words, as every page and command says them."""

from dataclasses import replace
from datetime import UTC, datetime

from forescale.report.kit.decision_words import calibration_words, price_words, reason_words, unknown_cost_words
from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import CalibrationFacts, DriftFacts, PriceFacts
from planner.guard_facts import Reason, ReasonKind
from planner.ledger.entries import StepEntry
from planner.ledger.step_state import Moved, StepState
from planner.pricing.instance_cost import CostQuantity, UnknownCost

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_prices_that_are_unknown__name_the_operators_and_what_to_declare() -> None:
    unknown = UnknownCost(CostQuantity.PRICE, ("ingest",))
    assert unknown_cost_words(unknown).endswith("of ingest is not known; declare price_per_hour")
    assert price_words(PriceFacts(unpriced=("read",))) == (
        "all instances count the same; no price: the price of an instance of read is not known; declare price_per_hour"
    )


def test_a_calibration__names_what_was_never_measured_what_drifted_and_what_waits_for_a_second_look() -> None:
    assert calibration_words(CalibrationFacts(unmeasured=("lines", "count"), untracked="refused")) == (
        "never measured: lines, count; the topology file's values count until forescale calibrate; "
        "not in MLflow: refused"
    )
    drift = DriftFacts("split", "service_s", 0.004, 0.006, 0.002)
    assert "drifted: split: service_s was 0.004, is 0.006 (+50%" in calibration_words(CalibrationFacts(drifts=(drift,)))
    assert "one look at split contradicts" in calibration_words(CalibrationFacts(contradicted=("split",)))
    assert calibration_words(CalibrationFacts(failure="away")) == "not measured now: away"


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
