"""*Scaling* in a real Airflow and a real browser: who sees it, and the report that a review links to."""

import re
import sqlite3
from contextlib import closing
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from airflow_runs import review_of
from day_and_night import add_topology
from signed_in import signed_in_page

from forescale.local.airflow.environment import passwords
from forescale.orchestration.review_operator import UNDECIDED
from forescale.situation.known_topologies import known_topologies
from forescale.wiring.parts import ledger_of
from modeling.wording import count_of

pytestmark = [pytest.mark.airflow, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1800)]

NAME = "looked-at"

REVIEW_FORM = "/dags/plan/runs/{}/tasks/each.review/mapped/0/required_actions"


@pytest.fixture(scope="module")
def asked(running):
    """The run of `plan` that waits for a review: planned by the usual week of the history. No other topology has a
    file, and nothing else is to be reviewed.
    """
    client, folder = running.service.client, running.installation.settings.topologies
    for review in client.open_reviews():
        client.answer(review, UNDECIDED)
    aside = [file.rename(file.with_suffix(".aside")) for file in folder.glob("*.yaml")]
    add_topology(running.installation, NAME)
    run_id = client.trigger("plan", {"topology": NAME})
    review_of(client, run_id)
    yield run_id
    (folder / f"{NAME}.yaml").unlink()
    for file in aside:
        file.rename(file.with_suffix(".yaml"))


@pytest.fixture
def schedule_id(running, asked):
    return ledger_of(running.installation.settings).schedules(NAME, limit=1)[0].id


@pytest.fixture
def signed_in(running, browser):
    """A page of the browser of a user, signed in by the form of Airflow, to which the address asked for leads."""
    contexts = []

    def sign_in(user, address):
        page = signed_in_page(browser, running.service, user, address)
        contexts.append(page.context)
        return page

    yield sign_in
    for context in contexts:
        context.close()


def get(running, path, user=None, **headers):
    """The answer to a user's token, or to nobody."""
    with httpx.Client(base_url=running.service.url, trust_env=False, timeout=120) as http:
        if user is not None:
            asked = {"username": user, "password": passwords(running.service.home)[user]}
            headers["Authorization"] = f"Bearer {http.post('/auth/token', json=asked).json()['access_token']}"
        return http.get(path, headers=headers)


def report_path(schedule_id):
    return f"/scaling/topologies/{NAME}/decisions/{schedule_id}"


def test_no_page__is_shown_without_a_session(running, schedule_id):
    one = f"/scaling/topologies/{NAME}"
    for path in (
        "/scaling/",
        one,
        f"{one}/history",
        f"{one}/forecasts?source=receive",
        report_path(schedule_id),
        f"{report_path(schedule_id)}/picture.svg",
    ):
        answer = get(running, path)
        assert (answer.status_code, answer.json()) == (401, {"detail": "Not authenticated"})
        sent = get(running, path, Accept="text/html")
        assert sent.status_code == 302
        assert sent.headers["location"].startswith("/api/v2/auth/login?next=%2Fscaling%2F")
        assert sent.text == ""
        assert parse_qs(urlsplit(sent.headers["location"]).query) == {"next": [path]}


def test_a_token_that_is_not_airflows__opens_nothing(running, schedule_id):
    assert get(running, report_path(schedule_id), Authorization="Bearer abc").status_code == 403
    assert get(running, report_path(schedule_id), Cookie="_token=abc", Accept="text/html").status_code in (302, 403)


@pytest.mark.parametrize("user", ["viewer", "reviewer", "admin"])
def test_overview__is_shown_to_whoever_may_see_the_runs_of_plan(running, schedule_id, user):
    answer = get(running, "/scaling/", user)
    assert answer.status_code == 200
    assert f'href="/scaling/topologies/{NAME}"' in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'sha256-")


@pytest.mark.parametrize("user", ["viewer", "reviewer", "admin"])
def test_report__is_shown_to_whoever_may_see_the_runs_of_plan(running, schedule_id, user):
    answer = get(running, report_path(schedule_id), user)
    assert answer.status_code == 200
    assert f"schedule {schedule_id}" in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith("; frame-ancestors 'self'")
    assert "unsafe-inline'" not in re.sub("style-src 'unsafe-inline'", "", policy)


