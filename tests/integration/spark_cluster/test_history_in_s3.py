"""A real Spark cluster counts events into a history that lies in a real object store."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import Installation
from s3_server import BUCKET, LocalS3, local_s3, require_s3
from spark_cluster import SparkCluster

from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.storage.snapshots import snapshots
from forecasting.arrivals.store import read_history

pytestmark = [pytest.mark.spark, pytest.mark.s3, pytest.mark.slow]

DIRECTORY = S3Directory(BUCKET, "counted")
TOPOLOGY = """
topology: calls
operators: { feed: { service_s: 0.01 }, work: { service_s: 1.0 } }
streams: [{ from: feed, to: work }]
arrivals: { path: calls.csv, format: csv, columns: { time: at, source: feed, id: id }, window_s: 60 }
cluster: { kind: simulator, truth: truth, slots: 8, downtime_s: 20, parallelism: { feed: 1, work: 2 } }
"""
CALLS_CSV = [f"{n},2026-03-02T{n // 120:02d}:{n // 2 % 60:02d}:{n % 2 * 30:02d}Z,feed" for n in range(360)]
"""Two calls a minute, for three hours."""


@pytest.fixture
def s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalS3]:
    require_s3()
    with local_s3(tmp_path / "s3") as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


def installed(folder: Path, settings: str = "") -> Installation:
    folder.mkdir()
    (folder / "calls.yaml").write_text(TOPOLOGY)
    (folder / "calls.csv").write_text("\n".join(["id,at,feed", *CALLS_CSV, CALLS_CSV[0]]) + "\n")
    (folder / "forescale.env").write_text(settings)
    return Installation(folder)


def test_cluster_that_counts_into_the_store__makes_the_same_history_as_one_machine_on_disk(
    cluster: SparkCluster, s3: LocalS3, tmp_path: Path
) -> None:
    on_disk = installed(tmp_path / "disk")
    in_store = installed(tmp_path / "store", f"FORESCALE_HISTORY_URI={DIRECTORY}\n")
    span = ("--start", "2026-03-02", "--end", "2026-03-02T03:00", "--json")
    ended = on_disk.build("local[1]", "calls", *span).ended()
    assert ended.status == 0, ended.err
    # At once, the cluster counts the first two hours, and another machine the last two.
    halves = [
        in_store.build(cluster.master, "calls", "--start", "2026-03-02", "--end", "2026-03-02T02:00", "--json"),
        in_store.build("local[1]", "calls", "--start", "2026-03-02T01:00", "--end", "2026-03-02T03:00", "--json"),
    ]
    for half in halves:
        ended = half.ended()
        assert ended.status == 0, ended.err
        assert json.loads(ended.out)["snapshot"] in {one.id for one in snapshots(DIRECTORY, "calls")}
    found = read_history(DIRECTORY, "calls")
    assert found.series["feed"] == read_history(on_disk.folder / "history", "calls").series["feed"]
    assert found.snapshot == on_disk.snapshot()
    assert len(snapshots(DIRECTORY, "calls")) == 2
    assert not (in_store.folder / "history").exists()
