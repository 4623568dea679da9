"""When the feed was alive: distinguishes a window without events (zero) from one that nobody recorded (missing).

Spans are int64 arrays of shape (spans, 2): from and to in microseconds since the epoch, sorted and disjoint.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from forecasting.arrivals.grid import in_calendar, to_us
from forecasting.arrivals.history import STATUSES
from forecasting.bounded_file import check_regular
from forecasting.errors import HistoryError

Int64s = npt.NDArray[np.int64]
COVERAGE_COLUMNS = ("source", "alive_from", "alive_to")


def read_coverage(path: Path, timezone: str) -> dict[str, Int64s]:
    """Spans per source from a Parquet or CSV file with the columns source, alive_from, alive_to.

    timezone: of times without an offset. Raises HistoryError naming file, row, value and remedy.
    """
    table = _coverage_table(path)
    if lacking := [column for column in COVERAGE_COLUMNS if column not in table.column_names]:
        raise HistoryError(
            f"coverage file {path} has no column {lacking[0]!r}, only {', '.join(table.column_names)}; "
            f"its columns are {', '.join(COVERAGE_COLUMNS)}"
        )
    if table.num_rows == 0:
        raise HistoryError(f"coverage file {path} holds no row; list when the feed was alive, or leave coverage out")
    spans: dict[str, list[tuple[int, int]]] = {}
    for number, row in enumerate(table.select(COVERAGE_COLUMNS).to_pylist(), start=1):
        where = f"coverage file {path}, row {number}"
        if not row["source"]:
            raise HistoryError(f"{where} names no source; fill it in")
        alive_from, alive_to = (_moment_us(row[name], timezone, f"{where}: {name}") for name in COVERAGE_COLUMNS[1:])
        if alive_to < alive_from:
            raise HistoryError(
                f"{where}: alive_to {row['alive_to']} is before alive_from {row['alive_from']}; swap them"
            )
        spans.setdefault(str(row["source"]), []).append((alive_from, alive_to))
    return {source: merged_spans(given) for source, given in spans.items()}


def merged_spans(spans: Iterable[tuple[int, int]]) -> Int64s:
    """Sorted and disjoint spans with the same union; those that touch become one."""
    merged: list[list[int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return np.array(merged, dtype=np.int64).reshape(-1, 2)


def spans_without(spans: Int64s, taken: Int64s) -> Int64s:
    """The spans minus those taken out; both sorted and disjoint."""
    cuts = np.unique(np.concatenate([spans.reshape(-1), taken.reshape(-1)]))
    begins, ends = cuts[:-1], cuts[1:]
    keep = _holds(spans, begins) & ~_holds(taken, begins)
    return merged_spans(zip(begins[keep].tolist(), ends[keep].tolist(), strict=True))


def spans_between_events(first_us: Int64s, last_us: Int64s, max_silence_us: int) -> Int64s:
    """Spans without a silence longer than max_silence_us.

    first_us, last_us: shape (bins,), first and last event of each non-empty bin, in order of time. Bins must be no
    longer than max_silence_us, so that no longer silence hides within one.
    """
    return spans_between_breaks(first_us[1:] - last_us[:-1] > max_silence_us, first_us, last_us)


def spans_between_breaks(breaks: npt.NDArray[np.bool_], first_us: Int64s, last_us: Int64s) -> Int64s:
    """Spans over consecutive bins, cut where `breaks`, shape (bins - 1,), is set; first_us, last_us: shape (bins,)."""
    if first_us.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    begins, ends = np.concatenate([[True], breaks]), np.concatenate([breaks, [True]])
    return np.column_stack([first_us[begins], last_us[ends]]).astype(np.int64)


def covered_us(spans: Int64s, edges_us: Int64s) -> Int64s:
    """Microseconds covered by the spans between consecutive edges, shape (edges - 1,)."""
    if spans.size == 0:
        return np.zeros(edges_us.size - 1, dtype=np.int64)
    lengths = spans[:, 1] - spans[:, 0]
    before = np.concatenate([[0], np.cumsum(lengths)])
    # The last span that begins at or before an edge counts only up to the edge.
    latest = np.searchsorted(spans[:, 0], edges_us, side="right") - 1
    within = np.minimum(edges_us - spans[latest, 0], lengths[latest])
    return np.diff(np.where(latest < 0, 0, before[latest] + within))


def status_codes(
    spans: Int64s, edges_us: Int64s, counts: Int64s, held_back: Int64s | None = None
) -> npt.NDArray[np.int8]:
    """Index in STATUSES of each window's status, shape (windows,): observed if wholly alive, missing if not at all,
    else partial.

    held_back: spans in which something held the source back; a wholly alive window that touches one is throttled. A
    window with events is never missing, whatever the coverage says: no event is discarded.
    """
    observed, partial, throttled, missing = (np.int8(code) for code in range(len(STATUSES)))
    covered = covered_us(spans, edges_us)
    codes = np.where((covered > 0) | (counts > 0), partial, missing)
    codes[covered == np.diff(edges_us)] = observed
    if held_back is not None and held_back.size:
        codes[(codes == observed) & (covered_us(held_back, edges_us) > 0)] = throttled
    return codes


def _holds(spans: Int64s, moments_us: Int64s) -> npt.NDArray[np.bool_]:
    if spans.size == 0:
        return np.zeros(moments_us.shape, dtype=np.bool_)
    latest = np.searchsorted(spans[:, 0], moments_us, side="right") - 1
    return np.asarray((latest >= 0) & (moments_us < spans[latest, 1]))


def _coverage_table(path: Path) -> pa.Table:
    try:
        check_regular(path)
        if path.suffix == ".csv":
            text = pa.csv.ConvertOptions(column_types=dict.fromkeys(COVERAGE_COLUMNS, pa.string()))
            return pa.csv.read_csv(path, convert_options=text)
        return pa.parquet.ParquetFile(path).read()
    except FileNotFoundError:
        raise HistoryError(f"coverage file {path} does not exist; create it, or leave coverage out") from None
    except (OSError, pa.ArrowException) as error:
        raise HistoryError(
            f"coverage file {path} cannot be read: {str(error).splitlines()[0]}; give Parquet, or CSV named *.csv"
        ) from None


def _moment_us(value: object, timezone: str, where: str) -> int:
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.fromisoformat(value.strip())
    if not isinstance(value, datetime):
        raise HistoryError(f"{where} is {value!r}; write an ISO 8601 time such as 2003-03-03T07:00:00Z")
    try:
        return to_us(in_calendar(value if value.tzinfo else value.replace(tzinfo=ZoneInfo(timezone))))
    except ValueError as error:
        raise HistoryError(f"{where} is {error}") from None
