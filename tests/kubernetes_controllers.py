"""The controllers that a test needs beside a real API server: replicas become ready, scalers keep to their bounds.

They write as the real ones do: status through its subresource, replicas of what is autoscaled through `scale`, all as
`kube-controller-manager` (KEDA's bounds as `keda-operator`).
"""

import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kubernetes_server import CONTROLLER, LocalKubernetes

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, SCALED_OBJECT, STATEFUL_SET, Resource

MANAGER = "kube-controller-manager"
PATIENCE_TURNS = 10
"""Turns in which the client may fail one after the other, for no reason of the server's, before the test is told."""
_MERGE = "application/merge-patch+json"
_BOUNDS = {
    AUTOSCALER: ("minReplicas", "maxReplicas", MANAGER),
    SCALED_OBJECT: ("minReplicaCount", "maxReplicaCount", "keda-operator"),
}


class Controllers:
    """Those of one namespace, in a thread of their own.

    stuck: workloads whose replicas never become ready. demand: replicas that the load would need, per scaler, 0 where
    left out; scales_down: whether replicas beyond it go at once (a real one waits for minutes). kinds: of objects that
    are looked after.
    """

    def __init__(
        self,
        kubernetes: LocalKubernetes,
        namespace: str,
        kinds: tuple[Resource, ...] = (DEPLOYMENT, STATEFUL_SET, AUTOSCALER),
        every_s: float = 0.1,
        scales_down: bool = True,
    ) -> None:
        from kubernetes.client import CoreV1Api, CustomObjectsApi

        client = kubernetes.client(CONTROLLER)
        self.stuck: set[str] = set()
        self.demand: dict[str, int] = {}
        self.errors: list[str] = []
        self._objects: CustomObjectsApi = CustomObjectsApi(client)
        self._core = CoreV1Api(client)
        self._namespace, self._kinds, self._every_s = namespace, kinds, every_s
        self._scales_down = scales_down
        self._ended = threading.Event()

    @contextmanager
    def running(self) -> Iterator["Controllers"]:
        """From when all that is there has settled."""
        for _ in range(2):  # bounds first move replicas, which then become ready
            self.turn()
        thread = threading.Thread(target=self._loop, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join(30)

    def _loop(self) -> None:
        """As a real controller: what goes wrong is tried again at the next turn."""
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        failed = 0
        while not self._ended.wait(self._every_s):
            try:
                self.turn()
            except ApiException as error:
                # Somebody was quicker, the object is gone, or the server is busy: the next turn sees what is there.
                if error.status not in (404, 409, 429, 504):
                    self.errors.append(f"{error.status} {error.body}")
            except HTTPError:
                continue  # no answer in time
            except Exception:  # noqa: BLE001 - told to the test where it stays
                failed += 1
                if failed == PATIENCE_TURNS:
                    self.errors.append(traceback.format_exc())
            else:
                failed = 0

    def turn(self) -> None:
        for resource in self._kinds:
            for body in self._listed(resource):
                if resource in _BOUNDS:
                    self._scale(resource, body)
                else:
                    self._replicate(resource, body)
        self._count_pods()

    def _listed(self, resource: Resource) -> list[dict[str, Any]]:
        found = self._objects.list_namespaced_custom_object(
            resource.group, resource.version, self._namespace, resource.plural
        )
        items: list[dict[str, Any]] = found["items"]
        return items

    def _replicate(self, resource: Resource, body: Mapping[str, Any]) -> None:
        """All replicas that are asked for are there; they are ready unless they are stuck."""
        name, asked = body["metadata"]["name"], int(body["spec"].get("replicas", 1))
        before = body.get("status") or {}
        ready = min(asked, int(before.get("readyReplicas", 0))) if name in self.stuck else asked
        status = {
            "observedGeneration": body["metadata"]["generation"],
            "replicas": asked,
            "readyReplicas": ready,
            "updatedReplicas": asked,
            "availableReplicas": ready,
        }
        if any(before.get(key, 0) != value for key, value in status.items()):
            self._objects.patch_namespaced_custom_object_status(
                resource.group,
                resource.version,
                self._namespace,
                resource.plural,
                name,
                {"status": status},
                field_manager=MANAGER,
                _content_type=_MERGE,
            )

    def _scale(self, resource: Resource, body: Mapping[str, Any]) -> None:
        """Between its bounds a scaler follows the demand."""
        lower, upper, manager = _BOUNDS[resource]
        spec = body["spec"]
        wanted = max(spec.get(lower, 1), 1, min(spec.get(upper, 100), self.demand.get(body["metadata"]["name"], 0)))
        of = STATEFUL_SET if spec["scaleTargetRef"].get("kind") == STATEFUL_SET.kind else DEPLOYMENT
        target = (of.group, of.version, self._namespace, of.plural, spec["scaleTargetRef"]["name"])
        runs = self._objects.get_namespaced_custom_object_scale(*target)["spec"].get("replicas", 1)
        if runs < wanted or (runs > wanted and self._scales_down):
            self._objects.patch_namespaced_custom_object_scale(
                *target, {"spec": {"replicas": wanted}}, field_manager=manager, _content_type=_MERGE
            )

    def _count_pods(self) -> None:
        for quota in self._core.list_namespaced_resource_quota(self._namespace).items:
            workloads = [body for kind in self._kinds if kind not in _BOUNDS for body in self._listed(kind)]
            used = {"pods": str(sum(int(body["spec"].get("replicas", 1)) for body in workloads))}
            status = quota.status
            if status is None or (status.used or {}) != used:
                self._core.patch_namespaced_resource_quota_status(
                    quota.metadata.name,
                    self._namespace,
                    {"status": {"hard": quota.spec.hard, "used": used}},
                    field_manager=MANAGER,
                    _content_type=_MERGE,
                )
