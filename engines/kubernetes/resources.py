"""The kinds of objects that are read and changed, as the API server and rights name them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Resource:
    """kind: in manifests; short: as people write it before the name (`deployment/orders`)."""

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
"""The subresource of workloads; its object is of a kind of its own."""
