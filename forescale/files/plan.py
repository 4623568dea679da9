"""A physical plan as a YAML or JSON file: `topology`, `parallelism` per operator and, if wanted, `containers`."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from forecasting.bounded_file import bounded_text
from forescale.files.atomic import write_whole
from forescale.files.file_error import FileError, field_errors
from forescale.files.json_keys import unique_keys
from forescale.files.yaml_fields import yaml_fields
from forescale.plain_numbers import PlainNumbers
from modeling.inputs.physical_plan import MAX_PARALLELISM, Container, Instance, PhysicalPlan
from modeling.inputs.topology import Topology

_DOCUMENTED = "see docs/topology-file.md for one"


ContainerId = Annotated[StrictInt, Field(ge=-(2**31), lt=2**31)]
"""Id of a container, or index of an instance."""


class _ContainerEntry(PlainNumbers, BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: ContainerId
    instances: list[tuple[str, ContainerId]]
    node: str = ""


class PlanEntry(PlainNumbers, BaseModel):
    """A physical plan: instances per operator, and, where the scheduler chooses, which container holds which of them
    (as pairs of operator and index, counted from 0) on which node.
    """

    model_config = ConfigDict(extra="forbid")
    topology: str
    parallelism: dict[str, Annotated[StrictInt, Field(le=MAX_PARALLELISM)]]
    containers: list[_ContainerEntry] = []


def read_plan_file(path: Path, topology: Topology) -> PhysicalPlan:
    """The plan, checked against its topology. Raises FileError naming file, field, value and remedy."""
    body = _json_fields(path) or yaml_fields(path, "plan file", _DOCUMENTED)
    with field_errors(path, f"; {_DOCUMENTED}"):
        entry = PlanEntry.model_validate(body)
        packing = tuple(Container(c.id, tuple(Instance(*one) for one in c.instances), c.node) for c in entry.containers)
        plan = PhysicalPlan(entry.topology, entry.parallelism, packing)
        plan.check(topology)
        return plan


def _json_fields(path: Path) -> dict[str, Any]:
    """Read as JSON, tens of times faster than as YAML. Empty if it is not JSON: the YAML reader then says why."""
    if path.suffix.lower() == ".json":
        with suppress(OSError, ValueError, RecursionError):
            body = json.loads(bounded_text(path), object_pairs_hook=unique_keys)
            return body if isinstance(body, dict) else {}
    return {}


def check_plan_path(path: Path) -> None:
    """Raises FileError for a name whose suffix is not a known format."""
    if path.suffix.lower() not in (".json", ".yaml", ".yml"):
        raise FileError(f"plan file {path}: the name shows no format; use one that ends in .json or .yaml")


def write_plan_file(plan: PhysicalPlan, path: Path) -> Path:
    """Write a file for `read_plan_file`, nodes included: JSON or YAML by its suffix. Raises FileError and OSError."""
    check_plan_path(path)
    fields = plan_fields(plan)
    if path.suffix.lower() == ".json":
        return write_whole(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", path)
    return write_whole(yaml.safe_dump(fields, sort_keys=False, allow_unicode=True), path)


def plan_fields(plan: PhysicalPlan) -> dict[str, Any]:
    """The fields of a plan file; containers only where the plan has a packing."""
    containers = [
        {
            "id": container.id,
            **({"node": container.node} if container.node else {}),
            "instances": [[each.operator, each.index] for each in container.instances],
        }
        for container in plan.packing
    ]
    body = {"topology": plan.topology, "parallelism": dict(plan.parallelism)}
    return body | ({"containers": containers} if containers else {})
