"""The report as a reviewer sees it, on a desktop and on a phone, with the network cut."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from browser_wait import wait_until
from sample_decision import SOURCE, hold_decision, outcome, sample_decision
from screen_sizes import DESKTOP, PHONE

from forescale.report.decision.decision import DecisionReport

pytestmark = pytest.mark.browser

DECISIONS: dict[str, Callable[[], DecisionReport]] = {
    "rescales": sample_decision,
    "hold": hold_decision,
    "afterwards": lambda: replace(sample_decision(), outcome=outcome()),
}
LONG = "a" * 300
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("kind", DECISIONS)
def test_report__opens_without_complaint_or_request_and_fits(opened, kind: str, size: tuple[int, int]) -> None:
    report = opened(DECISIONS[kind](), *size)
    page = report.page
    assert report.complaints == []
    # Data URLs stay in the page; everything else but the file itself would be a request.
    assert [url for url in report.requests if url != page.url and not url.startswith("data:")] == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.locator("h1").is_visible()
    assert page.locator("h1").inner_text() == page.title()
    assert page.get_by_text("Asked of you").is_visible()
    assert page.locator("#figure-0 svg .scatterlayer .trace").count() > 0
    figure = page.locator("#figure-0 .main-svg").first.bounding_box()
    assert figure is not None
    assert figure["width"] <= size[0]
    assert figure["height"] >= 200


def test_report__says_the_verdict_on_the_first_screen_of_a_phone(opened) -> None:
    page = opened(sample_decision(), *PHONE).page
    headline = page.locator("h1").bounding_box()
    assert headline is not None
    assert headline["y"] + headline["height"] < PHONE[1] / 2


def test_figure__shows_36_hours_again_when_a_phone_is_turned(opened) -> None:
    page = opened(sample_decision(), *PHONE).page
    shown = "document.getElementById('figure-0').layout.xaxis.range[0]"
    # Decided at 21:30 on the 23rd: twelve hours before on a phone, 36 before on a wide screen.
    assert page.evaluate(shown).startswith("2003-10-23T09:30")
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    wait_until(page, f"{shown}.startsWith('2003-10-22T09:30')")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    wait_until(page, f"{shown}.startsWith('2003-10-23T09:30')")


def test_figure__tells_the_deploy_times_under_the_pointer(opened) -> None:
    page = opened(sample_decision(), *DESKTOP).page
    mark = page.locator("#figure-0 .scatterlayer .trace .points path").nth(2)
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    assert box is not None
    page.mouse.move(box["x"], box["y"] + 12)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    label = page.locator("#figure-0 .hoverlayer")
    wait_until(page, "document.querySelector('#figure-0 .hoverlayer').textContent.includes('step 3')")
    told = label.text_content() or ""
    assert "requested Fri 07:58" in told
    assert "runs from Fri 07:59" in told


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_report__shows_hostile_names_and_runs_none(opened, size: tuple[int, int]) -> None:
    decision = sample_decision(HOSTILE)
    decision = replace(decision, schedule=replace(decision.schedule, recorded=HOSTILE))
    report = opened(decision, *size)
    assert report.complaints == []
    assert report.page.title().startswith("Rescale call-analytics")
    assert report.page.locator("main img").count() == 0
    assert HOSTILE in (report.page.locator("main").text_content() or "")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_report__fits_the_width_even_with_names_without_end(opened, size: tuple[int, int]) -> None:
    page = opened(sample_decision(LONG), *size).page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_report__forbids_a_script_that_is_not_its_own(opened) -> None:
    report = opened(sample_decision(), *DESKTOP)
    report.page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"document.title=1\">')"
    )
    report.page.wait_for_timeout(200)
    assert report.page.title().startswith("Rescale")
    assert any("Content Security Policy" in complaint for complaint in report.complaints)


def test_report__unfolds_everything_on_paper(opened) -> None:
    page = opened(sample_decision(), *DESKTOP).page
    assert not page.get_by_text("loses to week-naive").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.get_by_text("loses to week-naive").is_visible()
    assert SOURCE in page.locator("figcaption").first.inner_text()
