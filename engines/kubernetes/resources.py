"""The resource kinds that are read and changed, as the API server and RBAC name them."""

import re
from dataclasses import dataclass

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
"""Object names: DNS subdomains."""


@dataclass(frozen=True)
class Resource:
    """kind: in manifests. short: as people write it before the name (`deployment/orders`)."""

    kind: str
    group: str
    version: str
    plural: str
    short: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


DEPLOYMENT = Resource("Deployment", "apps", "v1", "deployments", "deployment")
STATEFUL_SET = Resource("StatefulSet", "apps", "v1", "statefulsets", "statefulset")
AUTOSCALER = Resource("HorizontalPodAutoscaler", "autoscaling", "v2", "horizontalpodautoscalers", "hpa")
SCALED_OBJECT = Resource("ScaledObject", "keda.sh", "v1alpha1", "scaledobjects", "scaledobject")
FLINK_DEPLOYMENT = Resource("FlinkDeployment", "flink.apache.org", "v1beta1", "flinkdeployments", "flinkdeployment")
SCALE = Resource("Scale", "autoscaling", "v1", "scale", "scale")
"""The subresource of workloads; its object has its own kind."""

WORKLOADS = (DEPLOYMENT, STATEFUL_SET)
SCALERS = (AUTOSCALER, SCALED_OBJECT)
"""Autoscalers, which scale a workload between two bounds."""


@dataclass(frozen=True)
class ObjectName:
    """An object as people write it: `deployment/orders`."""

    resource: Resource
    name: str

    def __str__(self) -> str:
        return f"{self.resource.short}/{self.name}"


def object_name(text: str) -> ObjectName:
    """Raises ValueError unless it is a workload or a scaler of one.

    >>> object_name("hpa/orders").resource.kind
    'HorizontalPodAutoscaler'
    """
    short, _, name = text.partition("/")
    known = {resource.short: resource for resource in (*WORKLOADS, *SCALERS)}
    if short not in known or not _NAME.fullmatch(name):
        examples = ", ".join(f"{each}/NAME" for each in known)
        raise ValueError(f"{text!r} is no object of Kubernetes that can be scaled; write one of {examples}")
    return ObjectName(known[short], name)
