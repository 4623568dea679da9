"""Waiting for a page that forbids evaluated scripts: it is asked from outside, since it may not poll itself."""

from headless_chromium import PATIENCE_MS
from playwright.sync_api import Page

PAUSE_MS = 50


def wait_until(page: Page, expression: str) -> None:
    """Return once the JavaScript expression is true; fails after PATIENCE_MS."""
    for _ in range(PATIENCE_MS // PAUSE_MS):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(PAUSE_MS)
    raise AssertionError(f"not true after {PATIENCE_MS} ms: {expression}")
