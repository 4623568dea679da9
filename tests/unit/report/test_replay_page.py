"""The page of a replay: what it says, and that nothing in a name comes alive."""

import re

import pytest
from sample_timeline import timeline

from forescale.report.replay.page import render_replay_page

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "{{ 7*7 }}",
    "\u202eevil",
]


def _words(page: str) -> str:
    body = page[page.index("<main>") : page.index("</main>")]
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_headline__names_who_violates_least_and_its_cost() -> None:
    words = _words(render_replay_page(timeline()))
    assert "static-peak has the fewest violations, 0.00% of all minutes, with 4.0 instances on average" in words
    assert "0.0417 days under each of 1 seed; a violation is a minute with more than 2 min of lag." in words
    assert "a note" in words


def test_table__tells_cost_and_violations_of_every_policy() -> None:
    words = _words(render_replay_page(timeline()))
    # Six of sixty minutes are late; what waits is gone at some moment of the seventh.
    assert "small 3.00 3 10.00% 6 5 min 7 min 24.0" in words
    assert "static-peak 4.00 4 0.00% 0 0 s 1 min 24.0" in words


def test_front__is_in_bold_and_what_is_beaten_is_not() -> None:
    page = render_replay_page(timeline())
    bold = re.findall(r"<strong>([^<]+)</strong>", page)
    assert [name for name in bold if name in ("small", "static-peak", "wasteful")] == ["small", "static-peak"]


def test_page__is_the_same_for_the_same_timeline() -> None:
    assert render_replay_page(timeline()) == render_replay_page(timeline())


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.slow
def test_page__shows_hostile_text_as_text(text: str) -> None:
    page = render_replay_page(timeline(topology=text, policy=text, note=text))
    main = page[page.index("<main>") : page.index("</main>")]
    assert "<script" not in main
    assert "<img" not in main
    assert "onerror=alert" not in main.replace("onerror=alert(1)&gt;", "")
    assert page.count("<script") == render_replay_page(timeline()).count("<script")
