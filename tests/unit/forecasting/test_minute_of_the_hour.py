"""Loads that burst at the same minutes of each hour, as jobs that start on the hour make them."""

from datetime import timedelta

import numpy as np
import pytest
from arrival_series import MONDAY, web_requests

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.error_trajectories import SAME_TIME_OF_DAY_S, alike_origins, hour_has_shape
from forecasting.models.ridge_fourier_forecaster import RidgeFourierForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.peaks import peak_quantiles_per_s

HOUR = 60
"""Minutes."""


def hourly_bursts(days: int = 10) -> ArrivalSeries:
    """100 arrivals a minute, three times as many in the first three minutes of each hour; Poisson."""
    minute = np.arange(days * 24 * HOUR) % HOUR
    counts = np.random.default_rng(5).poisson(np.where(minute < 3, 300, 100)).astype(float)
    return ArrivalSeries("shop", "web", MONDAY, 60, counts)


def errors_with_shape(share: float, hours: int = 240) -> np.ndarray:
    """Independent errors of variance 1 - share within the hour, and one shape of variance `share`."""
    rng = np.random.default_rng(1)
    shape = np.where(np.arange(HOUR) % 2 == 0, 1.0, -1.0) * np.sqrt(share)
    return np.asarray((shape + rng.normal(0, np.sqrt(1 - share), (hours, HOUR))).reshape(-1))


@pytest.mark.parametrize(("share", "matters"), [(0.0, False), (0.02, False), (0.1, True), (0.5, True)])
def test_the_shape_of_an_hour__matters_from_a_twentieth_of_the_variance_within_it(share: float, matters: bool) -> None:
    assert hour_has_shape(errors_with_shape(share), 60) is matters


def test_a_single_burst__is_no_shape_of_the_hour() -> None:
    errors = errors_with_shape(0.0)
    errors[4000:4020] += 1000
    assert not hour_has_shape(errors, 60)


def test_half_a_day_and_windows_that_do_not_fill_an_hour__show_no_shape() -> None:
    assert not hour_has_shape(errors_with_shape(0.5, hours=12), 60)
    assert not hour_has_shape(errors_with_shape(0.5), 3600)
    assert not hour_has_shape(errors_with_shape(0.5), 2700)


def test_hours_with_missing_windows__are_left_out() -> None:
    errors = errors_with_shape(0.1)
    errors[:: 7 * HOUR] = np.nan
    assert hour_has_shape(errors, 60)


def test_trajectories__come_from_the_same_minute_of_the_hour_where_it_matters() -> None:
    length, ahead = 20 * 1440 + 23, 360
    origins, needed = alike_origins(length, ahead, 60, hourly=True)
    assert needed == length
    assert ((length - origins) % HOUR == 0).all()
    assert origins.max() <= length - ahead
    apart_s = (length - origins) * 60 % 86400
    assert np.minimum(apart_s, 86400 - apart_s).max() <= SAME_TIME_OF_DAY_S
    # Five a day: two hours before to two hours after the time of day, which go back for twenty days.
    assert 95 <= origins.size <= 100


def test_too_few_days_of_the_same_minute__give_way_to_any_minute() -> None:
    # Five a day in four days are 20, fewer than 30.
    few, _ = alike_origins(4 * 1440, 360, 60, hourly=True)
    assert np.array_equal(few, alike_origins(4 * 1440, 360, 60)[0])


@pytest.mark.parametrize("forecaster", [TimeOfWeekForecaster(), RidgeFourierForecaster()])
def test_hourly_bursts__are_forecast_where_they_are_due_and_only_there(
    forecaster: TimeOfWeekForecaster | RidgeFourierForecaster,
) -> None:
    series = hourly_bursts()
    fitted = forecaster.fit(series)
    # The p95 of the largest of 15 Poisson counts of 100: .95^(1/15) = .9966 of one lies below 100 + 2.71 × 10 = 127.
    # Of three of 300: .95^(1/3) = .983 below 300 + 2.12 × 17.3 = 337. Before, both were some 330.
    for minute, p95 in ((10, 127), (50, 337)):
        known = series.between(series.start, series.end - timedelta(minutes=24 * HOUR - minute))
        paths = fitted.paths_per_s(known, 15, 400, np.random.default_rng(1))
        assert 60 * peak_quantiles_per_s(paths, (15,), (0.95,))[0, 0] == pytest.approx(p95, rel=0.15)


def test_loads_without_a_shape_of_the_hour__keep_their_forecasts() -> None:
    series = web_requests(days=14, window_s=300)
    fitted = TimeOfWeekForecaster().fit(series)
    assert not hour_has_shape(fitted.errors, 300)  # type: ignore[attr-defined]
