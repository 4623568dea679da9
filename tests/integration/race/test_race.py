"""The race in short: a real Kafka, a real Flink on slow cores, two rescales, and every event once."""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from kafka_broker import KafkaBrokerError, kafka_jars

from forescale.local.errors import ServiceError
from planner.replay.policy import Decision, Seen

pytestmark = [pytest.mark.flink, pytest.mark.kafka, pytest.mark.slow]

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "race_job"
MINUTES, PER_MINUTE, SPEED = 24, 12, 60.0
WORK_S, CORES = 0.01, 0.3


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    """The scripts lie outside the packages. Skipped without their tools, or where no CPU quota can be set."""
    sys.path.insert(0, str(FOLDER))
    try:
        kafka_jars()
        import_module("race_jars").connector_jars()
    except (KafkaBrokerError, ServiceError) as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    if not os.access("/sys/fs/cgroup/cpu", os.W_OK):
        pytest.skip("no CPU quota can be set on this machine")
    yield {name: import_module(name) for name in ("engine", "load", "course", "contest")}
    sys.path.remove(str(FOLDER))


@dataclass
class Scripted:
    """Three instances from minute 6 on, one from minute 15 on."""

    name: str = "scripted"
    every_s: float = 60.0
    first: Mapping[str, int] | None = None
    minutes: int = 0

    def decide(self, seen: Seen) -> Decision:
        self.minutes = seen.measured.minutes
        at = (seen.at_s - START_S) / 60
        return Decision({"read": 1, "work": 3 if 6 <= at < 15 else 1 if at >= 15 else 2}, "as the script says")


START_S = 1_772_496_000


def test_a_race__loses_and_doubles_no_event_over_its_rescales(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    raced_minutes, past = np.full(MINUTES, PER_MINUTE), np.full(60, PER_MINUTE)
    load = modules["load"].RaceLoad("read", START_S, raced_minutes, past, SPEED)
    with modules["engine"].raced_engine(tmp_path, 4) as engine:
        terms = modules["course"].CourseTerms(modules["contest"].TOPOLOGY, load, WORK_S, CORES, 30.0 / SPEED, 3)
        result = modules["course"].raced("scripted", engine, terms, 2, lambda topic: Scripted(), lambda text: None)
    totals = result.totals
    assert (totals.sent, totals.lost, totals.doubled) == (MINUTES * PER_MINUTE, 0, 0)
    assert totals.counted == totals.sent
    assert [each.plan["work"] for each in result.minutes.decisions] == [3, 1]
    assert set(np.unique(result.minutes.parallelism[:, 1])) <= {1, 2, 3}
    assert result.cpu_core_hours > 0
    assert np.isfinite(result.second_lag_s).all()
