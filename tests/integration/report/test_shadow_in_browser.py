"""The page of a shadow in a real browser, with the network cut."""

from pathlib import Path

import pytest
from browser_wait import wait_until
from headless_chromium import PATIENCE_MS
from playwright.sync_api import Browser
from unit.report.test_shadow_page import day, page_of

from forescale.files.atomic import write_whole

pytestmark = pytest.mark.browser

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
BARS = """[...document.querySelectorAll('#figure-0 .barlayer .point path')]
    .filter((bar) => bar.getBoundingClientRect().height > 0).length"""


@pytest.mark.parametrize("width", [1280, 360], ids=["desktop", "phone"])
def test_page__draws_a_bar_for_all_that_is_known(browser: Browser, tmp_path: Path, width: int) -> None:
    path = write_whole(page_of(day(2), day(3), day(4, measured=0)), tmp_path / "page.html")
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True)
    context.set_default_timeout(PATIENCE_MS)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.goto(path.as_uri())
    wait_until(page, FITS)
    # Three days of cost and of violations, each for two; on one day nobody measured the real lag.
    wait_until(page, f"{BARS} === 11")
    assert complaints == []
    context.close()
