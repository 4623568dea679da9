"""The option `--timezone`: the time zone that days and weeks follow."""

from forecasting.errors import CalendarError
from forecasting.local_time import zone


def known_timezone(name: str) -> str:
    """The name. Raises CalendarError naming the option, the value and the remedy."""
    try:
        return zone(name).key
    except CalendarError as error:
        raise CalendarError(f"--timezone: {error}") from None
