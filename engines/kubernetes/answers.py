"""Answers of the API server: read up to a largest size (its client reads them whole, packed ones unpacked), and the
shape of their objects as far as readers count on it.
"""

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from engines.bounded_answer import bounded

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

_CHUNK_BYTES = 2**16

_WHOLE = frozenset(
    {
        "availableReplicas",
        "currentReplicas",
        "desiredReplicas",
        "generation",
        "maxReplicaCount",
        "maxReplicas",
        "minReplicaCount",
        "minReplicas",
        "observedGeneration",
        "parallelism",
        "readyReplicas",
        "replicas",
        "unavailableReplicas",
        "updatedReplicas",
    }
)
_MAPPINGS = frozenset({"annotations", "flinkConfiguration", "job", "jobStatus", "labels", "metadata", "spec", "status"})
_LISTS = frozenset({"conditions", "items", "managedFields", "metrics", "ownerReferences", "triggers"})


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


def odd_shape(body: Mapping[str, Any], *, named: bool = True) -> str:
    """What is odd about an object; empty if nothing. named: whether it must have a name, as any but a list has."""
    metadata = body.get("metadata")
    if named and not (isinstance(metadata, Mapping) and isinstance(metadata.get("name"), str)):
        return "metadata.name is missing"
    return _odd(body, "")


def _odd(fields: Mapping[str, Any], place: str) -> str:
    for name in ("metadata", "spec", "status"):
        part = fields.get(name) if not place else None
        if isinstance(part, Mapping) and (odd := _odd(part, f"{name}.")):
            return odd
    for name, value in fields.items():
        if value is None:
            continue
        if name in _WHOLE and (not isinstance(value, int) or isinstance(value, bool)):
            return f"{place}{name} is no whole number"
        if name in _MAPPINGS and not isinstance(value, Mapping):
            # Of a pod, a service and others, `status` and `job` may be words below the top.
            if place and name in ("status", "job"):
                continue
            return f"{place}{name} is no object"
        if name in _LISTS and not (isinstance(value, list) and all(isinstance(each, Mapping) for each in value)):
            return f"{place}{name} is no list of objects"
    return ""
