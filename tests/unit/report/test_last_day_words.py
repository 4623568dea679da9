"""The day before a decision in plain sentences."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from report_page import ReportPage
from sample_decision import sample_decision

from forescale.report.decision.last_day_words import last_day_sentences
from forescale.report.decision.page import render_report
from planner.replay.last_day import DayCost, LastDay

END = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
DAY = LastDay(
    END - timedelta(days=1),
    END,
    DayCost(180.0, 2.0, 3, 1440),
    DayCost(90.0, 0.0, 1, 1440),
    DayCost(120.0, 4.0, 2, 1400),
)


def words(day: LastDay) -> str:
    return " ".join(last_day_sentences(day)).replace("\N{NO-BREAK SPACE}", " ")


def test_last_day__compares_both_with_what_ran() -> None:
    # 180 / 120 = 1.5; 90 / 120 = .75
    told = words(DAY)
    assert "120 instance-hours with 2 rescales; 4 of 1,400 minutes known were late." in told
    assert "would have cost 180 instance-hours with 2 min late and 3 rescales, 50 % more than what ran." in told
    assert "cost 90.0 instance-hours with no minute late and 1 rescale, 25 % less than what ran." in told


def test_last_day__is_compared_by_price_where_it_is_known() -> None:
    """Twice the price of what ran, for half more instances."""
    priced = replace(DAY, guard=replace(DAY.guard, price=8.0), ran=replace(DAY.ran, price=4.0) if DAY.ran else None)
    told = words(priced)
    assert "a price of 4 (120 instance-hours) with 2 rescales" in told
    assert "a price of 8 (180 instance-hours) with 2 min late and 3 rescales, 100 % more than what ran." in told


def test_last_day__says_why_what_ran_is_not_known() -> None:
    told = words(replace(DAY, ran=None, unknown="nobody knows"))
    assert "not known (nobody knows)." in told
    assert "than what ran" not in told


def test_report__tells_the_last_day_where_it_is_known() -> None:
    page = ReportPage(render_report(replace(sample_decision(), last_day=DAY))).text
    assert "The day before, under other policies" in page
    assert "The reactive guard alone" in page
    assert "The day before, under other policies" not in ReportPage(render_report(sample_decision())).text
