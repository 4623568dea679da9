"""A physical plan as a YAML file: `topology`, `parallelism` per operator and, if wanted, `containers`."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, StrictInt, ValidationError

from forescale.files.topology import TopologyFileError, sentence, yaml_fields
from modeling.errors import ModelError
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.topology import Topology


class PlanFileError(ValueError):
    """A plan file that cannot be used; names the file, the field, the value and the remedy."""


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
    """The plan, checked against its topology. Raises PlanFileError naming file, field, value and remedy."""
    try:
        entry = PlanEntry.model_validate(yaml_fields(path, "plan file", "see docs/topology-file.md for one"))
        plan = PhysicalPlan(
            entry.topology,
            entry.parallelism,
            tuple(
                Container(c.id, tuple(Instance(name, i) for name, i in c.instances), c.node) for c in entry.containers
            ),
        )
        plan.check(topology)
    except TopologyFileError as error:
        raise PlanFileError(str(error)) from None
    except ValidationError as error:
        raise PlanFileError(f"{sentence(path, error.errors()[0])}; see docs/topology-file.md") from None
    except ModelError as error:
        raise PlanFileError(f"{path}: {error}") from None
    return plan
