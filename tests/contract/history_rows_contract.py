"""What the history holds and tells back, in whatever place it lies."""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contract.history_directory import HistoryDirectory
from history_rows import RowsFrom, WriteFrom

from forecasting.arrivals.history import COLUMNS
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def counts(directory: Directory, source: str = "ingest") -> list[float]:
    return read_history(directory, "calls").series[source].counts.tolist()


def files(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


class HistoryRowsContract(HistoryDirectory):
    """See HistoryDirectory."""

    def test_history__comes_back_as_written_with_partial_and_missing_as_nan(
        self, directory: Directory, write_from: WriteFrom
    ) -> None:
        write_from("2003-03-03T07:00", [5, 0, None, "~2", 7])
        series = read_history(directory, "calls").series["ingest"]
        assert (series.start, series.window_s) == (at("2003-03-03T07:00"), 3600)
        assert series.counts.tolist() == pytest.approx([5, 0, np.nan, np.nan, 7], nan_ok=True)

    def test_files__lie_by_topology_and_date_with_the_agreed_columns(self, kept: Path, write_from: WriteFrom) -> None:
        write_from("2003-03-03T23:00", [5, 6])
        parts = sorted(kept.glob("topology=calls/date=*/part-*.parquet"))
        assert [part.parent.name for part in parts] == ["date=2003-03-03", "date=2003-03-04"]
        table = pq.ParquetFile(parts[0]).read()
        assert tuple(table.column_names[:6]) == COLUMNS
        assert table.schema.field("window_start").type == pa.timestamp("us", tz="UTC")

    def test_same_interval_twice__leaves_the_same_bytes(
        self, directory: Directory, kept: Path, rows_from: RowsFrom
    ) -> None:
        rows = rows_from("2003-03-03T22:00", [5, None, 6, 7])
        interval = at("2003-03-03T22:00"), at("2003-03-04T02:00")
        write_history(rows, directory, "calls", *interval)
        once = files(kept)
        write_history(rows.take(pa.array([3, 1, 0, 2])), directory, "calls", *interval)
        assert files(kept) == once

    def test_rewriting_an_interval__keeps_the_windows_of_its_dates_outside_it(
        self, directory: Directory, write_from: WriteFrom
    ) -> None:
        write_from("2003-03-03T22:00", [1, 2, 3, 4])
        write_from("2003-03-03T23:00", [20, 30])
        assert counts(directory) == [1, 20, 30, 4]

    def test_rewriting_an_interval__drops_what_it_held_and_no_longer_holds(
        self, directory: Directory, rows_from: RowsFrom
    ) -> None:
        interval = at("2003-03-03T07:00"), at("2003-03-03T09:00")
        both = pa.concat_tables(
            [rows_from("2003-03-03T07:00", [1, 2]), rows_from("2003-03-03T07:00", [8, 9], source="mail")]
        )
        write_history(both, directory, "calls", *interval)
        write_history(rows_from("2003-03-03T07:00", [1, 2]), directory, "calls", *interval)
        assert list(read_history(directory, "calls").series) == ["ingest"]

    def test_dates_never_written__are_missing_not_zero(self, directory: Directory, write_from: WriteFrom) -> None:
        for date in ("2003-03-03", "2003-03-05"):
            write_from(date, [4] * 24)
        found = np.array(counts(directory))
        assert found.size == 72
        assert np.isnan(found).tolist() == [False] * 24 + [True] * 24 + [False] * 24

    def test_source_that_falls_silent__ends_in_missing_windows_where_others_go_on(
        self, directory: Directory, write_from: WriteFrom
    ) -> None:
        write_from("2003-03-03T07:00", [1], source="mail")
        write_from("2003-03-03T08:00", [2, 3])
        assert counts(directory, "mail") == pytest.approx([1, np.nan, np.nan], nan_ok=True)
        assert counts(directory, "ingest") == [2, 3]

    def test_reading__takes_only_the_sources_and_the_whole_windows_asked_for(
        self, directory: Directory, rows_from: RowsFrom
    ) -> None:
        both = pa.concat_tables(
            [rows_from("2003-03-03T22:00", [1, 2, 3, 4]), rows_from("2003-03-03T22:00", [9] * 4, source="mail")]
        )
        write_history(both, directory, "calls", at("2003-03-03T22:00"), at("2003-03-04T02:00"))
        history = read_history(
            directory, "calls", sources=["ingest"], start=at("2003-03-03T22:30"), end=at("2003-03-04T01:30")
        )
        assert list(history.series) == ["ingest"]
        assert history.series["ingest"].start == at("2003-03-03T23:00")
        assert history.series["ingest"].counts.tolist() == [2, 3]

    def test_interval__snaps_to_windows(self, directory: Directory, write_from: WriteFrom, rows_from: RowsFrom) -> None:
        write_from("2003-03-03T07:00", [1, 2, 3])
        # From 8:20 to 9:40 snaps to 8:00 to 9:00: the window at 9:00 is not over yet.
        write_history(
            rows_from("2003-03-03T08:00", [20]), directory, "calls", at("2003-03-03T08:20"), at("2003-03-03T09:40")
        )
        assert counts(directory) == [1, 20, 3]

    def test_windows_that_do_not_divide_a_day__belong_to_the_date_they_start_on(
        self, directory: Directory, write_from: WriteFrom, rows_from: RowsFrom
    ) -> None:
        # Seven hours: 1970-01-01T00:00 is an edge, and so are 0:00, 7:00, 14:00 and 21:00 (to 4:00 of the next day).
        rows = rows_from("1970-01-01T00:00", [1, 2, 3, 4, 5], window_s=7 * 3600)
        write_history(rows, directory, "calls", at("1970-01-01"), at("1970-01-02T11:00"))
        write_from("1970-01-01T21:00", [40], window_s=7 * 3600)
        assert counts(directory) == [1, 2, 3, 40, 5]

    def test_unknown_topology__lists_the_known_ones(self, directory: Directory, write_from: WriteFrom) -> None:
        with pytest.raises(HistoryError, match=r"topology 'mails' has no arrival history in .*; known are none; run"):
            read_history(directory, "mails")
        write_from("2003-03-03T07:00", [1])
        with pytest.raises(HistoryError, match="known are calls"):
            read_history(directory, "mails")

    def test_unknown_source__lists_the_known_ones(self, directory: Directory, write_from: WriteFrom) -> None:
        write_from("2003-03-03T07:00", [1])
        with pytest.raises(HistoryError, match="no arrival history of source 'mail'; known are ingest"):
            read_history(directory, "calls", sources=["mail"])

    def test_interval_without_windows__says_what_there_is(self, directory: Directory, write_from: WriteFrom) -> None:
        write_from("2003-03-03T07:00", [1])
        with pytest.raises(
            HistoryError, match=r"no whole window between .* it covers the dates 2003-03-03 to 2003-03-03"
        ):
            read_history(directory, "calls", start=at("2003-03-04"))

    @pytest.mark.parametrize("name", ["../etc", "a/b", "", ".hidden"])
    def test_topology_name__cannot_lead_out_of_the_folder(self, directory: Directory, name: str) -> None:
        with pytest.raises(HistoryError, match="cannot name a folder"):
            read_history(directory, name)

    def test_damaged_part__is_named_and_building_its_day_again_mends_it(
        self, directory: Directory, kept: Path, rows_from: RowsFrom
    ) -> None:
        rows, day = rows_from("2003-03-03T00:00", [1] * 24), (at("2003-03-03"), at("2003-03-04"))
        write_history(rows, directory, "calls", *day)
        part = next(kept.glob("topology=calls/date=*/part-*"))
        content = bytearray(part.read_bytes())
        content[10] ^= 1
        part.write_bytes(content)
        with pytest.raises(
            HistoryError, match=r"part-.*\.parquet is damaged.*build the history of the whole date=2003-03-03"
        ):
            read_history(directory, "calls")
        with pytest.raises(HistoryError, match="is damaged"):
            write_history(rows.slice(0, 1), directory, "calls", day[0], at("2003-03-03T01:00"))
        write_history(rows, directory, "calls", *day)
        assert counts(directory) == [1] * 24

    def test_lost_part__is_named(self, directory: Directory, kept: Path, write_from: WriteFrom) -> None:
        write_from("2003-03-03T07:00", [1])
        next(kept.glob("topology=calls/date=*/part-*")).unlink()
        with pytest.raises(HistoryError, match="is missing; build the history of its date again"):
            read_history(directory, "calls")

    @pytest.mark.parametrize(
        "body", ["{", '{"format": 1}', "[]", json.dumps({"format": 99, "window_s": 60, "parts": {}})]
    )
    def test_damaged_manifest__is_named(
        self, directory: Directory, kept: Path, write_from: WriteFrom, body: str
    ) -> None:
        write_from("2003-03-03T07:00", [1])
        (kept / "topology=calls" / "_manifest.json").write_text(body)
        with pytest.raises(HistoryError, match=r"_manifest\.json .*rebuild the history"):
            read_history(directory, "calls")

    def test_rows_that_do_not_fit__are_refused_and_nothing_is_written(
        self, directory: Directory, kept: Path, rows_from: RowsFrom
    ) -> None:
        good = rows_from("2003-03-03T07:00", [1])
        interval = at("2003-03-03T07:00"), at("2003-03-03T08:00")
        for rows, complaint in [
            (good.slice(0, 0), "there are no windows to write"),
            (good.drop_columns(["status"]), "rows do not fit the columns"),
            (pa.concat_tables([good, good]), "more than one row for source 'ingest' at 2003-03-03 07:00:00"),
            (rows_from("2003-03-03T07:30", [1]), "does not start at a multiple of 3600 s"),
            (rows_from("2003-03-03T08:00", [1]), "lies outside the interval"),
            (pa.concat_tables([good, rows_from("2003-03-03T07:00", [1], window_s=60)]), "give one positive width"),
        ]:
            with pytest.raises(HistoryError, match=complaint):
                write_history(rows, directory, "calls", *interval)
        with pytest.raises(HistoryError, match="rows are of topology 'calls'; write them under their own name"):
            write_history(good, directory, "mails", *interval)
        assert files(kept) == {}

    def test_windows_of_another_width__are_refused(self, directory: Directory, rows_from: RowsFrom) -> None:
        interval = at("2003-03-03T07:00"), at("2003-03-03T08:00")
        write_history(rows_from("2003-03-03T07:00", [1]), directory, "calls", *interval)
        with pytest.raises(HistoryError, match="has windows of 3600 s, these rows 60 s"):
            write_history(rows_from("2003-03-03T07:00", [1], window_s=60), directory, "calls", *interval)
