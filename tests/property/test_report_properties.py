"""Whatever a name is made of, the report keeps its shape."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_page import ReportPage
from sample_decision import sample_decision

from forescale.report.decision.page import render_report
from forescale.report.kit.wording import duration, number, percent, visible

anything = st.text(st.characters(codec=None, exclude_categories=()), min_size=1, max_size=60)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(anything)
def test_report__has_the_same_elements_whatever_a_source_is_called(name: str) -> None:
    page = render_report(sample_decision(name))
    page.encode("utf-8")
    assert ReportPage(page).elements == SHAPE


SHAPE = ReportPage(render_report(sample_decision("plain"))).elements


@given(anything)
def test_visible__is_printable_and_keeps_what_is(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert visible(shown) == shown
    shown.encode("utf-8")


@given(st.floats(min_value=1e-6, max_value=1e12))
def test_number__is_within_half_a_unit_of_the_third_digit(value: float) -> None:
    # Three significant digits round by at most 0.5 in the third: 0.5 % of the value; eight decimals are kept.
    assert abs(float(number(value).replace(",", "")) - value) <= 0.00501 * value + 5e-9


@given(st.floats(min_value=0, max_value=1e7))
def test_duration__has_at_most_two_units(seconds: float) -> None:
    assert 2 <= len(duration(seconds).split()) <= 4


@given(st.floats(min_value=0, max_value=5))
def test_percent__reads_as_a_breach_only_from_one_on(share: float) -> None:
    shown = percent(share)
    assert shown.startswith("0") == (share == 0)
    if share < 1:
        assert not shown.startswith("100")
