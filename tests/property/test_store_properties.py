"""The store of arrival history against a plain dictionary."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.storage.snapshots import snapshots
from forecasting.arrivals.store import read_history, write_history

START = datetime(2003, 3, 3, tzinfo=UTC)
WINDOW_S = 7200
WRITES = st.lists(
    st.tuples(st.integers(0, 40), st.lists(st.integers(0, 9), min_size=1, max_size=30)), min_size=1, max_size=5
)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(WRITES)
def test_history__holds_the_last_count_written_of_each_window(writes: list[tuple[int, list[int]]]) -> None:
    expected: dict[int, int] = {}
    with TemporaryDirectory() as folder:
        for first, counts in writes:
            start = START + timedelta(seconds=WINDOW_S * first)
            alive = np.array([[0, 2**62]])
            rows = history_rows("calls", "ingest", np.array(counts), alive, start=start, window_s=WINDOW_S)
            end = start + timedelta(seconds=WINDOW_S * len(counts))
            write_history(rows, Path(folder), "calls", start, end)
            expected |= {first + number: count for number, count in enumerate(counts)}
        series = read_history(Path(folder), "calls").series["ingest"]
    first = (series.start - START) // timedelta(seconds=WINDOW_S)
    found = {first + number: count for number, count in enumerate(series.counts) if not np.isnan(count)}
    assert found == expected


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(WRITES)
def test_every_commit__is_read_again_as_it_was(writes: list[tuple[int, list[int]]]) -> None:
    seen: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        for first, counts in writes:
            start = START + timedelta(seconds=WINDOW_S * first)
            rows = history_rows(
                "calls", "ingest", np.array(counts), np.array([[0, 2**62]]), start=start, window_s=WINDOW_S
            )
            end = start + timedelta(seconds=WINDOW_S * len(counts))
            snapshot = write_history(rows, Path(folder), "calls", start, end)
            seen[snapshot] = read_history(Path(folder), "calls").digest()
        assert snapshots(Path(folder), "calls")[0].id == snapshot
        assert {one.id for one in snapshots(Path(folder), "calls")} == set(seen)
        for snapshot, digest in seen.items():
            assert read_history(Path(folder), "calls", snapshot=snapshot).digest() == digest
