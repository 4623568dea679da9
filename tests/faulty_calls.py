"""What can happen to one call of a deployment: its process is killed, or the call or its answer goes wrong.

A `Wire` counts the calls of one process, those to its engine and those that write to its ledger, and lets one of them
go wrong. Each way of calling (HTTP, the client of Kubernetes, a command line) says how its own failures look.
"""

import subprocess
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import httpx

from planner.errors import ClusterError

KILLS = ("killed before", "killed after")
SILENT_AFTER = "effect, then silence"
FAULTS = (
    "no effect, then silence",
    SILENT_AFTER,
    "no effect, then a broken connection",
    "effect, then half an answer",
    "no effect, then 409",
    "no effect, then 429",
    "no effect, then 500",
    "effect, then 500",
    "no effect, then 503",
    "no effect, then 422",
)

Result = TypeVar("Result")


class KilledError(BaseException):
    """Where a process that is killed would have gone on; nothing of it catches this."""


class Failures(Protocol[Result]):
    """How a way of calling fails."""

    def silence(self) -> Result:
        """No answer in time."""
        ...

    def broken(self) -> Result:
        """The connection breaks."""
        ...

    def status(self, status: int) -> Result:
        """An answer of that status of HTTP, or what comes nearest to it."""
        ...

    def half(self, answer: Result) -> Result:
        """The first half of the answer."""
        ...


class Wire:
    """kind: one of KILLS or FAULTS, what happens to the call of that number, from 1; empty: nothing goes wrong.

    calls: what was called, and whether it could change something, in order. meanwhile: called right before the call of
    that number, which then goes well.
    """

    def __init__(self, kind: str = "", number: int = 0, meanwhile: Callable[[], object] | None = None) -> None:
        self.calls: list[tuple[str, bool]] = []
        self._kind, self._number, self._meanwhile = kind, number, meanwhile

    def passed(self, name: str, do: Callable[[], Result], failures: Failures[Result], *, changes: bool) -> Result:
        self.calls.append((name, changes))
        if len(self.calls) != self._number:
            return do()
        if self._meanwhile is not None:
            self._meanwhile()
            return do()
        if self._kind == KILLS[0]:
            raise KilledError
        happens, _, what = self._kind.partition(", then ")
        answer = do() if happens in (KILLS[1], "effect") else None
        if self._kind == KILLS[1]:
            raise KilledError
        if what == "silence":
            return failures.silence()
        if what == "a broken connection":
            return failures.broken()
        if what == "half an answer":
            assert answer is not None
            return failures.half(answer)
        return failures.status(int(what))


class HttpFailures:
    def __init__(self, request: httpx.Request) -> None:
        self._request = request

    def silence(self) -> httpx.Response:
        raise httpx.ReadTimeout("Read timed out.", request=self._request)

    def broken(self) -> httpx.Response:
        raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=self._request)

    def status(self, status: int) -> httpx.Response:
        """The reason where Flink, Storm and Heron each have it."""
        return httpx.Response(status, json={"errors": ["too bad"], "error": "too bad", "message": "too bad"})

    def half(self, answer: httpx.Response) -> httpx.Response:
        body = answer.read()
        return httpx.Response(answer.status_code, content=body[: len(body) // 2])


class WiredTransport(httpx.BaseTransport):
    """A network, each request of which goes through a wire."""

    def __init__(self, wire: Wire, inner: httpx.BaseTransport) -> None:
        self._wire, self._inner = wire, inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._wire.passed(
            f"{request.method} {request.url.path}",
            lambda: self._inner.handle_request(request),
            HttpFailures(request),
            changes=request.method != "GET",
        )


class Cut(httpx.HTTPTransport):
    """The real network, until the process is killed before or after the first request that is meant.

    changed: paths of the requests that could change something and were sent.
    """

    def __init__(self, is_meant: Callable[["Cut", httpx.Request], bool], *, after: bool = False) -> None:
        super().__init__(limits=httpx.Limits(max_keepalive_connections=0))
        self._is_meant, self._after = is_meant, after
        self.changed: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        meant = self._is_meant(self, request)
        if meant and not self._after:
            raise KilledError
        response = super().handle_request(request)
        if request.method != "GET":
            self.changed.append(request.url.path)
        if meant:
            response.read()
            response.close()
            raise KilledError
        return response


class CommandFailures:
    def __init__(self, call: Sequence[str]) -> None:
        self._call = list(call)

    def silence(self) -> "subprocess.CompletedProcess[str]":
        raise subprocess.TimeoutExpired(self._call, 1.0)

    def broken(self) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(self._call, -15, "", "")

    def status(self, status: int) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(self._call, 1, "", f"[ERROR]: HTTP {status}")

    def half(self, answer: "subprocess.CompletedProcess[str]") -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(self._call, answer.returncode, answer.stdout[: len(answer.stdout) // 2], "")


class KubernetesFailures:
    """As the client of Kubernetes sees them."""

    def silence(self) -> Any:
        import urllib3

        raise urllib3.exceptions.ReadTimeoutError(None, "/", "Read timed out.")  # type: ignore[arg-type]

    def broken(self) -> Any:
        import urllib3

        raise urllib3.exceptions.ProtocolError("Connection aborted.")

    def status(self, status: int) -> Any:
        return kubernetes_answer(status, b'{"kind": "Status", "message": "too bad", "code": %d}' % status)

    def half(self, answer: Any) -> Any:
        body = answer.data if answer.data is not None else answer.read()
        return kubernetes_answer(answer.status, body[: len(body) // 2])


def kubernetes_answer(status: int, body: bytes, headers: dict[str, str] | None = None) -> Any:
    import urllib3
    from kubernetes.client.rest import RESTResponse

    sent = {"Content-Type": "application/json", **(headers or {})}
    return RESTResponse(urllib3.HTTPResponse(body, sent, status=status))


class MethodFailures:
    """Of a cluster that is called without a network: it fails as a whole."""

    def silence(self) -> Any:
        raise ClusterError("it did not answer in time")

    def broken(self) -> Any:
        raise ClusterError("it cannot be reached")

    def status(self, status: int) -> Any:
        raise ClusterError(f"it fails with {status}")

    def half(self, answer: Any) -> Any:
        raise ClusterError("it answers in a shape that is not documented")
