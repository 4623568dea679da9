"""Arrow columns as NumPy arrays: as pyarrow converts them, and without pandas."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from forecasting.arrivals.grid import from_us
from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import write_history
from forecasting.arrow_columns import column_of, floats, integers, words

CHUNKS = st.lists(st.lists(st.none() | st.integers(-(2**53), 2**53), max_size=12), max_size=4)


@given(chunks=CHUNKS, cut=st.integers(0, 9))
def test_numbers__are_those_of_the_column_in_any_chunks_and_slices(chunks: list[list[int | None]], cut: int) -> None:
    column = pa.chunked_array(chunks, pa.int64()).slice(cut)
    held = column.to_pylist()
    assert integers(column).tolist() == [number or 0 for number in held]
    np.testing.assert_array_equal(floats(column), [np.nan if number is None else number for number in held])
    assert integers(column).dtype == np.int64
    assert floats(column.cast(pa.float32(), safe=False)).dtype == np.float64


@given(chunks=st.lists(st.lists(st.sampled_from(["a", "b", "é", ""]), max_size=9), max_size=4), cut=st.integers(0, 9))
def test_words__are_those_of_the_column_in_any_chunks_and_slices(chunks: list[list[str]], cut: int) -> None:
    column = pa.chunked_array(chunks, pa.string()).slice(cut)
    of_row, names = words(column)
    assert [names[at] for at in of_row] == column.to_pylist()
    assert names == sorted(set(column.to_pylist()))


def test_integers__make_the_column_that_they_are_read_from() -> None:
    numbers = np.arange(12)[::3]
    assert column_of(numbers).equals(pa.array(numbers))
    assert integers(pa.chunked_array([column_of(numbers)])).tolist() == [0, 3, 6, 9]


def test_reading_a_history__imports_no_pandas(tmp_path: Path) -> None:
    """Its import takes longer than the answer of most commands."""
    start = from_us(0)
    counts = np.arange(3000, dtype=np.int64)
    spans = np.array([[0, 2900 * 60_000_000]], dtype=np.int64)
    rows = [history_rows("job", name, counts, spans, start=start, window_s=60) for name in ("in", "late")]
    write_history(pa.concat_tables(rows), tmp_path, "job", start, start + timedelta(minutes=3000))
    code = f"""
import sys
from datetime import UTC, datetime
from pathlib import Path
from forecasting.arrivals.quality import quality
from forecasting.arrivals.store import read_history
begin, end = datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 2, 6, tzinfo=UTC)
history = read_history(Path({str(tmp_path)!r}), "job", sources=["late"], start=begin, end=end)
held = quality(Path({str(tmp_path)!r}), "job", begin, end)
print(history.series["late"].counts[-1], held.total.kept, held.total.complete, "pandas" in sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # 30 hours of minutes: 0 + 1 + … + 1799, for each of two sources.
    assert result.stdout.split() == ["1799.0", str(1799 * 1800), "1.0", "False"]
