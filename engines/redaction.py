"""What must not be read in logs, answers and reports, taken out of a message."""

from collections.abc import Iterable

MIN_SECRET = 4
"""Characters. What is shorter protects nothing, and to take it out would leave no message."""


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text on one line, with … for each secret.

    >>> without_secrets("user anna,\\n password sesame", ["sesame"])
    'user anna, password …'
    """
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= MIN_SECRET:
            text = text.replace(secret, "…")
    return " ".join(text.split())
