"""Selects the objects of a namespace to describe as a job: one FlinkDeployment, or workloads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engines.kubernetes.resources import FLINK_DEPLOYMENT, WORKLOADS, ObjectName, Resource, object_name
from engines.kubernetes.server import Answer, KubernetesServer
from planner.clusters.kubernetes_workloads import reading
from planner.errors import ClusterError

_SHOWN = 10
_FLINKS_OWN = ("flink-native-kubernetes", "flink-standalone-kubernetes")
"""Label `type` of the Deployments that Flink or its operator creates for a job."""


@dataclass(frozen=True)
class FoundObject:
    """answer: the object as listed."""

    name: ObjectName
    answer: Answer

    @property
    def owner(self) -> str:
        """The controller that made the object and may reset it, as `Kind/name`; empty if none."""
        owners = self.answer.body["metadata"].get("ownerReferences") or ()
        return next((f"{each['kind']}/{each['name']}" for each in owners if each.get("controller")), "")


def chosen_objects(
    server: KubernetesServer, job: str | None, workloads: Sequence[str], selector: str | None
) -> Sequence[FoundObject]:
    """A FlinkDeployment (job), workloads by name or label, or, with no argument, the only candidate in the namespace.

    Raises ClusterError if nothing matches, several objects do, or they may not be listed.
    """
    if sum(bool(each) for each in (job, workloads, selector)) > 1:
        raise ClusterError(
            "--job names a FlinkDeployment, --workload and --selector choose workloads; give one of them"
        )
    with reading(server):
        if job:
            return _named(server, [ObjectName(FLINK_DEPLOYMENT, job)], (FLINK_DEPLOYMENT,))
        if workloads:
            return _named(server, [_workload(text) for text in workloads], WORKLOADS)
        if selector:
            return _labelled(server, selector)
        return _only(server)


def _workload(text: str) -> ObjectName:
    try:
        named = object_name(text)
    except ValueError as error:
        raise ClusterError(f"--workload {error}") from None
    if named.resource not in WORKLOADS:
        raise ClusterError(f"--workload {named} scales a workload; name that, and its scaler is found by it")
    return named


def _named(server: KubernetesServer, names: Sequence[ObjectName], kinds: Sequence[Resource]) -> Sequence[FoundObject]:
    there = {found.name: found for found in _all(server, kinds)}
    if lacking := [str(name) for name in names if name not in there]:
        raise ClusterError(f"{server.place} has no {lacking[0]}; there are {_listed(map(str, there))}")
    if len(set(names)) < len(names):
        raise ClusterError("--workload names an object twice; name each once")
    return [there[name] for name in names]


def _labelled(server: KubernetesServer, selector: str) -> Sequence[FoundObject]:
    found = _all(server, WORKLOADS, selector)
    if not found:
        raise ClusterError(
            f"{server.place} has no Deployment or StatefulSet of the labels {selector!r}; "
            "`kubectl get deployments,statefulsets --show-labels` shows them"
        )
    return found


def _only(server: KubernetesServer) -> Sequence[FoundObject]:
    """Leaves out workloads that others create, such as Flink's: they are no jobs of their own."""
    found = [
        *_all(server, (FLINK_DEPLOYMENT,)),
        *(one for one in _all(server, WORKLOADS) if not one.owner and _label(one.answer.body) not in _FLINKS_OWN),
    ]
    if len(found) == 1:
        return found
    if not found:
        raise ClusterError(
            f"{server.place} has no Deployment, StatefulSet or FlinkDeployment; check the namespace, and the context "
            "of the kubeconfig"
        )
    raise ClusterError(
        f"{server.place} has {_listed(str(one.name) for one in found)}; name a FlinkDeployment by --job, or the "
        "workloads of one topology by --workload or --selector"
    )


def _all(server: KubernetesServer, kinds: Sequence[Resource], selector: str | None = None) -> list[FoundObject]:
    return [
        FoundObject(ObjectName(kind, str(answer.body["metadata"]["name"])), answer)
        for kind in kinds
        for answer in server.listed(kind, selector)
    ]


def _label(body: Mapping[str, Any]) -> str:
    return str((body["metadata"].get("labels") or {}).get("type", ""))


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return (", ".join(every[:_SHOWN]) or "none") + more
