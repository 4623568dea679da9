"""A load that exceeds what was expected: paths hold it for about as long again as it has lasted."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from arrival_series import web_requests

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.residual_correction import CorrectedForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.pipeline import SURPRISE, issue, train
from forecasting.surprise import excess_s, lasting
from forecasting.terms import ForecastTerms

TERMS = ForecastTerms(900, 21600, paths=100, origins=6)


def risen(factor: float, hours: float) -> ArrivalSeries:
    """Three weeks as ever, then so many hours of the same times a factor."""
    series = web_requests(days=21)
    counts = series.counts.copy()
    counts[-int(hours * 4) :] *= factor
    return replace(series, counts=counts)


@pytest.mark.slow
def test_a_load_that_has_tripled__is_forecast_where_it_is_after_an_hour() -> None:
    series = risen(3, 1)
    learnt = train(series.between(series.start, series.end - timedelta(hours=2)), issued_at=series.end, terms=TERMS)
    made = issue(learnt, series, issued_at=series.end)
    assert sum(SURPRISE in note for note in made.notes) == 1
    now = float(series.rate_per_s()[-4:].mean())
    assert made.peak_quantile_per_s(3600, 0.5) == pytest.approx(now, rel=0.25)
    # What was trained is as it was, and the next hour that is as ever is forecast as ever.
    usual = web_requests(days=21)
    again = issue(learnt, usual, issued_at=usual.end)
    assert not any(SURPRISE in note for note in again.notes)
    assert again.forecaster == learnt.deployed.names()


def test_a_usual_hour__is_hardly_ever_an_excess_and_never_a_long_one() -> None:
    series = web_requests(days=21)
    fitted = {"time_of_week": TimeOfWeekForecaster().fit(series.between(series.start, series.end - timedelta(days=3)))}
    # Three days of looks at the hours of a load that goes on as ever.
    looks = [series.end - timedelta(hours=hour) for hour in range(72)]
    # Two windows above their p99 in a row are rare chance, and such an excess is held for about half an hour.
    lasted_s = [excess_s(fitted, series.between(series.start, at), 7) for at in looks]
    assert sum(each > 0 for each in lasted_s) <= 2
    assert max(lasted_s) < 3600


def test_a_fall__is_no_surprise_as_it_costs_no_lag() -> None:
    series = risen(0.1, 3)
    fitted = {"time_of_week": TimeOfWeekForecaster().fit(series.between(series.start, series.end - timedelta(days=1)))}
    assert excess_s(fitted, series, 7) == 0


def test_missing_windows__tell_of_no_excess() -> None:
    series = risen(3, 1)
    fitted = {"time_of_week": TimeOfWeekForecaster().fit(series.between(series.start, series.end - timedelta(days=1)))}
    assert excess_s(fitted, series, 7) == 3 * 3600
    counts = series.counts.copy()
    counts[-2:] = np.nan
    assert excess_s(fitted, replace(series, counts=counts), 7) == 0


def test_a_source_that_opens_after_weeks_of_nothing__is_forecast_at_what_comes() -> None:
    closed = web_requests(days=14)
    counts = np.zeros_like(closed.counts)
    counts[-6:] = 90000.0
    series = replace(closed, counts=counts)
    learnt = train(series.between(series.start, series.end - timedelta(hours=3)), issued_at=series.end, terms=TERMS)
    made = issue(learnt, series, issued_at=series.end)
    # 90,000 in 900 s.
    assert made.peak_quantile_per_s(3600, 0.5) == pytest.approx(100, rel=0.05)


def test_a_load_that_was_tripled_half_an_hour_ago__is_held_for_now_and_not_for_the_night() -> None:
    series = risen(3, 0.5)
    learnt = train(series.between(series.start, series.end - timedelta(hours=2)), issued_at=series.end, terms=TERMS)
    made = issue(learnt, series, issued_at=series.end)
    now = float(series.rate_per_s()[-1])
    usual = float(series.rate_per_s()[-3])
    assert now > 2.5 * usual
    # Nothing lies below it while it lasts: the peak of the next quarter of an hour is the load of now, not a third.
    assert made.peak_quantile_per_s(900, 0.5) == pytest.approx(now, rel=0.1)
    assert made.paths_per_s[:, 0].min() > 2 * usual
    # A flash is not the night's load: of 100 paths 1 / 13 still has it after 6 h, .5 / (.5 + 6).
    before, _ = learnt.deployed.drawn(series, TERMS.paths, TERMS.seed, 0.0)
    assert np.median(made.paths_per_s[:, -1]) == pytest.approx(np.median(before[:, -1]), rel=0.05)


def test_an_excess__is_held_on_each_path_for_a_time_of_its_own() -> None:
    held = lasting(np.full((400, 37), 7.0), 3600.0, 600, seed=1)
    assert set(np.unique(held)) == {0.0, 7.0}
    # It never comes back on a path, and 1 / (1 + t) of them still have it after t hours.
    assert (np.diff(held, axis=1) <= 0).all()
    for hours in range(7):
        assert (held[:, 6 * hours] > 0).mean() == pytest.approx(1 / (1 + hours), abs=0.005)


@pytest.mark.slow
def test_a_load_that_tripled_yesterday__is_held_after_a_training_within_it() -> None:
    series = risen(3, 18)
    learnt = train(series, issued_at=series.end, terms=TERMS)
    made = issue(learnt, series, issued_at=series.end)
    # What was learnt from these hours is not what was to be expected before them.
    assert sum("the last 1080 min" in note for note in made.notes) == 1  # 18 h
    now = float(series.rate_per_s()[-1])
    assert made.peak_quantile_per_s(900, 0.5) >= now


def test_what_was_to_be_expected__is_asked_without_any_later_error() -> None:
    series = risen(3, 5)
    before = series.between(series.start, series.end - timedelta(hours=5))
    fitted = TimeOfWeekForecaster().fit(before)
    assert isinstance(fitted, CorrectedForecaster)
    later = replace(fitted, errors=np.append(fitted.errors, np.full(20, 30.0)), errors_end=series.end)
    then, now = (each.paths_per_s(before, 8, 50, np.random.default_rng(1)) for each in (fitted, later))
    assert np.array_equal(then, now)
