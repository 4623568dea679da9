from dataclasses import dataclass, field
from typing import Any

import pytest

from forescale.orchestration.hand_off import ARRIVAL_HISTORY, topologies_to_do

pytestmark = pytest.mark.airflow


@dataclass
class Event:
    extra: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def folder(tmp_path):
    for name in ("b.yaml", "a.yaml", "notes.txt"):
        (tmp_path / name).touch()
    return tmp_path


def test_topologies_to_do__is_the_one_asked_for(folder):
    events = {ARRIVAL_HISTORY: [Event({"topology": "a"})]}
    assert topologies_to_do("b", events, folder) == ["b"]


def test_topologies_to_do__are_those_of_all_queued_events_each_once(folder):
    events = {ARRIVAL_HISTORY: [Event({"topology": "b"}), Event({"topology": "a"}), Event({"topology": "b"})]}
    assert topologies_to_do(None, events, folder) == ["b", "a"]


def test_topologies_to_do__are_all_files_without_an_event(folder):
    assert topologies_to_do(None, {}, folder) == ["a", "b"]


def test_topologies_to_do__are_all_files_where_an_event_names_none(folder):
    assert topologies_to_do(None, {ARRIVAL_HISTORY: [Event({"topology": "b"}), Event()]}, folder) == ["a", "b"]


def test_topologies_to_do__says_what_to_do_about_an_empty_folder(tmp_path):
    with pytest.raises(ValueError, match=r"no topology file .* in .*; add one, or set FORESCALE_TOPOLOGIES"):
        topologies_to_do(None, {}, tmp_path)
