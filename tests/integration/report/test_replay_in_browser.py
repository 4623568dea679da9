"""The page of a replay in a real browser, with the network cut."""

from itertools import combinations
from pathlib import Path

import pytest
from browser_wait import wait_until
from playwright.sync_api import BrowserContext, Page
from sample_timeline import crowded_timeline, timeline
from screen_sizes import DESKTOP, PHONE

from forescale.files.atomic import write_whole
from forescale.report.replay.page import render_replay_page
from planner.replay.timeline import Timeline

pytestmark = pytest.mark.browser

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
VISIBLE = "document.getElementById('figure-1').data.filter((trace) => trace.visible !== 'legendonly').length"


def open_page(context: BrowserContext, folder: Path, shown: Timeline | None = None) -> tuple[Page, list[str]]:
    """The page, and what the browser complained of."""
    path = write_whole(render_replay_page(shown or timeline()), folder / "page.html")
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: complaints.extend([request.url] * request.url.startswith("http")))
    page.goto(path.as_uri())
    wait_until(page, "document.querySelectorAll('.plot .main-svg').length >= 4")
    return page, complaints


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_page__draws_cost_against_violations_and_everything_over_time(
    context: BrowserContext, tmp_path: Path, size: tuple[int, int]
) -> None:
    page, complaints = open_page(context, tmp_path)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    wait_until(page, FITS)
    assert complaints == []
    captions = [" ".join(text.split()) for text in page.locator("figcaption").all_inner_texts()]
    assert captions == ["Cost against violations", "Load, capacity and lag"]
    assert page.locator("#figure-0 .annotation-text").count() == 3


@pytest.mark.parametrize("size", [DESKTOP, (700, 900), PHONE], ids=["desktop", "tablet", "phone"])
def test_labels__of_policies_that_cost_alike_do_not_touch(
    context: BrowserContext, tmp_path: Path, size: tuple[int, int]
) -> None:
    page, _ = open_page(context, tmp_path, crowded_timeline())
    page.set_viewport_size({"width": size[0], "height": size[1]})
    labels = page.locator("#figure-0 .annotation-text")
    # On a phone they are numbers.
    first = "1" if size == PHONE else "policy-with-a-name-0"
    wait_until(page, f"document.querySelector('#figure-0 .annotation-text')?.textContent === '{first}'")
    wait_until(page, FITS)
    boxes = [box for at in range(labels.count()) if (box := labels.nth(at).bounding_box()) is not None]
    assert len(boxes) == 14
    apart = [
        a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
        or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]
        for a, b in combinations(boxes, 2)
    ]  # fmt: skip
    assert all(apart)


def test_a_policy__is_switched_on_by_its_name_in_the_legend(context: BrowserContext, tmp_path: Path) -> None:
    page, complaints = open_page(context, tmp_path)
    # The load, and of the static peak its capacity and its lag.
    assert page.evaluate(VISIBLE) == 3
    page.locator("#figure-1 .legendtoggle").nth(2).click()
    wait_until(page, f"{VISIBLE} === 5")
    assert complaints == []
