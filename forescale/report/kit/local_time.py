"""Times of a page in one time zone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class LocalTime:
    """name: IANA name of the time zone, as a page names it. Raises ZoneInfoNotFoundError for an unknown one."""

    name: str = "UTC"

    @property
    def zone(self) -> tzinfo:
        return UTC if self.name == "UTC" else ZoneInfo(self.name)

    def moment(self, at: datetime) -> str:
        """`Fri 24 Oct 06:24`.

        >>> LocalTime("Europe/Zurich").moment(datetime(2003, 10, 24, 22, 24, tzinfo=UTC))
        'Sat 25 Oct 00:24'
        """
        local = at.astimezone(self.zone)
        return f"{DAYS[local.weekday()]} {local.day} {MONTHS[local.month - 1]} {local:%H:%M}"

    def day_moment(self, at: datetime) -> str:
        """`Fri 06:24`: enough within a week."""
        local = at.astimezone(self.zone)
        return f"{DAYS[local.weekday()]} {local:%H:%M}"

    def span(self, start: datetime, end: datetime, *, brief: bool = False) -> str:
        """`Fri 24 Oct 06:50–09:30`, brief `Fri 06:50–09:30`; the day is repeated only if it changes."""
        written = self.day_moment if brief else self.moment
        from_, to = start.astimezone(self.zone), end.astimezone(self.zone)
        return f"{written(start)}–{to:%H:%M}" if from_.date() == to.date() else f"{written(start)} – {written(end)}"

    def offset(self, at: datetime) -> timedelta:
        return at.astimezone(self.zone).utcoffset() or timedelta()


UTC_TIME = LocalTime()
