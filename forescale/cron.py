"""Cron expressions of five fields, as Airflow reads them."""

import re

_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
"""Least and largest number of minute, hour, day, month and weekday."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PRESETS = frozenset({"@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly"})


def is_cron(text: str) -> bool:
    """Whether it is a preset such as @hourly, or has five fields of numbers, names, ranges and steps within bounds.

    >>> is_cron("*/15 6-22 * * mon-fri"), is_cron("99 * * * *")
    (True, False)
    """
    fields = text.lower().split()
    if text in _PRESETS:
        return True
    return len(fields) == len(_FIELDS) and all(
        _is_part(part, *bounds) for field, bounds in zip(fields, _FIELDS, strict=True) for part in field.split(",")
    )


def _is_part(part: str, least: int, most: int) -> bool:
    match = re.fullmatch(r"(\*|[a-z0-9]{1,3}(?:-[a-z0-9]{1,3})?)(?:/([0-9]{1,3}))?", part, re.ASCII)
    if match is None or match[2] == "0":
        return False
    ends = [] if match[1] == "*" else match[1].split("-")
    return all(end in _MONTHS + _WEEKDAYS or (end.isdigit() and least <= int(end) <= most) for end in ends)
