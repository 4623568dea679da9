"""Removes secrets from messages that appear in logs, answers and reports."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import SplitResult, unquote

from engines.address import can_be_taken_apart

MIN_SECRET = 4
"""Characters. A shorter secret protects nothing, and removing it would make messages unreadable."""


_WORD = re.compile(r"[^\s'\"]+")


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text on one line, with … for each secret.

    >>> without_secrets("user anna,\\n password sesame", ["sesame"])
    'user anna, password …'
    """
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= MIN_SECRET:
            text = text.replace(secret, "…")
    return " ".join(text.split())


def without_logins(text: str) -> str:
    """The text with … for whatever stands before the last @ of a word and holds a colon: a login, or part of an
    address that was mistyped around one.

    >>> without_logins("cannot use 'http:/anna:sesame@host' at 12:00")
    "cannot use '…@host' at 12:00"
    """
    return _WORD.sub(_without_login, text) if "@" in text else text


def _without_login(word: re.Match[str]) -> str:
    before, _, after = word[0].rpartition("@")
    return f"…@{after}" if ":" in before else word[0]


def login_secrets(parts: SplitResult) -> Iterator[str]:
    """Secrets of an address: its password, and the header that carries its login."""
    if parts.username or parts.password:
        password = unquote(parts.password or "")
        login = b64encode(f"{unquote(parts.username or '')}:{password}".encode()).decode()
        yield from (parts.password or "", password, login)


def as_quoted(secrets: Iterable[str]) -> list[str]:
    """The secrets as they are and as Python and JSON quote them, since errors and answers contain those forms."""
    return [form for each in secrets for form in (each, repr(each)[1:-1], json.dumps(each)[1:-1])]


def without_credentials(uri: str) -> str:
    """The URI without user, password and query, fit to be shown; … for one that cannot be taken apart.

    >>> without_credentials("https://anna:sesame@mlflow.example:443/a?token=x")
    'https://mlflow.example:443/a'
    >>> without_credentials("http:/anna:sesame@mlflow.example")
    '…'
    """
    if not can_be_taken_apart(uri):
        return "…"
    scheme, separator, rest = uri.partition("://")
    # A password may wrongly contain slashes, # and ?; all of it precedes the last @.
    rest = rest.rpartition("@")[2].split("?")[0].split("#")[0]
    return f"{scheme}{separator}{rest}" if separator else uri.split("?")[0]
