"""The examples of docs/history.md are topology files that can be used, and name every field that there is."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from shop_history import shop_file

from forescale.files.arrivals_section import EventsEntry, HeronEntry, KafkaEntry, PrometheusEntry, StormEntry
from forescale.files.topology import read_topology_file

DOCS = Path(__file__).resolve().parents[3] / "docs" / "history.md"
ENTRIES = {
    "events": EventsEntry,
    "kafka": KafkaEntry,
    "prometheus": PrometheusEntry,
    "heron": HeronEntry,
    "storm": StormEntry,
}


def sections() -> dict[str, dict[str, Any]]:
    """By kind."""
    blocks = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    bodies = [yaml.safe_load(block)["arrivals"] for block in blocks]
    return {body.get("kind", "events"): body for body in bodies}


def test_docs__have_one_example_a_kind() -> None:
    assert set(sections()) == set(ENTRIES)


@pytest.mark.parametrize("kind", ENTRIES)
def test_documented_example__is_a_section_of_its_kind(tmp_path: Path, kind: str) -> None:
    assert isinstance(read_topology_file(shop_file(tmp_path, sections()[kind])).arrivals, ENTRIES[kind])


@pytest.mark.parametrize("kind", ENTRIES)
def test_docs__name_every_field_of_each_kind(kind: str) -> None:
    told = DOCS.read_text()
    assert [name for name in ENTRIES[kind].model_fields if f"`{name}`" not in told] == []
