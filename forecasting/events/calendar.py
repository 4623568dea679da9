"""The calendar of known events: holidays, launches, matches, maintenance; and past outages."""

import hashlib
import json
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from forecasting.errors import CalendarError

MAX_RATIO = 20.0
"""A larger declared ratio is taken for a typing error."""


class EventKind(StrEnum):
    """What an event is. `outage`: counts do not reflect the offered load. `other`: comparable to no other kind."""

    HOLIDAY = "holiday"
    LAUNCH = "launch"
    MATCH = "match"
    MAINTENANCE = "maintenance"
    OUTAGE = "outage"
    OTHER = "other"


@dataclass(frozen=True)
class Event:
    """An event in [start, end). Events with the same label are expected to have similar effects.

    sources: those it concerns, None for all. ratio: declared load during the event divided by usual load; None to learn
    it. Raises CalendarError for a time without a zone, an empty span, or an invalid ratio.
    """

    kind: EventKind
    label: str
    start: datetime
    end: datetime
    sources: tuple[str, ...] | None = None
    ratio: float | None = None

    def __post_init__(self) -> None:
        where = f"event {self.label!r}"
        if not self.label.strip():
            raise CalendarError("an event has an empty label; name it, alike for events that are alike")
        for name, at in (("start", self.start), ("end", self.end)):
            if at.tzinfo is None:
                raise CalendarError(f"{where}: {name} {at} has no time zone; give one, such as Europe/Berlin")
        if self.end <= self.start:
            raise CalendarError(f"{where}: ends at {self.end}, not after its start {self.start}; correct one of them")
        if self.ratio is not None and self.kind is EventKind.OUTAGE:
            raise CalendarError(
                f"{where}: an outage has no ratio (given: {self.ratio:g}), its windows are missing; remove it, or "
                "call the event maintenance"
            )
        if self.ratio is not None and not 0 <= self.ratio <= MAX_RATIO:
            raise CalendarError(
                f"{where}: ratio {self.ratio:g} is not between 0 and {MAX_RATIO:g}; give the load during the "
                "event divided by the usual load, such as 0.4"
            )
        if self.sources is not None and not self.sources:
            raise CalendarError(f"{where}: concerns no source; name some, or leave sources out for all")

    def concerns(self, source: str) -> bool:
        return self.sources is None or source in self.sources


@dataclass(frozen=True)
class EventCalendar:
    """Distinct events in order of time."""

    events: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        ordered = sorted(
            set(self.events),
            key=lambda e: (e.start, e.end, e.kind, e.label, e.sources or (), -1.0 if e.ratio is None else e.ratio),
        )
        object.__setattr__(self, "events", tuple(ordered))

    def of_source(self, name: str) -> "EventCalendar":
        """The events that concern a source."""
        return EventCalendar(tuple(event for event in self.events if event.concerns(name)))

    def between(self, start: datetime, end: datetime) -> "EventCalendar":
        """The events that overlap [start, end)."""
        return EventCalendar(tuple(event for event in self.events if event.start < end and event.end > start))

    def digest(self) -> str:
        """SHA-256 over all events."""
        in_utc = [replace(e, start=e.start.astimezone(UTC), end=e.end.astimezone(UTC)) for e in self.events]
        rows = [[str(value) for value in astuple(event)] for event in in_utc]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
