"""Local time: whole local days, times that are skipped or come twice, and the grid of the wall."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import CalendarError
from forecasting.local_time import (
    local_days,
    local_instant,
    offsets_s,
    on_wall_grid,
    windows_before,
    zone,
)

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("day", "hours"),
    [(date(2026, 3, 28), 24), (date(2026, 3, 29), 23), (date(2026, 10, 25), 25)],
    ids=["usual", "clocks put forward", "clocks put back"],
)
def test_a_local_day__is_as_long_as_its_clocks_say(day: date, hours: int) -> None:
    start, end = local_days(day, day, BERLIN)
    assert end - start == timedelta(hours=hours)
    assert start.astimezone(BERLIN).replace(tzinfo=None) == datetime.combine(day, datetime.min.time())


def test_days__that_follow_each_other_meet() -> None:
    assert (
        local_days(date(2026, 3, 28), date(2026, 3, 28), BERLIN)[1]
        == local_days(date(2026, 3, 29), date(2026, 3, 29), BERLIN)[0]
    )
    assert local_days(date(2026, 3, 28), date(2026, 3, 29), BERLIN)[1] == datetime(2026, 3, 29, 22, tzinfo=UTC)


def test_a_day_without_a_midnight__begins_with_its_first_moment() -> None:
    # Lebanon put its clocks from 0:00 to 1:00 on 2022-03-27, from UTC+2 to UTC+3: the day began at 22:00 UTC.
    start, end = local_days(date(2022, 3, 27), date(2022, 3, 27), ZoneInfo("Asia/Beirut"))
    assert start == datetime(2022, 3, 26, 22, tzinfo=UTC)
    assert end - start == timedelta(hours=23)


def test_a_time_that_was_skipped__is_refused() -> None:
    with pytest.raises(CalendarError, match=r"02:30:00 was skipped by the clocks of Europe/Berlin.*before or after"):
        local_instant(datetime(2026, 3, 29, 2, 30), BERLIN)


def test_a_time_that_comes_twice__begins_with_the_first_and_ends_with_the_second() -> None:
    twice = datetime(2026, 10, 25, 2, 30)
    assert local_instant(twice, BERLIN) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert local_instant(twice, BERLIN, ends=True) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "Europe"])
def test_an_unknown_time_zone__is_refused(name: str) -> None:
    with pytest.raises(CalendarError, match="is not known; give an IANA name"):
        zone(name)


NAN = float("nan")
PUT_FORWARD = datetime(2026, 3, 29, 1, tzinfo=UTC)
"""Clocks of Berlin went from 2:00 to 3:00."""
PUT_BACK = datetime(2026, 10, 25, 1, tzinfo=UTC)
"""Clocks of Berlin went from 3:00 to 2:00."""


def half_hours(start: datetime, counts: list[float], timezone: str = "Europe/Berlin") -> ArrivalSeries:
    return ArrivalSeries("shop", "web", start, 1800, np.array(counts, dtype=np.float64), timezone)


def test_a_skipped_hour__is_missing_on_the_wall() -> None:
    # 1:00 and 1:30 on the wall, then 3:00.
    wall, following = on_wall_grid(half_hours(PUT_FORWARD - timedelta(hours=1), [1, 2, 3]), "Europe/Berlin")
    assert wall.start == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert wall.counts == pytest.approx([1, 2, NAN, NAN, 3], nan_ok=True)
    assert wall.timezone == "UTC"
    # 3:30 is seven half hours into that day, which is 20541 days after 1970.
    assert following == 20541 * 48 + 7


def test_of_an_hour_that_comes_twice__the_second_one_stands_where_it_is_known() -> None:
    # 2:00, 2:30, again 2:00 (not known), 2:30, then 3:00.
    wall, _ = on_wall_grid(half_hours(PUT_BACK - timedelta(hours=1), [1, 2, NAN, 4, 5]), "Europe/Berlin")
    assert wall.start == datetime(2026, 10, 25, 2, tzinfo=UTC)
    assert wall.counts.tolist() == [1, 4, 5]


def test_within_the_second_of_two_hours_alike__the_rest_of_the_first_is_not_over_yet() -> None:
    wall, following = on_wall_grid(half_hours(PUT_BACK - timedelta(hours=1), [1, 2, 3]), "Europe/Berlin")
    assert wall.counts.tolist() == [3]
    assert following == 20751 * 48 + 5


def test_offsets__change_with_the_clock_to_the_second() -> None:
    change_s = int(PUT_FORWARD.timestamp())
    assert offsets_s(np.array([change_s - 1, change_s]), "Europe/Berlin").tolist() == [3600, 7200]
    # India is 5:30 ahead all year, over the turn of a year as well.
    year_s = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
    assert offsets_s(np.array([year_s - 1, year_s]), "Asia/Kolkata").tolist() == [19800, 19800]


def test_a_day_before__is_the_same_time_on_the_wall() -> None:
    hourly = ArrivalSeries("shop", "web", datetime(2026, 3, 28, tzinfo=UTC), 3600, np.ones(30), "Europe/Berlin")
    # Window 30 begins on the 29th at 6:00 UTC, 8:00 in summer; a day before it was 8:00 at 7:00 UTC, window 7.
    assert windows_before(hourly, 30, 3, 86400).tolist() == [7, 8, 9]
    in_utc = ArrivalSeries("shop", "web", hourly.start, 3600, hourly.counts)
    assert windows_before(in_utc, 30, 26, 86400).tolist() == [*range(6, 30), 6, 7]


def test_a_series__has_another_digest_where_its_days_go_by_another_clock() -> None:
    digests = {half_hours(PUT_BACK, [1, 2], zone).digest() for zone in ("UTC", "Europe/Berlin", "Asia/Tokyo")}
    assert len(digests) == 3
