"""What scales a workload by itself: between which bounds, and which workload.

`minReplicas` of a HorizontalPodAutoscaler, `minReplicaCount` of KEDA's ScaledObject, which owns the autoscaler that it
makes.
"""

from collections.abc import Mapping
from typing import Any

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, SCALED_OBJECT, WORKLOADS, ObjectName, Resource

LOWER = {AUTOSCALER: "minReplicas", SCALED_OBJECT: "minReplicaCount"}
UPPER = {AUTOSCALER: "maxReplicas", SCALED_OBJECT: "maxReplicaCount"}
_LOWEST = {AUTOSCALER: 1, SCALED_OBJECT: 0}
_HIGHEST = {AUTOSCALER: 1, SCALED_OBJECT: 100}
"""What holds where the object does not say."""


def lower_bound(resource: Resource, body: Mapping[str, Any]) -> int:
    """Replicas that a scaler leaves at least; KEDA's may be 0."""
    told = _spec(body).get(LOWER[resource])
    return _LOWEST[resource] if told is None else int(told)


def upper_bound(resource: Resource, body: Mapping[str, Any]) -> int:
    told = _spec(body).get(UPPER[resource])
    return _HIGHEST[resource] if told is None else int(told)


def target_text(body: Mapping[str, Any]) -> str:
    """What a scaler scales, as `Kind/name`, also where it is no workload that is understood."""
    target = _spec(body).get("scaleTargetRef") or {}
    return f"{target.get('kind', DEPLOYMENT.kind)}/{target.get('name')}"


def target_of(body: Mapping[str, Any]) -> ObjectName | None:
    """The workload that a scaler scales; None where it is neither Deployment nor StatefulSet."""
    kind, _, name = target_text(body).partition("/")
    found = [resource for resource in WORKLOADS if resource.kind == kind]
    return ObjectName(found[0], name) if found and "name" in (_spec(body).get("scaleTargetRef") or {}) else None


def _spec(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return body.get("spec") or {}
