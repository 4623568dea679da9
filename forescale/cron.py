"""Cron expressions of five fields, as Airflow reads them."""

import re

_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
"""Least and largest number of minute, hour, day, month and weekday."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES: tuple[tuple[str, ...], ...] = ((), (), (), _MONTHS, _WEEKDAYS)
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""Days of each month, at most."""
_PRESETS = frozenset({"@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly"})


def is_cron(text: str) -> bool:
    """Whether it is a preset such as @hourly, or has five fields of numbers, names, ranges and steps within bounds, on
    days that come.

    >>> is_cron("*/15 6-22 * * mon-fri"), is_cron("99 * * * *"), is_cron("0 0 31 2 *")
    (True, False, False)
    """
    fields = text.lower().split()
    if text in _PRESETS:
        return True
    kinds = zip(fields, _FIELDS, _NAMES, strict=False)
    parts = [(part, *bounds, names) for field, bounds, names in kinds for part in field.split(",")]
    return len(fields) == len(_FIELDS) and all(_is_part(*part) for part in parts) and _comes(*fields[2:])


def _comes(day: str, month: str, weekday: str) -> bool:
    """Whether any of the months has one of the days; a weekday counts beside the day."""
    if weekday != "*" or not all(part.isdigit() for part in day.split(",")):
        return True
    starts = [part.partition("/")[0].partition("-")[0] for part in month.split(",")]
    if "*" in starts or any("-" in part or "/" in part for part in month.split(",")):
        return True
    months = [_MONTHS.index(start) + 1 if start in _MONTHS else int(start) for start in starts]
    return min(int(part) for part in day.split(",")) <= max(_LONGEST[each - 1] for each in months)


def _is_part(part: str, least: int, most: int, names: tuple[str, ...]) -> bool:
    match = re.fullmatch(r"(\*|[a-z0-9]{1,3}(?:-[a-z0-9]{1,3})?)(?:/([0-9]{1,3}))?", part, re.ASCII)
    if match is None or (match[2] is not None and not 0 < int(match[2]) <= most):
        return False
    ends = [] if match[1] == "*" else match[1].split("-")
    if not all(end in names or (end.isdigit() and least <= int(end) <= most) for end in ends):
        return False
    numbers = [names.index(end) + least if end in names else int(end) for end in ends]
    return numbers == sorted(numbers) or names == _WEEKDAYS  # fri-mon is said so
