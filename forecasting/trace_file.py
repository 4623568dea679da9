"""A trace: one arrival series as a CSV file with the columns `timestamp` and `count`, as published traces are."""

from datetime import UTC
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from forecasting.arrivals.grid import EPOCH, LATEST
from forecasting.arrivals.history import ArrivalSeries
from forecasting.bounded_file import PACKED, unpacked_bytes
from forecasting.errors import HistoryError

COLUMNS = ("timestamp", "count")
_MAX_WINDOWS = 20_000_000
MAX_COUNT = 1e15
"""Of a window; floats count exactly up to here, and no source delivers as much."""
_OFFSET = r":\d{2}(?:\.\d+)?\s?(?:Z|[+-]\d{2}(?::?\d{2})?)$"


def is_trace_name(name: str) -> bool:
    """Whether a file of that name is a trace, packed or not, and no topology file."""
    path = Path(name.lower())
    return (path.with_suffix("") if path.suffix in PACKED else path).suffix == ".csv"


def read_trace(path: Path) -> ArrivalSeries:
    """The series of a file: times with an offset, or in UTC; the most frequent distance between rows is the window.

    Windows without a row, and rows without a count, are missing. Raises HistoryError naming file, row, value and
    remedy.

    A compressed file (.gz, .bz2, .xz, .zst) is decompressed.
    """
    try:
        content = unpacked_bytes(path)
        if b"\0" in content:
            raise ValueError("it holds a null byte")
        rows = pd.read_csv(BytesIO(content), dtype=str, usecols=lambda name: name in COLUMNS, keep_default_na=False)
    except FileNotFoundError:
        raise HistoryError(f"trace {path} does not exist; check the path") from None
    except OSError as error:
        raise HistoryError(f"trace {path} cannot be read: {error.strerror or error}; check the path") from None
    except (UnicodeDecodeError, ValueError) as error:
        raise HistoryError(f"trace {path} cannot be read as CSV: {' '.join(str(error).split())}; check it") from None
    for name in COLUMNS:
        if name not in rows.columns:
            raise HistoryError(f"trace {path} has no column {name!r}; name its columns timestamp and count")
    times = _times(path, rows["timestamp"])
    counts = _counts(path, rows["count"])
    if (outside := np.flatnonzero((times < 0) | (times >= LATEST.timestamp()))).size:
        at = int(outside[0])
        raise HistoryError(
            f"trace {path}, row {at + 2}: timestamp {rows['timestamp'][at]} is not between {EPOCH.year} and "
            f"{LATEST.year - 1}; correct it"
        )
    if times.size < 2:
        raise HistoryError(
            f"trace {path} has {times.size} rows; at least two are needed to know the width of its windows"
        )
    steps = np.diff(times)
    if (back := np.flatnonzero(steps <= 0)).size:
        at = int(back[0]) + 1
        raise HistoryError(
            f"trace {path}, row {at + 2}: timestamp {rows['timestamp'][at]} does not come after "
            f"{rows['timestamp'][at - 1]}; sort the rows, give one per window, and give local times their offset"
        )
    widths, seen = np.unique(steps, return_counts=True)
    window_s = int(widths[np.argmax(seen)])
    place, off = np.divmod(times - times[0], window_s)
    if off.any():
        at = int(np.flatnonzero(off)[0])
        raise HistoryError(
            f"trace {path}, row {at + 2}: timestamp {rows['timestamp'][at]} is not on the grid of {window_s} s from "
            f"{rows['timestamp'][0]} on; round the timestamps to it"
        )
    if place[-1] >= _MAX_WINDOWS:
        raise HistoryError(f"trace {path} spans {place[-1] + 1} windows of {window_s} s; correct the timestamps")
    grid = np.full(int(place[-1]) + 1, np.nan)
    grid[place] = counts
    start = pd.Timestamp(int(times[0]), unit="s", tz=UTC).to_pydatetime()
    return ArrivalSeries("trace", path.stem, start, window_s, grid)


def _times(path: Path, texts: "pd.Series[str]") -> np.ndarray:
    """Seconds since the epoch."""
    # pandas gives a time without an offset the offset of the previous row.
    stripped = texts.str.strip()
    bare = stripped.str.contains(":") & ~stripped.str.contains(_OFFSET)
    explicit = stripped.mask(bare, stripped + "Z")
    times = pd.to_datetime(explicit, format="ISO8601", utc=True, errors="coerce")
    if (bad := times.isna().to_numpy()).any():
        at = int(np.flatnonzero(bad)[0])
        raise HistoryError(
            f"trace {path}, row {at + 2}: timestamp {texts[at]!r:.200} is no time; write ISO 8601 such as "
            "2003-03-03T07:00:00Z"
        )
    micros = times.dt.as_unit("us").astype("int64").to_numpy()
    return micros // 1_000_000


def _counts(path: Path, texts: "pd.Series[str]") -> np.ndarray:
    stripped = texts.str.strip()
    unknown = stripped.str.lower().isin(["", "nan", "null"]).to_numpy()
    counts = pd.to_numeric(stripped.mask(unknown, "0"), errors="coerce").to_numpy(dtype=np.float64)
    if (bad := ~((counts >= 0) & (counts <= MAX_COUNT))).any():
        at = int(np.flatnonzero(bad)[0])
        raise HistoryError(
            f"trace {path}, row {at + 2}: count {texts[at]!r:.200}; give a number from 0 to {MAX_COUNT:g}, or nothing "
            "where it is missing"
        )
    return np.where(unknown, np.nan, counts)
