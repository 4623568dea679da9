"""The stand-in for an API server, on which the whole matrix of faults runs, answers a script as a real one does."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from kubernetes_objects import autoscaler, deployment, flink_deployment, namespace, stateful_set
from kubernetes_server import LocalKubernetes
from kubernetes_stand_in import NAMESPACE, KubernetesStandIn

from engines.kubernetes.ownership import field_managers
from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, FLINK_DEPLOYMENT, STATEFUL_SET, Resource
from engines.kubernetes.server import Answer, KubernetesServer, RequestRefusedError

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

OBJECTS: Mapping[Resource, Mapping[str, Any]] = {
    DEPLOYMENT: deployment("orders", 2),
    STATEFUL_SET: stateful_set("prices", 2),
    AUTOSCALER: autoscaler("orders", 2, 9),
    FLINK_DEPLOYMENT: flink_deployment("words", 4),
}
NAMES = {DEPLOYMENT: "orders", STATEFUL_SET: "prices", AUTOSCALER: "orders", FLINK_DEPLOYMENT: "words"}
FIELDS: Mapping[Resource, tuple[tuple[str, ...], Callable[[int], dict[str, Any]]]] = {
    DEPLOYMENT: (("spec", "replicas"), lambda count: {"replicas": count}),
    STATEFUL_SET: (("spec", "replicas"), lambda count: {"replicas": count}),
    AUTOSCALER: (("spec", "minReplicas"), lambda count: {"minReplicas": count}),
    FLINK_DEPLOYMENT: (
        ("spec", "flinkConfiguration", "overrides"),
        lambda count: {"flinkConfiguration": {"overrides": str(count)}},
    ),
}


@pytest.fixture(scope="module")
def real(kubernetes: LocalKubernetes) -> KubernetesServer:
    kubernetes.create(namespace(NAMESPACE))
    kubernetes.create(*OBJECTS.values(), namespace=NAMESPACE)
    return kubernetes.server(NAMESPACE)


@pytest.fixture
def stand_in() -> KubernetesServer:
    api = KubernetesStandIn()
    for resource, manifest in OBJECTS.items():
        api.create(resource, manifest)
    return api.server()


@pytest.mark.parametrize("resource", OBJECTS, ids=lambda resource: resource.short)
def test_reads_and_applies__are_answered_and_refused_alike(
    real: KubernetesServer, stand_in: KubernetesServer, resource: Resource
) -> None:
    assert _script(stand_in, resource) == _script(real, resource)


def test_what_is_not_there__is_refused_alike(real: KubernetesServer, stand_in: KubernetesServer) -> None:
    for server in (real, stand_in):
        with pytest.raises(RequestRefusedError, match="has no deployment/nobody"):
            server.get(DEPLOYMENT, "nobody")


def _script(server: KubernetesServer, resource: Resource) -> list[Any]:
    """Of each request what an adapter goes by: numbers, owners, whether generation and version moved, and refusals."""
    name, (path, fields) = NAMES[resource], FIELDS[resource]
    scale = resource in (DEPLOYMENT, STATEFUL_SET)
    first = server.get(resource, name)
    told: list[Any] = [_seen(first, path)]

    def apply(count: int, version: str, **how: Any) -> None:
        before = server.get(resource, name)
        try:
            answer = server.apply(
                resource, name, {"spec": fields(count)}, version=version, scale=scale, **{"manager": "forescale", **how}
            )
        except RequestRefusedError as refused:
            told.append(("refused", refused.stale, refused.managers))
        else:
            told.append(_value(answer, ("spec", "replicas") if scale else path))
        after = server.get(resource, name)
        moved = [_moved(before, after, each) for each in ("generation", "resourceVersion")]
        told.append((*moved, _seen(after, path)))

    apply(5, first.version, dry_run=True)
    apply(5, first.version)  # in conflict with who made it, where that set the field
    apply(5, first.version, take_over=True, dry_run=True)
    apply(5, first.version, take_over=True)
    apply(6, first.version)  # the version has moved on
    now = server.get(resource, name).version
    apply(6, now)  # ours by now
    apply(7, server.get(resource, name).version, manager="somebody")
    apply(7, server.get(resource, name).version, manager="somebody", take_over=True)
    apply(8, server.get(resource, name).version)
    return told


def _seen(answer: Answer, path: tuple[str, ...]) -> Any:
    return _value(answer, path), sorted(field_managers(answer.body, path))


def _value(answer: Answer, path: tuple[str, ...]) -> Any:
    value: Any = answer.body
    for name in path:
        value = (value or {}).get(name)
    return value


def _moved(before: Answer, after: Answer, name: str) -> bool:
    return bool(before.body["metadata"].get(name) != after.body["metadata"].get(name))
