"""A page of Airflow in a browser, after the sign-in by its form."""

from pathlib import Path

from headless_chromium import PATIENCE_MS
from playwright.sync_api import Browser, Page

from forescale.local.airflow.environment import passwords
from forescale.local.airflow.service import AirflowService


def signed_in_page(browser: Browser, service: AirflowService, user: str, address: str) -> Page:
    """As `signed_in_at`, of an Airflow that this process runs."""
    return signed_in_at(browser, service.url, service.home, user, address)


def signed_in_at(browser: Browser, url: str, airflow_home: Path, user: str, address: str) -> Page:
    """The page at the address, to which the sign-in leads back; `complaints`: errors of its scripts so far.

    The caller closes its context.
    """
    page = browser.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    page.complaints = []  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.complaints.append(str(error)))  # type: ignore[attr-defined]
    page.set_default_timeout(PATIENCE_MS)
    page.goto(url + address)
    page.fill("input[name=username]", user)
    page.fill("input[name=password]", passwords(airflow_home)[user])
    page.click("button[type=submit]")
    page.wait_for_url(url + address, timeout=PATIENCE_MS)
    return page
