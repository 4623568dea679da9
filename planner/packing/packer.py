"""The role of a packer: from parallelism and needs to containers, and from running containers to new ones."""

from typing import ClassVar, Protocol

from modeling.inputs.physical_plan import Container
from planner.packing.offer import Offer
from planner.packing.workload import Workload

Packing = tuple[Container, ...]


class Packer(Protocol):
    """Deterministic and stateless; it is created with the bounds on containers.

    name: in the registry. reassigns_all: whether `repack` assigns everything anew, as the engine does; otherwise
    survivors stay in their containers. reserves_cores: whether the engine reserves cores for instances; otherwise it
    fills containers without regard to them. Both methods raise PlanError if an instance fits no container, or
    containers run out.
    """

    name: ClassVar[str]
    reassigns_all: ClassVar[bool]
    reserves_cores: ClassVar[bool]

    @property
    def offer(self) -> Offer:
        """The bounds on containers, as the packer keeps to them."""

    def pack(self, work: Workload) -> Packing: ...

    def repack(self, running: Packing, work: Workload) -> Packing:
        """From the running packing to the parallelism of `work`. Container ids are kept, empty containers dropped."""
