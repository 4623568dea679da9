"""A client of a cluster's REST interface, from an address as a person gives it: it may hold a name and a password."""

from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from planner.errors import ClusterError

tls = cache(httpx.create_ssl_context)
"""Reading the known certificates takes longer than a request: once for all clusters."""


def rest_client(
    name: str,
    url: str,
    *,
    example: str,
    timeout_s: float = 10.0,
    headers: Mapping[str, SecretStr] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> tuple[httpx.Client, str]:
    """The client, and its address as messages may show it: without name and password, which only the request carries.

    Raises ClusterError where it is not an address of HTTP. headers: sent with every request. transport: replaces the
    network in tests.
    """
    # Of an address that cannot be taken apart nothing is shown: it may hold a password.
    wrong = ClusterError(f"the address of {name} is not a URL; give it like {example}")
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
