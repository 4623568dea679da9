"""Objects of Kubernetes that tests create."""

from typing import Any

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, FLINK_DEPLOYMENT, SCALED_OBJECT, STATEFUL_SET, Resource


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def deployment(name: str, replicas: int | None = 1, resource: Resource = DEPLOYMENT) -> dict[str, Any]:
    """Without replicas in it where None, as manifests of what is autoscaled are written."""
    labels = {"app": name}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}}}
    spec: dict[str, Any] = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}


def stateful_set(name: str, replicas: int = 1) -> dict[str, Any]:
    body = deployment(name, replicas, STATEFUL_SET)
    body["spec"]["serviceName"] = name
    return body


def autoscaler(name: str, lower: int, upper: int, of: Resource = DEPLOYMENT) -> dict[str, Any]:
    """Of the workload of the same name."""
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
    target = {"apiVersion": of.api_version, "kind": of.kind, "name": name}
    spec = {"scaleTargetRef": target, "minReplicas": lower, "maxReplicas": upper, "metrics": [cpu]}
    return {"apiVersion": AUTOSCALER.api_version, "kind": AUTOSCALER.kind, "metadata": {"name": name}, "spec": spec}


def scaled_object(name: str, upper: int, of: Resource = DEPLOYMENT) -> dict[str, Any]:
    """Of the workload of the same name, without a lower bound."""
    target = {"name": name} if of == DEPLOYMENT else {"name": name, "kind": of.kind}
    spec = {"scaleTargetRef": target, "maxReplicaCount": upper, "triggers": []}
    return {
        "apiVersion": SCALED_OBJECT.api_version,
        "kind": SCALED_OBJECT.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def quota(name: str, pods: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name},
        "spec": {"hard": {"pods": str(pods)}},
    }


def custom_resource(resource: Resource) -> dict[str, Any]:
    """What makes the API server keep objects of that kind, whatever their fields."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
        "subresources": {"status": {}},
    }
    names = {"kind": resource.kind, "plural": resource.plural, "singular": resource.short}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {"group": resource.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


CUSTOM_RESOURCES = (custom_resource(SCALED_OBJECT), custom_resource(FLINK_DEPLOYMENT))


def flink_deployment(name: str, slots: int, **configuration: str) -> dict[str, Any]:
    """A native cluster whose task managers have so many slots."""
    spec = {
        "flinkVersion": "v2_0",
        "flinkConfiguration": {"taskmanager.numberOfTaskSlots": str(slots), **configuration},
        "taskManager": {"resource": {"cpu": 2, "memory": "2048m"}},
        "job": {"jarURI": "local:///job.jar", "parallelism": 1},
    }
    return {
        "apiVersion": FLINK_DEPLOYMENT.api_version,
        "kind": FLINK_DEPLOYMENT.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
