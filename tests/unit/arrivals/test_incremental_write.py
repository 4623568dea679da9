"""What writing one day into a long history touches."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.arrivals.store import read_history, write_history

pytestmark = pytest.mark.slow

START = datetime(2003, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
YEAR = 365
_watched: list[tuple[str, str]] | None = None


def _watch(event: str, args: tuple[object, ...]) -> None:
    touching = {"open", "os.mkdir", "os.rename", "os.remove", "os.listdir", "os.scandir", "os.rmdir"}
    if _watched is not None and event in touching:
        _watched.append((event, str(args[0])))


@contextmanager
def files_touched(folder: Path) -> Iterator[list[tuple[str, str]]]:
    """Dealings with the file system below the folder: event and path relative to it."""
    global _watched
    if not getattr(sys, "_forescale_watched", False):
        # A hook stays for the life of the process: one is enough.
        sys.addaudithook(_watch)
        sys._forescale_watched = True  # type: ignore[attr-defined]
    _watched, found = [], []
    yield found
    seen, _watched = _watched, None
    found += [(event, str(Path(path).relative_to(folder))) for event, path in seen if path.startswith(str(folder))]


def day_of(number: int, count: int) -> tuple:
    start = START + number * DAY
    rows = history_rows("calls", "ingest", np.full(24, count), np.array([[0, 2**62]]), start=start, window_s=3600)
    return rows, start, start + DAY


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("year")
    write_history((day_of(number, 1)[0] for number in range(YEAR)), folder, "calls", START, START + YEAR * DAY)
    return folder


@pytest.fixture
def year(written: Path, tmp_path: Path) -> Path:
    return shutil.copytree(written, tmp_path, dirs_exist_ok=True)


@pytest.mark.parametrize("number", [100, YEAR])
def test_writing_a_day_into_a_year__touches_the_folder_of_its_date_alone(year: Path, number: int) -> None:
    rows, start, end = day_of(number, 2)
    with files_touched(year / "topology=calls") as touched:
        write_history(rows, year, "calls", start, end)
    dates = {path.split("/")[0] for _, path in touched if path.startswith("date=")}
    assert dates == {f"date={start:%Y-%m-%d}"}
    elsewhere = {path.split("/")[0] for _, path in touched if not path.startswith("date=")}
    assert elsewhere <= {".", "_lock", "_manifest.json", "._manifest.json.new", "_snapshots"}
    assert len(read_history(year, "calls").series["ingest"].counts) == max(YEAR, number + 1) * 24


def test_writing_a_part_of_a_day__reads_and_writes_that_day_alone(year: Path) -> None:
    rows, start, _ = day_of(200, 2)
    with files_touched(year / "topology=calls") as touched:
        write_history(rows.slice(6, 6), year, "calls", start + timedelta(hours=6), start + timedelta(hours=12))
    assert {path.split("/")[0] for _, path in touched if "date=" in path} == {"date=2003-07-20"}
    series = read_history(year, "calls", start=start, end=start + DAY).series["ingest"]
    assert series.counts.tolist() == [1] * 6 + [2] * 6 + [1] * 12


def test_reading_a_day_of_a_year__opens_its_file_alone(year: Path) -> None:
    start = START + 200 * DAY
    for read in (
        lambda: read_history(year, "calls", start=start, end=start + DAY).series["ingest"].counts.size,
        lambda: read_commit(year, "calls", None, partial(rows_between, start=start, end=start + DAY))[1].num_rows,
    ):
        with files_touched(year / "topology=calls") as touched:
            assert read() == 24
        assert [path.split("/")[0] for _, path in touched if "date=" in path] == ["date=2003-07-20"]


def test_expiring_a_commit__touches_the_folders_of_the_dates_it_had_alone(year: Path) -> None:
    rows, start, end = day_of(100, 2)
    write_history(rows, year, "calls", start, end)
    rows, start, end = day_of(300, 2)
    with files_touched(year / "topology=calls") as touched:
        write_history(rows, year, "calls", start, end, keep_s=0)
    removed = sorted(path.split("/")[0] for event, path in touched if event == "os.remove" and "date=" in path)
    # Of both superseded commits one part each is named no more: those of the days 100 and 300.
    assert removed == ["date=2003-04-11", "date=2003-10-28"]
