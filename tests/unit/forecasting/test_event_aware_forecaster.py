"""Forecasts with a calendar: what an outage, a holiday and a launch do to the peak of a day."""

from datetime import timedelta

import numpy as np
import pytest
from arrival_series import MONDAY, web_requests
from event_days import changed, day

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.events.event_aware_forecaster import EventAware, EventAwareForecaster
from forecasting.forecaster import Forecaster
from forecasting.forecasters import all_forecasters
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.seasonal_naive_forecaster import SeasonalNaiveForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster

DAY = 96
CHEAP = (TimeOfWeekForecaster(), PersistenceForecaster(), SeasonalNaiveForecaster(1), SeasonalNaiveForecaster(7))
cheap = pytest.mark.parametrize("forecaster", CHEAP, ids=lambda forecaster: forecaster.name)


def peaks(forecaster: Forecaster, series: ArrivalSeries, steps: int = DAY) -> np.ndarray:
    """The largest rate of the day that comes, of 200 paths."""
    return forecaster.fit(series).paths_per_s(series, steps, 200, np.random.default_rng(1))[:, -DAY:].max(axis=1)


@cheap
def test_a_holiday_seen_twice__is_forecast_lower_the_next_time(forecaster: Forecaster) -> None:
    usual = web_requests(days=35)
    series = changed(usual, {9: 0.3, 23: 0.3})
    calendar = EventCalendar((day(9), day(23), day(35)))
    # Two thirds of log 0.3, steadied: 0.45 of the usual peak, were it not for a level that wanders by some percent.
    expected = 0.3 ** (2 / 3) * np.median(peaks(forecaster, usual))
    assert np.median(peaks(EventAwareForecaster(forecaster, calendar), series)) == pytest.approx(expected, rel=0.3)


@cheap
def test_a_declared_launch__lifts_the_peak_threefold(forecaster: Forecaster) -> None:
    series = web_requests(days=35)
    calendar = EventCalendar((day(35, "Launch", EventKind.LAUNCH, ratio=3.0),))
    assert peaks(EventAwareForecaster(forecaster, calendar), series) == pytest.approx(3 * peaks(forecaster, series))


@cheap
def test_an_outage__leaves_the_forecast_about_as_without_it(forecaster: Forecaster) -> None:
    usual = web_requests(days=21)
    # Half of each of the last two days before the last was lost, and reads like no load at all.
    counts = usual.counts.copy()
    spans = [(number * DAY + 32, number * DAY + 80) for number in (18, 19)]
    for first, last in spans:
        counts[first:last] = 0.0
    series = ArrivalSeries(usual.topology, usual.source, usual.start, usual.window_s, counts)
    calendar = EventCalendar(
        tuple(
            Event(
                EventKind.OUTAGE,
                "Feed lost",
                MONDAY + timedelta(seconds=900 * first),
                MONDAY + timedelta(seconds=900 * last),
            )
            for first, last in spans
        )
    )
    without = np.quantile(peaks(forecaster, usual), (0.5, 0.95))
    aware = np.quantile(peaks(EventAwareForecaster(forecaster, calendar), series), (0.5, 0.95))
    assert aware == pytest.approx(without, rel=0.1)


def test_an_outage_that_nobody_declared__would_halve_the_day_after_it() -> None:
    # What the test above would be worth little without: the day that is repeated was lost in its busy half.
    usual = web_requests(days=21)
    counts = usual.counts.copy()
    counts[20 * DAY + 24 : 20 * DAY + 80] = 0.0
    series = ArrivalSeries(usual.topology, usual.source, usual.start, usual.window_s, counts)
    outage = Event(
        EventKind.OUTAGE,
        "Feed lost",
        MONDAY + timedelta(days=20, seconds=900 * 24),
        MONDAY + timedelta(days=20, seconds=900 * 80),
    )
    forecaster = SeasonalNaiveForecaster(1)
    without = np.median(peaks(forecaster, usual))
    assert np.median(peaks(forecaster, series)) < 0.75 * without
    aware = EventAwareForecaster(forecaster, EventCalendar((outage,)))
    assert np.median(peaks(aware, series)) == pytest.approx(without, rel=0.1)


def test_a_holiday_yesterday__is_not_repeated_today() -> None:
    series = changed(web_requests(days=35), {34: 0.3})
    aware = EventAwareForecaster(SeasonalNaiveForecaster(1), EventCalendar((day(34),)))
    usual = np.median(peaks(SeasonalNaiveForecaster(1), web_requests(days=35)))
    assert np.median(peaks(SeasonalNaiveForecaster(1), series)) < 0.5 * usual
    # The level of that day, which wanders by 12 %, is taken for a part of what the holiday did.
    assert np.median(peaks(aware, series)) == pytest.approx(usual, rel=0.3)


def test_an_empty_calendar__leaves_the_bare_forecasters() -> None:
    for calendar in (None, EventCalendar()):
        assert not [each for each in all_forecasters(calendar) if isinstance(each, EventAwareForecaster)]


def test_every_forecaster__keeps_its_name_and_part() -> None:
    aware = all_forecasters(EventCalendar((day(35),)))
    assert all(isinstance(each, EventAwareForecaster) for each in aware)
    assert [(each.name, each.naive) for each in aware] == [(each.name, each.naive) for each in all_forecasters()]


@cheap
def test_events_of_other_sources__change_nothing(forecaster: Forecaster) -> None:
    series = web_requests()
    event = Event(EventKind.LAUNCH, "Launch", series.end, series.end + timedelta(days=1), ("desk",), 3.0)
    aware = EventAwareForecaster(forecaster, EventCalendar((event,)))
    assert not isinstance(aware.fit(series), EventAware)
    assert np.array_equal(peaks(aware, series), peaks(forecaster, series))


@cheap
def test_an_event_that_is_still_to_come__does_not_reach_into_the_days_before_it(forecaster: Forecaster) -> None:
    series = web_requests()
    event = day(22, "Launch", EventKind.LAUNCH, 3.0)
    aware = EventAwareForecaster(forecaster, EventCalendar((event,))).fit(series)
    bare = forecaster.fit(series)
    usual, with_event = (fitted.paths_per_s(series, 2 * DAY, 20, np.random.default_rng(1)) for fitted in (bare, aware))
    assert np.array_equal(with_event[:, :DAY], usual[:, :DAY])
    assert np.array_equal(with_event[:, DAY:], 3 * usual[:, DAY:])


def test_a_history_lost_to_outages__is_refused_with_its_share() -> None:
    series = web_requests()
    outage = Event(EventKind.OUTAGE, "Feed lost", MONDAY, MONDAY + timedelta(days=15))
    aware = EventAwareForecaster(TimeOfWeekForecaster(), EventCalendar((outage,)))
    assert "29% of the windows are observed" in (aware.unsuitable_because(series) or "")
