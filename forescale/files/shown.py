"""What a person gave, as messages repeat it."""

MAX_SHOWN = 40
"""Characters that are enough to find a value again."""


def shown(given: object) -> str:
    """As Python writes it, cut where it is long.

    >>> shown("count")
    "'count'"
    >>> shown("9" * 400)
    "'999999999999999999999999999999999999999…"
    """
    whole = repr(given)
    return whole if len(whole) <= MAX_SHOWN + 2 else f"{whole[:MAX_SHOWN]}…"
