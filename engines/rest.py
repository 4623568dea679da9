"""Servers that answer with JSON over HTTP; every failure is an error of the caller's that names the place."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TypedDict, Unpack
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

Failure = Callable[[str], Exception]
"""An error of a message: whose job it is to read a server says what it raises."""

tls = cache(httpx.create_ssl_context)
"""Reading the known certificates takes longer than a request: once for all servers."""

Parameters = Mapping[str, str | int | Sequence[str]]


class Connection(TypedDict, total=False):
    """headers: sent with every request, never shown. transport: replaces the network in tests of rare answers."""

    timeout_s: float
    headers: Mapping[str, SecretStr] | None
    transport: httpx.BaseTransport | None


def rest_client(
    name: str,
    url: str,
    failure: Failure,
    *,
    example: str = "http://host:port",
    timeout_s: float = 10.0,
    headers: Mapping[str, SecretStr] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> tuple[httpx.Client, str]:
    """A client, and its address as messages may show it: without name and password, which only the request carries.

    name: what the server is, as people call it. Raises a failure where the url is not an address of HTTP.
    """
    # Never show a URL that cannot be parsed: it may contain a password.
    wrong = failure(f"the address of {name} is not a URL; give it like {example}")
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise wrong
    except ValueError:
        raise wrong from None
    if "@" in parts.path + parts.query + parts.fragment:
        # A password with a slash: what looks like the host and the path are parts of it.
        raise wrong
    if not timeout_s > 0:
        raise failure(f"{name}: timeout_s {timeout_s}; give a positive number of seconds")
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")
    try:
        # No proxy from the environment: the server is inside the network. No idle connections: nobody closes us.
        client = httpx.Client(
            base_url=url.rstrip("/"),
            timeout=timeout_s,
            headers={key: value.get_secret_value() for key, value in (headers or {}).items()},
            transport=transport,
            trust_env=False,
            verify=tls(trust_env=False),
            limits=httpx.Limits(max_keepalive_connections=0),
        )
    except (httpx.InvalidURL, ValueError):
        raise wrong from None
    return client, shown


class JsonServer:
    """part: what of the server is read; other parameters as of rest_client. place: for messages."""

    def __init__(
        self, name: str, url: str, failure: Failure, *, part: str = "", **connection: Unpack[Connection]
    ) -> None:
        self.failure = failure
        self._client, shown = rest_client(name, url, failure, **connection)
        self.place = f"{name} at {shown}" + (f", {part}" if part else "")

    def get(self, path: str, parameters: Parameters | None = None) -> tuple[int, object]:
        """Status and body of the answer, whatever the status, except that of a login that is lacking."""
        try:
            response = self._client.get(path, params=parameters)
        except httpx.TimeoutException:
            raise self.failure(
                f"{self.place} did not answer {path} within {self._client.timeout.read:g} s; "
                "see whether it is overloaded, or give it more time"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise self.failure(f"{self.place} cannot be reached: {reason}; check the address and the network") from None
        if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise self.failure(
                f"{self.place} refuses {path} with HTTP {response.status_code}; give a token or a login that may read"
            )
        try:
            body: object = response.json()
        except (ValueError, RecursionError):
            raise self.failure(
                f"{self.place} answers {path} with HTTP {response.status_code} and no JSON "
                f"({response.text[:80]!r}); check that the address is the server's own"
            ) from None
        return response.status_code, body

    def surprise(self, path: str, body: object) -> Exception:
        """The error for an answer of another shape than documented."""
        return self.failure(
            f"{self.place} answers {path} in a shape that is not documented ({str(body)[:120]!r}); check its version"
        )
