"""The page of a replay: what it says, and that nothing in a name comes alive."""

import re
from dataclasses import replace

import pytest
from sample_timeline import timeline, track

from forescale.report.replay.page import render_replay_page
from planner.pricing.instance_cost import InstanceCost
from planner.replay.timeline import Timeline

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


def test_page__tells_who_is_cheapest_within_the_violations_that_are_allowed() -> None:
    words = _words(render_replay_page(replace(timeline(), allowed_share=0.12)))
    # A tenth of the minutes of `small` is late, a fifth of those of `wasteful`: .08 more than allowed.
    assert "small is the cheapest within the allowed violations, with 3.0 instances on average" in words
    assert "and 12.00% of all minutes may be one" in words
    assert "small 3.00 3 10.00% 6 5 min 7 min 24.0 –" in words
    assert "wasteful 6.00 6 20.00% 12 5 min 13 min 24.0 8.00%" in words


def test_page__tells_what_instances_cost_where_that_is_known() -> None:
    costs = {"ingest": InstanceCost(1.0, 512.0, 0.0, 0.1), "work": InstanceCost(2.0, 1024.0, 0.0, 0.5)}
    words = _words(render_replay_page(replace(timeline(), per_instance=costs)))
    # An hour of one ingest and two works: 1 + 2 × 2 cores, .5 + 2 × 1 GiB, .1 + 2 × .5.
    assert "small 3.00 3 10.00% 6 5 min 7 min 24.0 5.0 2.5 1.10" in words
    assert "CPU-hours" not in _words(render_replay_page(timeline()))


def test_page__holds_policies_against_another_one_seed_by_seed() -> None:
    tracks = [
        track(name, work, late, seed) for seed in (0, 1) for name, work, late in (("a", 3, 4 * seed), ("b", 2, 0))
    ]
    words = _words(render_replay_page(Timeline("orders", 120.0, tuple(tracks)), "b"))
    assert "Difference to b: mean over paired seeds" in words
    # An instance more for an hour; 0 and 4 minutes: mean 2, s = 2.83, t(1, .975) = 12.706, so 2 ± 12.706 · 2.83 / √2.
    assert "a +1.0 +1.0 … +1.0 +2.0 -23.4 … +27.4" in words
    one = _words(render_replay_page(timeline(), "wasteful"))
    assert "small -3.0 – -6.0 –" in one


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


def test_headline__leaves_out_who_has_a_budget_of_its_own() -> None:
    own = tuple(replace(one, policy="planner@0.3") if one.policy == "wasteful" else one for one in timeline().tracks)
    words = _words(render_replay_page(replace(timeline(), tracks=own, allowed_share=0.01)))
    assert "static-peak is the cheapest within the allowed violations" in words
    # What each was asked for stands in the table then.
    assert "allowed overdrawn" in words
    assert "30.00%" in words
