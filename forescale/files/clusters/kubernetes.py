"""Workloads of Kubernetes in a topology file."""

from collections.abc import Collection, Mapping
from typing import ClassVar, Literal

from pydantic import field_validator

from engines.kubernetes.resources import SCALERS, object_name
from forescale.files.clusters.kubernetes_access import KubernetesAccess


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
