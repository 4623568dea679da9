"""The fleet file: YAML with what topologies share: quotas of instances, and the least time between large rescales."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from forescale.files.file_error import FileError, field_errors
from forescale.files.yaml_fields import yaml_fields
from forescale.plain_numbers import PlainNumbers
from modeling.wording import count_of

if TYPE_CHECKING:
    from planner.fleet.terms import FleetTerms

Count = Annotated[int, Field(ge=1, le=10**9)]
EXAMPLE = "see docs/fleet-planning.md for one"


class _Strict(PlainNumbers, BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class QuotaEntry(_Strict):
    """instances, or nodes of instances_per_node each that all topologies share."""

    instances: Count | None = None
    nodes: Count | None = None
    instances_per_node: Count | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> "QuotaEntry":
        by_nodes = (self.nodes is not None, self.instances_per_node is not None)
        if self.instances is not None and any(by_nodes):
            raise ValueError("instances and nodes are both given; leave one of them out")
        if self.instances is None and not all(by_nodes):
            raise ValueError("give instances, or nodes with instances_per_node")
        return self

    @property
    def max_instances(self) -> int:
        return self.instances or (self.nodes or 0) * (self.instances_per_node or 0)


class GroupEntry(QuotaEntry):
    """A quota of some of the topologies, within that of all."""

    topologies: Annotated[list[str], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_each_once(self) -> "GroupEntry":
        if twice := [name for name, count in Counter(self.topologies).items() if count > 1]:
            raise ValueError(f"topologies names {twice[0]!r} twice; name it once")
        return self


class StaggerEntry(_Strict):
    """Rescales that start large_instances or more are at least apart_s apart."""

    large_instances: Count
    apart_s: Annotated[float, Field(gt=0, le=86400)]


class FleetEntry(_Strict):
    """A whole fleet file. quota: of all topologies; groups: by name, of some of them."""

    quota: QuotaEntry | None = None
    groups: dict[str, GroupEntry] = {}
    stagger: StaggerEntry | None = None

    @model_validator(mode="after")
    def _terms_hang_together(self) -> "FleetEntry":
        if self.quota is None and not self.groups and self.stagger is None:
            raise ValueError("nothing is shared; give a quota, groups or stagger")
        of: dict[frozenset[str], str] = {}
        for name, group in self.groups.items():
            if self.quota is not None and group.max_instances > self.quota.max_instances:
                raise ValueError(
                    f"groups.{name} may hold {count_of(group.max_instances, 'instance')} and all topologies together "
                    f"{self.quota.max_instances}; "
                    f"lower groups.{name} to {self.quota.max_instances} or less, or raise quota"
                )
            if (other := of.setdefault(frozenset(group.topologies), name)) != name:
                raise ValueError(f"groups {other} and {name} have the same topologies; leave one of them out")
        return self


def sections_of_a_fleet(fields: Collection[str]) -> list[str]:
    """The given fields that only a fleet file has; empty for a topology file."""
    return [] if "topology" in fields else [name for name in FleetEntry.model_fields if name in fields]


def read_fleet_file(path: Path, topologies: Collection[str]) -> "FleetTerms":
    """topologies: names of all planned topologies. Raises FileError naming file, field, value and remedy."""
    from planner.fleet.terms import FleetTerms, Quota, Stagger

    body = yaml_fields(path, "fleet file", EXAMPLE)
    with field_errors(path):
        entry = FleetEntry.model_validate(body)
    for name, group in entry.groups.items():
        if unknown := sorted(set(group.topologies) - set(topologies)):
            raise FileError(
                f"{path}: groups.{name}.topologies names the unknown topology {unknown[0]!r}; correct it, or add its "
                f"file; known are {', '.join(sorted(topologies))}"
            )
    whole = [] if entry.quota is None else [Quota("the quota", frozenset(topologies), entry.quota.max_instances)]
    groups = [
        Quota(f"the quota of {name}", frozenset(group.topologies), group.max_instances)
        for name, group in entry.groups.items()
    ]
    stagger = None if entry.stagger is None else Stagger(entry.stagger.large_instances, entry.stagger.apart_s)
    return FleetTerms((*whole, *groups), stagger)
