"""Workloads of Kubernetes in a topology file, with the address of the API server and the login for it."""

from collections.abc import Collection, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from engines.kubernetes.resources import SCALERS, object_name
from forescale.files.bounded_numbers import Timeout
from forescale.files.clusters.cluster_entry import ClusterEntry

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]
"""Name of an object: a DNS subdomain."""


class KubernetesAccess(ClusterEntry):
    """kubeconfig, context: by default what kubectl uses or, in a pod, the pod's service account. take_over: field
    managers whose fields forescale may take over. timeout_s: of one request.
    """

    namespace: Name
    kubeconfig: str | None = None
    context: str | None = None
    take_over: list[str] = Field(default_factory=list)
    timeout_s: Timeout = 10


class KubernetesEntry(KubernetesAccess):
    """operators: operator → its workload (`deployment/NAME`, `statefulset/NAME`) or, for planning.mode: floor, its
    autoscaler (`hpa/NAME`, `scaledobject/NAME`).
    """

    kind: Literal["kubernetes"]
    counts_tuples: ClassVar[bool] = False
    starts_cold: ClassVar[bool] = False  # pods that run on are warm
    operators: dict[str, str]

    @field_validator("operators")
    @classmethod
    def _are_objects(cls, operators: dict[str, str]) -> dict[str, str]:
        scaled = {name for name, text in operators.items() if object_name(text).resource in SCALERS}
        if scaled and (bare := sorted(set(operators) - scaled)):
            raise ValueError(
                f"{bare[0]!r} is {operators[bare[0]]}, but {min(scaled)!r} is {operators[min(scaled)]}; "
                "name workloads for all operators, or scalers for all"
            )
        return operators

    @property
    def autoscaled(self) -> bool:
        return any(object_name(text).resource in SCALERS for text in self.operators.values())

    def check_mode(self, mode: str, guard_mode: str) -> None:
        if self.autoscaled and mode == "act":
            raise ValueError(
                "cluster.operators names autoscalers, which would undo plans; set planning.mode: floor, or name the "
                "workloads themselves where nothing scales them"
            )
        if guard_mode == "act":
            raise ValueError(
                "planning.guard.mode is act, and Kubernetes counts no tuples: a guard would see nothing; set "
                "planning.guard.mode: off"
            )

    def operators_named(self) -> Mapping[str, Collection[str]]:
        return {"operators": self.operators}

    def check_operators(self, operators: Collection[str]) -> None:
        if lacking := [name for name in operators if name not in self.operators]:
            raise ValueError(f"cluster.operators gives nothing for operator {lacking[0]!r}; name every operator")
        objects = list(self.operators.values())
        if shared := [name for name, text in self.operators.items() if objects.count(text) > 1]:
            raise ValueError(
                f"cluster.operators gives {self.operators[shared[0]]} to {shared[0]!r} and {shared[1]!r}; "
                "give each operator a workload of its own"
            )
