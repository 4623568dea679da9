"""A trace: one arrival series as a CSV file with the columns `timestamp` and `count`, as published traces are."""

from dataclasses import dataclass
from datetime import UTC
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from forecasting.arrivals.grid import EPOCH, LATEST
from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.bounded_file import PACKED, unpacked_bytes
from forecasting.errors import HistoryError
from forecasting.local_time import instants_s

COLUMNS = ("timestamp", "count")
_MAX_WINDOWS = 20_000_000
MAX_COUNT = 1e15
"""Of a window; floats count exactly up to here, and no source delivers as much."""
_BLOCK_BYTES = 8 << 20
_OFFSET = r":\d{2}(?:\.\d+)?\s?(?:Z|[+-]\d{2}(?::?\d{2})?)$"


def is_trace_name(name: str) -> bool:
    """Whether a file of that name is a trace, packed or not, and no topology file."""
    path = Path(name.lower())
    return (path.with_suffix("") if path.suffix in PACKED else path).suffix == ".csv"


@dataclass(frozen=True)
class Trace:
    """bare_times: number of rows whose time has no offset, so that they follow the clock of the series."""

    series: ArrivalSeries
    bare_times: int


def read_trace(path: Path) -> ArrivalSeries:
    """The series of a file whose times without an offset are in UTC; see `read_local_trace`."""
    return read_local_trace(path, UTC_NAME).series


def read_local_trace(path: Path, timezone: str) -> Trace:
    """The series of a file: times with an offset, or by the clock of a time zone, whose days and weeks it follows. The
    most frequent distance between rows is the window.

    Windows without a row, and rows without a count, are missing. Raises HistoryError naming file, row, value and
    remedy.

    A compressed file (.gz, .bz2, .xz, .zst) is decompressed.
    """
    try:
        content = unpacked_bytes(path)
        if b"\0" in content:
            raise ValueError("it holds a null byte")
        rows = _rows(content)
    except FileNotFoundError:
        raise HistoryError(f"trace {path} does not exist; check the path") from None
    except OSError as error:
        raise HistoryError(f"trace {path} cannot be read: {error.strerror or error}; check the path") from None
    except (UnicodeDecodeError, ValueError) as error:
        raise HistoryError(
            f"trace {path} cannot be read as CSV: {' '.join(str(error).split()):.300}; check it"
        ) from None
    for name in COLUMNS:
        if list(rows.columns).count(name) > 1:
            raise HistoryError(f"trace {path} has the column {name!r} twice; leave one out")
        if name not in rows.columns:
            raise HistoryError(f"trace {path} has no column {name!r}; name its columns timestamp and count")
    times, bare_times = _times(path, rows["timestamp"], timezone)
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
    return Trace(ArrivalSeries("trace", path.stem, start, window_s, grid, timezone), bare_times)


def _rows(content: bytes) -> pd.DataFrame:
    """All columns, as text. Raises ValueError for a row with more or fewer cells than the header, which pandas takes:
    a torn row, or a count with a separator of thousands.
    """
    texts = csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string()))
    # One thread knows the number of a row; a row must fit into a block.
    reading = csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
    rows: pd.DataFrame = csv.read_csv(BytesIO(content), reading, convert_options=texts).to_pandas()
    return rows


def _times(path: Path, texts: "pd.Series[str]", timezone: str) -> tuple[np.ndarray, int]:
    """Seconds since the epoch, and the number of rows without an offset."""
    # pandas gives a time without an offset the offset of the previous row.
    stripped = texts.str.strip()
    bare = ~stripped.str.contains(_OFFSET)
    explicit = stripped.mask(bare & stripped.str.contains(":"), stripped + "Z")
    times = pd.to_datetime(explicit, format="ISO8601", utc=True, errors="coerce")
    if (bad := times.isna().to_numpy()).any():
        at = int(np.flatnonzero(bad)[0])
        raise HistoryError(
            f"trace {path}, row {at + 2}: timestamp {texts[at]!r:.200} is no time; write ISO 8601 such as "
            "2003-03-03T07:00:00Z"
        )
    micros = times.dt.as_unit("us").astype("int64").to_numpy()
    seconds, local = micros // 1_000_000, bare.to_numpy()
    # A year beyond the calendar is refused by its row, as it is in UTC.
    if timezone != UTC_NAME and local.any() and (seconds.min() >= 0) and seconds.max() < LATEST.timestamp():
        seconds, skipped = instants_s(seconds.astype(np.int64), local, timezone)
        if skipped is not None:
            raise HistoryError(
                f"trace {path}, row {skipped + 2}: the clock of {timezone} skips {texts[skipped]}; give the times "
                "their offset, or name no time zone if they are in UTC"
            )
    return seconds, int(local.sum())


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
