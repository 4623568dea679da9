"""The page of a shadow: what it says, and that nothing in a name comes alive."""

import re
from datetime import UTC, date, datetime

import pytest

from forescale.report.shadow.page import render_shadow_page
from planner.ledger.entries import ShadowDay

SINCE = datetime(2026, 3, 1, 10, tzinfo=UTC)
HOSTILE = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "{{ 7*7 }}", "\u202eevil"]


def day(number: int, *, observed: int = 1440, measured: int = 720) -> ShadowDay:
    """9 instances ran and 6 would have, all day; 8 and 2 minutes late of those that were measured, 5 of all."""
    return ShadowDay(
        topology="pair",
        day=date(2026, 3, number),
        accrued_at=SINCE,
        max_lag_s=90.0,
        observed_minutes=observed,
        measured_minutes=measured,
        real_instance_hours=9 * observed / 60,
        real_violation_minutes=8 if measured else 0,
        real_rescales=0,
        instance_hours=144.0,
        instance_hours_observed=6 * observed / 60,
        violation_minutes=5,
        violation_minutes_measured=2 if measured else 0,
        rescales=3,
        rescales_observed=3 * observed // 1440,
        backlog=0.0,
    )


def page_of(*days: ShadowDay, text: str = "pair") -> str:
    return render_shadow_page(text, SINCE, text, days, {"2026-03-09": text}, [text])


def _words(page: str) -> str:
    body = page[page.index("<main>") : page.index("</main>")]
    return " ".join(re.sub(r"<[^>]+>", " ", body).replace("\N{NO-BREAK SPACE}", " ").split())


def test_days__are_added_up_like_with_like() -> None:
    words = _words(page_of(day(2), day(3, observed=720, measured=0)))
    assert "2026-03-02 216 144 8 2 0 3 100 % 50 %" in words
    # Half a day was observed, and no lag measured: forescale's violations are of the whole day then.
    assert "2026-03-03 108 72.0 unknown 5 0 1 50 % 0 %" in words
    # 216 + 108 against 144 + 72; violations of Monday alone, and one of three rescales of Tuesday.
    assert "all 324 216 8 2 0 4 75 % 25 %" in words
    assert "216 instance-hours over the observed minutes, 33 % fewer than the 324" in words
    assert "for 2 minutes of the 720 in which the lag was measured; it was missed for 8." in words
    assert "2026-03-09 is not accrued" in words


def test_no_day_yet__is_a_page_without_a_figure() -> None:
    words = _words(page_of())
    assert "No whole day of pair in shadow mode has been accrued yet" in words
    assert "figure" not in words


def test_page__is_the_same_for_the_same_days() -> None:
    assert page_of(day(2)) == page_of(day(2))


@pytest.mark.parametrize("text", HOSTILE)
def test_page__shows_hostile_text_as_text(text: str) -> None:
    page = page_of(day(2), text=text)
    main = page[page.index("<main>") : page.index("</main>")]
    assert "<script" not in main
    assert "<img" not in main
    assert page.count("<script") == page_of(day(2)).count("<script")
