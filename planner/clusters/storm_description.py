"""Describes a running Storm topology: executors as instances, tasks as maximum parallelism.

Tested with the UI of a real Storm 1.2.4 (tests/integration/storm).
"""

from collections.abc import Sequence
from typing import Unpack

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engines.http import Connection
from engines.storm.answers import Component
from engines.storm.ui import StormPages, topology_path
from modeling.inputs.topology import Engine
from modeling.wording import count_of
from planner.clusters.component_descriptions import ReadStream, described_streams
from planner.clusters.job_description import DescribedOperator, JobDescription
from planner.errors import ClusterError

ENOUGH_TUPLES = 100
_RUNS = "ACTIVE"


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class _Input(_Shown):
    component: str = Field(alias=":component")
    stream: str = Field(alias=":stream")
    grouping: str = Field(alias=":grouping")


class _Drawn(_Shown):
    inputs: list[_Input] = Field([], alias=":inputs")


def storm_description(url: str, name: str | None, **connection: Unpack[Connection]) -> JobDescription:
    """The topology of that name, or the only one. Raises ClusterError if there is none, or more than one."""
    part = "topologies" if name is None else f"topology {name}"
    ui = StormPages(url, ClusterError, window=":all-time", part=part, **connection)
    if name is None:
        name = _only_topology(ui)
    topology_id = ui.topology_id(name)
    shown, drawn = ui.topology(topology_id), ui.page(f"{topology_path(topology_id)}/visualization")
    try:
        inputs = {each: _Drawn.model_validate(one).inputs for each, one in drawn.items()}
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise ui.failure(
            f"{ui.place} shows {field} = {ui.excerpt(first['input'], 80)!r} ({first['msg']}); check its version"
        ) from None
    if not shown.spouts:
        raise ui.failure(f"{ui.place}: topology {name!r} has no spouts yet; ask again when it has started")
    components = [*shown.spouts, *shown.bolts]
    reads = {
        one.id: [ReadStream(each.component, each.stream, each.grouping) for each in inputs.get(one.id, [])]
        for one in components
    }
    ratios = {
        bolt.id: (bolt.emitted / bolt.executed, f"{bolt.emitted:,.0f} emitted for {bolt.executed:,.0f} executed")
        for bolt in shown.bolts
        if bolt.executed >= ENOUGH_TUPLES
    }
    return JobDescription(
        name=name,
        engine=Engine.STORM,
        place=f"topology {name!r} of Storm's UI at {ui.address}",
        runs=shown.status == _RUNS,
        state=shown.status,
        operators=[_operator(one) for one in components],
        streams=described_streams("Storm", reads, ratios),
    )


def _only_topology(ui: StormPages) -> str:
    names: Sequence[str] = ui.topology_names()
    if len(names) == 1:
        return names[0]
    if not names:
        raise ui.failure(f"{ui.place}: none runs; submit one first, and then describe it")
    raise ui.failure(f"{ui.place}: {len(names)} run: {', '.join(names)}; name one by --job")


def _operator(one: Component) -> DescribedOperator:
    """A spout's busy time is unknown."""
    if one.executed < ENOUGH_TUPLES:
        return DescribedOperator(one.id, one.id, one.executors, one.tasks)
    evidence = f"mean execute latency of {count_of(round(one.executed), 'tuple')}"
    return DescribedOperator(one.id, one.id, one.executors, one.tasks, one.latency_ms / 1000, evidence)
