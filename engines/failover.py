"""Several addresses of one server: a call moves on from an address that is down or not the leader."""

from collections.abc import Sequence

import httpx

_UNREACHED = (httpx.ConnectError, httpx.ConnectTimeout)
_ELECTION = b"leader election"


class Failover(httpx.BaseTransport):
    """Sends a request to the address that answered last, then to the others in turn.

    It moves on when nobody listens, the answer is a redirect, or an election is under way. In all three cases the
    request had no effect, so changes move on as well. Redirects are never followed: credentials go only to the
    configured addresses.
    addresses: requests are built for the first one. inner: the transport that reaches each address.
    """

    def __init__(self, addresses: Sequence[httpx.URL], inner: httpx.BaseTransport) -> None:
        self._addresses, self._inner, self._leader = tuple(addresses), inner, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        count = len(self._addresses)
        for tried in range(count):
            at = (self._leader + tried) % count
            last = tried == count - 1
            try:
                response = self._inner.handle_request(self._to(request, self._addresses[at]))
            except _UNREACHED:
                if last:
                    raise
                continue
            if last or not _is_no_leader(response):
                self._leader = at
                return response
            response.close()
        raise AssertionError("the last address answers or raises")

    def close(self) -> None:
        self._inner.close()

    def _to(self, request: httpx.Request, address: httpx.URL) -> httpx.Request:
        path = request.url.raw_path.removeprefix(_prefix(self._addresses[0]))
        url = address.copy_with(raw_path=_prefix(address) + path)
        headers = httpx.Headers(request.headers)
        headers["Host"] = url.netloc.decode("ascii")
        return httpx.Request(request.method, url, headers=headers, stream=request.stream, extensions=request.extensions)


def _prefix(address: httpx.URL) -> bytes:
    return address.raw_path.rstrip(b"/")


def _is_no_leader(response: httpx.Response) -> bool:
    if response.is_redirect:
        return True
    return response.status_code == httpx.codes.SERVICE_UNAVAILABLE and _ELECTION in response.read()
