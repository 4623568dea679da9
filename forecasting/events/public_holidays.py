"""Public holidays of a country, by the library `holidays`. Imported when it is asked for: the core does without it."""

import importlib.util
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

from forecasting.errors import CalendarError
from forecasting.events.calendar import Event, EventKind
from forecasting.local_time import local_days, zone

if TYPE_CHECKING:
    from holidays import HolidayBase

LANGUAGE = "en_US"


def holidays_can_be_told() -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec("holidays") is not None


def public_holidays(
    country: str,
    subdivision: str | None,
    years: Iterable[int],
    time_zone: str,
    sources: tuple[str, ...] | None = None,
) -> tuple[Event, ...]:
    """The public holidays of these years as all-day events, labelled by their names (English where it has them).

    country: ISO 3166-1 code; subdivision: as ISO 3166-2 has it, without the country. Holidays that fall on the same day
    are one event. Raises CalendarError where the library is lacking, or does not know the place.
    """
    where = zone(time_zone)
    days: dict[date, str] = dict(_place(country, subdivision, years))
    return tuple(Event(EventKind.HOLIDAY, label, *local_days(day, day, where), sources) for day, label in days.items())


def refuse_unknown_place(country: str, subdivision: str | None) -> None:
    """Raises CalendarError for a country or subdivision that the library does not know, or where it is lacking."""
    _place(country, subdivision, ())


def _place(country: str, subdivision: str | None, years: Iterable[int]) -> "HolidayBase":
    if not holidays_can_be_told():
        raise CalendarError(
            "public holidays need the library holidays, which is not installed; install forescale[forecast], or list "
            "the days as events"
        )
    import holidays

    known = holidays.list_supported_countries()
    if country not in known:
        raise CalendarError(
            f"country {country!r:.40} is not known to the library holidays; give its ISO 3166 code, such as DE, or "
            "list the days as events"
        )
    if subdivision is not None and subdivision not in known[country]:
        told = ", ".join(known[country]) or "none"
        raise CalendarError(f"country {country!r} has no subdivision {subdivision!r:.40}; known are: {told}")
    # Without a language it follows the locale of the machine, and labels would differ between machines.
    entity = getattr(holidays, country)
    language = LANGUAGE if LANGUAGE in entity.supported_languages else entity.default_language
    return holidays.country_holidays(country, subdiv=subdivision, years=list(years), language=language)
