"""A server of a cluster that answers GET with JSON; every failure a ClusterError that names place, value and remedy."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from planner.errors import ClusterError

Parameters = Mapping[str, str | int | Sequence[str]]


class JsonRest:
    """name: what it is, as people call it. part: what of it is read. headers: sent with every request, never shown.

    A user and a password in the url are sent, never shown. transport: replaces the network in tests of rare answers.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        part: str,
        timeout_s: float = 10.0,
        headers: Mapping[str, SecretStr] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        # Of an address that cannot be taken apart nothing is shown: it may hold a password.
        wrong = ClusterError(f"the address of {name} is not a URL; give it like http://host:port")
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
                raise wrong
        except ValueError:
            raise wrong from None
        if not timeout_s > 0:
            raise ClusterError(f"{name}: timeout_s {timeout_s}; give a positive number of seconds")
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")
        self.place = f"{name} at {shown}, {part}"
        try:
            # No proxy from the environment: the server is inside the network. No idle connections: nobody closes us.
            self._client = httpx.Client(
                base_url=url.rstrip("/"),
                timeout=timeout_s,
                headers={key: value.get_secret_value() for key, value in (headers or {}).items()},
                transport=transport,
                trust_env=False,
                limits=httpx.Limits(max_keepalive_connections=0),
            )
        except (httpx.InvalidURL, ValueError):
            raise wrong from None

    def get(self, path: str, parameters: Parameters | None = None) -> tuple[int, object]:
        """Status and body of the answer, whatever the status, except that of a login that is lacking."""
        try:
            response = self._client.get(path, params=parameters)
        except httpx.TimeoutException:
            raise ClusterError(
                f"{self.place} did not answer {path} in time; see whether it is overloaded, or give it more time"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ClusterError(f"{self.place} cannot be reached: {reason}; check the address and the network") from None
        if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise ClusterError(
                f"{self.place} refuses {path} with HTTP {response.status_code}; give a token or a login that may read"
            )
        try:
            body: object = response.json()
        except (ValueError, RecursionError):
            raise ClusterError(
                f"{self.place} answers {path} with HTTP {response.status_code} and no JSON "
                f"({response.text[:80]!r}); check that the address is the server's own"
            ) from None
        return response.status_code, body

    def surprise(self, path: str, told: object) -> ClusterError:
        """The error for an answer of another shape than documented."""
        return ClusterError(
            f"{self.place} answers {path} in a shape that is not documented ({str(told)[:120]!r}); check its version"
        )
