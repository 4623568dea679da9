"""The report in a real browser: Debian's Chromium, headless and without a network."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from browser_wait import wait_until
from headless_chromium import PATIENCE_MS, headless_chromium
from playwright.sync_api import Browser, BrowserContext, Page
from screen_sizes import DESKTOP

from forescale.files.atomic import write_whole
from forescale.report.decision.decision import DecisionReport
from forescale.report.decision.page import render_report


@dataclass
class Opened:
    """A report in a browser, and everything that went wrong or out while it was open."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with headless_chromium() as launched:
        yield launched


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """As wide as a desktop, with the network cut."""
    opened = browser.new_context(viewport={"width": DESKTOP[0], "height": DESKTOP[1]}, offline=True)
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    opened.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[[DecisionReport, int, int], Opened]]:
    """Writes the report of a decision and opens it at a width and height."""
    contexts = []

    def open_report(decision: DecisionReport, width: int, height: int) -> Opened:
        path = write_whole(render_report(decision), tmp_path / "report.html")
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        report = Opened(context.new_page())
        report.page.on("console", lambda message: report.complaints.append(f"{message.type}: {message.text}"))
        report.page.on("pageerror", lambda error: report.complaints.append(f"error: {error}"))
        report.page.on("requestfailed", lambda request: report.complaints.append(f"failed: {request.url}"))
        report.page.on("request", lambda request: report.requests.append(request.url))
        report.page.goto(path.as_uri())
        wait_until(report.page, "document.querySelectorAll('.plot .main-svg').length > 0")
        return report

    yield open_report
    for context in contexts:
        context.close()
