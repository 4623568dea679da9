"""Storm's UI: pages of one topology, over one of the windows that Storm keeps."""

from typing import Any, Unpack
from urllib.parse import quote

import httpx

from engines.http import Connection, Failure, JsonServer

_SUMMARY = "/api/v1/topology/summary"


class StormPages(JsonServer):
    """window: in seconds, or `:all-time`. part: what of the UI is read, for messages."""

    def __init__(self, url: str, failure: Failure, *, window: str, part: str, **connection: Unpack[Connection]) -> None:
        super().__init__("Storm UI", url, failure, part=part, **connection)
        self._window = window

    def topology_names(self) -> list[str]:
        """Of all that run, in alphabetical order."""
        return sorted(self._ids())

    def topology_id(self, name: str) -> str:
        """Of the topology that runs under that name: it changes with every submission."""
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

    def page(self, path: str) -> dict[str, Any]:
        status, body = self.get(path, {"window": self._window})
        if not isinstance(body, dict):
            raise self.surprise(path, body)
        if status >= httpx.codes.BAD_REQUEST or "error" in body:
            reason = " ".join(str(body.get("error") or f"HTTP {status}").split())[:200]
            raise self.failure(f"{self.place} fails {path}: {reason}; see the log of the UI and whether Nimbus runs")
        return body


def topology_path(topology_id: str) -> str:
    return f"/api/v1/topology/{quote(topology_id, safe='')}"


def component_path(topology_id: str, component: str) -> str:
    return f"{topology_path(topology_id)}/component/{quote(component, safe='')}"
