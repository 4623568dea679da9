from datetime import timedelta

import numpy as np
import pytest
from arrival_series import busy_offices, web_requests

from forecasting.errors import ForecastError
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.profile_forecast import profile_forecast
from forecasting.terms import ForecastTerms

TERMS = ForecastTerms(900, 86400, (3600, 86400), paths=100, seed=3)


def test_a_profile__covers_the_day_that_came_from_the_history_alone() -> None:
    series = web_requests(days=15)
    known = series.between(series.start, series.end.replace(day=series.end.day - 1))
    made = profile_forecast(known, issued_at=known.end, terms=TERMS)
    came = series.rate_per_s()[-96:]
    assert (made.start, made.paths_per_s.shape) == (known.end, (100, 96))
    # Seldom above the p99; hardly ever below half of the median.
    assert (came <= made.rate_per_s[:, -1]).mean() > 0.9
    assert (came >= 0.5 * made.rate_per_s[:, 0]).mean() > 0.9
    assert np.array_equal(made.paths_per_s, profile_forecast(known, issued_at=known.end, terms=TERMS).paths_per_s)


def test_a_profile__needs_two_days() -> None:
    series = busy_offices(days=1.5)
    with pytest.raises(ForecastError, match=r"1\.50 days of history, 2 are needed"):
        profile_forecast(series, issued_at=series.end, terms=TERMS)


def test_an_event_within_the_horizon__is_part_of_the_profile() -> None:
    series = web_requests(days=15)
    known = series.between(series.start, series.end.replace(day=series.end.day - 1))
    usual = profile_forecast(known, issued_at=known.end, terms=TERMS)
    begin = known.end + timedelta(hours=2)
    sale = Event(EventKind.OTHER, "sale", begin, begin + timedelta(hours=1), None, 3.0)
    made = profile_forecast(known, issued_at=known.end, terms=TERMS, calendar=EventCalendar((sale,)))
    # Steps of 900 s: the event covers numbers 8 to 11, and its declared ratio is all that is known of it.
    expected = usual.paths_per_s.copy()
    expected[:, 8:12] *= 3.0
    assert made.paths_per_s == pytest.approx(expected)
