"""Days of the calendar that stand out in a long history, made up so that their ratios are known."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.events.public_holidays import public_holidays
from forecasting.events.recurring_days import YEARS_END, with_past_days
from forecasting.prequential import prequential_calendar, prequential_origins

FIRST = date(2024, 1, 1)
EIGHT_WEEKS = timedelta(days=56)


def hourly(until: date, ratio_of: Callable[[date], float] = lambda day: 1.0, noise: float = 0.0) -> ArrivalSeries:
    """A thousand an hour since FIRST, times the ratio of the day, and times log-normal noise by day."""
    days = [FIRST + timedelta(days=number) for number in range((until - FIRST).days)]
    ratios = np.array([ratio_of(day) for day in days])
    ratios *= np.exp(noise * np.random.default_rng(1).standard_normal(ratios.size))
    start = datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=UTC)
    return ArrivalSeries("bank", "bookings", start, 3600, 1000 * np.repeat(ratios, 24))


def expected(series: ArrivalSeries, calendar: EventCalendar | None = None, days: int = 3) -> dict[str, float | None]:
    """The ratios by label and day of what is to come within some days, for forecasters of eight weeks."""
    start, until = max(series.start, series.end - EIGHT_WEEKS), series.end + timedelta(days=days)
    past = with_past_days(calendar or EventCalendar(), series, start, until)
    return {f"{e.label} {e.start:%m-%d}": e.ratio for e in past.calendar.events if e.end > series.end}


def first_of_the_month(day: date) -> float:
    return 3.0 if day.day == 1 else 1.0


def test_a_busy_day_of_the_month__is_expected_to_be_as_it_was() -> None:
    assert expected(hourly(date(2024, 10, 31), first_of_the_month)) == {
        "day 1 of the month 11-01": pytest.approx(3.0, rel=0.02)
    }


def test_a_quiet_day_of_the_month__is_steadied_by_one_as_usual() -> None:
    # Of the firsts before the eight weeks from 2024-09-05, the six newest count: 6/7 of log 0.25.
    assert expected(hourly(date(2024, 10, 31), lambda day: 0.25 if day.day == 1 else 1.0)) == {
        "day 1 of the month 11-01": pytest.approx(0.25 ** (6 / 7), rel=0.03)
    }


def test_the_last_working_day__is_told_from_the_last_day() -> None:
    def last_working(day: date) -> float:
        later = [day + timedelta(days=number) for number in range(1, 8)]
        others = any(one.month == day.month and one.weekday() < 5 for one in later)
        return 1.0 if day.weekday() >= 5 or others else 3.0

    # 2024-11-29 is a Friday, and the month ends on Saturday.
    assert list(expected(hourly(date(2024, 11, 28), last_working))) == ["last working day of the month 11-29"]


def test_a_holiday__is_no_working_day() -> None:
    last = {date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 28), date(2024, 4, 30), date(2024, 5, 31)}
    germany = EventCalendar(public_holidays("DE", None, [2024], "UTC"))
    # Good Friday is the 29th of March: the last working day is the Thursday before it.
    (label, *_) = expected(hourly(date(2024, 6, 27), lambda day: 3.0 if day in last else 1.0), germany, days=2)
    assert label == "last working day of the month 06-28"


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
def test_ordinary_days__add_nothing(noise: float) -> None:
    assert with_past_days(
        EventCalendar(), hourly(date(2024, 12, 31), noise=noise), datetime(2024, 11, 1, tzinfo=UTC),
        datetime(2025, 1, 3, tzinfo=UTC),
    ).calendar == EventCalendar()  # fmt: skip


def test_a_shape_within_the_noise__adds_nothing() -> None:
    series = hourly(date(2024, 12, 31), lambda day: 1.5 if day.day == 1 else 1.0, noise=0.5)
    assert expected(series) == {}


def test_one_burst__makes_no_habit_and_two_do() -> None:
    once = hourly(date(2024, 3, 28), lambda day: 3.0 if day == date(2024, 3, 1) else 1.0)
    twice = hourly(date(2024, 3, 28), lambda day: 3.0 if day in (date(2024, 2, 1), date(2024, 3, 1)) else 1.0)
    assert expected(once, days=5) == {}
    assert list(expected(twice, days=5)) == ["first working day of the month 04-01"]
    # Of June on, the first is no working day: until then either may be meant.
    assert list(expected(hourly(date(2024, 6, 29), first_of_the_month))) == ["day 1 of the month 07-01"]


def test_a_habit_that_ended__is_forgotten_after_two_months() -> None:
    ended = hourly(date(2024, 10, 31), lambda day: first_of_the_month(day) if day.month <= 8 else 1.0)
    assert expected(ended) == {}


@pytest.mark.parametrize(("year", "power"), [(2024, None), (2025, 1 / 2), (2026, 2 / 3)])
def test_the_days_from_christmas_to_new_year__are_expected_as_in_years_before(year: int, power: float | None) -> None:
    series = hourly(date(year, 12, 23), lambda day: 0.4 if (day.month, day.day) >= (12, 24) else 1.0)
    # The first of January, of ordinary load here, is one of the nine days: 8/9 of log 0.4 is their mean.
    ratio = None if power is None else pytest.approx(0.4 ** (power * 8 / 9), rel=0.05)
    assert expected(series) == ({} if ratio is None else {f"{YEARS_END} 12-24": ratio})


def test_declared_holidays_within_these_days__keep_their_own_effect() -> None:
    series = hourly(date(2025, 12, 23), lambda day: 0.4 if (day.month, day.day) >= (12, 24) else 1.0)
    germany = EventCalendar(public_holidays("DE", None, range(2024, 2027), "UTC"))
    assert [label for label in expected(series, germany, days=12) if label.startswith(YEARS_END)] == [
        f"{YEARS_END} 12-24",
        f"{YEARS_END} 12-27",
    ]


def christmas(year: int, ratio: float | None = None) -> Event:
    start = datetime(year, 12, 25, tzinfo=UTC)
    return Event(EventKind.HOLIDAY, "Christmas Day", start, start + timedelta(days=1), ratio=ratio)


def test_a_holiday_of_last_year__is_expected_half_as_strong_as_it_was() -> None:
    series = hourly(date(2025, 12, 23), lambda day: 0.25 if (day.month, day.day) == (12, 25) else 1.0)
    calendar = EventCalendar((christmas(2024), christmas(2025)))
    assert expected(series, calendar) == {"Christmas Day 12-25": pytest.approx(0.5, rel=0.03)}


def test_a_ratio_that_is_declared__stays() -> None:
    series = hourly(date(2025, 12, 23), lambda day: 0.25 if (day.month, day.day) == (12, 25) else 1.0)
    calendar = EventCalendar((christmas(2024), christmas(2025, ratio=0.8)))
    assert expected(series, calendar) == {"Christmas Day 12-25": 0.8}


def test_a_holiday_among_days_that_vary__says_less() -> None:
    def quarter(day: date) -> float:
        return 0.25 if (day.month, day.day) == (12, 25) else 1.0

    calendar = EventCalendar((christmas(2024), christmas(2025)))
    noisy = expected(hourly(date(2025, 12, 23), quarter, noise=1.0), calendar)["Christmas Day 12-25"]
    assert noisy is not None
    assert noisy > 0.6


def test_days__are_those_of_the_users_clock() -> None:
    # In Tokyo the first begins at 15:00 UTC of the day before.
    series = hourly(date(2024, 10, 31), first_of_the_month)
    tokyo = replace(series, start=series.start - timedelta(hours=9), timezone="Asia/Tokyo")
    start = tokyo.end - EIGHT_WEEKS
    events = with_past_days(EventCalendar(), tokyo, start, tokyo.end + timedelta(days=3)).added
    assert [event.start.hour for event in events] == [15, 15]
    assert [(event.start + timedelta(hours=9)).day for event in events] == [1, 1]


def test_a_day_that_is_mostly_missing__is_no_occurrence() -> None:
    series = hourly(date(2024, 4, 30), first_of_the_month)
    counts = series.counts.copy()
    for first in (date(2024, 3, 1), date(2024, 4, 1)):
        at = 24 * (first - FIRST).days
        counts[at : at + 12] = np.nan
    assert expected(replace(series, counts=counts)) == {}


def test_a_replay__does_not_know_of_days_that_are_to_come() -> None:
    series = hourly(date(2024, 12, 31), first_of_the_month)
    origins = prequential_origins(series, 10, 86400)
    counts = series.counts.copy()
    counts[origins.told_from :] *= 7.0
    known = prequential_calendar(EventCalendar(), series, origins)
    assert {event.label for event in known.events} == {"day 1 of the month"}
    assert prequential_calendar(EventCalendar(), replace(series, counts=counts), origins) == known
