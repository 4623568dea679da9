"""The page of a replayed trace in a real browser, with the network cut."""

from pathlib import Path

import pytest
from browser_wait import wait_until
from playwright.sync_api import BrowserContext, Page
from sample_replay import replayed_trace
from screen_sizes import DESKTOP, PHONE

from forescale.files.atomic import write_whole
from forescale.report.forecasts.backtest_page import ReplayedTrace, render_backtest_page

pytestmark = pytest.mark.browser

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


def open_page(context: BrowserContext, folder: Path, trace: ReplayedTrace) -> tuple[Page, list[str]]:
    """The page, and what the browser complained of."""
    path = write_whole(render_backtest_page(trace), folder / "page.html")
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: complaints.extend([request.url] * request.url.startswith("http")))
    page.goto(path.as_uri())
    wait_until(page, "document.querySelectorAll('.plot .main-svg').length >= 9")
    return page, complaints


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_page__draws_the_history_and_every_horizon_with_keys_in_words(
    context: BrowserContext, tmp_path: Path, size: tuple[int, int]
) -> None:
    page, complaints = open_page(context, tmp_path, replayed_trace())
    page.set_viewport_size({"width": size[0], "height": size[1]})
    wait_until(page, FITS)
    assert complaints == []
    assert [" ".join(text.split()) for text in page.locator("figcaption").all_inner_texts()] == [
        "Arrivals, and when forecasts were made",
        "Peak within 1 h, by when it was forecast",
        "Peak within 6 h, by when it was forecast",
    ]
    assert page.locator("figure").nth(1).locator(".key").inner_text().splitlines() == [
        "forecast of the peak: p50 to p95",
        "p95",
        "p95 to p99",
        "real peak, at or below the p95 (3)",
        "real peak, above the p95 (1)",
    ]
    # What exceeded the p95 stands above it, within the figure.
    axis = "document.getElementById('figure-1')._fullLayout.yaxis"
    height = page.evaluate(f"{axis}._length")
    came, p95 = (page.evaluate(f"{axis}.l2p({rate})") for rate in (9, 2))
    assert 0 <= came < p95 <= height
    assert page.locator("#figure-1 .scatterlayer .trace").last.locator(".point").count() == 1


def test_page__shows_hostile_and_endless_names_and_runs_none(context: BrowserContext, tmp_path: Path) -> None:
    trace = replayed_trace(name=HOSTILE, candidate="a" * 300, refusal=HOSTILE)
    page, complaints = open_page(context, tmp_path, trace)
    assert complaints == []
    assert page.title().startswith("Backtest of </script>")
    assert page.locator("main img").count() == 0
    assert HOSTILE in page.locator("main").inner_text()
    for width, height in (DESKTOP, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        wait_until(page, FITS)
