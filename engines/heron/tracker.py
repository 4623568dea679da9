"""Heron's tracker: the plans of one topology and its metrics, minute by minute, for the last three hours.

A minute is a bucket of 60 s, stamped with its start in seconds since the epoch, on no grid.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import httpx
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from engines.http import Connection, Failure, JsonServer

MINUTE_S = 60
KEPT_S = 180 * MINUTE_S
EMITTED, EXECUTED, LATENCY = "__emit-count/", "__execute-count/", "__execute-latency/"
DESERIALISED = "__tuple-deserialization-time-ns/"
UPTIME = "__jvm-uptime-secs"
PRESSURE, MANAGERS = "__time_spent_back_pressure_by_compid/", "__stmgr__"
COUNTED = (EMITTED, EXECUTED, DESERIALISED)
SAME_MINUTE_S = 5

_TIMELINE, _LEGACY_TIMELINE = "/topologies/metrics/timeline", "/topologies/metricstimeline"
_PACKING = "/topologies/packingplan"
_TOPOLOGIES = "/topologies"
_NAMES_PER_REQUEST = 40

Timeline = dict[str, dict[str, dict[int, float]]]
"""Metric, instance, stamp in seconds: value."""


class TrackedInstance(BaseModel):
    """index: within the component, with gaps where instances were removed."""

    model_config = ConfigDict(frozen=True)

    component: str = Field(alias="component_name")
    task: int = Field(alias="task_id")
    index: int = Field(alias="component_index")


class TrackedContainer(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: int
    instances: tuple[TrackedInstance, ...]


_CONTAINERS = TypeAdapter(tuple[TrackedContainer, ...])


class TrackedTopology(JsonServer):
    """One topology as its tracker reports it. role: only if the tracker requires it."""

    def __init__(
        self,
        url: str,
        failure: Failure,
        *,
        cluster: str,
        environ: str,
        topology: str,
        role: str | None = None,
        **connection: Unpack[Connection],
    ) -> None:
        named = "/".join(name for name in (cluster, role, environ, topology) if name is not None)
        super().__init__("Heron Tracker", url, failure, part=f"topology {named}", **connection)
        self._topology = {"cluster": cluster, "environ": environ, "topology": topology}
        self._topology |= {} if role is None else {"role": role}

    def role(self) -> str:
        """The role under which the topology runs, asked of the tracker if none is known.

        Heron's client reads `cluster/word` as cluster and role, so a place without a role names another topology's.
        """
        if known := self._topology.get("role"):
            return known
        listed = self._result(_TOPOLOGIES, {}, of_all=True)
        cluster, environ, name = (self._topology[field] for field in ("cluster", "environ", "topology"))
        try:
            by_role = listed.get(cluster, {})
            roles = sorted(str(role) for role, environs in by_role.items() if name in environs.get(environ, ()))
        except (AttributeError, TypeError):
            raise self.surprise(_TOPOLOGIES, listed) from None
        if len(roles) != 1:
            raise self.failure(
                f"{self.place} runs under {len(roles)} roles{' (' + ', '.join(roles) + ')' if roles else ''}; give the "
                "one that `heron submit` was given: role in its section, or --job CLUSTER/ROLE/ENVIRON/NAME"
            )
        return roles[0]

    def plans(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The physical and the logical plan."""
        return self._result("/topologies/physicalplan", {}), self._result("/topologies/logicalplan", {})

    def packing(self) -> tuple[TrackedContainer, ...]:
        """The containers with their instances."""
        plan = self._result(_PACKING, {})
        try:
            return _CONTAINERS.validate_python(plan["container_plans"])
        except (KeyError, ValidationError):
            raise self.surprise(_PACKING, plan) from None

    def unexpected_plans(self, *plans: object) -> Exception:
        """The error for plans of another shape than documented."""
        return self.surprise("/topologies/physicalplan and logicalplan", list(plans))

    def timeline(self, component: str, metrics: Sequence[str], since_s: int, until_s: int) -> Timeline:
        """Values that a component's instances reported; non-finite values are dropped."""
        params = {"component": component, "starttime": str(since_s), "endtime": str(until_s)}
        timeline: Timeline = {}
        for first in range(0, len(metrics), _NAMES_PER_REQUEST):
            answer = self._result(
                _TIMELINE, {**params, "metricname": list(metrics[first : first + _NAMES_PER_REQUEST])}
            )
            try:
                for metric, by_instance in answer.get("timeline", {}).items():
                    for instance, values in by_instance.items():
                        numbers = {int(stamp): float(value) for stamp, value in values.items()}
                        finite = {stamp: value for stamp, value in numbers.items() if math.isfinite(value)}
                        timeline.setdefault(str(metric), {})[str(instance)] = finite
            except (TypeError, ValueError, AttributeError):
                raise self.surprise(_TIMELINE, answer) from None
        for metric, by_instance in timeline.items():
            counted = metric.startswith((*COUNTED, PRESSURE))
            if counted and any(value < 0 for values in by_instance.values() for value in values.values()):
                raise self.failure(f"{self.place} reports a negative count of {component}; see the log of its tracker")
        return timeline

    def _result(self, path: str, params: Mapping[str, str | list[str]], *, of_all: bool = False) -> dict[str, Any]:
        """The answer, unwrapped from the `result` that old trackers put around it. of_all: of all topologies."""
        status, body = self.get(path, params if of_all else {**self._topology, **params})
        if path == _TIMELINE and _refusal(status, body) is not None:
            legacy_status, legacy_body = self.get(_LEGACY_TIMELINE, {**self._topology, **params})
            if legacy_status != httpx.codes.NOT_FOUND:
                status, body = legacy_status, legacy_body
        if (reason := _refusal(status, body)) is not None:
            raise self.failure(
                f"{self.place} refuses {path}: {self.excerpt(reason, 300)}; "
                "check cluster, role, environ and topology, and whether it runs"
            )
        result = body["result"] if isinstance(body, dict) and "result" in body and "status" in body else body
        if not isinstance(result, dict):
            raise self.surprise(path, body)
        return result


def same_minutes(stamps: Iterable[int]) -> list[list[int]]:
    """Stamps of all metrics of one instance, grouped by minute, in order of time.

    The topology master closes the minutes of one metric after the other, so their stamps may be seconds apart.
    """
    groups: list[list[int]] = []
    for stamp in sorted(set(stamps)):
        if groups and stamp - groups[-1][0] <= SAME_MINUTE_S:
            groups[-1].append(stamp)
        else:
            groups.append([stamp])
    return groups


def _refusal(status: int, body: object) -> str | None:
    """Why the tracker refused; None if it answered."""
    failed = isinstance(body, dict) and body.get("status") not in (None, "success")
    if 200 <= status < 300 and not failed:
        return None
    message = (body.get("message") or body.get("detail")) if isinstance(body, dict) else None
    return str(message or f"HTTP {status}")
