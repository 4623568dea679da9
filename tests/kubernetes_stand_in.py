"""A stand-in for an API server: objects in memory, answered in the shapes that a real one was seen to answer in.

It knows reads, merge patches and server-side apply with versions, field managers, dry runs and the subresource
`scale`, of fields one level below `spec` and `spec.flinkConfiguration`. Fields that a manager leaves out later stay.
tests/integration/kubernetes/test_stand_in.py holds it against a real one.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from faulty_calls import KubernetesFailures, Wire, kubernetes_answer
from kubernetes.client import ApiClient, Configuration

from engines.kubernetes.resources import AUTOSCALER, Resource
from engines.kubernetes.server import KubernetesServer
from planner.errors import ClusterError

APPLY = "application/apply-patch+yaml"
MAKER = "OpenAPI-Generator"
NAMESPACE = "shop"
Body = dict[str, Any]


class KubernetesStandIn:
    """One namespace. bodies: the objects by their path. written: of every change that had an effect, its object and the
    fields of the spec that it set.
    """

    def __init__(self) -> None:
        self.bodies: dict[str, Body] = {}
        self.written: list[tuple[str, Body]] = []
        self.now = datetime(2026, 1, 5, 8, tzinfo=UTC)
        self._version = 100

    def create(self, resource: Resource, manifest: Mapping[str, Any], maker: str = MAKER) -> Body:
        """Replicas that the manifest leaves out are filled in, and belong to the maker as well."""
        body: Body = copy.deepcopy(dict(manifest))
        if resource.group == "apps":
            body["spec"].setdefault("replicas", 1)
        body["metadata"]["creationTimestamp"] = _stamp(self.now)
        if resource != AUTOSCALER:  # the only kind here of which the API server counts no generations
            body["metadata"]["generation"] = 1
        self.bodies[_path(resource, body["metadata"]["name"])] = body
        self._changed(body)
        self._owned(body, maker, "Update", _leaves(body["spec"]))
        return body

    def body(self, resource: Resource, name: str) -> Body:
        return self.bodies[_path(resource, name)]

    def scaled(self, resource: Resource, name: str, fields: Mapping[str, Any], manager: str = "kubectl") -> None:
        """Somebody else sets fields of the spec."""
        body = self.body(resource, name)
        self._merged(body, dict(fields))
        self._owned(body, manager, "Update", _leaves(fields))
        self._counted(body)
        self._changed(body)

    def told(self, resource: Resource, name: str, status: Mapping[str, Any]) -> None:
        """A controller writes the status."""
        body = self.body(resource, name)
        body["status"] = {**body.get("status", {}), **status}
        kept = [each for each in body["metadata"]["managedFields"] if each.get("subresource") != "status"]
        entry = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"}
        body["metadata"]["managedFields"] = [*kept, {**entry, "time": _stamp(self.now), "fieldsV1": {"f:status": {}}}]
        self._changed(body)

    def server(self, wire: Wire | None = None, *, changes_only: bool = False) -> KubernetesServer:
        client = ApiClient(Configuration(host="https://kubernetes"))
        client.rest_client.request = self.request
        return KubernetesServer(NAMESPACE, ClusterError, client=wired(client, wire, changes_only=changes_only))

    def request(self, method: str, url: str, headers: Any = None, body: Any = None, **_: Any) -> Any:
        parts = urlsplit(url)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        status, answer = self._answer(method, parts.path, query, body)
        return kubernetes_answer(status, json.dumps(answer).encode(), {"Date": format_datetime(self.now, usegmt=True)})

    def _answer(self, method: str, path: str, query: Mapping[str, str], sent: Any) -> tuple[int, Body]:
        if path.endswith("/resourcequotas"):
            return 200, {"kind": "ResourceQuotaList", "metadata": {}, "items": []}
        base = path.removesuffix("/scale")
        if base not in self.bodies:
            return _status(404, f'"{base.rpartition("/")[2]}" not found')
        if method == "GET":
            return 200, copy.deepcopy(self.bodies[base])
        return self._applied(base, query, sent, scale=base != path)

    def _applied(self, path: str, query: Mapping[str, str], sent: Body, *, scale: bool) -> tuple[int, Body]:
        body = copy.deepcopy(self.bodies[path])
        metadata, fields, manager = body["metadata"], dict(sent["spec"]), query["fieldManager"]
        if sent["metadata"].get("resourceVersion") not in (None, metadata["resourceVersion"]):
            return _status(409, "the object has been modified; please apply your changes to the latest version")
        leaves = _leaves(fields)
        others = [
            (each["manager"], leaf)
            for leaf in leaves
            for each in metadata["managedFields"]
            if each["manager"] != manager
            and leaf in _owned_leaves(each)
            and _at(body["spec"], leaf) != _at(fields, leaf)
        ]
        forced = query.get("force", "").lower() == "true"
        if others and not forced:
            causes = [
                {"reason": "FieldManagerConflict", "message": f'conflict with "{name}" using v1', "field": ".spec"}
                for name, _ in others
            ]
            return _status(409, f"Apply failed with {len(others)} conflicts", causes)
        before = copy.deepcopy(body["spec"])
        self._merged(body, fields)
        if forced:
            for each in metadata["managedFields"]:
                if each["manager"] != manager and each.get("subresource") != "status":
                    kept = [leaf for leaf in _owned_leaves(each) if leaf not in {leaf for _, leaf in others}]
                    each["fieldsV1"] = _fields_v1(kept)
        self._owned(body, manager, "Apply", leaves, subresource="scale" if scale else None)
        if body["spec"] != before:
            self._counted(body)
        if "dryRun" not in query:
            self._changed(body)
            self.bodies[path] = body
            if body["spec"] != before:
                self.written.append((path.rpartition("/")[2], fields))
        if scale:
            spec = {"replicas": body["spec"]["replicas"]}
            metadata = {name: metadata[name] for name in ("name", "resourceVersion")}
            return 200, {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": spec}
        return 200, copy.deepcopy(body)

    @staticmethod
    def _counted(body: Body) -> None:
        if "generation" in body["metadata"]:
            body["metadata"]["generation"] += 1

    def _changed(self, body: Body) -> None:
        self._version += 1
        body["metadata"]["resourceVersion"] = str(self._version)

    @staticmethod
    def _merged(body: Body, fields: Body) -> None:
        for name, value in fields.items():
            if isinstance(value, dict):
                body["spec"][name] = {**body["spec"].get(name, {}), **value}
            else:
                body["spec"][name] = value

    def _owned(
        self, body: Body, manager: str, operation: str, leaves: list[tuple[str, ...]], subresource: str | None = None
    ) -> None:
        entries = body["metadata"].setdefault("managedFields", [])
        entries[:] = [each for each in entries if (each["manager"], each["operation"]) != (manager, operation)]
        entry = {"manager": manager, "operation": operation, "time": _stamp(self.now), "fieldsV1": _fields_v1(leaves)}
        entries.append(entry | ({"subresource": subresource} if subresource else {}))


def wired(client: ApiClient, wire: Wire | None, *, changes_only: bool = False) -> ApiClient:
    """The client with its requests, or its changes alone, through a wire."""
    if wire is None:
        return client
    inner = client.rest_client.request

    def request(method: str, url: str, *positional: Any, **named: Any) -> Any:
        def answered() -> Any:
            answer = inner(method, url, *positional, **named)
            answer.read()
            return answer

        if changes_only and method != "PATCH":
            return answered()
        name = f"{method} {urlsplit(url).path.rpartition('/namespaces/')[2]}"
        changes = method != "GET" and "dryRun" not in url
        return wire.passed(name, answered, KubernetesFailures(), changes=changes)

    client.rest_client.request = request
    return client


def _path(resource: Resource, name: str) -> str:
    return f"/apis/{resource.api_version}/namespaces/{NAMESPACE}/{resource.plural}/{name}"


def _stamp(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _status(code: int, message: str, causes: list[Body] | None = None) -> tuple[int, Body]:
    details = {"details": {"causes": causes}} if causes else {}
    return code, {"kind": "Status", "status": "Failure", "message": message, "code": code, **details}


def _leaves(fields: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return list(_walk(fields))


def _walk(fields: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, value in fields.items():
        if isinstance(value, Mapping) and name in ("flinkConfiguration", "job"):
            yield from ((name, each) for each in value)
        else:
            yield (name,)


def _at(spec: Mapping[str, Any], leaf: tuple[str, ...]) -> Any:
    value: Any = spec
    for name in leaf:
        value = (value or {}).get(name)
    return value


def _fields_v1(leaves: list[tuple[str, ...]]) -> Body:
    spec: Body = {}
    for leaf in leaves:
        at = spec
        for name in leaf:
            at = at.setdefault(f"f:{name}", {})
    return {"f:spec": spec}


def _owned_leaves(entry: Mapping[str, Any]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, below in (entry.get("fieldsV1") or {}).get("f:spec", {}).items():
        outer = name.removeprefix("f:")
        found += [(outer, each.removeprefix("f:")) for each in below] if below else [(outer,)]
    return found
