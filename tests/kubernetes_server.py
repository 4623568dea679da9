"""A real API server of Kubernetes on loopback for tests, with etcd behind it and the rights of RBAC.

There are no nodes and no controllers: `kubernetes_controllers` plays those that a test needs.
"""

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from server_process import free_ports, killed, started

from engines.kubernetes.identity import Identity, api_client
from engines.kubernetes.resources import FLINK_DEPLOYMENT, SCALED_OBJECT, Resource
from engines.kubernetes.server import KubernetesServer
from forescale.settings import PROJECT
from planner.errors import ClusterError

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

SOURCE = PROJECT / "tests" / "kubernetes"
CACHE = PROJECT / ".cache" / "kubernetes"
ADMIN, CONTROLLER, SOMEBODY = "admin", "controller", "somebody"
"""Users: two may do everything, the last one nothing."""

_CUSTOM = {resource.kind: resource for resource in (SCALED_OBJECT, FLINK_DEPLOYMENT)}


class KubernetesError(RuntimeError):
    """There is no API server to start here, or it did not come up."""


@dataclass(frozen=True)
class LocalKubernetes:
    """A running API server. folder: with a kubeconfig per user."""

    url: str
    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "certificates" / "apiserver.crt"

    def kubeconfig(self, user: str, token: str | None = None) -> Path:
        """A kubeconfig of one of the users, or of whoever has a token."""
        path = self.folder / f"{user}.kubeconfig"
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "local", "cluster": {"server": self.url, "certificate-authority": str(self.authority)}}
            ],
            "users": [{"name": user, "user": {"token": token or f"token-of-{user}"}}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": user}}],
            "current-context": "local",
        }
        path.write_text(yaml.safe_dump(body))
        return path

    def client(self, user: str = ADMIN) -> "ApiClient":
        return api_client(Identity(self.kubeconfig(user)), ClusterError)

    def server(self, namespace: str, user: str = ADMIN, token: str | None = None) -> KubernetesServer:
        """As forescale speaks to it."""
        return KubernetesServer(namespace, ClusterError, Identity(self.kubeconfig(user, token)), timeout_s=60)

    def create(self, *manifests: Mapping[str, Any], namespace: str | None = None) -> None:
        """Objects of any kind; where they are custom resources, as soon as these are served."""
        from kubernetes.utils import create_from_dict

        client = self.client()
        for manifest in manifests:
            if manifest["kind"] in _CUSTOM:
                _create_custom(client, _CUSTOM[manifest["kind"]], manifest, str(namespace))
                continue
            metadata = {**manifest["metadata"], **({"namespace": namespace} if namespace else {})}
            create_from_dict(client, {**manifest, "metadata": metadata}, namespace=namespace or "default")


def _create_custom(
    client: "ApiClient", resource: Resource, manifest: Mapping[str, Any], namespace: str, within_s: float = 120.0
) -> None:
    from kubernetes.client import ApiException, CustomObjectsApi

    deadline = time.monotonic() + within_s
    while True:
        try:
            CustomObjectsApi(client).create_namespaced_custom_object(
                resource.group, resource.version, namespace, resource.plural, manifest
            )
        except ApiException as error:
            if error.status != 404 or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def kubernetes_programs() -> tuple[Path, str]:
    """kube-apiserver and etcd. Raises KubernetesError where one is lacking."""
    version = re.search(r"k8s\.io/kubernetes (v\S+)", (SOURCE / "go.mod").read_text(encoding="utf-8"))
    assert version is not None, f"{SOURCE}/go.mod names no version of k8s.io/kubernetes"
    api_server = CACHE / version[1] / "kube-apiserver"
    etcd = shutil.which("etcd")
    if not api_server.is_file() or etcd is None:
        lacking = "etcd on PATH" if api_server.is_file() else str(api_server)
        raise KubernetesError(f"no {lacking}; run: bash scripts/tools.sh kubernetes")
    return api_server, etcd


def require_kubernetes() -> None:
    """Skip the test where there is no API server to start; fail where CI=true."""
    try:
        kubernetes_programs()
    except KubernetesError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@contextlib.contextmanager
def local_kubernetes(folder: Path, within_s: float = 120.0) -> Iterator[LocalKubernetes]:
    """Raises KubernetesError where it does not come up in time."""
    api_server, etcd = kubernetes_programs()
    client_port, peer_port, port = free_ports(3)
    store, url = f"http://127.0.0.1:{client_port}", f"https://127.0.0.1:{port}"
    members = '"system:masters"'
    tokens = [f"token-of-{user},{user},{user},{members}" for user in (ADMIN, CONTROLLER)]
    (folder / "tokens.csv").write_text("\n".join([*tokens, f"token-of-{SOMEBODY},{SOMEBODY},{SOMEBODY}"]) + "\n")
    key = folder / "service-accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    peer = f"http://127.0.0.1:{peer_port}"
    commands = {
        "etcd": {
            "data-dir": folder / "etcd",
            "unsafe-no-fsync": "true",
            "log-level": "error",
            "listen-client-urls": store,
            "advertise-client-urls": store,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
        },
        "kube-apiserver": {
            "etcd-servers": store,
            "cert-dir": folder / "certificates",
            "secure-port": port,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "service-account-issuer": url,
            "service-account-key-file": key,
            "service-account-signing-key-file": key,
            "token-auth-file": folder / "tokens.csv",
            "authorization-mode": "RBAC",
            "service-cluster-ip-range": "10.0.0.0/24",
            "endpoint-reconciler-type": "none",
            "profiling": "false",
        },
    }
    programs = {"etcd": etcd, "kube-apiserver": str(api_server)}
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for name, options in commands.items():
            command = [programs[name], *(f"--{option}={value}" for option, value in options.items())]
            processes.append(started(command, folder / f"{name}.log", folder))
        kubernetes = LocalKubernetes(url, folder)
        _wait_until_ready(kubernetes, processes, folder / "kube-apiserver.log", within_s)
        yield kubernetes
    finally:
        for process in processes:
            killed(process)


def _wait_until_ready(
    kubernetes: LocalKubernetes, processes: list[subprocess.Popen[bytes]], log: Path, within_s: float
) -> None:
    import httpx

    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and all(process.poll() is None for process in processes):
        with contextlib.suppress(httpx.HTTPError):
            headers = {"Authorization": f"Bearer token-of-{ADMIN}"}
            # Whether it is the right one is for the tests to see; until now it may have no certificate yet.
            if httpx.get(
                f"{kubernetes.url}/readyz", headers=headers, verify=False, trust_env=False, timeout=60
            ).is_success:
                return
        time.sleep(0.1)
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    raise KubernetesError(f"the API server at {kubernetes.url} did not come up; the end of {log}:\n{text[-1500:]}")
