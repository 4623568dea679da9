"""Storm's UI: pages of one topology over one of Storm's windows, and rebalance."""

from collections.abc import Mapping
from typing import Any, TypeVar, Unpack
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from engines.http import Connection, Failure, JsonServer
from engines.storm.answers import ClusterPage, ComponentPage, TopologyPage

_CLUSTER = "/api/v1/cluster/summary"
_SUMMARY = "/api/v1/topology/summary"

_Page = TypeVar("_Page", bound=BaseModel)


class StormPages(JsonServer):
    """window: in seconds, or `:all-time`. part: the part of the UI that is read, for messages."""

    def __init__(self, url: str, failure: Failure, *, window: str, part: str, **connection: Unpack[Connection]) -> None:
        super().__init__("Storm UI", url, failure, part=part, **connection)
        self._window = window

    def topology_names(self) -> list[str]:
        """Names of all running topologies, sorted."""
        return sorted(self._ids())

    def topology_id(self, name: str) -> str:
        """Id of the running topology with that name; it changes with every submission."""
        ids = self._ids()
        if name not in ids:
            known = ", ".join(sorted(ids)) or "none"
            raise self.failure(f"{self.place} does not run; known are: {known}. Submit it, or correct its name")
        return ids[name]

    def _ids(self) -> dict[str, str]:
        summary = self.page(_SUMMARY)
        try:
            return {str(one["name"]): str(one["id"]) for one in summary["topologies"]}
        except (KeyError, TypeError):
            raise self.surprise(_SUMMARY, summary) from None

    def cluster(self) -> ClusterPage:
        return self._shown(_CLUSTER, ClusterPage)

    def topology(self, topology_id: str) -> TopologyPage:
        return self._shown(topology_path(topology_id), TopologyPage)

    def component(self, topology_id: str, component: str) -> ComponentPage:
        return self._shown(component_path(topology_id, component), ComponentPage)

    def rebalance(self, topology_id: str, executors: Mapping[str, int], workers: int | None, wait_s: int) -> None:
        """Request executors by component and optionally a number of workers, after the spouts have paused for wait_s.

        Storm has accepted it when this returns. UIs of Storm 2 ignore the numbers and restart the topology, so check
        the version in `cluster` first.
        """
        options: dict[str, Any] = {"executors": dict(executors)}
        if workers is not None:
            options["numWorkers"] = workers
        path = f"{topology_path(topology_id)}/rebalance/{wait_s}"
        status, body = self.call("POST", path, body={"rebalanceOptions": options})
        self._checked(f"POST {path}", status, body)

    def _shown(self, path: str, shape: type[_Page]) -> _Page:
        page = self.page(path)
        try:
            return shape.model_validate(page)
        except ValidationError:
            raise self.surprise(path, page) from None

    def page(self, path: str) -> dict[str, Any]:
        return self._checked(path, *self.get(path, {"window": self._window}))

    def _checked(self, path: str, status: int, body: object) -> dict[str, Any]:
        if not isinstance(body, dict):
            raise self.surprise(path, body)
        if status >= httpx.codes.BAD_REQUEST or "error" in body:
            reason = self.excerpt(body.get("error") or f"HTTP {status}", 200)
            raise self.failure(f"{self.place} fails {path}: {reason}; see the log of the UI and whether Nimbus runs")
        return body


def topology_path(topology_id: str) -> str:
    return f"/api/v1/topology/{quote(topology_id, safe='')}"


def component_path(topology_id: str, component: str) -> str:
    return f"{topology_path(topology_id)}/component/{quote(component, safe='')}"
