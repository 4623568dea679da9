"""Several writers of one history at once, each in a process of its own as on a machine of its own, and killed ones."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import s3_writers
from s3_server import LocalS3
from s3_writers import write_hours

from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.storage.layout import topologies, topology_folder
from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.arrivals.storage.s3_folder import S3Folder
from forecasting.arrivals.storage.snapshots import snapshots
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError

pytestmark = [pytest.mark.s3, pytest.mark.slow]

WRITERS = Path(s3_writers.__file__)


def writer(*arguments: object) -> subprocess.Popen[str]:
    paths = os.pathsep.join(map(str, (WRITERS.parents[1], WRITERS.parent)))
    return subprocess.Popen(
        [sys.executable, WRITERS, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    return out


def counts(directory: S3Directory, snapshot: str | None = None) -> list[float]:
    return read_history(directory, "calls", snapshot=snapshot).series["ingest"].counts.tolist()


@pytest.mark.parametrize("keep_s", [86_400, 0])
def test_two_writers_at_once_and_a_reader__see_one_commit_after_the_other(
    s3: LocalS3, directory: S3Directory, keep_s: int
) -> None:
    write_hours(directory, 0, 144, 1)
    seen: set[tuple[float, ...]] = set()
    with ExitStack() as at_work:
        # One replaces the days 0 to 3 again and again, the other the days 2 to 5.
        writers = [
            at_work.enter_context(writer("many", directory.prefix, first, base, 12, keep_s))
            for first, base in ((0, 100), (2, 200))
        ]
        while any(process.poll() is None for process in writers):
            found = counts(directory)
            days = [set(found[48 * pair : 48 * (pair + 1)]) for pair in range(3)]
            assert [len(pair) for pair in days] == [1, 1, 1]
            first, shared, last = (pair.pop() for pair in days)
            # What both write is that of whoever wrote last, and that writer's own days have the same count.
            assert shared in (first, last)
            seen.add((first, shared, last))
        for process in writers:
            ended(process)
    assert len(seen) > 2
    found = counts(directory)
    first, shared, last = (found[at] for at in (0, 48, 96))
    assert (first, last) == (111, 211)
    assert shared in (first, last)
    listed = snapshots(directory, "calls")
    # The first commit and 12 of each writer: none is lost, none is made twice. Or the last alone.
    assert len(listed) == (25 if keep_s else 1)
    for snapshot in listed:
        past = counts(directory, snapshot.id)
        assert past == [past[0]] * 48 + [past[48]] * 48 + [past[96]] * 48
        assert past[48] in (past[0], past[96])


def test_writers_of_alternate_hours__have_all_of_them_once_in_the_end(s3: LocalS3, directory: S3Directory) -> None:
    # Three first writers of one topology, of the same dates, none of which knows of the others.
    with ExitStack() as at_work:
        writers = [
            at_work.enter_context(writer("hours", directory.prefix, first, 3, 10 + first, 12)) for first in range(3)
        ]
        for process in writers:
            ended(process)
    assert counts(directory) == [10, 11, 12] * 12
    rows = read_commit(directory, "calls", None, lambda folder, manifest: rows_between(folder, manifest, None, None))[1]
    assert rows.num_rows == 36
    # A commit for each hour of each writer.
    assert len(snapshots(directory, "calls")) == 36


def killed(directory: S3Directory, *arguments: int) -> list[S3Directory]:
    """Where each wrote; the last one lived."""
    codes = [int(line) for line in ended(writer("killed", directory.prefix, *arguments)).splitlines()]
    assert codes == [-signal.SIGKILL] * (len(codes) - 1) + [0]
    _, every, _ = arguments
    return [S3Directory(directory.bucket, f"{directory.prefix}/{at * every}") for at in range(len(codes))]


def test_writer_killed_before_any_request__leaves_the_old_interval_or_the_new_one(
    s3: LocalS3, directory: S3Directory
) -> None:
    old, new = [1.0] * 144, [1.0] * 12 + [2.0] * 96 + [1.0] * 36
    committed = []
    for request, each in enumerate(killed(directory, 6, 1, 2)):
        found = counts(each)
        assert found in (old, new), f"killed before request {request}"
        committed.append(found == new)
        # What can be read of past commits is whole as well.
        for listed in snapshots(each, "calls"):
            assert counts(each, listed.id) == (old if listed.superseded_at else found)
        # And the next writer finishes, whatever it finds.
        if request % 4 == 0:
            write_hours(each, 0, 144, 3)
            assert counts(each) == [3.0] * 144
    # Deaths came both before and after the commit, and from it on all show the new interval.
    assert committed == sorted(committed)
    assert committed.count(False) > 8
    assert committed.count(True) > 1


def test_first_writer_killed_before_any_request__leaves_nothing_or_all(s3: LocalS3, directory: S3Directory) -> None:
    seen = {tuple(counts(each)) if topologies(each) else () for each in killed(directory, 0, 3, 2)}
    assert seen == {(), (2.0,) * 96}


def test_process_that_was_forked__has_connections_of_its_own(s3: LocalS3, directory: S3Directory) -> None:
    write_hours(directory, 0, 48, 1)
    assert sorted(ended(writer("forked", directory.prefix)).splitlines()) == ["child True", "parent True"]


def test_a_part_that_is_missing__is_told_though_another_writer_commits_another_date_meanwhile(
    directory: S3Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_hours(directory, 0, 48, 1)
    folder = topology_folder(directory, "calls")
    lost, *_ = folder.names("date=2003-03-03/part")
    folder.remove([lost])
    read, others = S3Folder.read, []

    def read_late(self: S3Folder, name: str, max_bytes: int) -> bytes:
        if name == lost and not others:
            others.append(name)
            write_hours(directory, 96, 24, 7)
        return read(self, name, max_bytes)

    monkeypatch.setattr(S3Folder, "read", read_late)
    with pytest.raises(HistoryError, match="is missing; build the history of its whole date again"):
        write_hours(directory, 6, 6, 5)
    assert others == [lost]
