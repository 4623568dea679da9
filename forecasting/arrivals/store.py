"""The arrival history on disk: `DIR/topology=NAME/date=YYYY-MM-DD/part-….parquet`, and a manifest of what is in force.

A write first adds parts under names of their own, then replaces the manifest: that one rename is the commit. Whoever
reads goes by the manifest, so a crash at any moment leaves the old interval or the new one, never half of either.
"""

import fcntl
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from forecasting.arrivals.grid import DAY_S, SECOND_US, from_us, to_us, whole_windows
from forecasting.arrivals.history import OBSERVED, ArrivalHistory, ArrivalSeries
from forecasting.arrivals.manifest import Manifest, read_manifest, sync_folder, write_durably, write_manifest
from forecasting.arrivals.rows import SCHEMA, checked_rows, window_starts_us, with_own_columns
from forecasting.errors import HistoryError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_ATTEMPTS = 5


def write_history(rows: pa.Table, directory: Path, topology: str, start: datetime, end: datetime) -> None:
    """Make these rows the history of the topology in [start, end), snapped to whole windows; the rest stays as it is.

    rows: columns as in history.COLUMNS, any order; every source and window at most once. What the interval held before
    is gone. Doing it twice changes nothing. Writers wait for each other; readers see one commit or the next.
    Raises HistoryError for rows of another topology, off the grid, outside the interval or twice, and where the
    history at hand has windows of another width; nothing is then written.
    """
    folder = _folder(directory, topology)
    rows, window_s = checked_rows(rows, topology)
    start, end = whole_windows(start, end, window_s)
    begin_us, end_us = to_us(start), to_us(end)
    starts_us = window_starts_us(rows)
    if (outside := (starts_us < begin_us) | (starts_us >= end_us)).any():
        raise HistoryError(
            f"history of topology {topology!r}: window at {from_us(starts_us[outside][0])} lies outside the interval "
            f"{start} to {end} that is to be replaced; widen the interval"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with _only_writer(folder):
        manifest = read_manifest(folder) or Manifest(window_s, {})
        if manifest.window_s != window_s:
            raise HistoryError(
                f"history of topology {topology!r} in {folder} has windows of {manifest.window_s} s, these rows "
                f"{window_s} s; keep to one width, or remove {folder} and rebuild"
            )
        parts = dict(manifest.parts)
        for date in _dates(start, end):
            day_us = int(np.datetime64(date, "us").astype(np.int64))
            next_day_us = day_us + DAY_S * SECOND_US
            merged = rows.filter(_between(rows, day_us, next_day_us))
            # A day that is replaced as a whole is not read before, so that building it again repairs it.
            if date in parts and not (begin_us <= day_us and next_day_us <= end_us):
                old = _read_part_in_force(folder / f"date={date}" / parts[date])
                merged = pa.concat_tables([merged, old.filter(~_between(old, begin_us, end_us))])
            if merged.num_rows:
                parts[date] = _write_part(folder / f"date={date}", merged)
            else:
                parts.pop(date, None)
        write_manifest(folder, Manifest(window_s, parts))
        _sweep(folder, parts)


def read_history(
    directory: Path,
    topology: str,
    *,
    sources: Collection[str] | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
) -> ArrivalHistory:
    """The history of the topology: one series per source, of the windows that lie wholly in [start, end).

    A series runs from the first window of its source to the last of all sources asked for; windows that are partial,
    missing or were never written are NaN.
    Raises HistoryError for an unknown topology or source, an empty interval and a damaged file.
    """
    window_s, rows = _read_commit(_folder(directory, topology), directory, topology, start, end)
    known = sorted(set(rows["source"].to_pylist()))
    if unknown := sorted(set(sources or ()) - set(known)):
        raise HistoryError(
            f"topology {topology!r} has no arrival history of source {unknown[0]!r}; known are {', '.join(known)}"
        )
    width_us = window_s * SECOND_US
    starts_us = window_starts_us(rows)
    # Counts as floats: exact up to 2^53, and a null becomes NaN.
    counts = rows["count"].to_numpy().astype(np.float64)
    observed = pa.compute.equal(rows["status"], OBSERVED).to_numpy()
    at_source = {name: pa.compute.equal(rows["source"], name).to_numpy() for name in sources or known}
    last_us = max(int(starts_us[chosen].max()) for chosen in at_source.values())
    series = {}
    for source, chosen in sorted(at_source.items()):
        first_us = int(starts_us[chosen].min())
        grid = np.full((last_us - first_us) // width_us + 1, np.nan)
        whole = chosen & observed
        grid[(starts_us[whole] - first_us) // width_us] = counts[whole]
        series[source] = ArrivalSeries(topology, source, from_us(first_us), window_s, grid)
    return ArrivalHistory(topology, series)


def _folder(directory: Path, topology: str) -> Path:
    if not _NAME.fullmatch(topology):
        raise HistoryError(f"topology name {topology!r} cannot name a folder; use letters, digits, '_', '.' and '-'")
    return directory / f"topology={topology}"


def _dates(start: datetime, end: datetime) -> list[str]:
    """ISO dates on which windows of [start, end) start."""
    first, last = to_us(start) // (DAY_S * SECOND_US), (to_us(end) - 1) // (DAY_S * SECOND_US)
    return [str(np.datetime64(day, "D")) for day in range(first, last + 1)]


def _between(rows: pa.Table, begin_us: int, end_us: int) -> np.ndarray:
    starts_us = window_starts_us(rows)
    return (starts_us >= begin_us) & (starts_us < end_us)


def _write_part(folder: Path, rows: pa.Table) -> str:
    """The name of a part file with these rows; the same rows always give the same name."""
    buffer = pa.BufferOutputStream()
    pa.parquet.write_table(rows.sort_by([("source", "ascending"), ("window_start", "ascending")]), buffer)
    content = buffer.getvalue().to_pybytes()
    name = f"part-{sha256(content).hexdigest()[:32]}.parquet"
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)
    write_durably(folder / name, content)
    return name


def _read_part_in_force(path: Path) -> pa.Table:
    try:
        return _read_part(path)
    except FileNotFoundError:
        raise HistoryError(f"{path} is missing; build the history of its whole date again") from None


def _read_part(path: Path) -> pa.Table:
    """Rows of a part file. Raises FileNotFoundError when it is gone, HistoryError when it is not what was written."""
    remedy = f"build the history of the whole {path.parent.name} again"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise HistoryError(f"{path} cannot be read: {error}; check its permissions, or {remedy}") from None
    if sha256(content).hexdigest()[:32] != path.stem.removeprefix("part-"):
        raise HistoryError(f"{path} is damaged: its content does not match its name; {remedy}")
    return with_own_columns(pa.parquet.ParquetFile(pa.BufferReader(content)).read())


def _read_commit(
    folder: Path, directory: Path, topology: str, start: datetime | None, end: datetime | None
) -> tuple[int, pa.Table]:
    """Width of the windows in seconds, and the rows of one commit that lie in [start, end)."""
    for _ in range(_ATTEMPTS):
        manifest = read_manifest(folder)
        if manifest is None or not manifest.parts:
            raise HistoryError(
                f"topology {topology!r} has no arrival history in {directory}; known are "
                f"{', '.join(_topologies(directory)) or 'none'}; run `forescale history build`"
            )
        try:
            return manifest.window_s, _rows_between(folder, manifest, start, end)
        except FileNotFoundError as error:
            gone = error.filename
            if read_manifest(folder) == manifest:
                raise HistoryError(f"{gone} is missing; build the history of its date again") from None
        # Else a writer has committed and swept in the meantime: the next look sees its commit.
    raise HistoryError(f"history in {folder} changed {_ATTEMPTS} times while it was read; let its writers finish")


def _rows_between(folder: Path, manifest: Manifest, start: datetime | None, end: datetime | None) -> pa.Table:
    width = timedelta(seconds=manifest.window_s)
    from_date = "" if start is None else from_us(to_us(start)).date().isoformat()
    to_date = "9999-12-31" if end is None else from_us(to_us(end)).date().isoformat()
    dates = [date for date in sorted(manifest.parts) if from_date <= date <= to_date]
    tables = [_read_part(folder / f"date={date}" / manifest.parts[date]) for date in dates]
    rows = pa.concat_tables([SCHEMA.empty_table(), *tables])
    begin_us = np.iinfo(np.int64).min if start is None else to_us(start)
    last_us = np.iinfo(np.int64).max if end is None else to_us(end - width) + 1
    rows = rows.filter(_between(rows, begin_us, last_us))
    if rows.num_rows == 0:
        raise HistoryError(
            f"history in {folder} has no whole window between {start} and {end}; it covers the dates "
            f"{min(manifest.parts)} to {max(manifest.parts)}"
        )
    return rows


def _topologies(directory: Path) -> list[str]:
    return sorted(path.parent.name.removeprefix("topology=") for path in directory.glob("topology=*/_manifest.json"))


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    with (folder / "_lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sweep(folder: Path, parts: Mapping[str, str]) -> None:
    """Remove parts that are no longer in force, and what a crash has left."""
    for path in [*folder.glob("date=*/part-*"), *folder.glob("date=*/.part-*")]:
        if parts.get(path.parent.name.removeprefix("date=")) != path.name:
            path.unlink(missing_ok=True)
