"""A server that answers GET with JSON; whatever goes wrong on the way is a HistoryError that names the place."""

from collections.abc import Mapping, Sequence
from functools import cache
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from forecasting.errors import HistoryError

tls = cache(httpx.create_ssl_context)
"""Reading the known certificates takes longer than a request: once for all servers."""

Parameters = Mapping[str, str | int | Sequence[str]]


class JsonServer:
    """name: what it is, as people call it. headers: sent with every request, never shown. part: what of it is read.

    A user and a password in the url are sent, never shown. Raises HistoryError for what is no http(s) URL.
    """

    def __init__(
        self,
        name: str,
        url: str,
        timeout_s: float,
        headers: Mapping[str, SecretStr] | None = None,
        *,
        part: str = "",
    ) -> None:
        # Of an address that cannot be taken apart nothing is shown: it may hold a password.
        wrong = HistoryError(f"the address of {name} is not a URL; give it like http://host:port")
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
                raise wrong
        except ValueError:
            raise wrong from None
        if "@" in parts.path + parts.query + parts.fragment:
            # A password with a slash: what looks like the host and the path are parts of it.
            raise wrong
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")
        if not timeout_s > 0:
            raise HistoryError(f"{name}: timeout_s {timeout_s}; give a positive number of seconds")
        self.place = f"{name} at {shown}" + (f", {part}" if part else "")
        secrets = {key: value.get_secret_value() for key, value in (headers or {}).items()}
        try:
            # No proxy from the environment: the server is inside the network. No idle connections: nobody closes us.
            self._client = httpx.Client(
                base_url=url.rstrip("/"),
                timeout=timeout_s,
                headers=secrets,
                trust_env=False,
                verify=tls(trust_env=False),
                limits=httpx.Limits(max_keepalive_connections=0),
            )
        except (httpx.InvalidURL, ValueError):
            raise wrong from None

    def get(self, path: str, parameters: Parameters | None = None) -> tuple[int, object]:
        """Status and body of the answer, whatever the status, except that of a login that is lacking."""
        try:
            response = self._client.get(path, params=parameters)
        except httpx.TimeoutException:
            raise HistoryError(
                f"{self.place} did not answer {path} within {self._client.timeout.read:g} s; "
                "see whether it is overloaded, or give it more time"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise HistoryError(f"{self.place} cannot be reached: {reason}; check the address and the network") from None
        if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise HistoryError(
                f"{self.place} refuses {path} with HTTP {response.status_code}; give a token or a login that may read"
            )
        try:
            body: object = response.json()
        except (ValueError, RecursionError):
            raise HistoryError(
                f"{self.place} answers {path} with HTTP {response.status_code} and no JSON "
                f"({response.text[:80]!r}); check that the address is the server's own"
            ) from None
        return response.status_code, body

    def surprise(self, path: str, body: object) -> HistoryError:
        """The error for an answer of another shape than documented."""
        return HistoryError(
            f"{self.place} answers {path} in a shape that is not documented ({str(body)[:120]!r}); check its version"
        )
