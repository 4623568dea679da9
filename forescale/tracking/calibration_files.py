"""A calibration as two JSON files, a topology and its profiles: what its model version is made of."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from forescale.files.profile import read_profile_file, write_profile_file
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology

TOPOLOGY_FILE, PROFILES_FILE = "topology.json", "profiles.json"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _OperatorEntry(_Strict):
    name: str
    max_parallelism: int


class _StreamEntry(_Strict):
    upstream: str
    downstream: str
    grouping: Grouping
    label: str = ""
    shares: tuple[float, ...] = ()


class _TopologyEntry(_Strict):
    name: str
    engine: Engine
    operators: list[_OperatorEntry]
    streams: list[_StreamEntry]


def write_calibration(folder: Path, topology: Topology, profiles: dict[str, OperatorProfile], measured_at: str) -> None:
    """Into a folder, made where it does not exist."""
    entry = _TopologyEntry(
        name=topology.name,
        engine=topology.engine,
        operators=[_OperatorEntry(name=o.name, max_parallelism=o.max_parallelism) for o in topology.operators],
        streams=[
            _StreamEntry(
                upstream=stream.upstream,
                downstream=stream.downstream,
                grouping=stream.grouping,
                label=stream.label,
                shares=stream.shares,
            )
            for stream in topology.streams
        ],
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TOPOLOGY_FILE).write_text(entry.model_dump_json(indent=1), encoding="utf-8")
    write_profile_file(folder / PROFILES_FILE, topology.name, profiles, measured_at)


def read_calibration(folder: Path) -> tuple[Topology, dict[str, OperatorProfile]]:
    """What write_calibration wrote."""
    entry = _TopologyEntry.model_validate_json((folder / TOPOLOGY_FILE).read_bytes())
    topology = Topology(
        entry.name,
        tuple(Operator(operator.name, operator.max_parallelism) for operator in entry.operators),
        tuple(Stream(s.upstream, s.downstream, s.grouping, s.label, s.shares) for s in entry.streams),
        entry.engine,
    )
    return topology, read_profile_file(folder / PROFILES_FILE)
