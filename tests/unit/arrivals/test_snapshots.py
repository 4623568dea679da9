"""Past commits of the history."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.arrivals.storage.snapshots import Snapshot, snapshots
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError

RowsFrom = Callable[..., object]
Commit = Callable[..., str]
DAY = timedelta(days=1)
NOON = datetime(2003, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def commit(tmp_path: Path, rows_from: RowsFrom) -> Commit:
    """Writes a day of hours that all have the same count; the id of the commit."""

    def write(count: int, *, now: datetime = NOON, day: str = "2003-03-03", keep_s: float = 90 * 86_400) -> str:
        start = datetime.fromisoformat(day).replace(tzinfo=UTC)
        rows = rows_from(day, [count] * 24)
        return write_history(rows, tmp_path, "calls", start, start + DAY, now=now, keep_s=keep_s)

    return write


def counts(directory: Path, snapshot: str | None = None) -> set[float]:
    return set(read_history(directory, "calls", snapshot=snapshot).series["ingest"].counts.tolist())


def test_past_commit__is_read_again_as_it_was(tmp_path: Path, commit: Commit) -> None:
    first, second = commit(1), commit(2)
    assert counts(tmp_path) == {2}
    assert counts(tmp_path, first) == {1}
    assert counts(tmp_path, second) == {2}
    start = datetime(2003, 3, 3, tzinfo=UTC)
    of_day = partial(rows_between, start=start, end=start + DAY)
    assert set(read_commit(tmp_path, "calls", first, of_day)[1]["count"].to_pylist()) == {1}


def test_history__tells_which_commit_it_was_read_from(tmp_path: Path, commit: Commit) -> None:
    first = commit(1)
    assert read_history(tmp_path, "calls").snapshot == first
    second = commit(2)
    assert read_history(tmp_path, "calls").snapshot == second
    assert read_history(tmp_path, "calls", snapshot=first).snapshot == first
    assert len(first) == 16


def test_the_same_content__is_the_same_commit_and_changes_nothing(tmp_path: Path, commit: Commit) -> None:
    first = commit(1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert commit(1, now=NOON + DAY) == first
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert [one.committed_at for one in snapshots(tmp_path, "calls")] == [NOON]


def test_commits__are_listed_newest_first_with_what_they_hold(tmp_path: Path, commit: Commit) -> None:
    assert snapshots(tmp_path, "calls") == []
    first = commit(1)
    second = commit(2, now=NOON + DAY, day="2003-03-09")
    march = [datetime(2003, 3, day, tzinfo=UTC) for day in (3, 4, 9, 10)]
    assert snapshots(tmp_path, "calls") == [
        Snapshot(second, NOON + DAY, None, march[0].date(), march[2].date(), 2, march[3]),
        Snapshot(first, NOON, NOON + DAY, march[0].date(), march[0].date(), 1, march[1]),
    ]


def test_content_that_comes_back__is_the_same_commit_in_force_again(tmp_path: Path, commit: Commit) -> None:
    first = commit(1)
    second = commit(2, now=NOON + DAY)
    assert commit(1, now=NOON + 2 * DAY) == first
    listed = snapshots(tmp_path, "calls")
    assert [one.id for one in listed] == [first, second]
    assert (listed[0].committed_at, listed[0].superseded_at) == (NOON + 2 * DAY, None)
    # Its first time in force expires, its second one does not.
    commit(3, now=NOON + 4 * DAY, keep_s=2.5 * 86_400)
    assert counts(tmp_path, first) == {1}
    commit(4, now=NOON + 5 * DAY, keep_s=2.5 * 86_400)
    assert counts(tmp_path, first) == {1}


def test_commit__is_kept_for_the_retention_after_the_next_one_took_its_place(tmp_path: Path, commit: Commit) -> None:
    # In force for half a year, it is not old when it is superseded: whoever read it did so up to then.
    first = commit(1)
    commit(2, now=NOON + 180 * DAY)
    commit(3, now=NOON + 190 * DAY)
    third = commit(5, now=NOON + 269 * DAY)
    assert counts(tmp_path, first) == {1}
    # 90 days are over after 270; lots are removed when one is over by 90 / 20 = 4.5 days.
    fourth = commit(4, now=NOON + 274.6 * DAY)
    assert first not in [one.id for one in snapshots(tmp_path, "calls")]
    with pytest.raises(HistoryError) as complaint:
        read_history(tmp_path, "calls", snapshot=first)
    assert f"has no snapshot '{first}'; the newest are {fourth}, {third}, " in str(complaint.value)
    assert "a commit is kept for 90 days after the next one" in str(complaint.value)


def test_files_of_an_expired_commit__go_with_it_but_for_those_that_others_name(tmp_path: Path, commit: Commit) -> None:
    commit(1, day="2003-03-03")
    commit(1, day="2003-03-04")
    commit(2, day="2003-03-04")
    assert len(list(tmp_path.rglob("part-*"))) == 3
    commit(3, day="2003-03-04", keep_s=0)
    # The third is in force with the part of the day before, that all commits share.
    assert len(list(tmp_path.rglob("part-*"))) == 2
    assert list(tmp_path.rglob("_snapshots/*")) == []
    assert counts(tmp_path) == {1, 3}


def test_unknown_commit__is_refused_with_the_newest_there_are(tmp_path: Path, commit: Commit) -> None:
    ids = [commit(count, now=NOON + count * DAY) for count in range(7)]
    with pytest.raises(HistoryError) as complaint:
        read_history(tmp_path, "calls", snapshot="0123456789abcdef")
    newest = ", ".join(reversed(ids[2:]))
    assert f"no snapshot '0123456789abcdef'; the newest are {newest} and 2 older ones" in str(complaint.value)


def test_damaged_past_commit__is_named_and_no_file_is_removed_until_it_is(tmp_path: Path, commit: Commit) -> None:
    commit(1)
    commit(2, now=NOON + DAY)
    commit(3, now=NOON + 2 * DAY)
    damaged = max(tmp_path.rglob("_snapshots/*.json"))
    body = json.loads(damaged.read_text())
    body["parts"]["2003-03-04"] = "part-0.parquet"
    damaged.write_text(json.dumps(body))
    with pytest.raises(HistoryError, match=rf"{damaged.name} is damaged: .*remove this file, what it kept is lost"):
        snapshots(tmp_path, "calls")
    parts = set(tmp_path.rglob("part-*"))
    # The first commit expires now, but which of its files the damaged one names is not known.
    commit(4, now=NOON + 3 * DAY, keep_s=1.5 * 86_400)
    assert parts < set(tmp_path.rglob("part-*"))
    damaged.unlink()
    commit(5, now=NOON + 4 * DAY, keep_s=0)
    assert len(list(tmp_path.rglob("part-*"))) < len(parts)
    assert counts(tmp_path) == {5}


@pytest.mark.parametrize("keep_s", [-1, float("inf"), float("nan")])
def test_retention_that_is_no_time__is_refused(commit: Commit, keep_s: float) -> None:
    with pytest.raises(HistoryError, match=r"keep_s .*; give seconds, zero or more"):
        commit(1, keep_s=keep_s)
