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


def without_credentials(uri: str) -> str:
    """The URI as it may be shown: user, password and query are left out.

    >>> without_credentials("https://anna:sesame@mlflow.example:443/a?token=x")
    'https://mlflow.example:443/a'
    """
    scheme, separator, rest = uri.partition("://")
    # A password may hold slashes, # and ? where it should not; all of it stands before the last @.
    rest = rest.rpartition("@")[2].split("?")[0].split("#")[0]
    return f"{scheme}{separator}{rest}" if separator else uri.split("?")[0]
