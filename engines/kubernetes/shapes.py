"""The shape of every API object, as far as its readers count on it: what answers in another is no API server."""

from collections.abc import Mapping
from typing import Any

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