@pytest.mark.parametrize(
    "path",
    [
        "/scaling/topologies/other/decisions/{}",
        f"/scaling/topologies/{NAME}/decisions/none",
        f"/scaling/topologies/{NAME}/decisions/..%2f..%2fledger",
        "/scaling/topologies/..%2f..%2f/decisions/{}",
        "/scaling/topologies/%00/decisions/{}",
        "/scaling/topologies/other",
        "/scaling/topologies/other/history",
        f"/scaling/topologies/{NAME}/forecasts?source=..%2f..%2fhome%2fclock",
        "/scaling/openapi.json",
    ],
)
def test_what_the_ledger_does_not_know__is_no_page(running, schedule_id, path):
    assert get(running, path.format(schedule_id), "admin").status_code == 404


def test_a_damaged_row__is_named_and_hides_no_page(running, schedule_id):
    with closing(sqlite3.connect(running.installation.settings.home / "ledger.db")) as ledger:
        [kept] = ledger.execute("SELECT body FROM schedules WHERE id = ?", (schedule_id,)).fetchone()

        def store(body):
            with ledger:
                ledger.execute("UPDATE schedules SET body = ? WHERE id = ?", (body, schedule_id))

        store("{}")
        try:
            answers = [get(running, path, "viewer") for path in ("/scaling/", f"/scaling/topologies/{NAME}")]
        finally:
            store(kept)
    assert [answer.status_code for answer in answers] == [200, 200]
    assert all(f"row of schedules with id {schedule_id} is damaged" in answer.text for answer in answers)


def test_review__links_to_the_report_and_shows_the_picture(running, asked, schedule_id, signed_in):
    page = signed_in("reviewer", REVIEW_FORM.format(asked))
    link = page.get_by_role("link", name="Open the report")
    link.wait_for()
    picture = page.get_by_role("img", name="Past arrivals, forecast and capacity")
    picture.scroll_into_view_if_needed()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 500
    page.goto(running.service.url + link.get_attribute("href"))
    page.wait_for_selector(".plot .main-svg")
    assert schedule_id in page.inner_text(".over")
    assert page.complaints == []


def test_scaling__is_in_the_navigation_and_leads_from_all_topologies_to_a_report(
    running, asked, signed_in, schedule_id
):
    page = signed_in("viewer", "/")
    page.get_by_role("link", name="Scaling").click()
    page.wait_for_url(f"{running.service.url}/plugin/scaling")
    frame = page.frame_locator("iframe")
    settings = running.installation.settings
    known = count_of(len(known_topologies(settings, ledger_of(settings))), "topology")
    assert f"{known}: 1 with a step to review" in frame.locator("h1").inner_text()
    answer = frame.get_by_role("link", name="Answer 1 review")
    assert answer.get_attribute("href") == REVIEW_FORM.format(quote(asked, safe=""))
    decide = frame.get_by_role("link", name="Decide now")
    assert (decide.get_attribute("href"), decide.get_attribute("target")) == ("/dags/aggregate", "_top")
    drawn = frame.get_by_role("img", name=f"Forecast and capacity of {NAME}")
    drawn.scroll_into_view_if_needed()
    assert drawn.evaluate("image => image.decode().then(() => image.naturalWidth)") > 500
    assert drawn.bounding_box()["width"] >= 280
    row = frame.locator("tr").filter(has_text=NAME)
    assert "time-of-week profile" in row.locator("td[data-label='Alarms']").inner_text()

    frame.get_by_role("link", name=NAME).click()
    decided = frame.locator("td[data-label=Decided] a")
    assert decided.get_attribute("href") == report_path(schedule_id)
    assert "proposed" in frame.locator("td[data-label=Steps]").inner_text()
    frame.get_by_role("link", name="Arrival history").click()
    frame.locator(".plot .main-svg").first.wait_for()
    frame.locator("body").evaluate("() => history.back()")
    decided.click()
    frame.locator(".plot .main-svg").first.wait_for()
    assert schedule_id in frame.locator(".over").inner_text()
    assert page.complaints == []

    # The frame's sandbox keeps links in it; this one leaves it.
    page.goto(f"{running.service.url}/plugin/scaling")
    frame.get_by_role("link", name="Decide now").click()
    page.wait_for_url(f"{running.service.url}/dags/aggregate")
    page.get_by_test_id("trigger-dag-button").wait_for()
