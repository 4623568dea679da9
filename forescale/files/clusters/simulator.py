"""The cluster simulator in a topology file."""

from collections.abc import Collection, Mapping
from typing import ClassVar, Literal

from forescale.files.bounded_numbers import AllInstances, Instances, NotNegative, Positive
from forescale.files.clusters.cluster_entry import ClusterEntry


class SimulatorEntry(ClusterEntry):
    """The in-process cluster simulator. truth: folder of the arrival history that it replays.

    service_s: true service times per operator in the simulator, where they differ from the declared ones: what
    calibration has to find out.
    """

    kind: Literal["simulator"]
    starts_cold: ClassVar[bool] = False
    truth: str
    slots: AllInstances = 64
    downtime_s: Positive = 25
    parallelism: dict[str, Instances]
    service_s: Mapping[str, NotNegative] = {}

    def operators_named(self) -> Mapping[str, Collection[str]]:
        return {"parallelism": self.parallelism, "service_s": self.service_s}

    def check_operators(self, operators: Collection[str]) -> None:
        if lacking := [name for name in operators if name not in self.parallelism]:
            raise ValueError(f"cluster.parallelism gives nothing for operator {lacking[0]!r}; name every operator")
        if (instances := sum(self.parallelism.values())) > self.slots:
            raise ValueError(
                f"cluster.parallelism has {instances} instances, and cluster.slots is {self.slots}; raise slots, or "
                "lower the parallelism"
            )
