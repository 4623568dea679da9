"""Validated pages of Storm's UI, with only the fields that are needed."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field


def _nothing_is_zero(value: object) -> object:
    return 0.0 if value in (None, "") else value


def _first_task(value: object) -> str:
    """The first task of `[first task-last task]`."""
    return str(value).strip("[]").partition("-")[0]


# Storm sends null, or text, in place of numbers.
_Number = Annotated[float, BeforeValidator(_nothing_is_zero), Field(ge=0, allow_inf_nan=False)]

MAX_UPTIME_S = 1e9
"""Thirty years."""


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)


class Input(_Shown):
    """Tuples of one stream that a component executed. latency_ms: mean."""

    component: str
    stream: str
    executed: _Number
    latency_ms: _Number = Field(alias="executeLatency")


class Output(_Shown):
    stream: str
    emitted: _Number


class Executor(_Shown):
    """Fields that a spout lacks are 0. uptime_s: at its last heartbeat, in whole seconds; 0 before the first. host,
    port: of its worker.
    """

    first_task: Annotated[int, BeforeValidator(_first_task), Field(alias="id")]
    uptime_s: _Number = Field(alias="uptimeSeconds", le=MAX_UPTIME_S)
    emitted: _Number
    executed: _Number = 0.0
    latency_ms: _Number = Field(0.0, alias="executeLatency")
    capacity: _Number | None = None
    host: str = ""
    port: int = 0


class ComponentPage(_Shown):
    inputs: tuple[Input, ...] | None = Field(None, alias="inputStats")
    outputs: tuple[Output, ...] | None = Field(None, alias="outputStats")
    executors: tuple[Executor, ...] = Field(alias="executorStats")


class Component(_Shown):
    """tasks: of all executors together, fixed when the topology is submitted. executed, latency_ms: bolts only."""

    id: str = Field(validation_alias=AliasChoices("spoutId", "boltId"))
    executors: Annotated[int, Field(ge=1)]
    tasks: Annotated[int, Field(ge=1)]
    executed: _Number = 0.0
    latency_ms: _Number = Field(0.0, alias="executeLatency")
    emitted: _Number = 0.0


class TopologyPage(_Shown):
    """status: ACTIVE, INACTIVE, REBALANCING or KILLED."""

    status: str
    spouts: tuple[Component, ...]
    bolts: tuple[Component, ...]
    workers: int = Field(0, alias="workersTotal")

    @property
    def components(self) -> list[str]:
        return [each.id for each in (*self.spouts, *self.bolts)]

    @property
    def executors(self) -> Mapping[str, int]:
        """By component."""
        return {each.id: each.executors for each in (*self.spouts, *self.bolts)}

    @property
    def tasks(self) -> Mapping[str, int]:
        """By component."""
        return {each.id: each.tasks for each in (*self.spouts, *self.bolts)}


class ClusterPage(_Shown):
    """version: of Storm. free_slots: on all supervisors; a slot holds a worker."""

    version: str = Field("", alias="stormVersion")
    free_slots: int = Field(alias="slotsFree")
