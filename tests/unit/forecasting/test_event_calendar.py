"""Calendars: whole local days over changes of the clocks, hostile input refused, public holidays by place."""

from datetime import UTC, datetime, timedelta

import pytest

import forecasting.events.public_holidays
from forecasting.errors import CalendarError
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.events.public_holidays import public_holidays

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def event(label: str = "Launch", hours: float = 0, length: float = 1, **more: object) -> Event:
    start = NOON + timedelta(hours=hours)
    return Event(EventKind.LAUNCH, label, start, start + timedelta(hours=length), **more)  # type: ignore[arg-type]


def test_a_calendar__is_in_order_and_holds_each_event_once() -> None:
    late, early = event(hours=5), event(hours=1)
    assert EventCalendar((late, early, late)).events == (early, late)


def test_a_calendar__tells_what_concerns_a_source() -> None:
    everybody, web = event("a"), event("b", sources=("web",))
    calendar = EventCalendar((everybody, web))
    assert calendar.of_source("web").events == (everybody, web)
    assert calendar.of_source("desk").events == (everybody,)


def test_a_span__holds_the_events_of_which_any_part_lies_in_it() -> None:
    first, second = event(hours=0), event(hours=2)
    calendar = EventCalendar((first, second))
    assert calendar.between(NOON + timedelta(hours=1), NOON + timedelta(hours=2)).events == ()
    assert calendar.between(NOON + timedelta(minutes=59), NOON + timedelta(hours=2, minutes=1)) == calendar


def test_digests__differ_where_calendars_do_and_not_by_order() -> None:
    one, other = event(hours=0), event(hours=2)
    assert EventCalendar((one, other)).digest() == EventCalendar((other, one)).digest()
    several = [(one,), (other,), (one, other), (event(ratio=0.5),), (event(sources=("web",)),), (event("x"),), ()]
    assert len({EventCalendar(events).digest() for events in several}) == len(several)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"ratio": -0.1}, r"ratio -0.1 is not between 0 and 20; give"),
        ({"ratio": float("nan")}, r"ratio nan is not between"),
        ({"ratio": 21}, r"ratio 21 is not between"),
        ({"length": 0}, r"not after its start.*correct"),
        ({"label": " "}, r"empty label; name it"),
        ({"sources": ()}, r"concerns no source; name some"),
    ],
)
def test_an_event_that_cannot_be__is_refused_with_a_remedy(more: dict[str, object], told: str) -> None:
    with pytest.raises(CalendarError, match=told):
        event(**more)  # type: ignore[arg-type]


def test_an_event_without_a_time_zone__is_refused() -> None:
    with pytest.raises(CalendarError, match="no time zone; give one"):
        Event(EventKind.MATCH, "Final", datetime(2026, 1, 1), NOON)


def test_an_outage_with_a_ratio__is_refused() -> None:
    with pytest.raises(CalendarError, match=r"an outage has no ratio .*call the event maintenance"):
        Event(EventKind.OUTAGE, "Feed lost", NOON, NOON + timedelta(hours=1), ratio=0.0)


def test_public_holidays__are_those_of_the_place_and_whole_local_days() -> None:
    # Epiphany is a holiday in Bavaria, not in Berlin; Berlin is an hour before UTC in January.
    bavaria = {event.label: event for event in public_holidays("DE", "BY", [2026], "Europe/Berlin")}
    berlin = {event.label for event in public_holidays("DE", "BE", [2026], "Europe/Berlin")}
    assert bavaria["Epiphany"].start == datetime(2026, 1, 5, 23, tzinfo=UTC)
    assert bavaria["Epiphany"].end == datetime(2026, 1, 6, 23, tzinfo=UTC)
    assert bavaria["Epiphany"].kind is EventKind.HOLIDAY
    assert "Epiphany" not in berlin
    assert "Christmas Day" in berlin


@pytest.mark.parametrize(
    ("country", "subdivision", "told"),
    [("XX", None, "country 'XX' is not known.*such as DE"), ("DE", "Bavaria", "no subdivision 'Bavaria'; known are")],
)
def test_an_unknown_place__is_refused(country: str, subdivision: str | None, told: str) -> None:
    with pytest.raises(CalendarError, match=told):
        public_holidays(country, subdivision, [2026], "Europe/Berlin")


def test_holidays_without_their_library__are_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasting.events.public_holidays.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CalendarError, match=r"not installed; install forescale\[forecast\], or list the days"):
        public_holidays("DE", None, [2026], "Europe/Berlin")
