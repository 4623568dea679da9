"""The role of a packer: from parallelism and needs to containers, and from the containers that run to others."""

from typing import ClassVar, Protocol

from modeling.inputs.physical_plan import Container
from planner.packing.workload import Workload

Packing = tuple[Container, ...]


class Packer(Protocol):
    """Deterministic, without state; whatever a container may hold is known to it since it was made.

    name: of the registry. redeals: whether `repack` deals everything anew, as the engine does; otherwise survivors stay
    in their containers. Both methods raise PlanError where an instance fits no container, or containers are exhausted.
    """

    name: ClassVar[str]
    redeals: ClassVar[bool]

    def pack(self, work: Workload) -> Packing: ...

    def repack(self, running: Packing, work: Workload) -> Packing:
        """From the packing that runs to the parallelism of `work`. Ids of containers are kept, empty ones are gone."""
