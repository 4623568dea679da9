"""What holds of every calendar, whatever happened in it."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import MAX_RATIO, Event, EventCalendar, EventKind
from forecasting.events.effects import EventEffects, KnownEffect, covered_shares, learn_effects, without_outages
from forecasting.events.event_aware_forecaster import EventAwareForecaster
from forecasting.forecasters import all_forecasters
from forecasting.local_time import local_days
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
zones = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Asia/Beirut"]
)


@st.composite
def events(draw: st.DrawFn) -> Event:
    kind = draw(st.sampled_from(EventKind))
    start = MONDAY + timedelta(minutes=draw(st.integers(-3 * 1440, 18 * 1440)))
    end = start + timedelta(minutes=draw(st.integers(1, 3 * 1440)))
    ratio = None if kind is EventKind.OUTAGE else draw(st.none() | st.floats(0, MAX_RATIO))
    return Event(kind, draw(st.sampled_from("abc")), start, end, ratio=ratio)


@st.composite
def series(draw: st.DrawFn) -> ArrivalSeries:
    """Two weeks of hours, some of them missing, from no load at all to a lot."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    counts = rng.poisson(draw(st.sampled_from([0.0, 0.3, 50.0, 1e6])), 14 * 24).astype(float)
    counts[rng.random(counts.size) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    return ArrivalSeries("t", "s", MONDAY, 3600, counts)


@settings(deadline=None, max_examples=60)
@given(series(), st.lists(events(), max_size=6))
def test_ratios__are_finite_never_negative_and_bounded(history: ArrivalSeries, some: list[Event]) -> None:
    effects = learn_effects(history, EventCalendar(tuple(some)))
    ratios = effects.ratios(history.start, history.window_s, 20 * 24)
    assert np.isfinite(ratios).all()
    assert (ratios >= 0).all()
    assert (ratios <= MAX_RATIO).all()
    removed = effects.removed(history).counts
    assert not np.isinf(removed).any()
    assert not (removed < 0).any()


@settings(deadline=None, max_examples=30)
@given(series(), st.lists(events(), max_size=4))
def test_a_window_without_events__is_as_it_was(history: ArrivalSeries, some: list[Event]) -> None:
    calendar = EventCalendar(tuple(some))
    touched = np.zeros(history.counts.size, dtype=bool)
    for event in some:
        touched |= covered_shares(MONDAY, 3600, touched.size, event.start, event.end) > 0
    removed = learn_effects(history, calendar).removed(history).counts
    assert np.array_equal(removed[~touched], history.counts[~touched], equal_nan=True)
    kept = without_outages(history, calendar).counts
    outage = np.isnan(kept) & ~np.isnan(history.counts)
    assert not outage[~touched].any()


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 9))
def test_an_empty_calendar__changes_nothing_bit_for_bit(seed: int) -> None:
    counts = np.random.default_rng(seed).poisson(50 + 30 * np.sin(np.arange(14 * 24) * np.pi / 12)).astype(float)
    history = ArrivalSeries("t", "s", MONDAY, 3600, counts)
    bare = TimeOfWeekForecaster()
    wrapped = EventAwareForecaster(bare, EventCalendar())
    first, second = (
        each.fit(history).paths_per_s(history, 24, 20, np.random.default_rng(seed)) for each in (bare, wrapped)
    )
    assert np.array_equal(first, second)
    assert [type(each) for each in all_forecasters(EventCalendar())] == [type(each) for each in all_forecasters()]


@given(st.dates(date(1971, 1, 1), date(2199, 12, 31)), zones)
def test_local_days__follow_each_other_without_a_gap(day: date, name: str) -> None:
    zone, next_day = ZoneInfo(name), day + timedelta(days=1)
    start, end = local_days(day, day, zone)
    assert end == local_days(next_day, next_day, zone)[0]
    assert timedelta(hours=22) <= end - start <= timedelta(hours=26)


@given(
    st.integers(1, 600),
    st.lists(st.tuples(st.integers(-500, 1500), st.integers(1, 800), st.floats(0, MAX_RATIO)), max_size=4),
)
def test_shares__add_up_to_what_is_covered(window_min: int, spans: list[tuple[int, int, float]]) -> None:
    known = [
        KnownEffect(MONDAY + timedelta(minutes=at), MONDAY + timedelta(minutes=at + length), ratio)
        for at, length, ratio in spans
    ]
    window_s, count = 60 * window_min, 5
    for effect in known:
        covered = covered_shares(MONDAY, window_s, count, effect.start, effect.end)
        begin = max(effect.start, MONDAY)
        end = min(effect.end, MONDAY + timedelta(seconds=window_s * count))
        assert abs(covered.sum() * window_s - max(0.0, (end - begin).total_seconds())) < 1e-3
        assert ((covered >= 0) & (covered <= 1 + 1e-9)).all()
    ratios = EventEffects(tuple(known)).ratios(MONDAY, window_s, count)
    assert ((ratios >= 0) & (ratios <= MAX_RATIO)).all()
