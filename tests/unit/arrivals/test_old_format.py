"""Histories that earlier versions wrote: manifests of format 1, parts of six columns."""

import json
import os
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.quality import quality
from forecasting.arrivals.rows import SCHEMA, history_rows
from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.arrivals.storage.snapshots import snapshots
from forecasting.arrivals.store import built_until, read_history, write_history

START = datetime(2003, 3, 3, tzinfo=UTC)
DAY = timedelta(days=1)
COMMITTED = datetime(2003, 3, 7, 5, tzinfo=UTC)
ALIVE = [[0, 2**62]]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Three dates of four windows of six hours, as format 1 has them, written byte by byte."""
    parts = {}
    for number, date in enumerate(("2003-03-03", "2003-03-04", "2003-03-05")):
        starts = [START + number * DAY + hours * timedelta(hours=6) for hours in range(4)]
        table = pa.table(
            {
                "topology": ["calls"] * 4,
                "source": ["ingest"] * 4,
                "window_start": pa.array(starts, pa.timestamp("us", tz="UTC")),
                "window_s": pa.array([21600] * 4, pa.int32()),
                "count": pa.array([number, None, 7, 8], pa.int64()),
                "status": ["observed", "missing", "partial", "observed"],
            }
        )
        buffer = pa.BufferOutputStream()
        pq.write_table(table, buffer)
        content = buffer.getvalue().to_pybytes()
        parts[date] = f"part-{sha256(content).hexdigest()[:32]}.parquet"
        folder = tmp_path / "topology=calls" / f"date={date}"
        folder.mkdir(parents=True)
        (folder / parts[date]).write_bytes(content)
    manifest = tmp_path / "topology=calls" / "_manifest.json"
    manifest.write_text(json.dumps({"format": 1, "window_s": 21600, "parts": parts}, indent=1))
    os.utime(manifest, (COMMITTED.timestamp(), COMMITTED.timestamp()))
    return tmp_path


def rows_of_day(number: int, count: int) -> pa.Table:
    start = START + number * DAY
    return history_rows("calls", "ingest", np.full(4, count), np.array(ALIVE), start=start, window_s=21600)


def test_old_history__is_read_as_offered_load_without_tallies(directory: Path) -> None:
    nan = float("nan")
    found = read_history(directory, "calls").series["ingest"].counts.tolist()
    assert found == pytest.approx([0, nan, nan, 8, 1, nan, nan, 8, 2, nan, nan, 8], nan_ok=True)
    rows = read_commit(directory, "calls", None, partial(rows_between, start=START, end=START + DAY))[1]
    assert rows.schema == SCHEMA
    assert rows["rows_read"].to_pylist() == [0, 0, 7, 8]
    assert set(rows["measures"].to_pylist()) == {"offered"}
    judged = quality(directory, "calls", START, START + DAY).total
    assert (judged.rows_read, judged.kept, judged.observed, judged.partial, judged.missing) == (15, 15, 2, 1, 1)


def test_old_history__was_built_until_the_end_of_its_last_window(directory: Path) -> None:
    assert built_until(directory, "calls") == START + 3 * DAY
    write_history(rows_of_day(0, 5), directory, "calls", START, START + DAY)
    assert built_until(directory, "calls") == START + 3 * DAY


def test_old_history__is_a_commit_that_can_be_read_after_the_next_one(directory: Path) -> None:
    before = read_history(directory, "calls")
    listed = snapshots(directory, "calls")
    assert [(one.id, one.committed_at, one.dates) for one in listed] == [(before.snapshot, COMMITTED, 3)]
    half = rows_of_day(1, 5).slice(2)
    write_history(half, directory, "calls", START + DAY + timedelta(hours=12), START + 2 * DAY)
    after = read_history(directory, "calls").series["ingest"].counts
    assert after[4:8].tolist() == pytest.approx([1, float("nan"), 5, 5], nan_ok=True)
    again = read_history(directory, "calls", snapshot=before.snapshot)
    assert again.digest() == before.digest()
    assert [one.committed_at for one in snapshots(directory, "calls")][1:] == [COMMITTED]


def test_old_history__whose_last_part_is_damaged_is_mended_by_building_its_day_again(directory: Path) -> None:
    part = next((directory / "topology=calls" / "date=2003-03-05").iterdir())
    part.write_bytes(b"PAR1")
    write_history(rows_of_day(2, 5), directory, "calls", START + 2 * DAY, START + 3 * DAY)
    assert read_history(directory, "calls", start=START + 2 * DAY).series["ingest"].counts.tolist() == [5] * 4
    assert built_until(directory, "calls") == START + 3 * DAY
