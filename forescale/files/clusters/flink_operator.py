"""A FlinkDeployment of the Flink Kubernetes operator in a topology file."""

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import Field

from forescale.files.bounded_numbers import Positive
from forescale.files.clusters.kubernetes import KubernetesAccess, Name
from forescale.files.http_access import address_of


class FlinkOperatorEntry(KubernetesAccess):
    """deployment: name of the FlinkDeployment. url: of its job's REST interface; by default that of the service which
    the operator creates, as pods see it. operators: topology operator → vertex name. autoscaler: whether the operator's
    autoscaler scales the job, so that plans are its lower bound (planning.mode: floor). sample_s: seconds over which
    metrics are read for calibration.
    """

    kind: Literal["flink-operator"]
    deployment: Name
    given_url: Annotated[str, address_of("a job manager", "http://word-count-rest.streams:8081")] | None = Field(
        default=None, alias="url"
    )
    operators: dict[str, str] = Field(default_factory=dict)
    autoscaler: bool = False
    sample_s: Positive = 30

    @property
    def url(self) -> str:
        return self.given_url or f"http://{self.deployment}-rest.{self.namespace}:8081"

    def check_mode(self, mode: str, guard_mode: str) -> None:
        if self.autoscaler and mode == "act":
            raise ValueError(
                "cluster.autoscaler is true: the operator's autoscaler would undo plans; set planning.mode: floor, or "
                "switch that autoscaler off"
            )
        if self.autoscaler and guard_mode == "act":
            raise ValueError(
                "cluster.autoscaler is true: what the guard deploys, the operator's autoscaler would undo; set "
                "planning.guard.mode: advise, or switch that autoscaler off"
            )

    def operators_named(self) -> Mapping[str, Collection[str]]:
        return {"operators": self.operators}
