"""A real API server of which one change goes wrong."""

from faulty_calls import Wire
from kubernetes_server import LocalKubernetes
from kubernetes_stand_in import wired

from engines.kubernetes.server import KubernetesServer
from planner.errors import ClusterError


def faulty(kubernetes: LocalKubernetes, place: str, kind: str, number: int) -> KubernetesServer:
    """The server of a namespace, of which the patch of that number goes wrong, counted from 1, dry runs included."""
    client = wired(kubernetes.client(), Wire(kind, number), changes_only=True)
    return KubernetesServer(place, ClusterError, client=client)
