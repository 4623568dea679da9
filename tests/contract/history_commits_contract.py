"""Past commits of the history, in whatever place it lies."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from contract.history_directory import HistoryDirectory, let_age
from history_rows import RowsFrom

from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.arrivals.storage.snapshots import Snapshot, snapshots
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError

Commit = Callable[..., str]
DAY = timedelta(days=1)
NOON = datetime(2003, 6, 1, 12, tzinfo=UTC)


def counts(directory: Directory, snapshot: str | None = None) -> set[float]:
    return set(read_history(directory, "calls", snapshot=snapshot).series["ingest"].counts.tolist())


class HistoryCommitsContract(HistoryDirectory):
    """See HistoryDirectory."""

    @pytest.fixture
    def commit(self, directory: Directory, rows_from: RowsFrom) -> Commit:
        """Writes a day of hours that all have the same count; the id of the commit."""

        def write(count: int, *, now: datetime = NOON, day: str = "2003-03-03", keep_s: float = 90 * 86_400) -> str:
            start = datetime.fromisoformat(day).replace(tzinfo=UTC)
            rows = rows_from(day, [count] * 24)
            return write_history(rows, directory, "calls", start, start + DAY, now=now, keep_s=keep_s)

        return write

    def test_past_commit__is_read_again_as_it_was(self, directory: Directory, commit: Commit) -> None:
        first, second = commit(1), commit(2)
        assert counts(directory) == {2}
        assert counts(directory, first) == {1}
        assert counts(directory, second) == {2}
        start = datetime(2003, 3, 3, tzinfo=UTC)
        of_day = partial(rows_between, start=start, end=start + DAY)
        assert set(read_commit(directory, "calls", first, of_day)[1]["count"].to_pylist()) == {1}

    def test_history__tells_which_commit_it_was_read_from(self, directory: Directory, commit: Commit) -> None:
        first = commit(1)
        assert read_history(directory, "calls").snapshot == first
        second = commit(2)
        assert read_history(directory, "calls").snapshot == second
        assert read_history(directory, "calls", snapshot=first).snapshot == first
        assert len(first) == 16

    def test_the_same_content__is_the_same_commit_and_changes_nothing(
        self, directory: Directory, kept: Path, commit: Commit
    ) -> None:
        first = commit(1)
        before = {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()}
        assert commit(1, now=NOON + DAY) == first
        assert {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()} == before
        assert [one.committed_at for one in snapshots(directory, "calls")] == [NOON]

    def test_commits__are_listed_newest_first_with_what_they_hold(self, directory: Directory, commit: Commit) -> None:
        assert snapshots(directory, "calls") == []
        first = commit(1)
        second = commit(2, now=NOON + DAY, day="2003-03-09")
        march = [datetime(2003, 3, day, tzinfo=UTC) for day in (3, 4, 9, 10)]
        assert snapshots(directory, "calls") == [
            Snapshot(second, NOON + DAY, None, march[0].date(), march[2].date(), 2, march[3]),
            Snapshot(first, NOON, NOON + DAY, march[0].date(), march[0].date(), 1, march[1]),
        ]

    def test_content_that_comes_back__is_the_same_commit_in_force_again(
        self, directory: Directory, commit: Commit
    ) -> None:
        first = commit(1)
        second = commit(2, now=NOON + DAY)
        assert commit(1, now=NOON + 2 * DAY) == first
        listed = snapshots(directory, "calls")
        assert [one.id for one in listed] == [first, second]
        assert (listed[0].committed_at, listed[0].superseded_at) == (NOON + 2 * DAY, None)
        # Its first time in force expires, its second one does not.
        commit(3, now=NOON + 4 * DAY, keep_s=2.5 * 86_400)
        assert counts(directory, first) == {1}
        commit(4, now=NOON + 5 * DAY, keep_s=2.5 * 86_400)
        assert counts(directory, first) == {1}

    def test_commit__is_kept_for_the_retention_after_the_next_one_took_its_place(
        self, directory: Directory, commit: Commit
    ) -> None:
        # In force for half a year, it is not old when it is superseded: whoever read it did so up to then.
        first = commit(1)
        commit(2, now=NOON + 180 * DAY)
        commit(3, now=NOON + 190 * DAY)
        third = commit(5, now=NOON + 269 * DAY)
        assert counts(directory, first) == {1}
        # 90 days are over after 270; lots are removed when one is over by 90 / 20 = 4.5 days.
        fourth = commit(4, now=NOON + 274.6 * DAY)
        assert first not in [one.id for one in snapshots(directory, "calls")]
        with pytest.raises(HistoryError) as complaint:
            read_history(directory, "calls", snapshot=first)
        assert f"has no snapshot '{first}'; the newest are {fourth}, {third}, " in str(complaint.value)
        assert "a commit is kept for 90 days after the next one" in str(complaint.value)

    def test_files_of_an_expired_commit__go_with_it_but_for_those_that_others_name(
        self, directory: Directory, kept: Path, commit: Commit
    ) -> None:
        commit(1, day="2003-03-03")
        commit(1, day="2003-03-04")
        commit(2, day="2003-03-04")
        assert len(list(kept.rglob("part-*"))) == 3
        let_age(kept)
        commit(3, day="2003-03-04", keep_s=0)
        # The third is in force with the part of the day before, that all commits share.
        assert len(list(kept.rglob("part-*"))) == 2
        assert list(kept.rglob("_snapshots/*")) == []
        assert counts(directory) == {1, 3}

    def test_unknown_commit__is_refused_with_the_newest_there_are(self, directory: Directory, commit: Commit) -> None:
        ids = [commit(count, now=NOON + count * DAY) for count in range(7)]
        with pytest.raises(HistoryError) as complaint:
            read_history(directory, "calls", snapshot="0123456789abcdef")
        newest = ", ".join(reversed(ids[2:]))
        assert f"no snapshot '0123456789abcdef'; the newest are {newest} and 2 older ones" in str(complaint.value)

    def test_damaged_past_commit__is_named_and_no_file_is_removed_until_it_is(
        self, directory: Directory, kept: Path, commit: Commit
    ) -> None:
        commit(1)
        commit(2, now=NOON + DAY)
        commit(3, now=NOON + 2 * DAY)
        damaged = max(kept.rglob("_snapshots/*.json"))
        body = json.loads(damaged.read_text())
        body["parts"]["2003-03-04"] = "part-0.parquet"
        damaged.write_text(json.dumps(body))
        with pytest.raises(HistoryError, match=rf"{damaged.name} is damaged: .*remove this file; its commit is lost"):
            snapshots(directory, "calls")
        parts = set(kept.rglob("part-*"))
        # The first commit expires now, but which of its files the damaged one names is not known.
        commit(4, now=NOON + 3 * DAY, keep_s=1.5 * 86_400)
        assert parts < set(kept.rglob("part-*"))
        damaged.unlink()
        let_age(kept)
        commit(5, now=NOON + 4 * DAY, keep_s=0)
        assert len(list(kept.rglob("part-*"))) < len(parts)
        assert counts(directory) == {5}

    @pytest.mark.parametrize("keep_s", [-1, float("inf"), float("nan")])
    def test_retention_that_is_no_time__is_refused(self, commit: Commit, keep_s: float) -> None:
        with pytest.raises(HistoryError, match=r"keep_s .*; give seconds, zero or more"):
            commit(1, keep_s=keep_s)
