"""A server of a cluster that answers GET with JSON; every failure a ClusterError that names place, value and remedy."""

from collections.abc import Mapping, Sequence

import httpx
from pydantic import SecretStr

from planner.clusters.rest_client import rest_client
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
        if not timeout_s > 0:
            raise ClusterError(f"{name}: timeout_s {timeout_s}; give a positive number of seconds")
        self._client, shown = rest_client(
            name, url, example="http://host:port", timeout_s=timeout_s, headers=headers, transport=transport
        )
        self.place = f"{name} at {shown}, {part}"

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
