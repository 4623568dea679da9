"""`packing` of a topology file: which packer places its plans, in which containers of which nodes."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from forescale.files.bounded_numbers import AllInstances
from forescale.plain_numbers import PlainNumbers
from planner.errors import PlanError

if TYPE_CHECKING:
    from modeling.inputs.site import Site
    from planner.packing.offer import Offer
    from planner.pricing.site_prices import SitePrices

Count = AllInstances


class PackingSection(PlainNumbers, BaseModel):
    """packer: its name. site: path of a site file, which has the size of containers, the nodes and the prices;
    relative to FORESCALE_HOME. cores, price_per_hour: of every container, in place of the site's. nodes: how many
    containers each node holds, null for no limit; by default the site's nodes. containers: number to fill; the
    maximum for packers that open them as needed. max_containers: the maximum for all packers. max_instances: of a
    container. disk_mib: of each. padding: share of a container that it keeps for itself; heron: 10 %, at least 1
    core and 1 GiB. slots of each task manager, slot_groups by operator, evenly: slots spread over task managers
    (Flink).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    packer: str
    site: str | None = None
    cores: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = None
    price_per_hour: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = None
    nodes: dict[str, Count | None] = {}
    containers: Count | None = None
    max_containers: Count | None = None
    max_instances: Count | None = None
    disk_mib: Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)] | None = None
    padding: Annotated[float, Field(ge=0, lt=1)] | Literal["heron"] = 0.0
    slots: Count = 1
    slot_groups: dict[str, str] = {}
    evenly: bool = False

    @field_validator("packer")
    @classmethod
    def _is_known(cls, packer: str) -> str:
        from planner.packing.registry import PACKERS  # most topology files have no such section

        if packer not in PACKERS:
            raise ValueError(f"no packer {packer!r}; known are {', '.join(PACKERS)}")
        return packer

    @field_validator("padding", mode="wrap")
    @classmethod
    def _is_share(cls, padding: object, checked: ValidatorFunctionWrapHandler) -> object:
        try:
            return checked(padding)
        except ValidationError:
            raise ValueError(f"{padding!r} is not a share below 1; give one like 0.1, or heron") from None

    @model_validator(mode="after")
    def _has_room(self) -> "PackingSection":
        if self.containers and self.max_containers and self.containers > self.max_containers:
            raise ValueError(
                f"containers {self.containers} > max_containers {self.max_containers}; lower one or raise the other"
            )
        return self

    def offer(self, site: "Site", prices: "SitePrices") -> "Offer":
        """Raises PlanError for a node that the site does not know, or that has no price where others have one."""
        from planner.packing.offer import Offer, offered_nodes, padding_of, site_nodes

        known = site_nodes(site)
        if self.nodes and known and (unknown := sorted(set(self.nodes) - known)):
            raise PlanError(
                f"packing.nodes names {unknown[0]!r}, which the site does not have; its nodes are "
                f"{', '.join(sorted(known))}: correct it, or add it to the site"
            )
        nodes = offered_nodes(site, self.nodes, "packing.nodes:")
        prices.check(nodes)
        return Offer(
            site=site,
            disk_mib=self.disk_mib,
            padding=padding_of(self.padding, "packing.padding"),
            max_instances=self.max_instances,
            containers=self.containers,
            max_containers=self.max_containers,
            nodes=nodes,
            slots=self.slots,
            slot_groups=self.slot_groups,
            evenly=self.evenly,
        )
