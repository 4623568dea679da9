"""Spans that look like undeclared outages."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.outage_shape import suspected_outages

START = datetime(2024, 3, 4, tzinfo=UTC)  # a Monday
NOTHING_DECLARED = EventCalendar()
HOUR = timedelta(hours=1)


def load(days: int, change: Callable[[Floats, Floats], Floats] | None = None, seed: int = 1) -> ArrivalSeries:
    """1,000 to 9,000 events an hour by day and night, half of that at weekends, in windows of 10 minutes.

    change: of the means, by hours since the start.
    """
    hours = np.arange(days * 24 * 6) / 6
    mean = (5000 - 4000 * np.cos(2 * np.pi * hours / 24)) / 6
    mean = np.where(hours // 24 % 7 >= 5, mean / 2, mean)
    mean = mean if change is None else change(hours, mean)
    counts = np.random.default_rng(seed).poisson(mean).astype(np.float64)
    return ArrivalSeries("shop", "orders", START, 600, counts)


def scaled(first: float, end: float, by: float) -> Callable[[Floats, Floats], Floats]:
    return lambda hours, mean: np.where((hours >= first) & (hours < end), mean * by, mean)


@pytest.mark.parametrize("by", [0.15, 0.0])
@pytest.mark.parametrize("first", [3 * 24 + 7, 15 * 24, 22 * 24 + 5])
def test_three_days_with_a_part_of_the_load__are_found(first: int, by: float) -> None:
    (span,) = suspected_outages(load(28, scaled(first, first + 72, by)), NOTHING_DECLARED)
    assert (span.source, span.ongoing) == ("orders", False)
    assert abs(span.start - START - first * HOUR) <= HOUR
    assert abs(span.end - START - (first + 72) * HOUR) <= HOUR
    assert span.share == pytest.approx(by, abs=0.03)


def test_loss__is_what_is_usual_less_what_came() -> None:
    # Tuesday to Thursday of the third week: 3 days of 24 · 5,000 events, of which 15 % came.
    (span,) = suspected_outages(load(28, scaled(15 * 24, 18 * 24, 0.15)), NOTHING_DECLARED)
    assert span.lost == pytest.approx(0.85 * 3 * 24 * 5000, rel=0.02)


def test_feed_that_died_this_morning__is_found_while_it_is_dead() -> None:
    (span,) = suspected_outages(load(24, scaled(23 * 24 + 8, 24 * 24, 0.0)), NOTHING_DECLARED)
    assert span.ongoing
    assert span.start == START + (23 * 24 + 8) * HOUR
    assert span.end == START + 24 * 24 * HOUR


@pytest.mark.parametrize(
    "change",
    [
        None,
        scaled(14 * 24, 28 * 24, 3.0),  # a new level above
        scaled(6 * 24, 28 * 24, 0.3),  # and one below, three weeks old
        scaled(10 * 24 + 9, 10 * 24 + 10, 0.0),  # an hour
        scaled(10 * 24, 12 * 24, 4.0),  # a peak, which makes no other week low
        lambda hours, mean: mean * np.exp(-hours / 700),  # decline by a fifth a week
        lambda hours, mean: np.where(hours // 24 % 7 >= 5, 0.0, mean),  # closed at weekends
    ],
)
def test_load_as_it_comes_and_goes__is_not_asked_about(change: Callable[[Floats, Floats], Floats] | None) -> None:
    assert suspected_outages(load(28, change), NOTHING_DECLARED) == ()


def test_load_whose_days_differ_threefold__is_not_asked_about() -> None:
    factors = np.exp(np.random.default_rng(2).normal(0, 0.6, 56))
    assert (
        suspected_outages(load(56, lambda hours, mean: mean * factors[(hours // 24).astype(int)]), NOTHING_DECLARED)
        == ()
    )


@pytest.mark.parametrize("kind", [EventKind.OUTAGE, EventKind.OTHER])
def test_declared_span__is_no_question_any_more(kind: EventKind) -> None:
    series = load(28, scaled(15 * 24, 18 * 24, 0.15))
    (span,) = suspected_outages(series, NOTHING_DECLARED)
    declared = EventCalendar((Event(kind, "feed lost", span.start, span.end, ("orders",)),))
    assert suspected_outages(series, declared) == ()
    assert suspected_outages(series, EventCalendar((Event(kind, "x", span.start, span.end, ("clicks",)),))) == (span,)


def test_missing_windows__are_no_outage() -> None:
    series = load(28)
    counts = series.counts.copy()
    counts[15 * 144 : 18 * 144] = np.nan
    assert suspected_outages(ArrivalSeries("shop", "orders", START, 600, counts), NOTHING_DECLARED) == ()


def test_low_load__shows_nothing() -> None:
    # 5 events an hour: an hour without any has probability exp(-5).
    counts = np.random.default_rng(3).poisson(5 / 6, 28 * 144).astype(np.float64)
    assert suspected_outages(ArrivalSeries("shop", "orders", START, 600, counts), NOTHING_DECLARED) == ()


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_habits_that_move_with_the_clock__are_no_outage(day: str) -> None:
    """Open from 9 to 18 in Berlin, for three weeks until the clocks change and for one after that."""
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime.fromisoformat(day).replace(tzinfo=UTC) - timedelta(days=21)
    clocks = [(start + timedelta(minutes=10 * at)).astimezone(berlin) for at in range(28 * 144)]
    counts = np.array([1000.0 if clock.weekday() < 5 and 9 <= clock.hour < 18 else 0.0 for clock in clocks])
    series = ArrivalSeries("shop", "orders", start, 600, counts)
    assert suspected_outages(series, NOTHING_DECLARED) != ()  # by UTC
    assert suspected_outages(replace(series, timezone="Europe/Berlin"), NOTHING_DECLARED) == ()
    # A real one, after the change, is told in UTC: 9:00 to 18:00 of a Tuesday in Berlin.
    opening = next(at for at, clock in enumerate(clocks) if at > 23 * 144 and (clock.hour, clock.weekday()) == (9, 1))
    counts[opening : opening + 9 * 6] = 0.0
    (span,) = suspected_outages(replace(series, timezone="Europe/Berlin"), NOTHING_DECLARED)
    assert (span.start, span.end) == (clocks[opening], clocks[opening] + 9 * HOUR)
