"""A physical plan as a YAML file: `topology`, `parallelism` per operator and, if wanted, `containers`."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, StrictInt

from forescale.files.file_error import field_errors
from forescale.files.topology import yaml_fields
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.topology import Topology

_DOCUMENTED = "see docs/topology-file.md for one"


class _ContainerEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: StrictInt
    instances: list[tuple[str, StrictInt]]
    node: str = ""


class PlanEntry(BaseModel):
    """A physical plan: instances per operator, and, where the scheduler chooses, which container holds which of them
    (as pairs of operator and index, counted from 0) on which node.
    """

    model_config = ConfigDict(extra="forbid")
    topology: str
    parallelism: dict[str, StrictInt]
    containers: list[_ContainerEntry] = []


def read_plan_file(path: Path, topology: Topology) -> PhysicalPlan:
    """The plan, checked against its topology. Raises FileError naming file, field, value and remedy."""
    body = yaml_fields(path, "plan file", _DOCUMENTED)
    with field_errors(path, f"; {_DOCUMENTED}"):
        entry = PlanEntry.model_validate(body)
        packing = tuple(Container(c.id, tuple(Instance(*one) for one in c.instances), c.node) for c in entry.containers)
        plan = PhysicalPlan(entry.topology, entry.parallelism, packing)
        plan.check(topology)
        return plan
