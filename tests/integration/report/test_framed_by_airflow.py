"""Pages of *Scaling* in a frame like Airflow's: its colours, half a screen, and links that lead out of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from browser_wait import wait_until
from headless_chromium import PATIENCE_MS
from playwright.sync_api import Browser, Frame, Page, Route
from sample_decision import NOW, TOPOLOGY, sample_decision

from forescale.report.decision.page import decision_picture, render_report
from forescale.report.overview.actions import Actions, Activity, Review
from forescale.report.overview.overview_page import render_overview
from forescale.report.overview.topology_page import Decided, render_topology_page
from forescale.standing import Standing
from planner.horizon.budget import Budget
from planner.ledger.entries import ScheduleEntry, StepEntry
from planner.ledger.step_state import StepState

pytestmark = pytest.mark.browser

HOST = "http://airflow.test"
NAVIGATION_PX = 72
"""Of Airflow, left of the frame."""
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 25, 28)"}
DECISION = replace(sample_decision(), states={})
FIRST = DECISION.schedule.steps[0]
STEP = StepEntry(
    "s1-1",
    "s1",
    1,
    TOPOLOGY,
    FIRST.deploy_at,
    FIRST.deploy_at + timedelta(hours=1),
    FIRST.plan,
    FIRST.replaces,
    StepState.PROPOSED,
    "",
    NOW,
    "forescale",
    0,
)
MADE = ScheduleEntry("s1", DECISION.schedule, (), "")
STANDING = Standing(
    TOPOLOGY,
    NOW,
    schedule=MADE,
    ahead=(STEP,),
    budget=Budget(0.005, past_minutes=10_000, used_minutes=25),
    damaged=("row of schedules with id s0 is damaged: it has no field made_at; restore it from a backup",),
)
FORM = "/dags/plan/runs/1/tasks/each.review/mapped/0/required_actions"
ACTIONS = Actions(
    [Activity("plan", 30, None)],
    [Review(TOPOLOGY, FORM)],
    "/required_actions",
    "/dags/aggregate",
    {"forecast": "/dags/forecast/runs/1"},
)
PAGES: dict[str, Callable[[], str]] = {
    "/scaling/": lambda: render_overview(
        [STANDING], NOW, page_of=lambda _: "/scaling/topologies/t", picture_of=lambda _: "/scaling/p", actions=ACTIONS
    ),
    "/scaling/topologies/t": lambda: render_topology_page(
        STANDING,
        [Decided(MADE, {"proposed": 4}, "/scaling/topologies/t/decisions/s1")],
        NOW,
        proposal=DECISION.proposal,
        picture="/scaling/p",
        pages={},
        overview="/scaling/",
        report="/scaling/topologies/t/decisions/s1",
        actions=ACTIONS,
    ),
    "/scaling/topologies/t/decisions/s1": lambda: render_report(DECISION),
}


@dataclass
class Framed:
    page: Page
    frame: Frame


@pytest.fixture
def framed(browser: Browser) -> Iterator[Callable[[str, int, str, str], Framed]]:
    """Opens a page in the frame, at a width of the window, with the colours of the browser and of Airflow."""
    contexts = []

    def open_page(path: str, width: int, browser_has: str, airflow_has: str) -> Framed:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=browser_has)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()

        def serve(route: Route) -> None:
            asked = route.request.url.removeprefix(HOST)
            if asked == "/scaling/p":
                route.fulfill(body=decision_picture(DECISION), content_type="image/svg+xml")
            elif asked in PAGES:
                route.fulfill(body=PAGES[asked](), content_type="text/html")
            elif asked == "/plugin/scaling":
                route.fulfill(body=_outside(path, airflow_has), content_type="text/html")
            else:
                route.fulfill(body=f"<h1>{asked}</h1>", content_type="text/html")

        page.route(f"{HOST}/**", serve)
        page.goto(f"{HOST}/plugin/scaling")
        page.frame_locator("iframe").locator("h1").wait_for()
        return Framed(page, page.frames[1])

    yield open_page
    for context in contexts:
        context.close()


def _outside(path: str, scheme: str) -> str:
    sandbox = "allow-scripts allow-same-origin allow-forms allow-downloads"
    frame = f'<iframe sandbox="{sandbox}" src="{path}" style="border: 0; width: 100%; height: 880px"></iframe>'
    return f'<html style="color-scheme: {scheme}"><body style="margin: 0 0 0 {NAVIGATION_PX}px">{frame}</body></html>'


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(("browser_has", "airflow_has"), [("light", "dark"), ("dark", "light")])
def test_page__has_the_colours_of_airflow(framed, path: str, browser_has: str, airflow_has: str) -> None:
    frame = framed(path, 1400, browser_has, airflow_has).frame
    assert frame.evaluate("getComputedStyle(document.body).backgroundColor") == PAPER[airflow_has]


def test_page__follows_when_airflow_is_made_dark(framed) -> None:
    """Lines of axes too: they are drawn anew, not only on other paper. While the frame loads it has no body."""
    opened = framed("/scaling/topologies/t/decisions/s1", 1400, "light", "light")
    within = "document.querySelector('iframe').contentDocument"
    wait_until(opened.page, f"{within}.querySelector('.main-svg') !== null")
    assert "#0072b2" in opened.frame.evaluate("JSON.stringify(document.getElementById('figure-0').data)")
    opened.page.evaluate("document.documentElement.style.colorScheme = 'dark'")
    wait_until(
        opened.page,
        f"{within}?.body && getComputedStyle({within}.body).backgroundColor === '{PAPER['dark']}'"
        f" && {within}.querySelector('.main-svg') !== null"
        f" && JSON.stringify({within}.getElementById('figure-0')?.data ?? '#0072b2').includes('#0072b2') === false",
    )


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [1400, 800])
def test_page__fits_the_frame_and_no_table_is_cut(framed, path: str, width: int) -> None:
    frame = framed(path, width, "light", "light").frame
    assert frame.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    cut = "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth).length"
    assert frame.evaluate(cut) == 0


@pytest.mark.parametrize(
    ("path", "name", "target"),
    [
        ("/scaling/", "Decide now", "/dags/aggregate"),
        ("/scaling/", "Answer 1 review", FORM),
        ("/scaling/topologies/t", "Answer in Airflow", FORM),
        ("/scaling/topologies/t/decisions/s1", "Answer in Airflow", "/required_actions?response_received=false"),
    ],
)
def test_link__leads_out_of_the_frame(framed, path: str, name: str, target: str) -> None:
    opened = framed(path, 1400, "light", "light")
    opened.frame.get_by_role("link", name=name).click()
    opened.page.wait_for_url(f"{HOST}{target}")
