"""The arrival history on disk."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.history import COLUMNS
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError

RowsFrom = Callable[..., pa.Table]
WriteFrom = Callable[..., None]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def counts(directory: Path, source: str = "ingest") -> list[float]:
    return read_history(directory, "calls").series[source].counts.tolist()


def files(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def test_history__comes_back_as_written_with_partial_and_missing_as_nan(tmp_path: Path, write_from: WriteFrom) -> None:
    write_from("2003-03-03T07:00", [5, 0, None, "~2", 7])
    series = read_history(tmp_path, "calls").series["ingest"]
    assert (series.start, series.window_s) == (at("2003-03-03T07:00"), 3600)
    assert series.counts.tolist() == pytest.approx([5, 0, np.nan, np.nan, 7], nan_ok=True)


def test_files__lie_by_topology_and_date_with_the_agreed_columns(tmp_path: Path, write_from: WriteFrom) -> None:
    write_from("2003-03-03T23:00", [5, 6])
    parts = sorted(tmp_path.glob("topology=calls/date=*/part-*.parquet"))
    assert [part.parent.name for part in parts] == ["date=2003-03-03", "date=2003-03-04"]
    table = pq.ParquetFile(parts[0]).read()
    assert tuple(table.column_names[:6]) == COLUMNS
    assert table.schema.field("window_start").type == pa.timestamp("us", tz="UTC")


def test_same_interval_twice__leaves_the_same_bytes(tmp_path: Path, rows_from: RowsFrom) -> None:
    rows = rows_from("2003-03-03T22:00", [5, None, 6, 7])
    interval = at("2003-03-03T22:00"), at("2003-03-04T02:00")
    write_history(rows, tmp_path, "calls", *interval)
    once = files(tmp_path)
    write_history(rows.take(pa.array([3, 1, 0, 2])), tmp_path, "calls", *interval)
    assert files(tmp_path) == once


def test_rewriting_an_interval__keeps_the_windows_of_its_dates_outside_it(
    tmp_path: Path, write_from: WriteFrom
) -> None:
    write_from("2003-03-03T22:00", [1, 2, 3, 4])
    write_from("2003-03-03T23:00", [20, 30])
    assert counts(tmp_path) == [1, 20, 30, 4]


def test_rewriting_an_interval__drops_what_it_held_and_no_longer_holds(tmp_path: Path, rows_from: RowsFrom) -> None:
    interval = at("2003-03-03T07:00"), at("2003-03-03T09:00")
    both = pa.concat_tables(
        [rows_from("2003-03-03T07:00", [1, 2]), rows_from("2003-03-03T07:00", [8, 9], source="mail")]
    )
    write_history(both, tmp_path, "calls", *interval)
    write_history(rows_from("2003-03-03T07:00", [1, 2]), tmp_path, "calls", *interval)
    assert list(read_history(tmp_path, "calls").series) == ["ingest"]


def test_dates_never_written__are_missing_not_zero(tmp_path: Path, write_from: WriteFrom) -> None:
    for date in ("2003-03-03", "2003-03-05"):
        write_from(date, [4] * 24)
    found = np.array(counts(tmp_path))
    assert found.size == 72
    assert np.isnan(found).tolist() == [False] * 24 + [True] * 24 + [False] * 24


def test_source_that_falls_silent__ends_in_missing_windows_where_others_go_on(
    tmp_path: Path, write_from: WriteFrom
) -> None:
    write_from("2003-03-03T07:00", [1], source="mail")
    write_from("2003-03-03T08:00", [2, 3])
    assert counts(tmp_path, "mail") == pytest.approx([1, np.nan, np.nan], nan_ok=True)
    assert counts(tmp_path, "ingest") == [2, 3]


def test_reading__takes_only_the_sources_and_the_whole_windows_asked_for(tmp_path: Path, rows_from: RowsFrom) -> None:
    both = pa.concat_tables(
        [rows_from("2003-03-03T22:00", [1, 2, 3, 4]), rows_from("2003-03-03T22:00", [9] * 4, source="mail")]
    )
    write_history(both, tmp_path, "calls", at("2003-03-03T22:00"), at("2003-03-04T02:00"))
    history = read_history(
        tmp_path, "calls", sources=["ingest"], start=at("2003-03-03T22:30"), end=at("2003-03-04T01:30")
    )
    assert list(history.series) == ["ingest"]
    assert history.series["ingest"].start == at("2003-03-03T23:00")
    assert history.series["ingest"].counts.tolist() == [2, 3]


def test_interval__snaps_to_windows(tmp_path: Path, write_from: WriteFrom, rows_from: RowsFrom) -> None:
    write_from("2003-03-03T07:00", [1, 2, 3])
    # From 8:20 to 9:40 snaps to 8:00 to 9:00: the window at 9:00 is not over yet.
    write_history(
        rows_from("2003-03-03T08:00", [20]), tmp_path, "calls", at("2003-03-03T08:20"), at("2003-03-03T09:40")
    )
    assert counts(tmp_path) == [1, 20, 3]


def test_windows_that_do_not_divide_a_day__belong_to_the_date_they_start_on(
    tmp_path: Path, write_from: WriteFrom, rows_from: RowsFrom
) -> None:
    # Seven hours: 1970-01-01T00:00 is an edge, and so are 0:00, 7:00, 14:00 and 21:00 (to 4:00 of the next day).
    rows = rows_from("1970-01-01T00:00", [1, 2, 3, 4, 5], window_s=7 * 3600)
    write_history(rows, tmp_path, "calls", at("1970-01-01"), at("1970-01-02T11:00"))
    write_from("1970-01-01T21:00", [40], window_s=7 * 3600)
    assert counts(tmp_path) == [1, 2, 3, 40, 5]


def test_unknown_topology__lists_the_known_ones(tmp_path: Path, write_from: WriteFrom) -> None:
    with pytest.raises(HistoryError, match=r"topology 'mails' has no arrival history in .*; known are none; run"):
        read_history(tmp_path, "mails")
    write_from("2003-03-03T07:00", [1])
    with pytest.raises(HistoryError, match="known are calls"):
        read_history(tmp_path, "mails")


def test_unknown_source__lists_the_known_ones(tmp_path: Path, write_from: WriteFrom) -> None:
    write_from("2003-03-03T07:00", [1])
    with pytest.raises(HistoryError, match="no arrival history of source 'mail'; known are ingest"):
        read_history(tmp_path, "calls", sources=["mail"])


def test_interval_without_windows__says_what_there_is(tmp_path: Path, write_from: WriteFrom) -> None:
    write_from("2003-03-03T07:00", [1])
    with pytest.raises(HistoryError, match=r"no whole window between .* it covers the dates 2003-03-03 to 2003-03-03"):
        read_history(tmp_path, "calls", start=at("2003-03-04"))


@pytest.mark.parametrize("name", ["../etc", "a/b", "", ".hidden"])
def test_topology_name__cannot_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(HistoryError, match="cannot name a folder"):
        read_history(tmp_path, name)


def test_damaged_part__is_named_and_building_its_day_again_mends_it(tmp_path: Path, rows_from: RowsFrom) -> None:
    rows, day = rows_from("2003-03-03T00:00", [1] * 24), (at("2003-03-03"), at("2003-03-04"))
    write_history(rows, tmp_path, "calls", *day)
    part = next(tmp_path.glob("topology=calls/date=*/part-*"))
    content = bytearray(part.read_bytes())
    content[10] ^= 1
    part.write_bytes(content)
    with pytest.raises(
        HistoryError, match=r"part-.*\.parquet is damaged.*build the history of the whole date=2003-03-03"
    ):
        read_history(tmp_path, "calls")
    with pytest.raises(HistoryError, match="is damaged"):
        write_history(rows.slice(0, 1), tmp_path, "calls", day[0], at("2003-03-03T01:00"))
    write_history(rows, tmp_path, "calls", *day)
    assert counts(tmp_path) == [1] * 24


def test_lost_part__is_named(tmp_path: Path, write_from: WriteFrom) -> None:
    write_from("2003-03-03T07:00", [1])
    next(tmp_path.glob("topology=calls/date=*/part-*")).unlink()
    with pytest.raises(HistoryError, match="is missing; build the history of its date again"):
        read_history(tmp_path, "calls")


@pytest.mark.parametrize("body", ["{", '{"format": 1}', "[]", json.dumps({"format": 99, "window_s": 60, "parts": {}})])
def test_damaged_manifest__is_named(tmp_path: Path, write_from: WriteFrom, body: str) -> None:
    write_from("2003-03-03T07:00", [1])
    (tmp_path / "topology=calls" / "_manifest.json").write_text(body)
    with pytest.raises(HistoryError, match=r"_manifest\.json .*rebuild the history"):
        read_history(tmp_path, "calls")


def test_rows_that_do_not_fit__are_refused_and_nothing_is_written(tmp_path: Path, rows_from: RowsFrom) -> None:
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
            write_history(rows, tmp_path, "calls", *interval)
    with pytest.raises(HistoryError, match="rows are of topology 'calls'; write them under their own name"):
        write_history(good, tmp_path, "mails", *interval)
    assert files(tmp_path) == {}


def test_windows_of_another_width__are_refused(tmp_path: Path, rows_from: RowsFrom) -> None:
    interval = at("2003-03-03T07:00"), at("2003-03-03T08:00")
    write_history(rows_from("2003-03-03T07:00", [1]), tmp_path, "calls", *interval)
    with pytest.raises(HistoryError, match="has windows of 3600 s, these rows 60 s"):
        write_history(rows_from("2003-03-03T07:00", [1], window_s=60), tmp_path, "calls", *interval)
