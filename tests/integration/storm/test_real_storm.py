"""Operator samples and arrivals from the UI of a real Storm, whose bolts work for known times (tests/storm/words.clj).

One file, so that all of it shares one Storm.
"""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from storm_cluster import TOPOLOGY, StormCluster, storm_cluster
from tutorial import run_tutorial

from forecasting.arrivals.sources.storm_ui import StormUi
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from planner.clusters.storm_description import storm_description
from planner.clusters.storm_samples import storm_operator_samples
from planner.errors import ClusterError

pytestmark = [pytest.mark.storm, pytest.mark.slow]

WORDS = Topology(
    "words",
    (Operator("lines"), Operator("split"), Operator("count", 5)),
    (Stream("lines", "split"), Stream("split", "count", Grouping.FIELDS), Stream("lines", "count")),
    Engine.STORM,
)
FEWEST = 500.0
"""Tuples after which means are steady."""


@pytest.fixture(scope="module")
def storm(storm_there: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StormCluster]:
    with storm_cluster(tmp_path_factory.mktemp("storm")) as running:
        yield running


@pytest.fixture(scope="module")
def samples(storm: StormCluster) -> Sequence[OperatorSample]:
    """After enough tuples; read again while what one executor reported is far from what another one did: they report
    every second, each for itself, and later where the machine is busy.
    """
    deadline = time.monotonic() + 120
    while True:
        found = storm_operator_samples(
            storm.url, topology_name=TOPOLOGY, topology=WORDS, operators={"lines": "feed"}, timeout_s=120.0
        )
        emitted = found[0].records_in
        read = sum(each.records_in_by["lines->count"] for each in _of(found, "count"))
        if emitted >= FEWEST and read == pytest.approx(emitted, rel=0.1):
            return found
        assert time.monotonic() < deadline, f"Storm told of {emitted} tuples emitted and {read} read in two minutes"
        time.sleep(1.0)


def _of(samples: Sequence[OperatorSample], operator: str) -> list[OperatorSample]:
    return [sample for sample in samples if sample.operator == operator]


def test_executors__are_told_one_by_one(samples: Sequence[OperatorSample]) -> None:
    assert [(each.operator, each.index, each.parallelism) for each in samples] == [
        ("lines", 0, 1),
        ("split", 0, 1),
        ("count", 0, 2),
        ("count", 1, 2),
    ]
    assert all(10 < each.span_s <= 600 and each.age_s == 0 for each in samples)


def test_service_time__is_what_the_bolts_work(samples: Sequence[OperatorSample]) -> None:
    """At least: processors may be taken from them, and calls around the work take their time."""
    (split,) = _of(samples, "split")
    assert split.busy_s / split.records_in >= 0.002 - 1e-6
    assert split.busy_s <= 1.05 * split.span_s
    counts = _of(samples, "count")
    for stream, work_s in (("lines->count", 0.001), ("split->count", 0.0005)):
        busy_s = sum(each.busy_s_by[stream] for each in counts)
        # Latencies are told to half a microsecond.
        assert busy_s / sum(each.records_in_by[stream] for each in counts) >= work_s - 2e-6


def test_tuples__are_counted_by_stream_without_ticks(samples: Sequence[OperatorSample]) -> None:
    (lines,), (split,), counts = (_of(samples, name) for name in ("lines", "split", "count"))
    assert lines.records_out == {"lines->split": lines.records_in, "lines->count": lines.records_in}
    assert split.records_out["split->count"] == pytest.approx(3 * split.records_in, rel=0.02)
    by_lines = sum(each.records_in_by["lines->count"] for each in counts)
    by_split = sum(each.records_in_by["split->count"] for each in counts)
    assert by_lines == pytest.approx(lines.records_in, rel=0.1)
    # Those of split may still wait.
    assert 2 * by_lines < by_split <= 3.3 * by_lines
    assert sum(each.records_in for each in counts) == pytest.approx(by_lines + by_split)


def test_what_does_not_run__is_told(storm: StormCluster) -> None:
    with pytest.raises(ClusterError, match=r"topology clicks does not run; known are: words\. Submit it"):
        storm_operator_samples(storm.url, topology_name="clicks", topology=WORDS)
    with pytest.raises(ClusterError, match=r"no component 'lines' .* its components are count, feed, split"):
        storm_operator_samples(storm.url, topology_name=TOPOLOGY, topology=WORDS)


def test_arrivals__are_recorded_from_the_same_ui(storm: StormCluster, tmp_path: Path) -> None:
    source = StormUi(storm.url, TOPOLOGY, {"lines": "feed"}, tmp_path / "log", timeout_s=120.0)
    recorded = source.record(datetime.now(UTC))
    assert recorded.added
    assert int(recorded.line.partition("emitted feed ")[2].partition(",")[0]) > 0


def test_description__is_what_was_submitted(storm: StormCluster) -> None:
    job = storm_description(storm.url, None, timeout_s=120.0)
    assert (job.name, job.runs, job.sources, job.sinks) == (TOPOLOGY, True, ("feed",), ("count",))
    operators = {each.name: (each.parallelism, each.max_parallelism) for each in job.operators}
    assert operators == {"feed": (1, 1), "split": (1, 1), "count": (2, 5)}
    assert {(each.upstream, each.downstream, each.grouping) for each in job.streams} == {
        ("feed", "split", Grouping.SHUFFLE),
        ("feed", "count", Grouping.SHUFFLE),
        ("split", "count", Grouping.FIELDS),
    }


def test_tutorial__goes_from_a_topology_that_nobody_described_to_what_plans_can_carry(
    storm: StormCluster, samples: Sequence[OperatorSample], tmp_path: Path
) -> None:
    """Behind the samples, so that Storm has counted enough."""
    told = run_tutorial("A Storm topology", tmp_path, {"STORM_UI": storm.url})
    assert "words: good" in told
    assert "split ← bottleneck" in told
