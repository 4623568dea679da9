"""A replay's forecasts of several sources have paths that go together as the history showed it by then."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from joined_sources import END, histories
from scipy.stats import spearmanr

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.terms import ForecastTerms
from planner.replay.known_history import known_at
from planner.replay.pipeline_forecasts import KNOWN_AFTER_S, PipelineForecasts

TERMS = ForecastTerms(3600, 3600, (3600,), paths=100, origins=4)


def _said(folder: Path, rho: float, days: int, tail: float = 1.0) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Levels of each source's paths on END, and what was told. tail: factor on what comes from then on."""
    series = {source: _with_tail(each.resampled(3600), tail) for source, each in histories(rho, days).items()}
    forecasts = PipelineForecasts(series, TERMS, days, 6 * 3600, folder)
    at_s = END.timestamp() + KNOWN_AFTER_S
    with ThreadPoolExecutor(1) as executor:
        notes = forecasts.prepare(at_s, at_s + 60, executor, lambda done, of: None)
    return [each.paths_per_s.mean(axis=1) for each in forecasts.at(at_s).values()], notes


def _with_tail(series: ArrivalSeries, tail: float) -> ArrivalSeries:
    return replace(series, counts=np.concatenate([series.counts, tail * series.counts[-24:]]).round())


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "least", "most"), [(0.9, 0.75, 1.0), (-0.9, -1.0, -0.75)])
def test_paths__go_together_as_the_history_does_whatever_comes_later(
    tmp_path: Path, rho: float, least: float, most: float
) -> None:
    (app, web), notes = _said(tmp_path, rho, 21)
    assert least < spearmanr(app, web)[0] < most
    assert not any("paired as they come" in note for note in notes)
    (same_app, same_web), _ = _said(tmp_path / "later", rho, 21, tail=3.0)
    assert np.array_equal(app, same_app)
    assert np.array_equal(web, same_web)


@pytest.mark.slow
def test_a_history_too_short_to_tell__is_noted(tmp_path: Path) -> None:
    _, notes = _said(tmp_path, 0.9, 4)
    assert [note for note in notes if note.startswith("at the beginning sample paths of app, web are paired as they")]


def test_what_was_known_at_a_moment__ends_there_and_begins_so_many_days_before() -> None:
    series = histories(0.0, days=8)["app"]
    at = END - timedelta(days=1)
    known = known_at(series, at, 2, EventCalendar(()))
    assert known is not None
    assert (known.start, known.end) == (at - timedelta(days=2), at)
    assert known_at(series, series.start, 2, EventCalendar(())) is None
    outage = Event(EventKind.OUTAGE, "lost", at - timedelta(hours=1), at + timedelta(hours=1), None, None)
    during = known_at(series, at, 2, EventCalendar((outage,)))
    after = known_at(series, outage.end, 2, EventCalendar((outage,)))
    assert during is not None
    assert after is not None
    assert np.isfinite(during.counts).all()
    assert np.isnan(after.counts).sum() == 8
