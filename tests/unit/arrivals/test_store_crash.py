"""A writer that dies leaves the old interval or the new one."""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.storage.snapshots import snapshots
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError

WRITER = Path(__file__).with_name("killed_writer.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}

# Four days of 24 windows; the writer replaces the 48 windows from noon of the first day on.
START, END = datetime(2003, 3, 3, tzinfo=UTC), datetime(2003, 3, 7, tzinfo=UTC)
OLD = [1] * 96
NEW = [1] * 12 + [2] * 48 + [1] * 36


def write(directory: Path, counts: list[int], **options: float) -> None:
    alive = np.array([[0, 2**62]])
    rows = history_rows("calls", "ingest", np.array(counts), alive, start=START, window_s=3600)
    write_history(rows, directory, "calls", START, END, **options)


def read(directory: Path) -> list[float]:
    return read_history(directory, "calls").series["ingest"].counts.tolist()


def aftermaths_of(before: Path, folder: Path) -> list[Path]:
    """What each killed writer left, by the moment of its death; the last one lived."""
    folder.mkdir()
    subprocess.run([sys.executable, WRITER, before, folder], check=True, env=ENVIRONMENT, timeout=120)
    return sorted(folder.iterdir(), key=lambda path: int(path.name))


@pytest.fixture(scope="module")
def aftermaths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("crash")
    write(folder / "before", OLD)
    return aftermaths_of(folder / "before", folder / "after")


@pytest.mark.slow
def test_writer_killed_at_any_moment__leaves_the_old_interval_or_the_new_one(aftermaths: list[Path]) -> None:
    left = [read(path) for path in aftermaths]
    assert all(counts in (OLD, NEW) for counts in left)
    # Deaths came both before and after the commit, and from it on all show the new interval.
    committed = [counts == NEW for counts in left]
    assert committed == sorted(committed)
    assert committed.count(False) > 5
    assert committed.count(True) > 1
    # What can be read of past commits is whole as well: the old interval where it is listed.
    for path in aftermaths:
        for listed in snapshots(path, "calls"):
            past = read_history(path, "calls", snapshot=listed.id).series["ingest"].counts.tolist()
            assert past == (OLD if listed.superseded_at else read(path))


@pytest.mark.slow
def test_writer_after_a_killed_one__finishes_and_clears_what_was_left(aftermaths: list[Path], tmp_path: Path) -> None:
    for aftermath in aftermaths[::4]:
        directory = shutil.copytree(aftermath, tmp_path / aftermath.name)
        # Without keeping past commits, so that what remains is what is in force.
        write(directory, NEW, keep_s=0)
        assert read(directory) == NEW
        remains = sorted(file.name for file in directory.rglob("*") if file.is_file())
        assert [name for name in remains if not name.startswith("part-")] == ["_lock", "_manifest.json"]
        assert len(remains) == 2 + 4


@pytest.mark.slow
def test_first_writer_killed_at_any_moment__leaves_nothing_or_all(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    *killed, finished = aftermaths_of(before, tmp_path / "after")
    assert read(finished) == [2] * 48
    for path in killed:
        if (path / "topology=calls" / "_manifest.json").exists():
            assert read(path) == [2] * 48
        else:
            with pytest.raises(HistoryError, match="has no arrival history"):
                read(path)


@pytest.mark.slow
def test_reader_beside_a_busy_writer__sees_one_commit_at_a_time(tmp_path: Path) -> None:
    write(tmp_path, [1] * 96)
    script = f"""
import sys
sys.path.insert(0, {str(WRITER.parent)!r})
from pathlib import Path
from killed_writer import write_interval
for count in range(2, 17):
    write_interval(Path({str(tmp_path)!r}), count)
"""
    with subprocess.Popen([sys.executable, "-c", script], env=ENVIRONMENT) as writer:
        seen: set[float] = set()
        while writer.poll() is None:
            # The 48 windows that the writer replaces, all of one commit.
            counts = set(read(tmp_path)[12:60])
            assert len(counts) == 1
            seen |= counts
    assert writer.returncode == 0
    assert len(seen) > 2
