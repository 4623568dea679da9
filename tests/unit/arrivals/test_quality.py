"""The quality of a stretch of history."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.quality import SourceQuality, quality
from forecasting.arrivals.store import write_history
from forecasting.errors import HistoryError

START = datetime(2003, 3, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)
START_US = int(START.timestamp()) * 1_000_000


def spans(*hours: tuple[float, float]) -> np.ndarray:
    return (np.array(hours, dtype=float).reshape(-1, 2) * 3600e6).astype(np.int64) + START_US


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    tallies = {
        "rows_read": np.array([6, 9, 8, 2]),
        "duplicates": np.array([1, 0, 2, 0]),
        "late": np.array([0, 3, 0, 0]),
        "future": np.array([0, 1, 0, 1]),
        "skipped_hour": np.array([0, 0, 1, 0]),
    }
    ingest = SourceArrivals(np.array([5, 5, 5, 1]), spans((0, 3.5)), spans((2, 3)), tallies)
    mail = SourceArrivals(np.array([0, 7, 0, 0]), spans((0, 2)))
    told = Arrivals(START, START + 4 * HOUR, 3600, Measures.OFFERED, {"ingest": ingest, "mail": mail})
    write_history(told, tmp_path, "calls", START, START + 4 * HOUR)
    return tmp_path


def test_quality__tells_what_became_of_rows_and_windows_by_source_and_in_total(directory: Path) -> None:
    found = quality(directory, "calls", START, START + 4 * HOUR)
    assert found.sources["ingest"] == SourceQuality(
        rows_read=6 + 9 + 8 + 2,
        kept=16,
        duplicates=3,
        late=3,
        quarantined={"future": 2, "unset_clock": 0, "skipped_hour": 1, "damaged": 0},
        observed=2,
        partial=1,
        throttled=1,
        missing=0,
    )
    assert found.sources["mail"].missing == 2
    assert (found.total.kept, found.total.observed, found.total.missing) == (23, 4, 2)
    assert found.sources["ingest"].complete == 2 / 4
    assert found.complete == 4 / 8


def test_windows_never_written__count_as_missing(directory: Path) -> None:
    # Of the eight windows from 20:30 of the day before (so from 21:00) to 5:00, three are before and one is after.
    found = quality(directory, "calls", START - 3.5 * HOUR, START + 5 * HOUR, sources=["ingest"])
    assert (found.start, found.end) == (START - 3 * HOUR, START + 5 * HOUR)
    assert (found.total.windows, found.total.missing, found.total.observed) == (8, 4, 2)


def test_source_that_ought_to_be_there__is_missing_throughout(directory: Path) -> None:
    found = quality(directory, "calls", START, START + 4 * HOUR, sources=["ingest", "chat"])
    assert set(found.sources) == {"ingest", "chat"}
    assert (found.sources["chat"].missing, found.sources["chat"].rows_read, found.sources["chat"].complete) == (4, 0, 0)


def test_interval_without_a_window__is_refused(directory: Path) -> None:
    with pytest.raises(HistoryError, match="no whole window between"):
        quality(directory, "calls", START + timedelta(days=2), START + timedelta(days=3))
    with pytest.raises(HistoryError, match="no window of 3600 s lies between"):
        quality(directory, "calls", START + 0.2 * HOUR, START + 0.8 * HOUR, sources=["ingest"])


def test_quality_of_a_past_commit__stays_as_it_was(directory: Path) -> None:
    before = quality(directory, "calls", START, START + 4 * HOUR)
    none = SourceArrivals(np.zeros(4, dtype=np.int64), spans())
    told = Arrivals(START, START + 4 * HOUR, 3600, Measures.OFFERED, {"ingest": none})
    write_history(told, directory, "calls", START, START + 4 * HOUR)
    assert quality(directory, "calls", START, START + 4 * HOUR).total.missing == 4
    assert quality(directory, "calls", START, START + 4 * HOUR, before.snapshot) == before


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are entered, Python's and C's: work that no busy machine changes."""
    count = 0

    def profiled(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profiled)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_windows__are_written_and_judged_without_a_call_for_each(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)

    def of_minutes(minutes: int, attempt: int) -> Arrivals:
        sources = {
            f"s{number:03d}": SourceArrivals(rng.poisson(50, minutes), spans((0, minutes / 60))) for number in range(50)
        }
        told = Arrivals(START, START + timedelta(minutes=minutes), 60, Measures.OFFERED, sources)
        write_history(told, tmp_path / f"{minutes} {attempt}", "calls", told.start, told.end)
        found = quality(tmp_path / f"{minutes} {attempt}", "calls", told.start, told.end)
        assert found.total.observed == 50 * minutes
        return told

    of_minutes(60, 0)  # the first one also imports
    an_hour, a_day = (calls_of(partial(of_minutes, minutes, 1)) for minutes in (60, 1440))
    # 69,000 windows more, which not even a call for every fifty of them would leave unseen
    assert a_day < an_hour + 69_000 / 50
