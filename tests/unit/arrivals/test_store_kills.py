"""Batch-wise commits under fire: writers killed at random, and writers and a reader at once."""

import os
import random
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.storage.snapshots import snapshots
from forecasting.arrivals.store import read_history, write_history

WRITER = Path(__file__).with_name("killed_batch_writer.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
START = datetime(2003, 3, 3, tzinfo=UTC)


def write_days(directory: Path, count: int, days: int, **options: float) -> None:
    alive = np.array([[0, 2**62]])
    rows = history_rows("calls", "ingest", np.full(24 * days, count), alive, start=START, window_s=3600)
    write_history(rows, directory, "calls", START, START + timedelta(days=days), **options)


def counts(directory: Path, snapshot: str | None = None) -> list[float]:
    return read_history(directory, "calls", snapshot=snapshot).series["ingest"].counts.tolist()


def replaced(count: float) -> list[float]:
    """Six days of 1, but for the four from noon of the first one on, which a writer replaces."""
    return [1.0] * 12 + [count] * 96 + [1.0] * 36


@pytest.mark.slow
def test_writers_of_batches_killed_at_random__leave_one_commit_or_the_other_and_every_snapshot_whole(
    tmp_path: Path,
) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    write_days(tmp_path / "before", 1, 6)
    arguments = [sys.executable, WRITER, tmp_path / "before", tmp_path / "after", str(seed)]
    subprocess.run(arguments, check=True, env=ENVIRONMENT, timeout=120)
    before = 1.0
    for number in range(1, 11):
        left = tmp_path / "after" / str(number)
        found = counts(left)
        # No mixture: all of the four days are this writer's, or none is.
        assert found in (replaced(before), replaced(100.0 + number)), f"seed {seed}, writer {number}"
        before = found[12]
        for listed in snapshots(left, "calls"):
            past = counts(left, listed.id)
            assert past == replaced(past[12]), f"seed {seed}, writer {number}, snapshot {listed.id}"
    assert int((tmp_path / "after" / "finished").read_text()) < 10

    # Whoever comes next clears what they left: each part that is still there is one that a listed commit needs.
    write_days(left, 1, 6, keep_s=0)
    assert counts(left) == [1.0] * 144
    assert len(list(left.rglob("part-*"))) == 6
    assert sorted(path.name for path in left.rglob("*") if path.name.startswith(".")) == []
    assert len(snapshots(left, "calls")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("keep_s", [86_400, 0])
def test_two_writers_at_once_and_a_reader__see_one_commit_after_the_other(tmp_path: Path, keep_s: float) -> None:
    write_days(tmp_path, 1, 6)
    # One replaces the days 0 to 3 again and again, the other the days 2 to 5.
    script = f"""
import sys
sys.path.insert(0, {str(WRITER.parent)!r})
from datetime import timedelta
from pathlib import Path
from killed_batch_writer import START, batches, write_history
first, base = int(sys.argv[1]), int(sys.argv[2])
start = START.replace(hour=0) + timedelta(days=first)
for count in range(base, base + 12):
    write_history(batches(start, 4, count), Path({str(tmp_path)!r}), "calls", start, start + timedelta(days=4),
                  keep_s={keep_s})
"""
    seen: set[tuple[float, ...]] = set()
    with ExitStack() as at_work:
        writers = []
        for first, base in ((0, 100), (2, 200)):
            process = subprocess.Popen([sys.executable, "-c", script, str(first), str(base)], env=ENVIRONMENT)
            writers.append(at_work.enter_context(process))
        while any(writer.poll() is None for writer in writers):
            found = counts(tmp_path)
            days = [set(found[48 * pair : 48 * (pair + 1)]) for pair in range(3)]
            assert [len(pair) for pair in days] == [1, 1, 1]
            first, shared, last = (pair.pop() for pair in days)
            # What both write is that of whoever wrote last, and that writer's own days have the same count.
            assert shared in (first, last)
            seen.add((first, shared, last))
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(seen) > 2
    found = counts(tmp_path)
    first, shared, last = (found[at] for at in (0, 48, 96))
    assert (first, last) == (111, 211)
    assert shared in (first, last)
    listed = snapshots(tmp_path, "calls")
    # The first commit and 12 of each writer, or the last alone.
    assert len(listed) == (25 if keep_s else 1)
    for snapshot in listed:
        past = counts(tmp_path, snapshot.id)
        assert past == [past[0]] * 48 + [past[48]] * 48 + [past[96]] * 48
        assert past[48] in (past[0], past[96])
