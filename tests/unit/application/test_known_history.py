"""The history of one answer: read once, and the same as if each span had been read."""

import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import forescale.situation.situation as known_history
from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError
from forescale.situation.situation import KnownHistory

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Three days of one source, and one day, the last, of another."""
    for day in range(3):
        start = MONDAY + day * DAY
        alive = np.array([[int(start.timestamp()), int((start + DAY).timestamp())]], dtype=np.int64) * 1_000_000
        names = ["read", "click"] if day == 2 else ["read"]
        series = {name: SourceArrivals(np.arange(24, dtype=np.int64) + day, alive) for name in names}
        write_history(Arrivals(start, start + DAY, 3600, Measures.OFFERED, series), tmp_path, "job", start, start + DAY)
    return tmp_path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """Starts of the spans that are read."""
    found: list[datetime] = []

    def counted(*arguments: object, start: datetime, end: datetime) -> object:
        found.append(start)
        return read_history(*arguments, start=start, end=end)  # type: ignore[arg-type]

    monkeypatch.setattr(known_history, "read_history", counted)
    return found


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (MONDAY, MONDAY + 3 * DAY),
        (MONDAY + 5 * HOUR, MONDAY + DAY),
        (MONDAY + 2 * DAY - HOUR, MONDAY + 2 * DAY + 3 * HOUR),
        (MONDAY + timedelta(minutes=90), MONDAY + timedelta(hours=5, minutes=10)),
    ],
)
def test_a_span_within_what_was_read__is_cut_from_it_as_if_it_had_been_read(
    directory: Path, reads: list[datetime], start: datetime, end: datetime
) -> None:
    known = KnownHistory(directory, "job")
    known.reach(MONDAY, MONDAY + 3 * DAY)
    cut, read = known.between(start, end), read_history(directory, "job", start=start, end=end)
    assert cut.series == read.series
    assert cut.snapshot == read.snapshot
    assert reads == [MONDAY]


def test_a_span_beyond_what_was_read__is_read(directory: Path, reads: list[datetime]) -> None:
    known = KnownHistory(directory, "job")
    known.between(MONDAY + DAY, MONDAY + 2 * DAY)
    known.between(MONDAY, MONDAY + 2 * DAY)
    assert reads == [MONDAY + DAY, MONDAY]


def test_a_span_without_arrivals__is_an_error_and_reaching_for_it_is_none(directory: Path) -> None:
    known = KnownHistory(directory, "job")
    known.reach(MONDAY - 2 * DAY, MONDAY - DAY)
    with pytest.raises(HistoryError):
        known.between(MONDAY - 2 * DAY, MONDAY - DAY)
    known.reach(MONDAY, MONDAY + 3 * DAY)
    with pytest.raises(HistoryError, match="no whole window between"):
        known.between(MONDAY + HOUR, MONDAY + HOUR + timedelta(minutes=30))


def test_another_process__reads_for_itself(directory: Path) -> None:
    known = KnownHistory(directory, "job")
    known.reach(MONDAY, MONDAY + DAY)
    copy = pickle.loads(pickle.dumps(known))
    assert copy.between(MONDAY, MONDAY + DAY).series == known.between(MONDAY, MONDAY + DAY).series
