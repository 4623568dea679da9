"""Answers of the API server, read up to a largest size: its client reads them whole, packed ones unpacked."""

from io import BytesIO
from typing import TYPE_CHECKING, Any

from engines.bounded_answer import bounded

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

_CHUNK_BYTES = 2**16


class _BoundedPool:
    """urllib3's pool manager, with answers that are read whole but no further than the bound."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def request(self, method: str, url: str, **options: Any) -> Any:
        import urllib3

        options["preload_content"] = False
        response = self._pool.request(method, url, **options)
        content = b"".join(bounded(response.stream(_CHUNK_BYTES, decode_content=True), response.close))
        response.release_conn()
        return urllib3.HTTPResponse(
            BytesIO(content),
            headers={name: value for name, value in response.headers.items() if name.lower() != "content-encoding"},
            status=response.status,
            reason=response.reason,
            preload_content=True,
        )


def bound_answers(client: "ApiClient") -> None:
    """Bound all further answers of this client. Idempotent."""
    if not isinstance(client.rest_client.pool_manager, _BoundedPool):
        client.rest_client.pool_manager = _BoundedPool(client.rest_client.pool_manager)
