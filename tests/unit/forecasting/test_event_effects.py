"""What events do, learnt from made-up weeks in which that is known."""

from datetime import timedelta

import numpy as np
import pytest
from arrival_series import MONDAY, busy_offices
from event_days import changed, day

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.events.effects import EventEffects, KnownEffect, covered_shares, learn_effects, without_outages

LAUNCH, OTHER, OUTAGE = EventKind.LAUNCH, EventKind.OTHER, EventKind.OUTAGE


def steady(days: float = 35) -> ArrivalSeries:
    """900 events in each quarter of an hour, so that every ratio comes out to the number."""
    return ArrivalSeries("shop", "web", MONDAY, 900, np.full(int(days * 96), 900.0))


def ratio_of(series: ArrivalSeries, past: tuple[Event, ...], coming: Event) -> float:
    effects = learn_effects(series, EventCalendar((*past, coming)))
    return next(effect.ratio for effect in effects.effects if effect.start == coming.start)


@pytest.mark.parametrize(("times", "power"), [(1, 1 / 2), (2, 2 / 3), (3, 3 / 4)])
def test_an_event_to_come__takes_the_mean_log_ratio_steadied_by_one_occurrence(times: int, power: float) -> None:
    past = tuple(day(8 + 7 * number) for number in range(times))
    series = changed(steady(), {8 + 7 * number: 0.3 for number in range(times)})
    # n log 0.3 and one log 1, over n + 1. Of 96 × 900 events expected, 20 more or less say nothing.
    assert ratio_of(series, past, day(36)) == pytest.approx(0.3**power, rel=0.01)


def test_an_event_never_seen__leans_on_others_of_its_kind() -> None:
    series = changed(steady(), {8: 0.5, 15: 0.5})
    past = (day(8, "Epiphany"), day(15, "Good Friday"))
    # Two of its kind, each half an occurrence: half of log 0.5 is expected beforehand, and nothing else is known.
    assert ratio_of(series, past, day(36, "Labour Day")) == pytest.approx(0.5 ** (1 / 2), rel=0.01)
    assert ratio_of(series, past, day(36, "Epiphany, again", LAUNCH)) == 1.0


def test_a_label__is_steadied_by_what_others_of_its_kind_did() -> None:
    series = changed(steady(), {8: 0.5, 15: 0.25})
    # Of the other log 0.25 / 3 is expected, two thirds of log 0.5; it was log 0.5 itself: the mean is 5/6 of log 0.5.
    assert ratio_of(series, (day(8, "A"), day(15, "B")), day(36, "A")) == pytest.approx(0.5 ** (5 / 6), rel=0.01)


def test_other_events__have_nothing_in_common_but_their_label() -> None:
    series = changed(steady(), {8: 4.0})
    assert ratio_of(series, (day(8, "Storm", OTHER),), day(36, "Strike", OTHER)) == 1.0
    assert ratio_of(series, (day(8, "Storm", OTHER),), day(36, "Storm", OTHER)) == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize("ratio", [0.0, 0.4, 3.0, 20.0])
def test_a_declared_ratio__stands_where_nothing_was_seen(ratio: float) -> None:
    assert ratio_of(steady(), (), day(36, "Sale", LAUNCH, ratio)) == ratio


def test_a_declared_ratio__counts_as_one_occurrence_beside_what_was_seen() -> None:
    series = changed(steady(), {8: 4.0})
    # The mean of log 4 and log 9: the root of 36.
    assert ratio_of(series, (day(8, "Sale", LAUNCH),), day(36, "Sale", LAUNCH, 9.0)) == pytest.approx(6.0, rel=0.01)


def test_an_event_that_was_seen__keeps_its_own_ratio() -> None:
    series = changed(steady(), {8: 0.3})
    effects = learn_effects(series, EventCalendar((day(8),)))
    assert effects.effects[0].ratio == pytest.approx(0.3, rel=0.01)
    assert effects.removed(series).counts == pytest.approx(steady().counts, rel=0.01)


def test_an_event_that_has_begun__is_known_as_far_as_it_was_seen() -> None:
    # A quarter of the day has passed, with four times the load: a quarter of log 4, the rest as expected, nothing.
    whole = changed(steady(36), {35: 4.0})
    series = whole.between(whole.start, MONDAY + timedelta(days=35, hours=6))
    assert learn_effects(series, EventCalendar((day(35),))).effects[0].ratio == pytest.approx(4**0.25, rel=0.01)


def test_growth__is_no_effect_of_an_event() -> None:
    # Twice the load from the third week on: an event in the last week that changes nothing has a ratio of 1, but that
    # the usual Wednesday is a little lower than other days, as it is seen without its last one.
    series = changed(steady(), dict.fromkeys(range(14, 35), 2.0))
    assert ratio_of(series, (day(30),), day(36)) == pytest.approx(1.0, abs=0.05)


