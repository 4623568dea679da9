"""A calibration as two JSON files, topology and profiles, the content of its model version."""

from pathlib import Path

from pydantic import TypeAdapter

from forescale.files.profile import read_profile_file, write_profile_file
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Topology

TOPOLOGY_FILE, PROFILES_FILE = "topology.json", "profiles.json"

_TOPOLOGY = TypeAdapter(Topology)


def write_calibration(folder: Path, topology: Topology, profiles: dict[str, OperatorProfile], measured_at: str) -> None:
    """Write into a folder, which is created if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TOPOLOGY_FILE).write_bytes(_TOPOLOGY.dump_json(topology, indent=1))
    write_profile_file(folder / PROFILES_FILE, topology.name, profiles, measured_at)


def read_calibration(folder: Path) -> tuple[Topology, dict[str, OperatorProfile]]:
    """Read what write_calibration wrote."""
    topology = _TOPOLOGY.validate_json((folder / TOPOLOGY_FILE).read_bytes())
    return topology, read_profile_file(folder / PROFILES_FILE)
