"""Given values as messages repeat them."""

from engines.redaction import without_logins

MAX_SHOWN = 40
"""Characters shown, enough to find the value again."""


def shown(given: object) -> str:
    """As Python writes it, cut if long, and without a login.

    >>> shown("count")
    "'count'"
    >>> shown("9" * 400)
    "'999999999999999999999999999999999999999…"
    """
    whole = without_logins(repr(given))
    return whole if len(whole) <= MAX_SHOWN + 2 else f"{whole[:MAX_SHOWN]}…"
