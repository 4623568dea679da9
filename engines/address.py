"""What counts as an address of a server."""

import re
from urllib.parse import urlsplit

_OF_NO_ADDRESS = re.compile(r'[\\"<>^`{|}?#]')
"""What no URL holds (RFC 3986), and query and fragment: paths are added to an address."""


def is_http_address(url: str) -> bool:
    r"""Whether it is http:// or https:// with a host and, if it names one, a port from 1 to 65535, and no query.

    >>> is_http_address("https://anna@mlflow.example:443/a"), is_http_address("javascript:alert(1)")
    (True, False)
    >>> is_http_address("http://mlflow\\@elsewhere"), is_http_address("http://prometheus:9090/?query=up")
    (False, False)
    """
    if any(character.isspace() or not character.isprintable() for character in url) or _OF_NO_ADDRESS.search(url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def can_be_taken_apart(uri: str) -> bool:
    """Whether a login in it is where a login belongs, so that it can be left out of what is shown.

    >>> can_be_taken_apart("postgresql://anna:sesame@db/mlflow"), can_be_taken_apart("http:/anna:sesame@db")
    (True, False)
    """
    if "@" not in uri:
        return True
    scheme, separator, _ = uri.partition("://")
    return bool(separator) and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum()
