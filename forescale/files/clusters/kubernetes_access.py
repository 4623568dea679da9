"""Address of the Kubernetes API server and login for it, in a section `cluster`."""

from typing import Annotated

from pydantic import Field

from forescale.files.bounded_numbers import Timeout
from forescale.files.clusters.cluster_entry import ClusterEntry

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]
"""Name of an object: a DNS subdomain."""


class KubernetesAccess(ClusterEntry):
    """kubeconfig, context: by default what kubectl uses or, in a pod, the pod's service account. take_over: field
    managers whose fields forescale may take over. timeout_s: of one request.
    """

    namespace: Name
    kubeconfig: str | None = None
    context: str | None = None
    take_over: list[str] = Field(default_factory=list)
    timeout_s: Timeout = 10
