"""Public holidays of a country, from the optional library `holidays`, which is imported on use."""

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


def holidays_installed() -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec("holidays") is not None


def public_holidays(
    country: str,
    subdivision: str | None,
    years: Iterable[int],
    time_zone: str,
    sources: tuple[str, ...] | None = None,
) -> tuple[Event, ...]:
    """The public holidays of these years as all-day events, labelled by their names (in English if available).

    country: ISO 3166-1 code. subdivision: ISO 3166-2 code without the country. Holidays on the same day are one event.
    Raises CalendarError if the library is missing or does not know the place.
    """
    where = zone(time_zone)
    days: dict[date, str] = dict(_place(country, subdivision, years))
    return tuple(Event(EventKind.HOLIDAY, label, *local_days(day, day, where), sources) for day, label in days.items())


def refuse_unknown_place(country: str, subdivision: str | None) -> None:
    """Raises CalendarError for a country or subdivision that the library does not know, or without the library."""
    _place(country, subdivision, ())


def _place(country: str, subdivision: str | None, years: Iterable[int]) -> "HolidayBase":
    if not holidays_installed():
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
        subdivisions = ", ".join(known[country]) or "none"
        raise CalendarError(f"country {country!r} has no subdivision {subdivision!r:.40}; known are: {subdivisions}")
    # Without a language, labels follow the machine's locale and would differ between machines.
    entity = getattr(holidays, country)
    language = LANGUAGE if LANGUAGE in entity.supported_languages else entity.default_language
    return holidays.country_holidays(country, subdiv=subdivision, years=list(years), language=language)
