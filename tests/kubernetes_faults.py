"""What can happen to a request on its way to the API server and back."""

from collections.abc import Callable
from typing import Any

from kubernetes_server import LocalKubernetes

from engines.kubernetes.server import KubernetesServer
from planner.errors import ClusterError


class Fault:
    """What the patch of that number meets, counted from 1."""

    def __init__(self, kind: str, number: int, answer: Callable[..., Any]) -> None:
        self.kind, self.number, self._answer, self._patches = kind, number, answer, 0

    def request(self, method: str, *positional: Any, **named: Any) -> Any:
        import urllib3
        from kubernetes.client.rest import RESTResponse

        def answer(status: int, body: bytes) -> RESTResponse:
            return RESTResponse(urllib3.HTTPResponse(body, {"Content-Type": "application/json"}, status=status))

        self._patches += method == "PATCH"
        if method != "PATCH" or self._patches != self.number:
            return self._answer(method, *positional, **named)
        happens, _, what = self.kind.partition(", then ")
        if happens == "effect":
            self._answer(method, *positional, **named).read()
        if what == "silence":
            raise urllib3.exceptions.ReadTimeoutError(None, "/", "Read timed out.")  # type: ignore[arg-type]
        if what == "a broken connection":
            raise urllib3.exceptions.ProtocolError("Connection aborted.")
        if what == "half an answer":
            return answer(200, b'{"kind": "Scale", "metadata": {"na')
        status = int(what)
        return answer(status, b'{"kind": "Status", "message": "too bad", "code": %d}' % status)


def faulty(kubernetes: LocalKubernetes, place: str, kind: str, number: int) -> KubernetesServer:
    """The server of a namespace, of which one patch goes wrong."""
    client = kubernetes.client()
    client.rest_client.request = Fault(kind, number, client.rest_client.request).request
    return KubernetesServer(place, ClusterError, client=client)
