"""Debian's Chromium, headless and silent: what opens pages in tests."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

PATIENCE_MS = 180_000  # of a loaded machine

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
]


@contextmanager
def headless_chromium() -> Iterator[Browser]:
    """Skips the test where there is none, in CI it fails."""
    chromium = shutil.which("chromium")
    if chromium is None:
        reason = "no chromium on PATH; apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=ARGS, timeout=PATIENCE_MS)
        yield launched
        launched.close()
