"""What the Flink Kubernetes operator does of a native cluster, played on a real API server and a real Flink.

It sees that the overrides of a FlinkDeployment changed, asks Flink's adaptive scheduler for them, and tells by the
status how far it is. Of its autoscaler there is only that it keeps to its lower bound; of redeployments nothing.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kubernetes_objects import flink_deployment, namespace, quota
from kubernetes_server import CONTROLLER, LocalKubernetes

from engines.flink.answers import Job
from engines.flink.rest import FlinkRest
from engines.kubernetes.resources import FLINK_DEPLOYMENT
from planner.clusters.flink_deployment import OVERRIDES, VERTEX_FLOOR
from planner.errors import ClusterError

MANAGER = "flink-kubernetes-operator"
_MERGE = "application/merge-patch+json"


class FlinkOperator:
    """The operator of one FlinkDeployment, whose job runs already on a Flink elsewhere. slots: of a task manager."""

    def __init__(self, kubernetes: LocalKubernetes, place: str, name: str, url: str, slots: int, pods: int) -> None:
        from kubernetes.client import CoreV1Api, CustomObjectsApi

        client = kubernetes.client(CONTROLLER)
        self._objects = CustomObjectsApi(client)
        self._rest = FlinkRest(url, ClusterError)
        self._name = name
        self._of = (FLINK_DEPLOYMENT.group, FLINK_DEPLOYMENT.version, place, FLINK_DEPLOYMENT.plural, name)
        self._ended = threading.Event()
        self.errors: list[str] = []
        kubernetes.create(namespace(place))
        kubernetes.create(flink_deployment(name, slots), quota("few", pods), namespace=place)
        used = {"status": {"hard": {"pods": str(pods)}, "used": {"pods": "2"}}}  # job manager and one task manager
        CoreV1Api(client).patch_namespaced_resource_quota_status("few", place, used, _content_type=_MERGE)
        self.turn()

    @contextmanager
    def running(self, every_s: float = 0.2) -> Iterator["FlinkOperator"]:
        def loop() -> None:
            while not self._ended.wait(every_s):
                try:
                    self.turn()
                except Exception as error:  # noqa: BLE001 - the test tells of it at its end
                    self.errors.append(repr(error))

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join(30)

    def turn(self) -> None:
        body = self._objects.get_namespaced_custom_object(*self._of)
        job = self._rest.job(self._rest.find_job(self._name).jid)
        wanted = _wanted(body["spec"], job)
        asked = {vertex: each.parallelism.upper for vertex, each in self._rest.requirements(job.jid).items()}
        if wanted != asked:
            self._rest.ask(job.jid, {vertex: (1, count) for vertex, count in wanted.items()})
        there = job.runs and wanted == {vertex.id: vertex.parallelism for vertex in job.vertices}
        status = {
            "observedGeneration": body["metadata"]["generation"],
            "lifecycleState": "STABLE" if there else "UPGRADING",
            "jobStatus": {"jobId": job.jid, "jobName": job.name, "state": job.state if there else "RECONCILING"},
        }
        if body.get("status") != status:
            self._objects.patch_namespaced_custom_object_status(
                *self._of, {"status": status}, field_manager=MANAGER, _content_type=_MERGE
            )


def _wanted(spec: Mapping[str, Any], job: Job) -> dict[str, int]:
    configuration = spec["flinkConfiguration"]
    named = dict(pair.split(":") for pair in configuration.get(OVERRIDES, "").split(",") if pair)
    floor = int(configuration.get(VERTEX_FLOOR, 1)) if configuration.get("job.autoscaler.enabled") == "true" else 1
    return {vertex.id: max(floor, int(named.get(vertex.id, vertex.parallelism))) for vertex in job.vertices}
