"""Which topologies have to be recorded, and what a reading gives."""

import math
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from shop_history import NAME, shop_file

from forecasting.errors import HistoryError
from forescale.jobs.record import record, record_steadily, steady_topologies
from forescale.settings import Settings
from forescale.situation.workspace import Workspace

STORM = {"kind": "storm", "url": "http://127.0.0.1:1", "spouts": {"orders": "order-spout"}}
KAFKA = {"kind": "kafka", "servers": "127.0.0.1:1", "topics": {"orders": "orders"}}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", topologies=tmp_path, clock="real")


def test_steady_topologies__are_those_of_storm_and_those_of_which_nobody_can_tell(settings: Settings) -> None:
    for name, section in {"kafka": KAFKA, "storm": STORM, "locked": STORM | {"token_env": "NOT_SET"}}.items():
        shop_file(settings.topologies / name, section).rename(settings.topologies / f"{name}.yaml")
    (settings.topologies / "broken.yaml").write_text("topology: [")
    names = ["broken", "gone", "kafka", "locked", "storm"]
    # To record a broken one fails by itself; the others are recorded meanwhile.
    assert steady_topologies(Workspace(settings), names) == ["broken", "gone", "locked", "storm"]


def test_record__of_a_source_that_keeps_what_came_is_nothing(settings: Settings) -> None:
    shop_file(settings.topologies, KAFKA)
    assert record(Workspace(settings), NAME) is None
    assert record_steadily(Workspace(settings), NAME, 1, math.inf, threading.Event(), print) is None


def test_record__that_was_told_to_stop_reads_nothing(settings: Settings) -> None:
    shop_file(settings.topologies, STORM)
    stop = threading.Event()
    stop.set()
    readings = record_steadily(Workspace(settings), NAME, 1, math.inf, stop, print)
    assert readings is not None
    assert (readings.recorded, readings.failed) == (0, 0)


def test_record__is_stopped_while_it_waits_for_its_turn(settings: Settings) -> None:
    shop_file(settings.topologies, STORM)
    stop, told = threading.Event(), []

    def tell(what: object) -> None:
        told.append(what)
        stop.set()

    begun = datetime.now(UTC)
    readings = record_steadily(Workspace(settings), NAME, 3600, math.inf, stop, tell)
    assert (datetime.now(UTC) - begun).total_seconds() < 60
    assert readings is not None
    assert readings.failed == 1
    assert isinstance(told[0], HistoryError)
