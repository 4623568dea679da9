"""`planning.freeze` and `planning.windows` of a topology file: recurring spans in local time, in which nothing is
deployed, or operators have at least or at most so many instances.
"""

from datetime import date, datetime, time, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from forecasting.local_time import instant_or_change
from forescale.files.bounded_numbers import Instances
from forescale.files.events_section import Day
from forescale.plain_numbers import PlainNumbers

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: tuple[Weekday, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class FreezeWindow(PlainNumbers, BaseModel):
    """Each day of days, or of dates from first_date to last_date, from `from` to `until`; until is on the next day
    unless it is after `from`. timezone: an IANA name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    days: list[Weekday] = []
    first_date: Day | None = None
    last_date: Day | None = None
    from_: time = Field(default=time(0), alias="from")
    until: time = time(0)
    timezone: Annotated[str, Field(max_length=60)] = "UTC"

    @field_validator("from_", "until", mode="before")
    @classmethod
    def _is_a_clock_time(cls, given: object) -> object:
        # pydantic reads a number as seconds.
        if isinstance(given, int | float):
            raise ValueError(f'{given} is no clock time; give one like "18:00", and "00:00" for midnight')
        return f"0{given}" if isinstance(given, str) and given[1:2] == ":" else given

    @field_validator("from_", "until")
    @classmethod
    def _goes_by_the_place(cls, at: time) -> time:
        if at.tzinfo is not None:
            raise ValueError(f"{at} has an offset; give a clock time, and timezone beside it")
        return at

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{name!r} is no time zone; give an IANA name like Europe/Berlin") from None
        return name

    @model_validator(mode="after")
    def _is_some_day(self) -> "FreezeWindow":
        first, last = self.first_date, self.last_date
        if (first is None) != (last is None):
            raise ValueError("first_date and last_date go together; give both, or none for every week")
        if first is not None and last is not None and last < first:
            raise ValueError(f"last_date {last} is before first_date {first}; exchange them")
        return self

    def spans(self, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
        """The spans that overlap [start, end), in order, as moments with a time zone. They follow daylight saving."""
        zone = ZoneInfo(self.timezone)
        found = []
        day = start.astimezone(zone).date() - timedelta(days=1)
        while day <= end.astimezone(zone).date():
            if self._is_on(day):
                begins = instant_or_change(datetime.combine(day, self.from_), zone)
                over = day if self.until > self.from_ else day + timedelta(days=1)
                # When the clock goes back, an hour occurs twice: the window ends with the second.
                ends = instant_or_change(datetime.combine(over, self.until), zone, ends=True)
                if begins < min(end, ends) and ends > start:
                    found.append((begins.astimezone(zone), ends.astimezone(zone)))
            day += timedelta(days=1)
        return found

    def _is_on(self, day: date) -> bool:
        if self.first_date is not None and self.last_date is not None and not self.first_date <= day <= self.last_date:
            return False
        return not self.days or WEEKDAYS[day.weekday()] in self.days


class ParallelismWindow(FreezeWindow):
    """min_parallelism, max_parallelism: instances of operators within these spans."""

    min_parallelism: dict[str, Instances] = {}
    max_parallelism: dict[str, Instances] = {}

    @model_validator(mode="after")
    def _bounds_something(self) -> "ParallelismWindow":
        if not self.min_parallelism and not self.max_parallelism:
            raise ValueError("neither min_parallelism nor max_parallelism is given; give one of them")
        for name, least in self.min_parallelism.items():
            if least > (most := self.max_parallelism.get(name, least)):
                raise ValueError(f"min_parallelism of {name} is {least}, and max_parallelism {most}; exchange them")
        return self
