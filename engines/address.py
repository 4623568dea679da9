"""What counts as an address of a server."""

from urllib.parse import urlsplit


def is_http_address(url: str) -> bool:
    """Whether it is http:// or https:// with a host and, if it names one, a port from 1 to 65535.

    >>> is_http_address("https://anna@mlflow.example:443/a"), is_http_address("javascript:alert(1)")
    (True, False)
    """
    if any(character.isspace() or not character.isprintable() for character in url):
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
