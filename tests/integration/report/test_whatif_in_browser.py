"""The page of evaluated plans in a real browser, with the network cut."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from browser_wait import wait_until
from playwright.sync_api import BrowserContext, Page
from sample_whatif import SIZED, what_if
from screen_sizes import DESKTOP, PHONE

from forescale.files.atomic import write_whole
from forescale.report.whatif.page import render_whatif_page
from forescale.report.whatif.whatif import WhatIf

pytestmark = pytest.mark.browser

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


def open_page(context: BrowserContext, folder: Path, whatif: WhatIf, figures: int) -> tuple[Page, list[str]]:
    """The page, and what the browser complained of."""
    path = write_whole(render_whatif_page(whatif), folder / "page.html")
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: complaints.extend([request.url] * request.url.startswith("http")))
    page.goto(path.as_uri())
    # Plotly draws each figure on three layers.
    wait_until(page, f"document.querySelectorAll('.plot .main-svg').length >= {3 * figures}")
    return page, complaints


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_page__draws_plans_over_the_load_operators_and_containers(
    context: BrowserContext, tmp_path: Path, size: tuple[int, int]
) -> None:
    whatif = replace(what_if(site=SIZED, packed=True, memory_mib=490.0), peak_per_s={0.5: 300.0, 0.99: 520.0})
    page, complaints = open_page(context, tmp_path, whatif, 5)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    wait_until(page, FITS)
    assert complaints == []
    assert page.locator("h1").inner_text().startswith("2 of 3 plans carry read 400/s; fair is the smallest of them")
    assert [" ".join(text.split()) for text in page.locator("figcaption").all_inner_texts()] == [
        "Latency over the load",
        "Processed share of the offered load",
        "How busy the busiest instance of each operator is",
        "Cores that containers need",
        "Memory that containers need",
    ]
    # Each line ends at its cross, at the load at which the plan is full.
    layout = "document.getElementById('figure-0')._fullLayout"
    wide = page.evaluate(f"{layout}.xaxis._length")
    full = [page.evaluate(f"{layout}.xaxis.l2p({rate})") for rate in (250, 500, 750)]
    assert full == sorted(full)
    assert full[-1] == pytest.approx(wide * 750 / 975, abs=1)
    crosses = page.locator("#figure-0 .scatterlayer .trace").nth(3).locator(".point")
    assert crosses.count() == 3
    at = [box["x"] + box["width"] / 2 for box in (crosses.nth(number).bounding_box() for number in range(3)) if box]
    assert gaps(at) == pytest.approx(gaps(full), abs=1.5)
    # The bar of `count` in `fair` goes 80 % of the way to the line of what is full.
    axis = "document.getElementById('figure-2')._fullLayout.xaxis"
    bars = page.locator("#figure-2 .barlayer .trace").nth(1).locator(".point path")
    box = bars.nth(1).bounding_box()
    assert box is not None
    assert box["width"] == pytest.approx(0.8 * page.evaluate(f"{axis}.l2p(1) - {axis}.l2p(0)"), abs=2)
    # Numbers after the bars are not cut off at the edge.
    for number in (2, 3, 4):
        plot = page.locator(f"#figure-{number}").bounding_box()
        texts = page.locator(f"#figure-{number} .bartext")
        assert plot is not None
        for each in range(texts.count()):
            text = texts.nth(each).bounding_box()
            assert text is not None
            assert text["x"] + text["width"] <= plot["x"] + plot["width"] + 1


def test_page__shows_hostile_and_endless_names_and_runs_none(context: BrowserContext, tmp_path: Path) -> None:
    whatif = what_if({HOSTILE: 1, "a" * 300: 2}, source="b" * 300, counter=HOSTILE)
    page, complaints = open_page(context, tmp_path, whatif, 3)
    assert complaints == []
    assert page.title() != "taken"
    assert page.locator("main img").count() == 0
    assert HOSTILE[:70] in page.locator("main").inner_text()
    for width, height in (DESKTOP, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        wait_until(page, FITS)


def test_page__without_a_load_draws_the_operators_alone(context: BrowserContext, tmp_path: Path) -> None:
    page, complaints = open_page(context, tmp_path, what_if(load_per_s=0.0), 1)
    assert complaints == []
    assert page.locator("figure").count() == 1


def gaps(values: list[float]) -> list[float]:
    return [after - before for before, after in pairwise(values)]
