"""The arrival history in an object store, as in a folder, and what only several machines at once bring."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from contract.history_batches_contract import DAY, START, counts, told, two_days_and_no_more
from contract.history_directory import let_age
from contract.history_store_contract import HistoryStoreContract
from history_rows import rows_of_hours

from forecasting.arrivals.storage import s3_folder
from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.storage.manifest import Manifest
from forecasting.arrivals.storage.s3_objects import S3Objects
from forecasting.arrivals.storage.snapshots import snapshots
from forecasting.arrivals.storage.staging import Staging
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError, HistoryStoreError

pytestmark = [pytest.mark.s3, pytest.mark.slow]


class TestHistoryInAnObjectStore(HistoryStoreContract):
    @pytest.fixture
    def directory(self, directory: S3Directory) -> S3Directory:
        return directory

    @pytest.fixture
    def kept(self, kept: Path) -> Path:
        return kept


def write(directory: S3Directory, first_hour: int, hours: int, count: int, **options: Any) -> str:
    """So many events in each of the hours from that one of the first day on."""
    start = START + timedelta(hours=first_hour)
    rows = rows_of_hours(f"{start:%Y-%m-%dT%H:%M}", [count] * hours)
    return write_history(rows, directory, "calls", start, start + timedelta(hours=hours), **options)


def overtaken(directory: S3Directory, *others: tuple[int, int, int]) -> Any:
    """Just before a commit of the next writer would be in force, another writer makes each of these commits in turn."""
    left = list(others)
    manifest = Staging.manifest

    def late(self: Staging, committed_at: datetime, keep_s: float) -> Manifest:
        made = manifest(self, committed_at, keep_s)
        if left:
            with patch.object(Staging, "manifest", manifest):
                write(directory, *left.pop(0))
        return made

    return patch.object(Staging, "manifest", late)


def test_writer_that_is_late__makes_its_change_upon_the_commit_of_the_other(directory: S3Directory) -> None:
    write(directory, 0, 24, 1)
    # Of the same date, the other one replaces the hours 6 to 12, then 9 to 18: each time before this one is in force.
    with overtaken(directory, (6, 6, 2), (9, 9, 3)):
        write(directory, 15, 6, 4)
    assert counts(directory) == [1] * 6 + [2] * 3 + [3] * 6 + [4] * 6 + [1] * 3
    assert len(snapshots(directory, "calls")) == 4


def test_two_first_writers_of_a_topology__lose_nothing(directory: S3Directory) -> None:
    with overtaken(directory, (24, 12, 2)):
        write(directory, 0, 12, 1)
    series = read_history(directory, "calls").series["ingest"]
    assert [series.counts[hour] for hour in (0, 11, 24, 35)] == [1, 1, 2, 2]
    assert len(snapshots(directory, "calls")) == 2


def test_late_writer__keeps_what_it_knows_best_upon_the_other_commit(directory: S3Directory) -> None:
    write(directory, 0, 6, 1)
    rows = rows_of_hours("2003-03-03T00:00", ["~5", 5, 5, "~5"])
    with overtaken(directory, (2, 2, 7)):
        write_history(rows, directory, "calls", START, START + timedelta(hours=4), keep_known=True)
    # Partial windows do not take the place of whole ones, neither of those before nor of the other writer's.
    assert counts(directory) == [1, 5, 5, 7, 1, 1]


def test_dates_that_the_other_writer_left_alone__are_not_put_again(directory: S3Directory, kept: Path) -> None:
    write(directory, 0, 72, 1)
    with overtaken(directory, (48, 24, 3)):
        write(directory, 0, 48, 2)
    # Two dates each of 1 and of 2, one of 1 and one of 3: no part was made twice.
    assert len(list(kept.rglob("part-*"))) == 6
    assert counts(directory) == [2] * 48 + [3] * 24


def test_late_writer_whose_width_the_other_does_not_share__changes_nothing(directory: S3Directory) -> None:
    rows = rows_of_hours("2003-03-04T00:00", [9] * 60, window_s=60)
    with overtaken(directory, (0, 24, 1)), pytest.raises(HistoryError, match="has windows of 3600 s, these rows 60 s"):
        write_history(rows, directory, "calls", START + DAY, START + DAY + timedelta(hours=1))
    assert counts(directory) == [1] * 24


def test_writer_that_is_late_again_and_again__says_whose_commit_is_in_force(directory: S3Directory) -> None:
    write(directory, 0, 24, 1)
    others = [(0, 1, count) for count in range(100, 140)]
    with overtaken(directory, *others), pytest.raises(HistoryError) as complaint:
        write(directory, 12, 12, 2)
    winner = read_history(directory, "calls").snapshot
    assert f"other writers committed first 20 times, the last time by {winner} of " in str(complaint.value)
    assert str(complaint.value).endswith("nothing is changed: let them finish, and write again")
    assert counts(directory)[12:] == [1] * 12


def test_answer_to_a_put_that_got_lost__is_no_second_commit(directory: S3Directory) -> None:
    write(directory, 0, 24, 1)
    put = S3Objects.put

    def put_and_refused(self: S3Objects, name: str, content: bytes, **condition: str) -> bool:
        """As a client sees it that puts again because it got no answer: the condition does not hold any more."""
        done = put(self, name, content, **condition)
        return done if not condition else put(self, name, content, **condition)

    with patch.object(S3Objects, "put", put_and_refused):
        second = write(directory, 0, 24, 2)
    kept = [one.id for one in snapshots(directory, "calls")]
    assert kept[0] == second
    assert len(kept) == 2


def test_what_a_failed_writer_left__is_removed_by_a_later_one_once_it_is_old(
    directory: S3Directory, kept: Path
) -> None:
    write_history(told(0, 1, days=3), directory, "calls", START, START + 3 * DAY)
    with pytest.raises(RuntimeError, match="the broker is gone"):
        write_history(two_days_and_no_more(), directory, "calls", START, START + 3 * DAY)
    left = set(kept.rglob("part-*"))
    assert len(left) > 3
    # It may be of a writer that is still at work.
    write_history(told(0, 3, days=3), directory, "calls", START, START + 3 * DAY, keep_s=0)
    assert left < set(kept.rglob("part-*"))
    let_age(kept)
    write_history(told(0, 4, days=3), directory, "calls", START, START + 3 * DAY, keep_s=0)
    assert {path.parent.name for path in kept.rglob("part-*")} == {f"date=2003-03-0{day}" for day in (3, 4, 5)}
    assert len(list(kept.rglob("part-*"))) == 3
    assert counts(directory) == [4] * 72


def test_commit_that_took_longer_than_parts_are_safe__is_refused(directory: S3Directory) -> None:
    write(directory, 0, 24, 1)
    with patch.object(s3_folder, "MAX_COMMIT_S", 0.0), pytest.raises(HistoryStoreError, match="build a shorter"):
        write(directory, 0, 24, 2)
    assert counts(directory) == [1] * 24


def test_history_of_a_folder__is_one_of_the_store_once_its_files_are_copied(
    directory: S3Directory, s3: Any, tmp_path: Path
) -> None:
    write_history(told(0, 1, days=2), tmp_path, "calls", START, START + 2 * DAY)
    first = write_history(told(1, 2), tmp_path, "calls", START + DAY, START + 2 * DAY)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            key = f"{directory.prefix}/{path.relative_to(tmp_path)}"
            s3.client().put_object(Bucket=directory.bucket, Key=key, Body=path.read_bytes())
    assert read_history(directory, "calls").snapshot == first
    assert write_history(told(1, 2), directory, "calls", START + DAY, START + 2 * DAY) == first
    write_history(told(1, 3), directory, "calls", START + DAY, START + 2 * DAY, now=datetime.now(UTC))
    assert counts(directory) == [1] * 24 + [3] * 24
    assert len(snapshots(directory, "calls")) == 3


def test_unknown_topology__is_told_those_that_have_a_history(directory: S3Directory, s3: Any) -> None:
    write(directory, 0, 24, 1)
    # What a writer that died before its first commit has left is none.
    s3.client().put_object(Bucket=directory.bucket, Key=f"{directory.prefix}/topology=begun/date=2003-03-03/part-0")
    with pytest.raises(HistoryError, match="known are calls; run"):
        read_history(directory, "mails")


def test_past_commits_beyond_a_page_of_names__are_all_seen(
    directory: S3Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(S3Objects.names, "__kwdefaults__", {"older_than_s": 0.0, "at_once": 2})
    for count in range(7):
        write(directory, 0, 24, count)
    assert len(snapshots(directory, "calls")) == 7
