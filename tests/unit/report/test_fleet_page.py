"""The page of all forecasts: what is riskiest first, and nothing about a series that is not said."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_page import ReportPage

from forecasting.drift import ForecastDrift
from forecasting.errors import ForecastError
from forecasting.forecast import QUANTILES
from forecasting.outlook import SeriesOutlook, by_risk
from forescale.report.forecasts.fleet_page import HEIGHT, WIDTH, render_fleet_page, spark_line

NBSP = "\N{NO-BREAK SPACE}"
NOW = datetime(2026, 1, 26, tzinfo=UTC)
GOOD = ForecastDrift(3600, False, "no worse than chance explains", 0.95, 0.4, 1.1, 40)
ALARM = ForecastDrift(900, True, "the p95 was exceeded in 9 of the last 60 separate spans", 0.85, 0.9, 3.0, 60)


def row(source: str, p95_per_s: float = 10.0, **other: object) -> SeriesOutlook:
    """The last day's largest rate is 10; the p95 within an hour is half of that within a day."""
    peaks = {3600: np.full(4, p95_per_s / 2), 86400: np.full(4, p95_per_s)}
    made = SeriesOutlook("shop", source, NOW, np.array([4.0, 10.0, np.nan, 6.0]), QUANTILES, peaks, {86400: "prophet"})
    return replace(made, **other)


def read(rows: Iterable[SeriesOutlook]) -> str:
    return ReportPage(render_fleet_page(list(rows), NOW)).text.replace(NBSP, " ")


def test_rows__are_in_the_order_of_their_risk() -> None:
    rows = [
        row("calm", 5.0),
        row("unknown", latest_per_s=np.empty(0)),
        row("grows", 20.0),
        row("new", latest_per_s=np.zeros(3)),
        row("drifts", 5.0, drifts=(GOOD, ALARM)),
        row("drifts and grows", 11.0, drifts=(ALARM,)),
        SeriesOutlook("shop", "broken", cause="no history"),
        SeriesOutlook("bank", "broken", cause="no history"),
    ]
    names = [(one.topology, one.source) for one in by_risk(rows)]
    assert names == [
        ("bank", "broken"),
        ("shop", "broken"),
        ("shop", "drifts and grows"),
        ("shop", "drifts"),
        ("shop", "new"),
        ("shop", "grows"),
        ("shop", "calm"),
        ("shop", "unknown"),
    ]


@given(st.permutations(range(6)))
def test_page__is_the_same_in_whatever_order_the_rows_come(order: list[int]) -> None:
    rows = [row(f"source {number}", 5.0 + number) for number in range(5)] + [SeriesOutlook("a", "b", cause="c")]
    assert [one.source for one in by_risk(rows[number] for number in order)] == [one.source for one in by_risk(rows)]


def test_growth__sets_the_coming_day_against_the_last() -> None:
    # 15 against 10; within an hour 7.5 does not count, as a day was forecast.
    assert row("web", 15.0).growth == pytest.approx(0.5)
    assert row("web", 5.0).growth == pytest.approx(-0.5)
    assert row("web", 0.0, latest_per_s=np.zeros(2)).growth == 0.0
    assert row("web", latest_per_s=np.zeros(2)).growth == np.inf
    assert np.isnan(row("web", latest_per_s=np.full(2, np.nan)).growth)
    assert np.isnan(SeriesOutlook("shop", "web", cause="broken").growth)
    # Where only an hour was forecast, that hour.
    assert row("web", peak_per_s={3600: np.full(4, 12.0)}).growth == pytest.approx(0.2)


def test_page__tells_of_a_series_what_is_now_and_what_is_coming() -> None:
    text = read([row("web", 15.0, drifts=(GOOD,))])
    # Now: the newest rate that is known.
    assert "shop web forecast Mon 00:00 6 7.5 15 +50 % 95 % 40 × 1 h 0.4 prophet –" in text
    assert "1 series: all are forecast, none has drifted" in text
    assert "Asked of you Nothing." in text


def test_page__says_by_how_many_spans_it_judges() -> None:
    assert "Judged by Nothing yet: no span is over." in read([row("web", 15.0)])
    assert "Judged by 40 spans that are over, of all horizons." in read([row("web", 15.0, drifts=(GOOD,))])


def test_page__names_causes_and_alarms() -> None:
    text = read([row("web", drifts=(ALARM,)), SeriesOutlook("bank", "calls", cause="nothing was observed in 5 h")])
    assert "2 series: 1 not forecast, 1 drifted" in text
    assert "bank calls – – – – – – – not forecast nothing was observed in 5 h" in text
    assert "drift within 15 min the p95 was exceeded in 9 of the last 60 separate spans" in text
    assert "Remove the cause of failed forecasts (1)" in text


