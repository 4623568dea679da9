"""Words for what a decision stands on, for its budget, and for a proposal that comes too late for a review."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sample_decision import sample_decision

from forescale.report.decision.verdict import too_late
from forescale.report.kit.decision_words import budget_words
from forescale.report.kit.stands_on import stands_on_lines
from planner.decision_basis import BudgetFacts
from planner.provenance import Ground, Origin, Provenance, Quantity

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
DECLARED, ASSUMED = Provenance(Origin.DECLARED), Provenance(Origin.ASSUMED)


def test_grounds__take_a_line_of_what_is_measured_one_of_files_and_one_of_what_is_assumed() -> None:
    grounds = [
        Ground(Quantity.LOAD, Provenance(Origin.MEASURED, "forecast", NOON, 56), ("read",)),
        Ground(Quantity.BUDGET, Provenance(Origin.MEASURED, "ledger", NOON, 10_080)),
        Ground(Quantity.DOWNTIME, DECLARED),
        Ground(Quantity.FREEZES, DECLARED),
        Ground(Quantity.LEAD, ASSUMED),
        Ground(Quantity.LIMITS, ASSUMED),
    ]
    assert stands_on_lines(grounds, UTC, NOON.date()) == [
        "stands on: load forecast 12:00 today from 56 days; budget paced by 10,080 minutes",
        "by its files: downtime; freezes",
        "assumed: lead time by default; limits by default",
    ]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (BudgetFacts(30, 22, 0.15), "22 of 30 minutes known in 7 days were late; 0.15 are allowed"),
        (BudgetFacts(10_080, 12, 50.4), "12 of 10,080 minutes known in 7 days were late; 50.4 are allowed"),
        (BudgetFacts(0, 0, None), "no lag is known for the past 7 days, so none of their minutes count"),
        (BudgetFacts(5, 0, None, 0.5), "0 of 5 minutes known in 7 days were late; each costs 0.5 instance-hours"),
    ],
)
def test_a_budget__is_told_with_what_the_week_has_used_of_it(facts: BudgetFacts, words: str) -> None:
    assert budget_words(facts) == words


def test_a_proposal_too_late_for_a_review__says_why_and_what_happens_without_an_answer() -> None:
    schedule = replace(sample_decision().schedule, review_s=1800.0)
    words = too_late(schedule, schedule.steps[0]).replace("\N{NO-BREAK SPACE}", " ")
    assert words.startswith("It is too late for a review of 30 min (planning.review_s): the load comes sooner.")
    assert "Without an answer 16 instances run on; a late approval deploys the step at once, until " in words
