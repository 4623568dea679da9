"""The page of a history in a real browser, with the network cut."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from browser_wait import wait_until
from playwright.sync_api import BrowserContext, Page
from screen_sizes import DESKTOP, PHONE
from shop_history import MONDAY, NAME, Count, write_shop

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import write_history
from forescale.files.atomic import write_whole
from forescale.history.binned_windows import binned_history, readable_width_s
from forescale.history.span import history_span
from forescale.report.history.history_page import render_history_page

pytestmark = pytest.mark.browser

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
LONG = "a" * 300


def open_page(context: BrowserContext, home: Path, topology: str = NAME) -> tuple[Page, list[str]]:
    """The page of the whole history, and what the browser complained of."""
    span = history_span(home / "history", topology, start=None, end=None, days=36525, snapshot=None)
    width_s = readable_width_s(span, 3000)
    binned = binned_history(home / "history", span, ("orders",), (), [width_s])
    path = write_whole(render_history_page(binned.by_width[0], span, binned.measures), home / "page.html")
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: complaints.extend([request.url] * request.url.startswith("http")))
    page.goto(path.as_uri())
    wait_until(page, f"document.querySelectorAll('.plot .main-svg').length >= {3 * len(binned.by_width[0])}")
    return page, complaints


def shop(home: Path, counts: Mapping[str, Sequence[Count]]) -> Path:
    write_shop(home, counts, measures="throughput")
    return home


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_page__draws_every_source_without_complaint_or_request(
    context: BrowserContext, tmp_path: Path, size: tuple[int, int]
) -> None:
    home = shop(tmp_path, {"orders": [5, 0, None, "~3", "^9", 4] * 8, "clicks": [0] * 48, "mail": [None] * 48})
    page, complaints = open_page(context, home)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    wait_until(page, FITS)
    assert complaints == []
    assert page.locator("figcaption").all_inner_texts() == ["clicks", "mail", "orders"]
    assert page.locator("figure").nth(2).locator(".key").inner_text().splitlines() == [
        "missing (not zero)",
        "throttled: at least this many arrived",
        "observed",
        "partial: at least this many arrived",
    ]


def test_page__draws_zero_on_the_axis_and_nothing_in_a_gap(context: BrowserContext, tmp_path: Path) -> None:
    home = shop(tmp_path, {"orders": [0, 0, None, None, 3600, 3600]})
    page, _ = open_page(context, home)
    line = "document.getElementById('figure-0').data.find((trace) => trace.name === 'observed')"
    assert page.evaluate(f"Array.from({line}.y)") == [0, 0, None, None, 1, 1]
    # Two strokes, with the gap between them; the first at the height of the axis' zero.
    strokes = page.locator("#figure-0 .scatterlayer .trace").last.locator(".js-line")
    heights = [(strokes.nth(at).get_attribute("d") or "").split(",")[1].split("L")[0] for at in range(strokes.count())]
    axis = "document.getElementById('figure-0')._fullLayout.yaxis"
    expected = [page.evaluate(f"{axis}.l2p({rate})") for rate in (0, 1)]
    assert [float(height) for height in heights] == pytest.approx(expected, abs=0.1)
    shaded = page.evaluate("document.getElementById('figure-0').data[0].x.slice(0, 3)")
    assert shaded == ["2024-03-04T02:00:00", "2024-03-04T02:00:00", "2024-03-04T04:00:00"]


def test_figures__show_the_same_stretch_when_one_is_looked_at_closer(context: BrowserContext, tmp_path: Path) -> None:
    home = shop(tmp_path, {"orders": [5] * 48, "clicks": [7] * 48})
    page, _ = open_page(context, home)
    plot = page.locator("#figure-0 .nsewdrag").first.bounding_box()
    assert plot is not None
    y = plot["y"] + plot["height"] / 2
    page.mouse.move(plot["x"] + plot["width"] / 4, y)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] / 2, y, steps=5)
    page.mouse.up()
    # A quarter to a half of 48 hours.
    for figure in ("figure-0", "figure-1"):
        wait_until(page, f"document.getElementById('{figure}').layout.xaxis.range[0].startsWith('2024-03-04 1')")
    page.mouse.dblclick(plot["x"] + plot["width"] / 2, y)
    for figure in ("figure-0", "figure-1"):
        wait_until(page, f"document.getElementById('{figure}').layout.xaxis.range[0].startsWith('2024-03-04T00:00')")


def test_page__shows_hostile_and_endless_names_and_runs_none(context: BrowserContext, tmp_path: Path) -> None:
    home = shop(tmp_path, {HOSTILE: [1, None, 2] * 8, LONG: [1] * 24})
    page, complaints = open_page(context, home)
    assert complaints == []
    assert page.title().startswith("Arrivals of shop")
    assert page.locator("main img").count() == 0
    assert HOSTILE in page.locator("main").inner_text()
    for width, height in (DESKTOP, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        wait_until(page, FITS)


def test_page__of_a_year_of_minutes_hides_no_peak_and_no_gap(context: BrowserContext, tmp_path: Path) -> None:
    minutes, peak_at, gap_at = 365 * 1440, 200_000, 300_000
    counts = np.full(minutes, 60)
    counts[peak_at] = 6000
    begin_us = int(MONDAY.timestamp()) * 1_000_000
    edges_us = begin_us + np.array([[0, gap_at], [gap_at + 1, minutes]]) * 60_000_000
    counts[gap_at] = 0
    rows = history_rows(NAME, "orders", counts, edges_us, start=MONDAY, window_s=60)
    write_history(rows, tmp_path / "history", NAME, MONDAY, MONDAY + timedelta(minutes=minutes))
    page, complaints = open_page(context, tmp_path)
    assert complaints == []
    data = page.evaluate("document.getElementById('figure-0').data.map((t) => ({name: t.name, x: t.x, y: [...t.y]}))")
    (observed,) = [trace for trace in data if trace["name"] == "observed"]
    assert len(observed["y"]) <= 3000
    # 6000 in a minute are 100 a second. Bins are of three hours: 180 minutes.
    assert max(observed["y"]) == 100
    assert observed["y"][peak_at // 180] == 100
    missing = data[0]
    assert missing["x"][0] == f"{MONDAY + timedelta(minutes=gap_at // 180 * 180):%Y-%m-%dT%H:%M:%S}"
    # Its outline keeps it visible, however narrow.
    box = page.locator("#figure-0 .scatterlayer .trace").first.locator(".js-line").bounding_box()
    assert box is not None
    assert "some windows missing" in page.locator(".key").inner_text()