def test_page__names_each_forecaster_with_its_horizons() -> None:
    mixed = {900: "persistence", 3600: "prophet", 86400: "prophet"}
    assert "persistence (15 min); prophet (1 h, 24 h)" in read([row("web", forecaster=mixed)])
    several = {900: "prophet + persistence + day_naive", 3600: "prophet + time_of_week + day_naive", 86400: "prophet"}
    assert "prophet + 2 more (15 min, 1 h); prophet (24 h)" in read([row("web", forecaster=several)])


def test_page__of_nothing_says_what_to_do() -> None:
    text = read([])
    assert "Nothing is forecast yet" in text
    assert "Run forescale forecast TOPOLOGY" in text


def test_page__links_to_pages_beside_it_and_nowhere_else() -> None:
    def links(page: str) -> list[str | None]:
        shown = ReportPage(render_fleet_page([row("web")], NOW, {("shop", "web"): page}))
        return [value for name, value in shown.attributes if name == "href" and value != "data:,"]

    assert links("shop/forecast-web.html") == ["shop/forecast-web.html"]
    assert links("javascript:alert(1)") == []
    assert links("//elsewhere/x") == []
    assert links("/etc/passwd") == []


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}"])
def test_page__shows_hostile_text_as_text(text: str) -> None:
    def hostile(text: str) -> ReportPage:
        drift = replace(ALARM, reason=text)
        good = row(text, topology=text, forecaster={3600: text}, drifts=(drift,))
        return ReportPage(render_fleet_page([good, SeriesOutlook(text, text, cause=text)], NOW))

    shown, tame = hostile(text), hostile("x")
    assert shown.elements == tame.elements
    assert {name for name, _ in shown.attributes} == {name for name, _ in tame.attributes}
    assert text in shown.text


@pytest.mark.slow
def test_page__of_five_hundred_series_is_small_and_needs_no_plotting() -> None:
    rows = [row(f"source {number}", latest_per_s=np.random.default_rng(number).random(288)) for number in range(500)]
    page = render_fleet_page(rows, NOW)
    assert len(page) < 1_500_000
    assert "Plotly" not in page


def test_row__is_a_forecast_or_a_cause() -> None:
    with pytest.raises(ForecastError, match="neither a forecast nor a cause"):
        SeriesOutlook("shop", "web")
    with pytest.raises(ForecastError, match=r"no quantile 0\.95"):
        SeriesOutlook("shop", "web", quantiles=(0.5,), peak_per_s={900: np.ones(1)})
    with pytest.raises(ForecastError, match="for 4 quantiles"):
        SeriesOutlook("shop", "web", quantiles=QUANTILES, peak_per_s={900: np.ones(3)})


def test_row__is_judged_by_the_longest_horizon_that_is_over() -> None:
    unknown = ForecastDrift(86400, False, "no span is over and known yet", np.nan, np.nan, np.nan, 0)
    assert row("web", drifts=(ALARM, GOOD, unknown)).judged == GOOD
    assert row("web", drifts=(unknown,)).judged is None


def test_drawing__breaks_at_gaps_and_keeps_within_its_frame() -> None:
    # Largest 20 (the p95): 0 at the bottom, 22.5; 10 in the middle, 12; 20 at the top, 1.5.
    drawn = spark_line(row("web", 20.0, latest_per_s=np.array([0.0, 10.0, np.nan, 10.0])))
    assert drawn.lines == ("0.0,22.5 25.3,12.0", "76.0,12.0 76.0,12.0")
    assert drawn.level == "1.5"


def test_drawing__of_many_rates_hides_no_peak() -> None:
    rates = np.ones(10_000)
    rates[777] = 30.0
    drawn = spark_line(row("web", 10.0, latest_per_s=rates))
    assert ",1.5" in drawn.lines[0]
    assert len(drawn.lines[0].split()) <= 48


@given(
    st.lists(st.one_of(st.just(float("nan")), st.floats(0, 1e12)), max_size=120),
    st.floats(0, 1e12),
)
def test_drawing__is_of_numbers_within_its_frame_whatever_comes(rates: list[float], p95_per_s: float) -> None:
    drawn = spark_line(row("web", p95_per_s, latest_per_s=np.array(rates)))
    for line in drawn.lines:
        for point in line.split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT
    assert 0 <= float(drawn.level) <= HEIGHT


def test_page__is_well_formed_where_it_draws() -> None:
    page = render_fleet_page([row("web")], NOW)
    svg = page[page.index("<svg") : page.index("</svg>") + 6]
    assert [child.tag for child in ElementTree.fromstring(svg)] == ["polyline", "polyline", "line"]
