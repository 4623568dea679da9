"""The pages on forecasts in a real browser, with the network cut, on a desktop and on a phone."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from arrival_series import web_requests, with_gaps
from browser_wait import wait_until
from past_forecasts import hourly
from playwright.sync_api import BrowserContext, Page
from screen_sizes import DESKTOP, PHONE

from forecasting.drift import ForecastDrift
from forecasting.forecast import QUANTILES
from forecasting.judged import judged_forecasts
from forecasting.outlook import SeriesOutlook
from forescale.files.atomic import write_whole
from forescale.report.forecasts.fleet_page import render_fleet_page
from forescale.report.forecasts.forecast_page import render_forecast_page
from forescale.report.forecasts.forecast_report import ForecastReport

pytestmark = pytest.mark.browser

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
LONG = "a" * 300
HORIZONS_S = (900, 3600, 21600, 86400)
NOW = datetime(2026, 1, 26, tzinfo=UTC)
ALARM = ForecastDrift(3600, True, "the p95 was exceeded in 9 of the last 60 separate spans", 0.85, 0.9, 3.0, 60)


def of(count: int, *, factor: float = 1.0, silent: bool = False, gaps: bool = False) -> ForecastReport:
    series = web_requests(days=16)
    series = replace(series, counts=np.zeros_like(series.counts)) if silent else series
    series = with_gaps(series) if gaps else series
    return ForecastReport(**vars(judged_forecasts(hourly(series, count, HORIZONS_S, factor=factor, ahead=1), series)))


REPORTS: dict[str, Callable[[], ForecastReport]] = {
    "first": lambda: of(0),
    "few, with gaps": lambda: of(5, gaps=True),
    "hundreds": lambda: of(200),
    "alarmed": lambda: of(60, factor=0.5),
    "silent": lambda: of(30, silent=True),
    "no history": lambda: ForecastReport(
        **vars(judged_forecasts(hourly(web_requests(days=4), 6, HORIZONS_S, ahead=1), None))
    ),
}


def open_page(context: BrowserContext, path: Path) -> tuple[Page, list[str]]:
    """A page, and what the browser complained of or asked the network for."""
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: complaints.extend([request.url] * request.url.startswith("http")))
    page.goto(path.as_uri())
    return page, complaints


def turn(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})


def rows(count: int) -> list[SeriesOutlook]:
    """Every tenth could not be forecast, every seventh of the others drifts."""
    rng = np.random.default_rng(5)
    made = []
    for number in range(count):
        name, latest = f"source-{number}", 50 + 40 * rng.random(288)
        if number % 10 == 0:
            made.append(
                SeriesOutlook("shop", name, NOW, latest, cause="nothing was observed in the last 5 h; restore the feed")
            )
            continue
        peaks = {horizon_s: rng.uniform(40, 200) * np.array([0.8, 0.9, 1.0, 1.1]) for horizon_s in HORIZONS_S}
        drifts = (ALARM,) if number % 7 == 0 else (replace(ALARM, alarmed=False, reason=""),)
        names = {900: "persistence", 3600: "prophet", 21600: "prophet + time_of_week", 86400: "prophet + time_of_week"}
        made.append(SeriesOutlook("shop", name, NOW, latest, QUANTILES, peaks, names, drifts))
    return made


@pytest.mark.parametrize("kind", REPORTS)
def test_page__opens_without_complaint_and_fits_desktop_and_phone(
    context: BrowserContext, tmp_path: Path, kind: str
) -> None:
    report = REPORTS[kind]()
    page, complaints = open_page(context, write_whole(render_forecast_page(report), tmp_path / "page.html"))
    figures = 1 + sum(score.completed > 0 for score in report.scores)
    wait_until(page, f"document.querySelectorAll('.plot .main-svg').length >= {figures}")
    for size in (DESKTOP, PHONE):
        turn(page, size)
        wait_until(page, FITS)
        heights = page.evaluate("[...document.querySelectorAll('.plot')].map((plot) => plot.clientHeight)")
        assert len(heights) == figures
        assert min(heights) >= 200
    assert complaints == []
    assert page.locator("h1").inner_text() == page.title()
    alarmed = page.locator(".alarmed").count()
    assert bool(alarmed) is any(drift.alarmed for drift in report.drifts)


def test_page__says_whether_the_p95_held_on_the_first_screen_of_a_phone(
    context: BrowserContext, tmp_path: Path
) -> None:
    page, _ = open_page(context, write_whole(render_forecast_page(of(30)), tmp_path / "page.html"))
    turn(page, PHONE)
    drift = page.locator("header .told div").last.bounding_box()
    assert drift is not None
    assert drift["y"] + drift["height"] < PHONE[1]


def test_figure__draws_a_bar_for_each_forecast_and_a_triangle_for_each_exceeded(
    context: BrowserContext, tmp_path: Path
) -> None:
    series = web_requests(days=16)
    past = hourly(series, 12, (3600,), ahead=1)
    past[3] = replace(past[3], peak_per_s={3600: past[3].peak_per_s[3600] / 10})
    page, _ = open_page(
        context,
        write_whole(
            render_forecast_page(ForecastReport(**vars(judged_forecasts(past, series)))), tmp_path / "page.html"
        ),
    )
    wait_until(page, "document.querySelectorAll('#figure-1 .barlayer .point').length === 13")
    assert page.locator("#figure-1 .scatterlayer .trace").last.locator(".point").count() == 1
    # What came stands where the axis says it does, and the bars begin at the p50.
    bar = page.locator("#figure-1 .barlayer .point").first.bounding_box()
    dot = page.locator("#figure-1 .scatterlayer .trace").first.locator(".point").first.bounding_box()
    assert bar is not None
    assert dot is not None
    centre = dot["y"] + dot["height"] / 2
    assert bar["y"] < centre <= bar["y"] + bar["height"] + 1


def test_page__shows_hostile_and_endless_names_and_runs_none(context: BrowserContext, tmp_path: Path) -> None:
    for name in (HOSTILE, LONG):
        series = replace(web_requests(days=4), source=name, topology=name)
        report = ForecastReport(**vars(judged_forecasts(hourly(series, 3, (900, 3600), ahead=1), series)), link=name)
        page, complaints = open_page(context, write_whole(render_forecast_page(report), tmp_path / "page.html"))
        wait_until(page, "document.querySelectorAll('.plot .main-svg').length > 0")
        assert page.title().startswith(name[:20])
        assert page.locator("main img").count() == 0
        for size in (DESKTOP, PHONE):
            turn(page, size)
            wait_until(page, FITS)
        assert complaints == []


def test_all_series__open_without_complaint_and_fit_desktop_and_phone(context: BrowserContext, tmp_path: Path) -> None:
    page, complaints = open_page(context, write_whole(render_fleet_page(rows(500), NOW), tmp_path / "page.html"))
    assert page.locator("tbody tr").count() == 500
    for size in (DESKTOP, PHONE):
        turn(page, size)
        wait_until(page, FITS)
    assert page.locator(".spark polyline").count() >= 500
    assert complaints == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_all_series__are_filtered_by_words(context: BrowserContext, tmp_path: Path, size: tuple[int, int]) -> None:
    page, complaints = open_page(context, write_whole(render_fleet_page(rows(500), NOW), tmp_path / "page.html"))
    turn(page, size)
    box = page.get_by_label("Show those with")
    shown = page.locator("tbody tr:visible")
    assert shown.first.inner_text().count("not forecast") == 1
    box.fill("drift source-49")
    # 49 and 497: multiples of seven that are none of ten, with a name that begins so.
    wait_until(page, "document.getElementById('shown').textContent === '2'")
    assert shown.count() == 2
    box.fill("Not Forecast")
    wait_until(page, "document.getElementById('shown').textContent === '50'")
    box.fill("")
    wait_until(page, "document.getElementById('shown').textContent === '500'")
    assert complaints == []


def test_all_series__show_on_a_phone_what_is_wrong_right_after_the_name(
    context: BrowserContext, tmp_path: Path
) -> None:
    page, _ = open_page(context, write_whole(render_fleet_page(rows(12), NOW), tmp_path / "page.html"))
    turn(page, PHONE)
    first = page.locator("tbody tr").first
    cause = first.locator("td").last.bounding_box()
    drawing = first.locator("td").nth(2).bounding_box()
    assert cause is not None
    assert drawing is not None
    assert cause["y"] < drawing["y"]
    assert not first.get_by_text("–").first.is_visible()


def test_all_series__show_hostile_and_endless_names_and_run_none(context: BrowserContext, tmp_path: Path) -> None:
    odd = [replace(row, topology=HOSTILE, source=LONG, cause=HOSTILE) for row in rows(3)]
    page, complaints = open_page(context, write_whole(render_fleet_page(odd, NOW), tmp_path / "page.html"))
    assert page.title().startswith("3 series")
    assert page.locator("main img").count() == 0
    assert HOSTILE in page.locator("tbody").inner_text()
    for size in (DESKTOP, PHONE):
        turn(page, size)
        wait_until(page, FITS)
    assert complaints == []
