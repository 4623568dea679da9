"""Days without arrivals that stand alone are no low load, and days that are always closed are known as such."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.closures import lone_closures, without_closures
from forecasting.models.recent_days_forecaster import RecentDaysForecaster
from forecasting.pipeline import issue, since_launch, train
from forecasting.terms import ForecastTerms

WINDOW_S, PER_DAY = 900, 96
NOON = 1000
"""Usual count of a window at noon."""
FRIDAY = datetime(2026, 11, 27, 7, tzinfo=UTC)
MONDAY = datetime(2026, 11, 23, 7, tzinfo=UTC)


def shop(
    days: float, end: datetime = FRIDAY, *, opens: int = 8, closes: int = 20, closed: tuple[int, ...] = (6,)
) -> ArrivalSeries:
    """A shop whose open days are alike but for chance. closed: weekdays, Monday is 0."""
    start = end - timedelta(days=days)
    at = start.timestamp() + np.arange(round(days * PER_DAY)) * WINDOW_S
    hour, weekday = at % 86400 / 3600, (at // 86400 + 3) % 7
    is_open = (hour >= opens) & (hour < closes) & ~np.isin(weekday, closed)
    # 1 at 13:00, .3 far from it.
    wave = 0.3 + 0.7 * np.cos((hour - 13) / 14 * np.pi).clip(0)
    counts = np.random.default_rng(5).poisson(NOON * wave * is_open).astype(np.float64)
    return ArrivalSeries("shop", "orders", start, WINDOW_S, counts)


def weekday_of(series: ArrivalSeries) -> np.ndarray:
    return np.array([(series.start + timedelta(seconds=WINDOW_S * n)).weekday() for n in range(series.counts.size)])


def peak_of_the_day(series: ArrivalSeries) -> dict[float, float]:
    """Quantiles of the largest count of a window within the coming day."""
    trained = train(series, issued_at=series.end, terms=ForecastTerms(WINDOW_S, 86400, (3600, 86400), paths=200))
    forecast = issue(trained, series, issued_at=series.end)
    return dict(zip(forecast.quantiles, forecast.peak_per_s[86400] * WINDOW_S, strict=True))


def test_a_first_closed_sunday__is_missing_in_its_open_hours_alone() -> None:
    series = shop(9)
    closed = lone_closures(series)
    hours = np.array([(series.start + timedelta(seconds=WINDOW_S * n)).hour for n in range(series.counts.size)])
    assert np.array_equal(closed, (weekday_of(series) == 6) & (hours >= 8) & (hours < 20))
    assert np.isnan(without_closures(series).counts[closed]).all()


def test_a_sunday_that_was_closed_twice__is_closed_hours_and_not_missing() -> None:
    series = shop(15)
    assert without_closures(series) is series


def test_a_source_open_day_and_night__loses_its_empty_day_and_keeps_an_empty_night() -> None:
    series = shop(9, opens=0, closes=24)
    assert lone_closures(series).sum() == PER_DAY
    series.counts[2 * PER_DAY : 2 * PER_DAY + PER_DAY // 2] = 0
    assert lone_closures(series).sum() == PER_DAY


def test_a_load_that_ended__stays_ended_after_a_day_and_a_half() -> None:
    series = shop(9, opens=0, closes=24, closed=())
    series.counts[-PER_DAY:] = 0
    # What was counted in the last two hours stays.
    assert lone_closures(series).sum() == PER_DAY - 8
    series.counts[-2 * PER_DAY :] = 0
    assert not lone_closures(series).any()


def test_days_that_are_empty_more_often_than_one_in_four__are_a_habit() -> None:
    series = shop(9, opens=0, closes=24, closed=())
    for day in (1, 4, 6):
        series.counts[day * PER_DAY : (day + 1) * PER_DAY] = 0
    assert not lone_closures(series).any()


def test_three_events_an_hour__are_not_closed_when_none_comes_for_hours() -> None:
    series = shop(9, closed=())
    counts = np.random.default_rng(1).poisson(0.75, series.counts.size).astype(np.float64)
    counts[300:330] = 0
    assert not lone_closures(ArrivalSeries("t", "rare", series.start, WINDOW_S, counts)).any()


@pytest.mark.parametrize(("opens", "closes"), [(8, 20), (0, 24)])
def test_nine_days_alike_with_one_closed_sunday__are_forecast_alike(opens: int, closes: int) -> None:
    peak = peak_of_the_day(shop(9, opens=opens, closes=closes))
    # The largest of the few windows around noon exceeds 1000 by one or two deviations of sqrt(1000) = 32.
    assert 0.95 * NOON < peak[0.5] < 1.1 * NOON
    assert peak[0.95] < 1.2 * peak[0.5]


def test_the_monday_after_two_closed_sundays__is_expected_as_busy_as_it_is() -> None:
    peak = peak_of_the_day(shop(9, MONDAY))
    assert peak[0.5] > 0.95 * NOON
    assert peak[0.95] < 1.3 * NOON


def test_recent_days__know_a_sunday_that_is_always_closed() -> None:
    series = shop(22, MONDAY, opens=0, closes=24)
    paths = RecentDaysForecaster().fit(series).paths_per_s(series, PER_DAY, 200, np.random.default_rng(2))
    low, high = np.quantile(paths.max(axis=1) * WINDOW_S, (0.05, 0.95))
    assert 0.9 * NOON < low < high < 1.3 * NOON
    saturday = shop(20.5, MONDAY - timedelta(days=1, hours=12), opens=0, closes=24)
    paths = RecentDaysForecaster().fit(saturday).paths_per_s(saturday, PER_DAY, 200, np.random.default_rng(2))
    # From Saturday 19:00 on: five hours of Saturday, then nothing.
    assert (paths[:, 20:] == 0).all()


def test_recent_days__follow_a_night_shift_that_is_new() -> None:
    series = shop(22, closed=())
    night = np.arange(series.counts.size)
    at = (series.start.hour * 4 + night) % PER_DAY
    series.counts[(night >= 19 * PER_DAY) & (at < 32)] = 400
    paths = RecentDaysForecaster().fit(series).paths_per_s(series, PER_DAY, 200, np.random.default_rng(2))
    # The first hours after the next midnight, 17 hours from now.
    assert np.median(paths[:, 70:90]) * WINDOW_S > 200


def fed_before(launched: ArrivalSeries) -> ArrivalSeries:
    """The same source, whose feed was counted for thirty days before anything came."""
    counts = np.concatenate([np.zeros(30 * PER_DAY), launched.counts])
    return replace(launched, start=launched.start - timedelta(days=30), counts=counts)


def test_weeks_without_arrivals_before_a_launch__are_no_history_of_its_load() -> None:
    launched = shop(9, closed=())
    # The shop opens at 8:00, an hour after the nine days begin.
    assert since_launch(fed_before(launched)).start == launched.start + timedelta(hours=1)
    assert peak_of_the_day(fed_before(launched))[0.95] < 1.3 * NOON


def test_a_model_trained_before_its_load_had_a_day__is_asked_with_all_that_it_was_trained_on() -> None:
    feed = fed_before(shop(1, closed=(), opens=0, closes=24))
    early = feed.between(feed.start, feed.end - timedelta(hours=2))
    terms = ForecastTerms(WINDOW_S, 86400, (3600, 86400), paths=50, origins=8)
    trained = train(early, issued_at=early.end, terms=terms)
    assert trained.trained_from == feed.start
    assert issue(trained, feed, issued_at=feed.end).trained_from == feed.start


def test_a_rare_source__keeps_the_weeks_before_its_first_event() -> None:
    counts = np.zeros(30 * PER_DAY)
    counts[[20 * PER_DAY, 25 * PER_DAY]] = 1
    rare = ArrivalSeries("t", "rare", FRIDAY - timedelta(days=30), WINDOW_S, counts)
    assert since_launch(rare) is rare
