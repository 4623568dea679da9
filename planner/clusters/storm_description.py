"""What runs on a Storm cluster, described: executors as instances, tasks as the most that they can become.

Run against the UI of a real Storm 1.2.4 (tests/integration/storm).
"""

from collections.abc import Sequence
from typing import Annotated, Unpack

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from engines.http import Connection
from engines.storm.ui import StormPages, topology_path
from modeling.inputs.topology import Engine
from planner.clusters.component_descriptions import ReadStream, described_streams
from planner.clusters.job_description import DescribedOperator, JobDescription
from planner.errors import ClusterError

ENOUGH_TUPLES = 100
_RUNS = "ACTIVE"

# Storm tells nothing, and text, where a number is meant.
_Number = Annotated[float, BeforeValidator(lambda told: 0.0 if told in (None, "") else told), Field(ge=0)]


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class _Spout(_Shown):
    name: str = Field(alias="spoutId")
    executors: Annotated[int, Field(ge=1)]
    tasks: Annotated[int, Field(ge=1)]


class _Bolt(_Shown):
    name: str = Field(alias="boltId")
    executors: Annotated[int, Field(ge=1)]
    tasks: Annotated[int, Field(ge=1)]
    executed: _Number = 0.0
    latency_ms: _Number = Field(0.0, alias="executeLatency")
    emitted: _Number = 0.0


class _Page(_Shown):
    status: str
    spouts: list[_Spout]
    bolts: list[_Bolt]


class _Input(_Shown):
    component: str = Field(alias=":component")
    stream: str = Field(alias=":stream")
    grouping: str = Field(alias=":grouping")


class _Drawn(_Shown):
    inputs: list[_Input] = Field([], alias=":inputs")


def storm_description(url: str, name: str | None, **connection: Unpack[Connection]) -> JobDescription:
    """The topology of that name, or the only one. Raises ClusterError where there is none, or several."""
    part = "topologies" if name is None else f"topology {name}"
    ui = StormPages(url, ClusterError, window=":all-time", part=part, **connection)
    if name is None:
        name = _only_topology(ui)
    path = topology_path(ui.topology_id(name))
    page, drawn = ui.page(path), ui.page(f"{path}/visualization")
    try:
        shown = _Page.model_validate(page)
        inputs = {each: _Drawn.model_validate(one).inputs for each, one in drawn.items()}
    except ValidationError as error:
        first = error.errors()[0]
        raise ui.failure(
            f"{ui.place} shows {'.'.join(map(str, first['loc']))} = {str(first['input'])[:80]!r} ({first['msg']}); "
            "check its version"
        ) from None
    if not shown.spouts:
        raise ui.failure(f"{ui.place}: topology {name!r} has no spouts yet; ask again when it has started")
    components: list[_Spout | _Bolt] = [*shown.spouts, *shown.bolts]
    reads = {
        one.name: [ReadStream(each.component, each.stream, each.grouping) for each in inputs.get(one.name, [])]
        for one in components
    }
    ratios = {
        bolt.name: (bolt.emitted / bolt.executed, f"{bolt.emitted:,.0f} emitted for {bolt.executed:,.0f} executed")
        for bolt in shown.bolts
        if bolt.executed >= ENOUGH_TUPLES
    }
    return JobDescription(
        name=name,
        engine=Engine.STORM,
        place=f"topology {name!r} of Storm's UI at {ui.place.partition(' at ')[2].partition(',')[0]}",
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


def _operator(one: _Spout | _Bolt) -> DescribedOperator:
    """Nobody tells how long a spout is busy."""
    if isinstance(one, _Spout) or one.executed < ENOUGH_TUPLES:
        return DescribedOperator(one.name, one.name, one.executors, one.tasks)
    told = f"mean execute latency of {one.executed:,.0f} tuples"
    return DescribedOperator(one.name, one.name, one.executors, one.tasks, one.latency_ms / 1000, told)