def test_an_event_in_closed_hours__tells_nothing() -> None:
    series = busy_offices(days=35)
    # Day 12 is a Saturday.
    assert ratio_of(series, (day(12),), day(36)) == 1.0


def test_events_that_happen_together__share_what_came_and_give_it_back_together() -> None:
    series = changed(steady(), {8: 0.25})
    effects = learn_effects(series, EventCalendar((day(8, "A", OTHER), day(8, "B", OTHER))))
    assert [effect.ratio for effect in effects.effects] == pytest.approx([0.5, 0.5], rel=0.01)
    assert effects.ratios(day(8).start, 900, 96) == pytest.approx(np.full(96, 0.25), rel=0.01)


def test_a_day_without_any_load__has_a_small_ratio_and_is_missing_without_it() -> None:
    series = changed(steady(), {8: 0.0})
    effects = learn_effects(series, EventCalendar((day(8),)))
    assert 0 < effects.effects[0].ratio < 0.02
    assert np.isnan(effects.removed(series).counts[8 * 96 : 9 * 96]).all()


def test_few_expected_events__say_little() -> None:
    # One event in three quarters of an hour: 32 in a day, of which none came; 32 / (32 + 20) of an occurrence of 0.01.
    sparse = ArrivalSeries("shop", "web", MONDAY, 900, np.tile([1.0, 0.0, 0.0], 35 * 32))
    weight = 32 / 52
    got = ratio_of(changed(sparse, {8: 0.0}), (day(8),), day(36))
    assert got == pytest.approx(0.01 ** (weight / (weight + 1)), rel=0.3)


def test_windows_covered_in_part__take_that_part_of_the_effect() -> None:
    start = MONDAY + timedelta(minutes=45)
    effects = EventEffects((KnownEffect(start, start + timedelta(minutes=90), 3.0),))
    # A quarter of the first hour, all of the second, a quarter of the third.
    assert effects.ratios(MONDAY, 3600, 4).tolist() == [1.5, 3.0, 1.5, 1.0]
    assert covered_shares(MONDAY, 3600, 4, start, start + timedelta(minutes=90)).tolist() == [0.25, 1.0, 0.25, 0.0]


def test_an_event_shorter_than_a_window__is_learnt_from_the_part_that_it_covers() -> None:
    counts = np.full(35 * 24, 1000.0)
    at = 8 * 24 + 20
    # A quarter of the hour at four times the load: 750 + 1000 = 1750.
    counts[at] = 1750.0
    series = ArrivalSeries("shop", "web", MONDAY, 3600, counts)
    start = MONDAY + timedelta(hours=at)
    event = Event(EventKind.MATCH, "Final", start, start + timedelta(minutes=15))
    effects = learn_effects(series, EventCalendar((event,)))
    weight = 250 / 270
    assert effects.effects[0].ratio == pytest.approx(4.0**weight, rel=0.02)


def test_outages__leave_every_window_missing_that_they_touch() -> None:
    start = MONDAY + timedelta(minutes=50)
    outage = Event(OUTAGE, "Feed lost", start, start + timedelta(minutes=20))
    missing = np.isnan(without_outages(steady(), EventCalendar((outage,))).counts)
    assert np.flatnonzero(missing).tolist() == [3, 4]


def test_outages__are_not_taken_for_the_load_of_an_event() -> None:
    # Half of the holiday was an outage: the other half says 0.5.
    series = changed(steady(), {8: 0.5})
    series.counts[8 * 96 : 8 * 96 + 48] = 0.0
    outage = Event(OUTAGE, "Feed lost", MONDAY + timedelta(days=8), MONDAY + timedelta(days=8.5))
    # A ratio of 0.5 that was seen for half of its length: half an occurrence, and one without an effect.
    got = ratio_of(series, (day(8), outage), day(36))
    assert got == pytest.approx(0.5 ** (0.5 / 1.5), rel=0.01)


def test_what_comes_later__changes_nothing_of_what_is_learnt() -> None:
    series = changed(steady(), {8: 0.3, 30: 0.1})
    known = series.between(series.start, MONDAY + timedelta(days=20))
    calendar = EventCalendar((day(8), day(30)))
    alone = learn_effects(known, calendar).effects[1].ratio
    assert alone == pytest.approx(0.3**0.5, rel=0.01)


def test_a_history_that_is_all_event__teaches_nothing() -> None:
    series = steady(3)
    whole = Event(LAUNCH, "Launch", MONDAY, MONDAY + timedelta(days=3))
    assert ratio_of(series, (whole,), day(4, "Launch", LAUNCH)) == 1.0
