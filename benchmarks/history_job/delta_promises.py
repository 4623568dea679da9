"""Which promises of forescale's own store delta-rs keeps by itself; each one is tried out."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError

WINDOWS = 1440
FLIP_EVERY = 7
DAMAGE = (DeltaError, HistoryError, pa.ArrowException, OSError, ValueError)
Counts = npt.NDArray[np.float64] | npt.NDArray[np.int64]


def promises(folder: Path) -> Iterator[str]:
    yield f"two writers of a date that is new, a predicate each: {_two_writers(folder / 'a', _by_predicate)}"
    yield f"… add actions each: {_two_writers(folder / 'b', _by_actions)}"
    yield f"… and a transaction of the application: {_two_writers(folder / 'c', _by_transaction)}"
    yield f"one bit of a part flipped: {_flipped_bits(folder / 'flipped')}"
    yield f"… of the own store's: {_flipped_bits_of_own(folder / 'own')}"
    for what, torn in {"empty": _empty, "cut in half": _halved, "zeros": _zeroed}.items():
        yield f"last entry of the log {what}, as a power failure may leave it: {_torn_entry(folder / what, torn)}"
    yield f"read in a process that was forked from one that has read: {_forked(folder / 'forked')}"
    yield f"… of the own store: {_forked_own(folder / 'forked-own')}"
    yield f"files and folders brought to disk by a commit (fsync): {_synced(folder / 'synced')}"


def _windows(date: str, count: int) -> pa.Table:
    return pa.table({"date": [date] * WINDOWS, "count": np.full(WINDOWS, count)})


def _first(folder: Path) -> None:
    write_deltalake(folder, _windows("2026-03-02", 1), partition_by=["date"])


def _two_writers(folder: Path, write: Callable[[DeltaTable, str, int], None]) -> str:
    """Two writers have read the same version and write the same date."""
    _first(folder)
    one, other = DeltaTable(folder), DeltaTable(folder)
    write(one, "2026-03-03", 2)
    try:
        write(other, "2026-03-03", 3)
    except CommitFailedError as error:
        return f"the second is refused ({str(error).splitlines()[0]})"
    held = DeltaTable(folder).to_pyarrow_table()["date"].to_pylist().count("2026-03-03")
    return f"both succeed, the date holds {held} windows of {WINDOWS}"


def _by_predicate(table: DeltaTable, date: str, count: int) -> None:
    write_deltalake(table, _windows(date, count), mode="overwrite", predicate=f"date = '{date}'")


def _by_actions(table: DeltaTable, date: str, count: int, noted: CommitProperties | None = None) -> None:
    folder = Path(table.table_uri.removeprefix("file://"))
    path = folder / f"date={date}" / f"part-{count}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(_windows(date, count).drop_columns(["date"]), path)
    added = AddAction(str(path.relative_to(folder)), path.stat().st_size, {"date": date}, 0, True, "{}")
    schema = Schema.from_arrow(pa.schema([("date", pa.string()), ("count", pa.int64())]))
    replaced = [("date", "=", date)]
    table.create_write_transaction(
        [added], "overwrite", schema, ["date"], partition_filters=replaced, commit_properties=noted
    )


def _by_transaction(table: DeltaTable, date: str, count: int) -> None:
    noted = CommitProperties(app_transactions=[Transaction("forescale", table.version() + 1)])
    _by_actions(table, date, count, noted)


def _flipped_bits(folder: Path) -> str:
    counts = np.random.default_rng(1).poisson(3000, 2 * WINDOWS)
    write_deltalake(folder, pa.table({"date": ["2026-03-02"] * counts.size, "count": counts}), partition_by=["date"])
    return _flipped(folder, counts, lambda: DeltaTable(folder).to_pyarrow_table()["count"].to_numpy())


def _flipped_bits_of_own(folder: Path) -> str:
    counts = np.random.default_rng(1).poisson(3000, WINDOWS)
    _write_own(folder, counts)
    return _flipped(folder, counts, lambda: read_history(folder, "shop").series["orders"].counts)


def _write_own(folder: Path, counts: npt.NDArray[np.int64]) -> None:
    start = datetime(2026, 3, 2, tzinfo=UTC)
    rows = history_rows("shop", "orders", counts, np.array([[0, 2**62]]), start=start, window_s=60)
    write_history(rows, folder, "shop", start, start + timedelta(days=1))


def _flipped(folder: Path, counts: Counts, read: Callable[[], Counts]) -> str:
    part = next(folder.rglob("date=*/*.parquet"))
    content, told, silent, harmless = part.read_bytes(), 0, 0, 0
    for at in range(0, len(content), FLIP_EVERY):
        part.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        try:
            same = np.array_equal(read(), counts)
        except DAMAGE:
            told += 1
            continue
        silent, harmless = silent + (not same), harmless + same
    return (
        f"of {told + silent + harmless} flips {told} are reported, {silent} silently change counts, {harmless} do not"
    )


def _torn_entry(folder: Path, torn: Callable[[bytes], bytes]) -> str:
    _first(folder)
    _by_predicate(DeltaTable(folder), "2026-03-02", 2)
    entry = max(folder.glob("_delta_log/*.json"))
    entry.write_bytes(torn(entry.read_bytes()))
    try:
        found = set(DeltaTable(folder).to_pyarrow_table()["count"].to_pylist())
    except DAMAGE as error:
        return f"no version can be read ({str(error).splitlines()[0]})"
    return f"the commit is lost, counts are {found}"


def _empty(content: bytes) -> bytes:
    return b""


def _halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _zeroed(content: bytes) -> bytes:
    return b"\0" * len(content)


def _forked(folder: Path) -> str:
    _first(folder)
    return _read_after_fork("from deltalake import DeltaTable; read = lambda: DeltaTable(sys.argv[1])", folder)


def _forked_own(folder: Path) -> str:
    _write_own(folder, np.ones(WINDOWS, dtype=np.int64))
    imported = "from pathlib import Path; from forecasting.arrivals.store import read_history"
    return _read_after_fork(f"{imported}; read = lambda: read_history(Path(sys.argv[1]), 'shop')", folder)


def _read_after_fork(defined: str, folder: Path) -> str:
    script = (
        f"import os, sys; {defined}; read(); child = os.fork()\n"
        "if child: sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "read()"
    )
    ended = _run(["-c", script, str(folder)])
    said = [line for line in ended.stderr.splitlines() if "Forked process" in line]
    return "works" if ended.returncode == 0 else f"fails ({said[0].partition(' - ')[0] if said else ended.returncode})"


def _synced(folder: Path) -> str:
    if shutil.which("strace") is None:
        return "not looked at, strace is not installed"
    script = (
        "import sys, pyarrow as pa; from deltalake import write_deltalake\n"
        "for count in (1, 2): write_deltalake(sys.argv[1], pa.table({'count': [count]}), mode='overwrite')"
    )
    calls = "fsync,fdatasync,sync_file_range,syncfs,link,linkat"
    ended = _run(["-c", script, str(folder)], ["strace", "-f", "-q", "-e", f"trace={calls}"])
    lines = ended.stderr.splitlines()
    synced = sum("sync(" in line or "sync_file_range(" in line or "syncfs(" in line for line in lines)
    return f"{synced}, of {sum('link' in line and '_delta_log' in line for line in lines)} commits"


def _run(arguments: list[str], before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(
        [*before, sys.executable, *arguments], capture_output=True, text=True, env=environment, timeout=60
    )
