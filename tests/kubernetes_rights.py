"""The manifests of rights in examples/kubernetes, given to a real service account, whole or with one verb less."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes_server import LocalKubernetes

from forescale.settings import PROJECT

MANIFESTS = PROJECT / "examples" / "kubernetes"


@dataclass(frozen=True)
class Right:
    """One verb on one resource."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


def manifest(name: str) -> list[dict[str, Any]]:
    path: Path = MANIFESTS / f"rights-{name}.yaml"
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def _account(name: str) -> str:
    return str(manifest(name)[0]["metadata"]["name"])


def rights_of(name: str) -> list[Right]:
    """All that a manifest gives."""
    return [
        Right(group, resource, verb)
        for rule in manifest(name)[1]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def service_token(kubernetes: LocalKubernetes, namespace: str, name: str) -> str:
    """Of the account that the manifest made."""
    from kubernetes.client import CoreV1Api

    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    core = CoreV1Api(kubernetes.client())
    return str(core.create_namespaced_service_account_token(_account(name), namespace, request).status.token)


def give(kubernetes: LocalKubernetes, namespace: str, name: str, token: str, without: Right | None = None) -> None:
    """Let the account have all rights of a manifest, but one; wait until the API server goes by them."""
    from kubernetes.client import AuthorizationV1Api, RbacAuthorizationV1Api

    kept = [right for right in rights_of(name) if right != without]
    rules = [{"apiGroups": [r.group], "resources": [r.resource], "verbs": [r.verb]} for r in kept]
    account = _account(name)
    role = {**manifest(name)[1], "metadata": {"name": account, "namespace": namespace}, "rules": rules}
    RbacAuthorizationV1Api(kubernetes.client()).replace_namespaced_role(account, namespace, role)
    asked = AuthorizationV1Api(_client(kubernetes, namespace, token))
    deadline = time.monotonic() + 120
    for right in rights_of(name):
        resource, _, subresource = right.resource.partition("/")
        attributes = {"group": right.group, "resource": resource, "subresource": subresource, "verb": right.verb}
        review: Mapping[str, Any] = {"spec": {"resourceAttributes": {**attributes, "namespace": namespace}}}
        while asked.create_self_subject_access_review(review).status.allowed != (right != without):
            assert time.monotonic() < deadline, f"the API server does not take over {right}"
            time.sleep(0.05)


def _client(kubernetes: LocalKubernetes, namespace: str, token: str) -> Any:
    from engines.kubernetes.identity import Identity, api_client
    from planner.errors import ClusterError

    return api_client(Identity(kubernetes.kubeconfig(f"account-of-{namespace}", token)), ClusterError)
