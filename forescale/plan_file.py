"""A physical plan as a YAML file: `topology`, `parallelism` per operator and, if wanted, `containers`."""

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from modeling.errors import ModelError
from modeling.physical_plan import Container, Instance, PhysicalPlan
from modeling.topology import Topology


class PlanFileError(ValueError):
    """A plan file that cannot be used; names the file, the field, the value and the remedy."""


class _ContainerEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: int
    instances: list[tuple[str, int]]
    node: str = ""


class PlanEntry(BaseModel):
    """A physical plan: instances per operator, and, where the scheduler chooses, which container holds which of them
    (as pairs of operator and index, counted from 0) on which node.
    """

    model_config = ConfigDict(extra="forbid")
    topology: str
    parallelism: dict[str, int]
    containers: list[_ContainerEntry] = []


def read_plan_file(path: Path, topology: Topology) -> PhysicalPlan:
    """The plan, checked against its topology. Raises PlanFileError naming file, field, value and remedy."""
    try:
        entry = PlanEntry.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        plan = PhysicalPlan(
            entry.topology,
            entry.parallelism,
            tuple(
                Container(c.id, tuple(Instance(name, i) for name, i in c.instances), c.node) for c in entry.containers
            ),
        )
        plan.check(topology)
    except (OSError, UnicodeDecodeError) as error:
        raise PlanFileError(f"plan file {path} cannot be read: {error}; check the path") from None
    except yaml.YAMLError as error:
        raise PlanFileError(f"plan file {path} is not YAML: {error}".replace("\n", " ")) from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "(file)"
        raise PlanFileError(
            f"{path}: {field}: {first['msg']} (given: {first['input']!r}); see docs/topology-file.md"
        ) from None
    except ModelError as error:
        raise PlanFileError(f"{path}: {error}") from None
    if plan.topology != topology.name:
        raise PlanFileError(
            f"{path}: topology: {plan.topology!r} is not {topology.name!r}; give a plan of this topology"
        )
    return plan
