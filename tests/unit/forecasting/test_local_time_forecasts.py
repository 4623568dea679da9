"""Forecasts through changes of the clock, of a source that is open from 8 to 20 o'clock where its people live."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.events.effects import learn_effects
from forecasting.forecaster import Forecaster
from forecasting.forecasters import all_forecasters
from forecasting.models.first_days_forecaster import FIRST_DAYS, FirstDaysForecaster
from forecasting.models.local_time_forecaster import LocalTimeFitted, LocalTimeForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.profile_forecast import profile_forecast
from forecasting.terms import ForecastTerms

BERLIN = ZoneInfo("Europe/Berlin")
CHANGES = {
    "clocks put forward": datetime(2026, 3, 29, tzinfo=BERLIN),
    "clocks put back": datetime(2026, 10, 25, tzinfo=BERLIN),
}
DAY = timedelta(days=1)
# Persistence knows no time of day but by its errors of about the same time, so it never knows an opening hour.
SEASONAL = [
    *(forecaster for forecaster in all_forecasters() if forecaster.name not in {"persistence", FIRST_DAYS}),
    # It competes for two weeks; here it gets four.
    LocalTimeForecaster(FirstDaysForecaster(max_days=35)),
]


def opening_hours(start: datetime, end: datetime, timezone: str = "Europe/Berlin") -> ArrivalSeries:
    """Quarters of an hour with 900 arrivals from 8:00 to 20:00 on the wall in Berlin, 450 on weekends, else none."""
    rng = np.random.default_rng(3)
    first_s, last_s = int(start.timestamp()), int(end.timestamp())
    local = [datetime.fromtimestamp(at_s, BERLIN) for at_s in range(first_s, last_s, 900)]
    means = [(900 if at.weekday() < 5 else 450) if 8 <= at.hour < 20 else 0 for at in local]
    return ArrivalSeries("shop", "web", start, 900, rng.poisson(means).astype(np.float64), timezone)


def at_local(day: datetime, hour: int) -> datetime:
    return day.replace(hour=hour).astimezone(UTC)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("forecaster", SEASONAL, ids=lambda forecaster: forecaster.name)
def test_a_source_that_opens_at_8__does_so_on_the_day_of_a_change_and_on_the_day_after(
    forecaster: Forecaster, change: datetime
) -> None:
    series = opening_hours(change - 28 * DAY, change + DAY)
    # Fitted in the evening before the change, and asked from then on.
    fitted = forecaster.fit(series.between(series.start, at_local(change - DAY, 18)))
    for asked, opens in (
        (at_local(change - DAY, 18), change),
        (at_local(change, 5), change),
        (at_local(change, 18), change + DAY),
    ):
        recent = series.between(series.start, asked)
        paths = fitted.paths_per_s(recent, 104, 100, np.random.default_rng(1))
        assert paths.shape == (100, 104)
        usual = np.median(paths, axis=0)
        opening = int((at_local(opens, 8) - recent.end).total_seconds()) // 900
        assert usual[:opening][-16:].max() < 0.05, f"asked {asked}: before it opens"
        assert usual[opening] > 0.25, f"asked {asked}: when it opens"


def test_a_forecast_in_the_first_of_two_hours_alike__opens_at_8() -> None:
    change = CHANGES["clocks put back"]
    series = opening_hours(change - 21 * DAY, datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
    paths = SEASONAL[0].fit(series).paths_per_s(series, 96, 100, np.random.default_rng(1))
    usual = np.median(paths, axis=0)
    # From 2:30 for the first time to 8:00 are six and a half hours.
    assert usual[:26].max() == 0
    assert usual[26] > 0.25


def test_without_a_time_zone__the_source_opens_an_hour_off_until_it_is_learnt() -> None:
    change = CHANGES["clocks put back"]
    series = opening_hours(change - 28 * DAY, at_local(change, 18), timezone="UTC")
    usual = np.median(TimeOfWeekForecaster().fit(series).paths_per_s(series, 60, 100, np.random.default_rng(1)), axis=0)
    # 8:00 on the wall is 14 h, 56 steps, after 18:00; in UTC it opens at 6:00, which is 7:00 on the wall by now.
    assert usual[52] > 0.25


def test_days_of_utc_by_another_name__are_forecast_the_same_bit_for_bit() -> None:
    known = opening_hours(CHANGES["clocks put back"] - 21 * DAY, CHANGES["clocks put back"], timezone="UTC")
    for forecaster in SEASONAL[:2]:
        # Days of UTC take no detour at all.
        assert not isinstance(forecaster.fit(known), LocalTimeFitted)
        paths = [
            forecaster.fit(series).paths_per_s(series, 96, 100, np.random.default_rng(1))
            for series in (
                ArrivalSeries(known.topology, known.source, known.start, 900, known.counts, timezone)
                for timezone in ("UTC", "Etc/UTC")
            )
        ]
        assert np.array_equal(*paths)


def test_the_effect_of_an_event__is_held_against_what_is_usual_on_the_wall() -> None:
    change = CHANGES["clocks put back"]
    series = opening_hours(change - 28 * DAY, change + 5 * DAY)
    # The Tuesday after the change from 7:00 to 9:00, of which an hour is open, as ever. By UTC two would be usual.
    start = at_local(change + 2 * DAY, 7)
    event = Event(EventKind.OTHER, "Nothing", start, start + timedelta(hours=2))
    effects = learn_effects(series, EventCalendar((event,)))
    assert effects.effects[0].ratio == pytest.approx(1.0, abs=0.03)


def test_an_event_that_ends_before_the_wall_shows_its_beginning_again__is_left_out() -> None:
    change = CHANGES["clocks put back"]
    series = opening_hours(change - 28 * DAY, change + 5 * DAY)
    event = Event(
        EventKind.OTHER, "Deploy", datetime(2026, 10, 25, 0, 45, tzinfo=UTC), datetime(2026, 10, 25, 1, 15, tzinfo=UTC)
    )
    assert learn_effects(series, EventCalendar((event,))).effects[0].ratio == 1.0


def test_a_profile_made_on_the_spot__opens_at_8() -> None:
    change = CHANGES["clocks put forward"]
    series = opening_hours(change - 21 * DAY, at_local(change, 18))
    made = profile_forecast(series, issued_at=series.end, terms=ForecastTerms(900, 86400, paths=100))
    assert made.rate_per_s[40:56, 0].max() == 0
    assert made.rate_per_s[56, 0] > 0.5
