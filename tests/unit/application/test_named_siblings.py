"""`sources.NAME.like` of a topology file: what it takes, and what it refuses with field, value and remedy."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.airflow.day_and_night import TOPOLOGY

from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig, read_topology_file


def read(folder: Path, like: Any) -> TopologyConfig:
    path = folder / "topology.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(TOPOLOGY) | {"sources": {"receive": {"like": like}}}))
    return read_topology_file(path)


def test_siblings__are_named_as_topology_and_source(tmp_path: Path) -> None:
    assert read(tmp_path, ["shop/clicks", "shop/my orders/eu"]).like == {
        "receive": ["shop/clicks", "shop/my orders/eu"]
    }
    assert read(tmp_path, []).like == {}


@pytest.mark.parametrize(
    ("like", "told"),
    [
        (["clicks"], r"sources\.receive\.like\.0: .*'clicks'"),
        (["day-and-night/receive"], r"sources\.receive\.like names the source itself; name others"),
        (["shop/clicks", "shop/clicks"], r"sources\.receive\.like names shop/clicks twice"),
        (["day-and-night/work"], r"names day-and-night/work, which is no source of this topology; they are receive"),
        ([f"shop/{number}" for number in range(9)], r"sources\.receive\.like: .*8"),
    ],
)
def test_what_is_no_sibling__is_refused_with_field_value_and_remedy(tmp_path: Path, like: list[str], told: str) -> None:
    with pytest.raises(FileError, match=told):
        read(tmp_path, like)
