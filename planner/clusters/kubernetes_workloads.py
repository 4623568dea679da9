"""Deployments and StatefulSets as operators: which one is which, and the state of their replicas."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engines.kubernetes.ownership import status_changed_at
from engines.kubernetes.resources import DEPLOYMENT, SCALERS, ObjectName
from engines.kubernetes.server import Answer, KubernetesServer, RequestRefusedError
from planner.clusters.kubernetes_scalers import target_of, target_text
from planner.errors import ClusterError


@dataclass(frozen=True)
class WorkloadState:
    """ready: replicas that serve. unsettled: why it does not run as requested, empty if it does. since: when its status
    last changed, so later if a replica failed and came back. observed_at: by the server's clock.
    """

    workload: ObjectName
    asked: int
    ready: int
    unsettled: str
    since: datetime
    observed_at: datetime
    template: Mapping[str, Any]


def read_workloads(server: KubernetesServer, objects: Mapping[str, ObjectName]) -> Mapping[str, WorkloadState]:
    """Per operator its workload, or the one that its scaler scales. Raises RequestRefusedError."""
    states = {}
    for name, one in objects.items():
        answer = server.get(one.resource, one.name)
        if one.resource in SCALERS:
            one = _scale_target(one, answer)
            answer = server.get(one.resource, one.name)
        states[name] = workload_state(one, answer)
    return states


@contextmanager
def reading(server: KubernetesServer) -> Iterator[None]:
    """Turn refusals into a ClusterError, for objects that are missing or may not be read. The requests within end
    together.
    """
    try:
        with server.operation():
            yield
    except RequestRefusedError as refused:
        raise server.failure(str(refused)) from None


def workload_state(workload: ObjectName, answer: Answer) -> WorkloadState:
    """Raises ClusterError if the object reports neither when it was made nor when its status changed."""
    body = answer.body
    spec, status = body.get("spec") or {}, body.get("status") or {}
    asked = int(spec.get("replicas", 1))
    there, ready = int(status.get("replicas", 0)), int(status.get("readyReplicas", 0))
    # While a Deployment rolls out a new template, replicas of the old one count as ready too.
    of_today = int(status.get("updatedReplicas", 0)) if workload.resource == DEPLOYMENT else ready
    settled = (
        int(status.get("observedGeneration", 0)) >= int(body["metadata"].get("generation", 0))
        and there == ready == asked == of_today
    )
    unsettled = "" if settled else f"{workload} has {ready} of {asked} replicas ready{_failure(status)}"
    try:
        since = status_changed_at(body)
    except ValueError:
        raise ClusterError(f"{workload} reports neither when it was made nor when its status changed") from None
    return WorkloadState(workload, asked, ready, unsettled, since, answer.at, spec.get("template") or {})


def _scale_target(scaler: ObjectName, answer: Answer) -> ObjectName:
    """The target of an autoscaler. Raises ClusterError unless it is a Deployment or StatefulSet."""
    target = target_of(answer.body)
    if target is None:
        text = target_text(answer.body)
        raise ClusterError(f"{scaler} scales {text}; Deployments and StatefulSets are understood")
    return target


def _failure(status: Mapping[str, Any]) -> str:
    """Its controller's message."""
    said = [
        str(condition.get("message"))
        for condition in status.get("conditions") or ()
        if (condition.get("type"), condition.get("status")) in (("ReplicaFailure", "True"), ("Progressing", "False"))
    ]
    return f" ({said[0][:200]})" if said else ""
