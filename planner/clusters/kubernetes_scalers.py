"""Scalers of a workload: their bounds and their target.

`minReplicas` of a HorizontalPodAutoscaler, or `minReplicaCount` of KEDA's ScaledObject, which owns the autoscaler that
it makes.
"""

from collections.abc import Mapping
from typing import Any

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, SCALED_OBJECT, WORKLOADS, ObjectName, Resource

LOWER = {AUTOSCALER: "minReplicas", SCALED_OBJECT: "minReplicaCount"}
UPPER = {AUTOSCALER: "maxReplicas", SCALED_OBJECT: "maxReplicaCount"}
_LOWEST = {AUTOSCALER: 1, SCALED_OBJECT: 0}
_HIGHEST = {AUTOSCALER: 1, SCALED_OBJECT: 100}
"""Bounds that hold if the object has none."""


def lower_bound(resource: Resource, body: Mapping[str, Any]) -> int:
    """Fewest replicas that a scaler allows; KEDA's may be 0."""
    bound = _spec(body).get(LOWER[resource])
    return _LOWEST[resource] if bound is None else int(bound)


def upper_bound(resource: Resource, body: Mapping[str, Any]) -> int:
    bound = _spec(body).get(UPPER[resource])
    return _HIGHEST[resource] if bound is None else int(bound)


def target_text(body: Mapping[str, Any]) -> str:
    """What a scaler scales, as `Kind/name`, whether or not that kind is supported."""
    target = _spec(body).get("scaleTargetRef") or {}
    return f"{target.get('kind', DEPLOYMENT.kind)}/{target.get('name')}"


def target_of(body: Mapping[str, Any]) -> ObjectName | None:
    """The workload that a scaler scales; None unless it is a Deployment or StatefulSet."""
    kind, _, name = target_text(body).partition("/")
    found = [resource for resource in WORKLOADS if resource.kind == kind]
    return ObjectName(found[0], name) if found and "name" in (_spec(body).get("scaleTargetRef") or {}) else None


def _spec(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return body.get("spec") or {}
