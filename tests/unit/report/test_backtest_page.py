"""What the page of a replayed trace shows, and what it does not let in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_page import ReportPage
from sample_replay import replayed_trace

from forecasting.forecast import QUANTILES
from forecasting.prequential_scores import prequential_scores
from forescale.files.atomic import write_whole
from forescale.report.forecasts.backtest_page import ReplayedTrace, render_backtest_page

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "<a href='javascript:alert(1)'>%{x}</a>",
)


def page_of(trace: ReplayedTrace) -> ReportPage:
    return ReportPage(render_backtest_page(trace))


def marks(page: ReportPage, figure: int) -> dict[str, list[float]]:
    return {trace["name"]: trace["y"] for trace in page.figures[figure]["data"]}


def test_page__says_how_many_peaks_stayed_within_the_p95() -> None:
    page = page_of(replayed_trace())
    # Of four origins and two horizons, those at the second origin exceed it.
    assert "6 of 8 peaks stayed within the p95 that was forecast" in page.text
    assert "2024-03-04 00:00 to 2024-03-10 00:00 UTC, 144 windows of 1 h, 24 missing." in page.text
    assert "4 origins, 2024-03-08 00:00 to 2024-03-08 18:00 UTC" in page.text
    assert "75 % within 1 h, 75 % within 6 h (95 % should)" in page.text
    assert "prophet : needs eight days of history" in page.text


def test_figures__are_the_history_with_its_origins_and_one_for_each_horizon() -> None:
    page = page_of(replayed_trace())
    assert len(page.figures) == 3
    history = page.figures[0]["data"]
    # A second's rate each, null where the day is missing, and an origin each six hours.
    assert history[0]["y"][22:26] == [1, 1, None, None]
    assert history[1]["x"] == [f"2024-03-08T{hour:02}:00:00" for hour in (0, 6, 12, 18)]
    assert [shape["x0"] for shape in page.figures[0]["layout"]["shapes"]] == ["2024-03-05T00:00:00"]
    hour = marks(page, 1)
    assert hour["came"] == [1, 1, 1]
    assert hour["real peak, above the p95"] == [9]
    assert hour["p95"] == [2, 2, 2, 2]
    bars = page.figures[1]["data"]
    assert (bars[0]["base"][0], bars[0]["y"][0]) == (2, 1)
    assert (bars[1]["base"][0], bars[1]["y"][0]) == (1, 1)


def test_table__puts_what_was_deployed_first_and_says_where_a_candidate_spoke_less() -> None:
    page = page_of(replayed_trace())
    at = [page.text.index(name) for name in ("deployed 0", "time_of_week", "a day ago")]
    assert at == sorted(at)
    assert "of 3 origins only" in page.text


@pytest.mark.parametrize("text", HOSTILE)
def test_page__shows_hostile_text_as_text(text: str) -> None:
    hostile = page_of(replayed_trace(name=text, candidate=text, refusal=text))
    tame = page_of(replayed_trace(name="x", candidate="x", refusal="x"))
    assert hostile.elements == tame.elements
    assert {name for name, _ in hostile.attributes} == {name for name, _ in tame.attributes}
    assert " ".join(text.split()) in hostile.text
    assert not set("<>&") & set(hostile.figures_source)


def test_page__of_a_trace_without_arrivals_or_without_peaks_still_says_what_is_known() -> None:
    assert "8 of 8 peaks stayed within" in page_of(replayed_trace(scale=0.0)).text
    trace = replayed_trace()
    counts = trace.series.counts.copy()
    counts[96:] = np.nan
    series = replace(trace.series, counts=counts)
    unknown = replace(
        trace, series=series, scores=prequential_scores(trace.predictions, series, trace.horizons_s, QUANTILES)
    )
    page = page_of(unknown)
    assert "The arrivals after the forecasts are unknown" in page.text
    assert marks(page, 1)["came"] == []


def test_page__of_one_origin_and_a_long_history_shows_what_a_forecast_could_see() -> None:
    trace = replayed_trace()
    counts = np.concatenate([np.full(24 * 90, 3600.0), trace.series.counts])
    told = [replace(trace.predictions[1], origin=24 * 90 + 102)]
    page = page_of(replace(trace, series=replace(trace.series, counts=counts), predictions=told))
    # Ninety days and 102 hours from the 4th of March end on the 6th of June; eight weeks before that:
    assert "drawn from 2024-04-11 on, as no forecast used earlier data" in page.text
    assert page.figures[0]["layout"]["xaxis"]["range"][0] == "2024-04-11T06:00:00"


def test_page__is_written_whole_and_the_same_again(tmp_path: Path) -> None:
    path = write_whole(render_backtest_page(replayed_trace()), tmp_path / "pages" / "calls.html")
    assert path.read_text() == render_backtest_page(replayed_trace())
    assert [child.name for child in path.parent.iterdir()] == ["calls.html"]
