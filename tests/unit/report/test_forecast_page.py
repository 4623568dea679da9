"""What a reader finds on the page of a source's forecast."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from arrival_series import busy_offices, web_requests, with_gaps
from past_forecasts import hourly, said
from report_page import ReportPage

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import BacktestScore
from forecasting.judged import judged_forecasts
from forescale.files.atomic import write_whole
from forescale.report.forecasts.forecast_page import render_forecast_page
from forescale.report.forecasts.forecast_report import ForecastReport
from forescale.report.kit.error import ReportError
from forescale.report.kit.figure import plotly_times

NBSP = "\N{NO-BREAK SPACE}"
HORIZONS_S = (900, 3600, 21600, 86400)


@pytest.fixture(scope="module")
def series() -> ArrivalSeries:
    return web_requests(days=16)


def report_of(series: ArrivalSeries, count: int, **look: float) -> ForecastReport:
    """So many hourly forecasts of the last days, and one from the end of the history on."""
    return ForecastReport(**vars(judged_forecasts(hourly(series, count, HORIZONS_S, ahead=1, **look), series)))


def page_of(report: ForecastReport) -> ReportPage:
    return ReportPage(render_forecast_page(report))


def read(report: ForecastReport) -> str:
    return page_of(report).text.replace(NBSP, " ")


def test_page__says_first_how_high_the_load_will_come() -> None:
    peaks = {3600: np.array([1.0, 2.0, 2.5, 3.0]), 86400: np.array([4.0, 5.0, 6.5, 9.0])}
    only = said(busy_offices().end, peaks)
    text = read(ForecastReport(**vars(judged_forecasts([only], None))))
    assert text.index("web: at most 6.5/s within 24 h, nineteen times in twenty") < 120
    assert "Peak (p95) 2.5/s within 1 h, 6.5/s within 24 h, from Mon 26 Jan 00:00 UTC." in text
    assert "24 h 4/s 5/s 6.5/s 9/s" in text


def test_page__says_in_how_many_completed_spans_the_p95_held(series: ArrivalSeries) -> None:
    # Hourly for 36 hours. A span of six hours is over for all but the last five, a day for the first 13, which were
    # issued 24 to 36 hours before the end.
    text = read(report_of(series, 36))
    assert "The p95 held in 36 of 36 completed spans of 15 min, in 36 of 36 completed hours" in text
    assert "in 31 of 31 completed spans of 6 h, in 13 of 13 completed days; 95 % are due." in text
    # Of 31 spans of six hours an hour apart six are separate; of days one.
    assert "6 h 31 6 separate 100 %" in text
    assert "24 h 13 1 separate 100 % likely 3 % to 100 % 13 of 13" in text


def test_page__marks_the_peaks_that_exceeded_their_p95(series: ArrivalSeries) -> None:
    past = hourly(series, 12, (3600,), ahead=1)
    past[3] = replace(past[3], peak_per_s={3600: past[3].peak_per_s[3600] / 10})
    page = page_of(ForecastReport(**vars(judged_forecasts(past, series))))
    assert "in 11 of 12 completed hours" in page.text
    bars, held, exceeded = page.figures[1]["data"]
    assert (len(bars["x"]), len(held["x"])) == (13, 11)
    assert exceeded["x"] == [f"{past[3].start:%Y-%m-%dT%H:%M:%S}"]
    assert "real peak, above the p95 (1)" in page.text


def test_page__shows_an_alarm_and_what_to_do(series: ArrivalSeries) -> None:
    text = read(report_of(series, 48, factor=0.5))
    assert "Drift Alarm within 15 min, 1 h" in text
    assert "the p95 was exceeded in 48 of the last 48 separate spans" in text
    assert "plan for a higher quantile" in text
    quiet = read(report_of(series, 48))
    assert "Drift None: past forecasts were no worse than their backtest" in quiet


def test_page__of_a_source_that_could_not_be_forecast_since_says_why_before_all_else(series: ArrivalSeries) -> None:
    report = replace(report_of(series, 0), failure="nothing was observed in the last 5 h; restore the feed")
    text = read(report)
    assert text.index("Not renewed Nothing was observed in the last 5 h; restore the feed.") < text.index("Peak (p95)")
    assert "Not renewed" not in read(report_of(series, 0))


def test_page__before_any_span_is_over_says_so_and_draws_what_is_coming(series: ArrivalSeries) -> None:
    page = page_of(report_of(series, 0))
    assert "Held so far Not known yet" in page.text
    assert "none of 1 forecast has a span that is over" in page.text
    assert len(page.figures) == 1


def test_page__without_a_history_shades_what_is_not_known(series: ArrivalSeries) -> None:
    page = page_of(ForecastReport(**vars(judged_forecasts(hourly(series, 30, HORIZONS_S, ahead=1), None))))
    assert "no data (not zero)" in page.text
    assert "none is known" in page.text
    issued = series.end
    (shade,) = [shape for shape in page.figures[0]["layout"]["shapes"] if shape["type"] == "rect"]
    assert (shade["x0"], shade["x1"]) == (
        f"{issued - timedelta(days=3):%Y-%m-%dT%H:%M:%S}",
        f"{issued:%Y-%m-%dT%H:%M:%S}",
    )


def test_page__of_a_source_that_never_sends_draws_zeros_and_no_alarm(series: ArrivalSeries) -> None:
    silent = replace(series, counts=np.zeros_like(series.counts))
    page = page_of(report_of(silent, 40, backtest_per_s=0.0))
    assert "at most 0/s within 24 h" in page.text.replace(NBSP, " ")
    assert "Drift None" in page.text
    assert page.figures[0]["layout"]["yaxis"]["range"] == [-0.03, 1]
    assert all(figure["layout"]["yaxis"]["range"] == [-0.05, 1] for figure in page.figures[1:])


def test_page__leaves_a_gap_where_windows_are_missing(series: ArrivalSeries) -> None:
    gappy = with_gaps(series)
    page = page_of(report_of(gappy, 20))
    arrived = next(trace for trace in page.figures[0]["data"] if trace["name"] == "arrived")
    # Of the last two hours the first one is missing: four quarters of an hour.
    assert arrived["y"][-8:-4] == [None] * 4
    assert "no data (not zero)" in page.text


def test_figure__raises_the_p95_of_the_peak_with_each_horizon(series: ArrivalSeries) -> None:
    report = report_of(series, 0)
    steps = next(trace for trace in page_of(report).figures[0]["data"] if trace["name"] == "p95 of the peak")
    at = dict(zip(steps["x"], steps["y"], strict=True))
    for horizon_s in HORIZONS_S:
        end = plotly_times([report.newest.start + timedelta(seconds=horizon_s)])[0]
        assert at[end] == pytest.approx(report.newest.peak_per_s[horizon_s][2], abs=1e-6)
    assert steps["y"] == sorted(steps["y"])
    assert steps["y"][-1] == pytest.approx(report.newest.peak_per_s[86400][2], abs=1e-6)


def test_figure__names_the_lower_edge_of_its_band(series: ArrivalSeries) -> None:
    report = report_of(series, 0)
    assert "p5 to p95 of each step" in page_of(report).text
    steps = report.newest.rate_per_s.shape[0]
    without = replace(report, newest=replace(report.newest, paths_per_s=np.empty((0, steps))))
    assert "p50 to p95 of each step" in page_of(without).text


def test_figure__shows_what_came_after_the_forecast(series: ArrivalSeries) -> None:
    past = hourly(series, 6, (3600, 21600))[:1]
    came = [
        trace
        for trace in page_of(ForecastReport(**vars(judged_forecasts(past, series)))).figures[0]["data"]
        if trace["name"] == "came"
    ]
    assert len(came[0]["y"]) == 6 * 4


def test_page__says_why_this_model_and_where_it_comes_from(series: ArrivalSeries) -> None:
    (newest,) = hourly(series, 0, HORIZONS_S, ahead=1)
    lost = BacktestScore("prophet", 900, 0.4, 1.3, 0.9, 36, False, "ratio 1.30, must be below 1")
    newest = replace(newest, scores=(*newest.scores, lost), notes=("3 of 900 windows were missing",))
    page = page_of(ForecastReport(**vars(judged_forecasts([newest], series)), link="http://127.0.0.1:5000/#/runs/1"))
    text = page.text.replace(NBSP, " ")
    assert "15 min time_of_week 0.6 94 % 36" in text
    assert "15 min prophet not deployed 1.3 90 % ratio 1.30, must be below 1" in text
    assert text.count("3 of 900 windows were missing") == 1
    assert "MLflow run run-1, model version 4" in text
    assert "seed 7" in text
    assert "history ab12ab12ab12ab12…, snapshot 20260119T000000" in text
    assert ("href", "http://127.0.0.1:5000/#/runs/1") in page.attributes


def test_page__is_the_same_for_the_same_report_and_is_written_whole(series: ArrivalSeries, tmp_path: Path) -> None:
    report = report_of(series, 5)
    path = write_whole(render_forecast_page(report), tmp_path / "shop" / "forecast-web.html")
    assert path.read_text(encoding="utf-8") == render_forecast_page(report)
    assert list(path.parent.iterdir()) == [path]


def test_report__refuses_a_forecast_without_the_quantiles_it_shows(series: ArrivalSeries) -> None:
    whole = said(series.end, {900: np.ones(4)})
    partial = replace(whole, quantiles=(0.5, 0.9), rate_per_s=whole.rate_per_s[:, :2], peak_per_s={900: np.ones(2)})
    with pytest.raises(ReportError, match=r"no quantile 0\.95"):
        ForecastReport(**vars(judged_forecasts([partial], series)))


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "<a href='javascript:alert(1)'>%{x}</a>",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_page__shows_hostile_text_as_text(text: str) -> None:
    def hostile(text: str) -> ReportPage:
        series = replace(web_requests(days=4), source=text, topology=text)
        (newest,) = hourly(series, 0, (900, 3600), ahead=1)
        scores = tuple(replace(score, forecaster=text, reason=text) for score in newest.scores)
        newest = replace(newest, scores=scores, notes=(text,), run_id=text, history_snapshot=text)
        return page_of(ForecastReport(**vars(judged_forecasts([newest], series)), link=text))

    shown, tame = hostile(text), hostile("x")
    assert shown.elements == tame.elements
    assert {name for name, _ in shown.attributes} == {name for name, _ in tame.attributes}
    assert " ".join(text.split()) in shown.text
