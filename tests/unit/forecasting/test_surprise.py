"""A load that has left what was learnt: within an hour the forecast stands where the load is."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from arrival_series import web_requests

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.pipeline import SURPRISE, issue, train
from forecasting.surprise import surprised
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
    assert SURPRISE in made.notes
    assert set(made.forecaster.values()) == {"persistence"}
    now = float(series.rate_per_s()[-4:].mean())
    assert made.peak_quantile_per_s(3600, 0.5) == pytest.approx(now, rel=0.25)
    # What was trained is as it was, and the next hour that is as ever is forecast as ever.
    usual = web_requests(days=21)
    again = issue(learnt, usual, issued_at=usual.end)
    assert SURPRISE not in again.notes
    assert again.forecaster == learnt.deployed.names()


def test_a_usual_hour__is_no_surprise() -> None:
    series = web_requests(days=21)
    fitted = {"time_of_week": TimeOfWeekForecaster().fit(series.between(series.start, series.end - timedelta(days=3)))}
    # Three days of looks at the hours of a load that goes on as ever.
    looks = [series.end - timedelta(hours=hour) for hour in range(72)]
    assert not any(surprised(fitted, series.between(series.start, at), 7) for at in looks)


def test_a_fall__is_no_surprise_as_it_costs_no_lag() -> None:
    series = risen(0.1, 3)
    fitted = {"time_of_week": TimeOfWeekForecaster().fit(series.between(series.start, series.end - timedelta(days=1)))}
    assert not surprised(fitted, series, 7)


def test_missing_windows__tell_of_no_surprise() -> None:
    series = risen(3, 1)
    fitted = {"time_of_week": TimeOfWeekForecaster().fit(series.between(series.start, series.end - timedelta(days=1)))}
    assert surprised(fitted, series, 7)
    counts = series.counts.copy()
    counts[-2:] = np.nan
    assert not surprised(fitted, replace(series, counts=counts), 7)


def test_a_source_that_opens_after_weeks_of_nothing__is_forecast_at_what_comes() -> None:
    closed = web_requests(days=14)
    counts = np.zeros_like(closed.counts)
    counts[-6:] = 90000.0
    series = replace(closed, counts=counts)
    learnt = train(series.between(series.start, series.end - timedelta(hours=3)), issued_at=series.end, terms=TERMS)
    made = issue(learnt, series, issued_at=series.end)
    # 90,000 in 900 s.
    assert made.peak_quantile_per_s(3600, 0.5) == pytest.approx(100, rel=0.05)
