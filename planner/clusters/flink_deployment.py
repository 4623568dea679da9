"""What a FlinkDeployment of the Flink Kubernetes operator requests, and how far the operator is with it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from engines.flink.answers import Job
from engines.kubernetes.server import Answer
from planner.clusters.flink_vertices import slots_needed
from planner.clusters.kubernetes_quota import PodsWanted
from planner.errors import ClusterError

OVERRIDES = "pipeline.jobvertex-parallelism-overrides"
VERTEX_FLOOR, VERTEX_CEILING = "job.autoscaler.vertex.min-parallelism", "job.autoscaler.vertex.max-parallelism"
_CPU_LIMIT = "kubernetes.taskmanager.cpu.limit-factor"
_SLOTS = "taskmanager.numberOfTaskSlots"
_AUTOSCALER = ("job.autoscaler.enabled", "kubernetes.operator.job.autoscaler.enabled")
_SCALING = ("job.autoscaler.scaling.enabled", "kubernetes.operator.job.autoscaler.scaling.enabled")
_SETTLED = ("STABLE", "DEPLOYED")
_LOST = ("FAILED", "SUSPENDED", "ROLLED_BACK")


@dataclass(frozen=True)
class FlinkDeployment:
    """One reading of the object. Raises ClusterError if its configuration has no number where one is required."""

    answer: Answer

    @property
    def spec(self) -> Mapping[str, Any]:
        return self.answer.body.get("spec") or {}

    @property
    def configuration(self) -> Mapping[str, Any]:
        return self.spec.get("flinkConfiguration") or {}

    @property
    def status(self) -> Mapping[str, Any]:
        return self.answer.body.get("status") or {}

    @property
    def job_id(self) -> str | None:
        return (self.status.get("jobStatus") or {}).get("jobId")

    @property
    def job_name(self) -> str:
        return str((self.status.get("jobStatus") or {}).get("jobName", ""))

    @property
    def lifecycle(self) -> str:
        return str(self.status.get("lifecycleState", "CREATED"))

    @property
    def lost(self) -> bool:
        """Whether the operator has given up on the request."""
        return self.lifecycle in _LOST

    @property
    def unsettled(self) -> str:
        """Why the operator is not done; empty if it is."""
        generation = int(self.answer.body["metadata"].get("generation", 0))
        seen = int(self.status.get("observedGeneration", generation))
        state = (self.status.get("jobStatus") or {}).get("state", "unknown")
        if seen >= generation and self.lifecycle in _SETTLED and state == "RUNNING":
            return ""
        error = f" ({' '.join(str(self.status['error']).split())[:200]})" if self.status.get("error") else ""
        return f"its operator is at {self.lifecycle}, the job {state}{error}"

    @property
    def autoscaled(self) -> bool:
        """Whether the operator's autoscaler changes parallelisms."""
        return self._flag(_AUTOSCALER, "false") and self._flag(_SCALING, "true")

    @property
    def floor(self) -> int:
        return self._number(VERTEX_FLOOR, self.configuration.get(VERTEX_FLOOR, 1))

    @property
    def slots(self) -> int:
        """Per task manager."""
        return self._number(_SLOTS, self.configuration.get(_SLOTS, 1), least=1)

    @property
    def task_manager_cores(self) -> float | None:
        """Cores that one may use; None if the object does not say so."""
        resource = (self.spec.get("taskManager") or {}).get("resource") or {}
        try:
            cores = float(str(resource["cpu"])) * float(str(self.configuration.get(_CPU_LIMIT, 1)))
        except (KeyError, ValueError):
            return None
        return cores if math.isfinite(cores) and cores > 0 else None

    @property
    def ceiling(self) -> int:
        return self._number(VERTEX_CEILING, self.configuration.get(VERTEX_CEILING, 200))

    def asked(self, job: Job) -> Mapping[str, int]:
        """Requested parallelism per vertex id; the running one for vertices that the object does not name.

        An autoscaler replaces the object's overrides with its own, which it keeps elsewhere.
        """
        if self.autoscaled:
            return {vertex.id: vertex.parallelism for vertex in job.vertices}
        pairs = (pair.rpartition(":") for pair in str(self.configuration.get(OVERRIDES, "")).split(",") if ":" in pair)
        named = {vertex.strip(): self._number(OVERRIDES, count) for vertex, _, count in pairs}
        return {vertex.id: named.get(vertex.id, vertex.parallelism) for vertex in job.vertices}

    def fields(self, parallelism: Mapping[str, int]) -> Mapping[str, Any]:
        """The part of the spec that requests a parallelism per vertex id.

        The overrides alone scale a native cluster in place; changing `job.parallelism` would redeploy it. A standalone
        cluster gets its task managers from `job.parallelism`.
        """
        overrides = ",".join(f"{vertex}:{count}" for vertex, count in sorted(parallelism.items()))
        fields: dict[str, Any] = {"flinkConfiguration": {OVERRIDES: overrides}}
        if str(self.spec.get("mode", "native")).lower() == "standalone":
            fields["job"] = {"parallelism": max(parallelism.values())}
        return fields

    def pods_wanted(self, job: Job, before: Mapping[str, int], after: Mapping[str, int]) -> PodsWanted:
        """Task managers to add; each has the number of slots in its configuration."""
        slots = self.slots
        added = math.ceil(slots_needed(job, after) / slots) - math.ceil(slots_needed(job, before) / slots)
        resource = (self.spec.get("taskManager") or {}).get("resource") or {}
        requests = {"cpu": str(resource.get("cpu", 1)), "memory": _bytes(str(resource.get("memory", "0")))}
        resources = {"requests": requests, "limits": requests}
        return PodsWanted(added, {"spec": {"containers": [{"resources": resources}]}})

    def _number(self, key: str, given: object, least: int = 0) -> int:
        try:
            number = int(str(given))
        except ValueError:
            number = least - 1
        if number < least:
            name = self.answer.body["metadata"].get("name", "")
            raise ClusterError(
                f"flinkdeployment/{name}: {key} of its flinkConfiguration gives {str(given).strip()!r}, which is not a "
                f"number of at least {least}; correct it in the object"
            )
        return number

    def _flag(self, names: tuple[str, ...], default: str) -> bool:
        value = next((self.configuration[name] for name in names if name in self.configuration), default)
        return str(value).lower() == "true"


def _bytes(text: str) -> str:
    """A memory size in Flink's notation, where 2048m is 2 GiB, as plain bytes; 0 if it cannot be read."""
    number = text.strip().lower().rstrip("bytesi ")
    unit = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}.get(number[-1:], 1)
    try:
        return f"{Decimal(number.rstrip('kmgt ')) * unit:f}"
    except InvalidOperation:
        return "0"
