"""The section `events` of a topology file: holidays and other events known in advance, and past outages."""

import datetime
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from forecasting.events.calendar import MAX_RATIO, Event, EventCalendar, EventKind
from forecasting.events.public_holidays import holidays_installed, public_holidays, refuse_unknown_place
from forecasting.local_time import local_days, local_instant, zone
from forescale.files.bounded_numbers import is_written_out
from forescale.plain_numbers import PlainNumbers

YEARS = range(1970, 2201)

Name = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^\S")]
Sources = Annotated[list[Name], Field(min_length=1)]


def _has_a_time(given: Any) -> Any:
    if isinstance(given, datetime.date) and not isinstance(given, datetime.datetime):
        raise ValueError(f"{given} has no time; write such as {given} 18:00, or give `date` for a whole day")
    return given


def _is_in_our_days(given: datetime.date) -> datetime.date:
    if given.year not in YEARS:
        raise ValueError(f"year {given.year} is not between {YEARS[0]} and {YEARS[-1]}; correct it")
    return given


def _is_a_zone(name: str) -> str:
    zone(name)
    return name


InOurDays = AfterValidator(_is_in_our_days)
Day = Annotated[datetime.date, BeforeValidator(is_written_out), InOurDays]
Moment = Annotated[datetime.datetime, BeforeValidator(_has_a_time), BeforeValidator(is_written_out), InOurDays]
TimeZone = Annotated[str, Field(max_length=64), AfterValidator(_is_a_zone)]


class _Strict(PlainNumbers, BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HolidaysPlace(_Strict):
    """The public holidays of a place. country, subdivision: ISO 3166, such as DE and BY. time_zone: its midnights begin
    and end the days.
    """

    country: Annotated[str, Field(min_length=2, max_length=8)]
    subdivision: Name | None = None
    time_zone: TimeZone
    sources: Sources | None = None

    @model_validator(mode="after")
    def _is_a_place(self) -> Self:
        # If the library is missing, only forecasts fail: other jobs do not need it.
        if holidays_installed():
            refuse_unknown_place(self.country, self.subdivision)
        return self


class HolidaysEntry(_Strict):
    """`- holidays: {country: DE, subdivision: BY, time_zone: Europe/Berlin}`."""

    holidays: HolidaysPlace

    @property
    def concerned(self) -> list[str] | None:
        return self.holidays.sources

    def events(self, start: datetime.datetime, end: datetime.datetime) -> tuple[Event, ...]:
        # A local year begins and ends up to 14 h away from the UTC year.
        day = datetime.timedelta(days=1)
        place = self.holidays
        return public_holidays(
            place.country,
            place.subdivision,
            range((start - day).year, (end + day).year + 1),
            place.time_zone,
            None if place.sources is None else tuple(place.sources),
        )


class EventEntry(_Strict):
    """One event: a whole `date`, or from `start` to `end`, in time_zone; times with their own offset need none. label:
    the same for events that are alike. ratio: load during the event divided by usual load, if known.
    """

    label: Name
    kind: EventKind
    date: Day | None = None
    start: Moment | None = None
    end: Moment | None = None
    time_zone: TimeZone | None = None
    ratio: Annotated[float, Field(ge=0, le=MAX_RATIO, allow_inf_nan=False)] | None = None
    sources: Sources | None = None

    @model_validator(mode="after")
    def _is_an_event(self) -> Self:
        self.event()
        return self

    @property
    def concerned(self) -> list[str] | None:
        return self.sources

    def events(self, start: datetime.datetime, end: datetime.datetime) -> tuple[Event, ...]:
        return (self.event(),)

    def event(self) -> Event:
        """Raises ValueError if its times do not make a span."""
        start, end = self._span()
        sources = None if self.sources is None else tuple(self.sources)
        return Event(self.kind, self.label, start, end, sources, self.ratio)

    def _span(self) -> tuple[datetime.datetime, datetime.datetime]:
        where = f"event {self.label!r}"
        if self.date is not None:
            if self.start is not None or self.end is not None:
                raise ValueError(f"{where} has a date and a start or an end; give either the one or the others")
            if self.time_zone is None:
                raise ValueError(f"{where} has no time_zone; say whose day it is, such as Europe/Berlin")
            return local_days(self.date, self.date, zone(self.time_zone))
        if self.start is None or self.end is None:
            lacking = "start" if self.start is None else "end"
            raise ValueError(f"{where} has neither a date nor a start and an end; add {lacking}, or give a date")
        return self._instant(self.start, ends=False), self._instant(self.end, ends=True)

    def _instant(self, at: datetime.datetime, *, ends: bool) -> datetime.datetime:
        if at.tzinfo is not None:
            return at.astimezone(datetime.UTC)
        if self.time_zone is None:
            raise ValueError(
                f"event {self.label!r}: {at} has no offset, and the event no time_zone; add one, such as Europe/Berlin"
            )
        return local_instant(at, zone(self.time_zone), ends=ends)


def _form(given: Any) -> str:
    holidays = "holidays" in given if isinstance(given, dict) else isinstance(given, HolidaysEntry)
    return "holidays" if holidays else "event"


EventsSection = list[
    Annotated[
        Annotated[HolidaysEntry, Tag("holidays")] | Annotated[EventEntry, Tag("event")],
        Discriminator(_form),
    ]
]


def event_calendar(
    section: Sequence[HolidaysEntry | EventEntry], start: datetime.datetime, end: datetime.datetime
) -> EventCalendar:
    """The events of a section that touch [start, end). Raises CalendarError if holidays cannot be computed."""
    events = [event for entry in section for event in entry.events(start, end)]
    return EventCalendar(tuple(events)).between(start, end)
