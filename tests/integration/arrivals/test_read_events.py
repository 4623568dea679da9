"""Raw events in every format, and what is said of those that cannot be used."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.grid import from_us
from forecasting.arrivals.sources.counted_events import CountedEvents
from forecasting.errors import HistoryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = EventColumns(time="at", source="feed", key="topic", id="id")
Read = Callable[[EventFiles], list[tuple[datetime, str, str | None, str | None]]]


@pytest.fixture
def read(spark: "SparkSession") -> Read:
    """The events as Python values, in order of time, in UTC; the history is not to be made of files that do not do."""
    from forecasting.arrivals.counting.spark_rows import event_rows, loaded

    def rows(files: EventFiles) -> list[tuple[datetime, str, str | None, str | None]]:
        source = CountedEvents(spark, files, datetime(2030, 1, 1, tzinfo=UTC))
        day = source.first_moment().replace(hour=0, minute=0, second=0, microsecond=0)
        source.read(day, day + timedelta(days=1), 3600)
        found = event_rows(loaded(spark, files), files).orderBy("time").toArrow().to_pylist()
        return [(from_us(row["time"]), row["source"], row.get("key"), row.get("id")) for row in found]

    return rows


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_csv__is_read_with_offsets_and_local_times(tmp_path: Path, read: Read) -> None:
    # In Berlin, 26 October 2003 is in summer time (+2) at 1:30, and in winter time (+1) at 4:30.
    (tmp_path / "events.csv").write_text(
        "id,feed,at,topic\n"
        "a,ingest,2003-10-26T01:30:00,loans\n"
        "b,ingest,2003-10-26 04:30:00.25,\n"
        "c,mail,2003-10-26T04:30:00Z,cards\n"
        "d,mail,2003-10-26T04:30:00-0500,cards\n"
    )
    assert read(EventFiles(tmp_path / "events.csv", COLUMNS, "csv", timezone="Europe/Berlin")) == [
        (utc("2003-10-25T23:30:00"), "ingest", "loans", "a"),
        (utc("2003-10-26T03:30:00.250000"), "ingest", None, "b"),
        (utc("2003-10-26T04:30:00"), "mail", "cards", "c"),
        (utc("2003-10-26T09:30:00"), "mail", "cards", "d"),
    ]


def test_jsonl__is_read_whatever_the_order_of_fields(tmp_path: Path, read: Read) -> None:
    (tmp_path / "events.jsonl").write_text(
        '{"id": 7, "feed": "ingest", "at": "2003-03-03T07:00:00Z"}\n'
        '{"at": "2003-03-03T07:00:01Z", "topic": "loans", "id": "b", "feed": "ingest", "more": {"deep": 1}}\n'
    )
    assert read(EventFiles(tmp_path / "events.jsonl", COLUMNS, "jsonl")) == [
        (utc("2003-03-03T07:00:00"), "ingest", None, "7"),
        (utc("2003-03-03T07:00:01"), "ingest", "loans", "b"),
    ]


def test_parquet__with_wall_clock_times_is_read_in_the_time_zone_of_the_source(tmp_path: Path, read: Read) -> None:
    times = pa.array([datetime(2003, 3, 3, 7)], pa.timestamp("us"))
    pq.write_table(pa.table({"at": times, "odd.name": ["x"]}), tmp_path / "events.parquet")
    source = EventFiles(
        tmp_path / "events.parquet", EventColumns("at", key="odd.name"), source="web", timezone="America/New_York"
    )
    assert read(source) == [(utc("2003-03-03T12:00:00"), "web", "x", None)]


@pytest.mark.parametrize(
    "given", ["yesterday", "2003", "T12:00:00", "2003-13-03T07:00:00Z", "1046674800", "03/03/2003 07:00"]
)
def test_unparsable_time__names_file_count_value_and_remedy(tmp_path: Path, read: Read, given: str) -> None:
    (tmp_path / "good.csv").write_text("at\n2003-03-03T07:00:00Z\n")
    (tmp_path / "poor.csv").write_text(f"at\n{given}\n2003-03-03T07:00:00Z\n")
    with pytest.raises(HistoryError) as error:
        read(EventFiles(tmp_path, EventColumns("at"), "csv", source="web"))
    for part in ("1 of 3 events", "column 'at'", repr(given), "poor.csv", "write ISO 8601 times such as"):
        assert part in str(error.value)


def test_null_time__names_file_and_count(events: Callable[..., EventFiles], read: Read) -> None:
    source = events([("a", "2003-03-03T07:00")], [("b", None), ("c", None)])
    with pytest.raises(
        HistoryError, match=r"2 of 3 events in .* have no time in column 'at', such as in .*part.parquet"
    ):
        read(source)


@pytest.mark.parametrize("feed", [None, "", "  "])
def test_null_source__names_the_column_and_an_example(
    events: Callable[..., EventFiles], read: Read, feed: str | None
) -> None:
    with pytest.raises(
        HistoryError,
        match=r"1 of 1 events .* have no source in column 'feed', .* such as '2003-03-03 07:00",
    ):
        read(events([("a", "2003-03-03T07:00", feed)]))


@pytest.mark.parametrize("role", ["time", "source", "key", "id"])
def test_missing_column__names_it_its_role_and_the_columns_there_are(
    events: Callable[..., EventFiles], read: Read, role: str
) -> None:
    path = events([("a", "2003-03-03T07:00")]).path
    columns = EventColumns(**{**COLUMNS.named(), role: "elsewhere"})
    with pytest.raises(
        HistoryError, match=f"no column 'elsewhere' for the {role}; they have id, at, feed, topic, date"
    ):
        read(EventFiles(path, columns))


def test_column_that_is_no_time__names_its_type(tmp_path: Path, read: Read) -> None:
    pq.write_table(pa.table({"at": [1046674800]}), tmp_path / "events.parquet")
    with pytest.raises(HistoryError, match="column 'at' is bigint, not a time; store timestamps, or write ISO 8601"):
        read(EventFiles(tmp_path / "events.parquet", EventColumns("at"), source="web"))


def test_broken_json_line__is_shown(tmp_path: Path, read: Read) -> None:
    (tmp_path / "events.jsonl").write_text('{"at": "2003-03-03T07:00:00Z"}\n{"at": "2003-03-\n')
    with pytest.raises(
        HistoryError, match=r"1 of 2 events .* are not jsonl, such as '\{\"at\": \"2003-03-' in .*events.jsonl"
    ):
        read(EventFiles(tmp_path / "events.jsonl", EventColumns("at"), "jsonl", source="web"))


def test_a_torn_line_among_many__is_set_aside_and_told(
    tmp_path: Path, spark: "SparkSession", caplog: pytest.LogCaptureFixture
) -> None:
    whole = [f'{{"at": "2003-03-03T07:{n // 60:02}:{n % 60:02}Z"}}' for n in range(600)]
    (tmp_path / "events.jsonl").write_text("\n".join([*whole[:300], '{"at": "2003-03-', *whole[300:]]) + "\n")
    files = EventFiles(tmp_path / "events.jsonl", EventColumns("at"), "jsonl", source="web")
    source = CountedEvents(spark, files, utc("2003-03-03T09:30:00"))
    with caplog.at_level("WARNING"):
        web = source.read(utc("2003-03-03T07:00:00"), utc("2003-03-03T09:00:00"), 3600).sources["web"]
    assert web.counts.tolist() == [600, 0]
    # Its time is unknown: told with the newest window that is over, as rows of a wrong clock are.
    assert web.tallies["damaged"].tolist() == [0, 1]
    assert "1 of 601 events" in caplog.text
    assert '{"at": "2003-03-' in caplog.text


def test_a_torn_row_of_csv__counts_for_no_source_although_its_time_is_whole(
    tmp_path: Path, spark: "SparkSession", caplog: pytest.LogCaptureFixture
) -> None:
    whole = [f"2003-03-03T07:{n // 60:02}:{n % 60:02}Z,ingest,{n}" for n in range(600)]
    torn = ["2003-03-03T07:05:00Z,ing", "2003-03-03T07:05:00Z,ingest,7,2003-03-03T07:05:01Z,ingest,8"]
    (tmp_path / "events.csv").write_text("\n".join(["at,feed,id", *whole[:300], *torn, *whole[300:]]) + "\n")
    files = EventFiles(tmp_path / "events.csv", EventColumns("at", "feed", id="id"), "csv")
    with caplog.at_level("WARNING"):
        history = CountedEvents(spark, files, utc("2003-03-03T09:30:00")).read(
            utc("2003-03-03T07:00:00"), utc("2003-03-03T09:00:00"), 3600
        )
    assert history.sources.keys() == {"ingest"}
    assert history.sources["ingest"].counts.tolist() == [600, 0]
    assert "2 of 602 events" in caplog.text


def test_csv_files_with_columns_in_another_order__are_refused(tmp_path: Path, read: Read) -> None:
    (tmp_path / "a.csv").write_text("at,feed\n2003-03-03T07:00:00Z,ingest\n")
    (tmp_path / "b.csv").write_text("feed,at\ningest,2003-03-03T07:00:00Z\n")
    with pytest.raises(HistoryError, match=r"(a|b)\.csv: .*header.* every file is whole and has the same columns"):
        read(EventFiles(tmp_path, EventColumns("at", "feed"), "csv"))


def test_summaries_that_writers_leave_beside_their_parquet_files__are_no_events(tmp_path: Path, read: Read) -> None:
    rows = pa.table({"at": pa.array([utc("2003-03-03T09:30:00")], pa.timestamp("us", tz="UTC"))})
    held: list[pq.FileMetaData] = []
    pq.write_table(rows, tmp_path / "part.parquet", metadata_collector=held)
    held[0].set_file_path("part.parquet")
    pq.write_metadata(rows.schema, tmp_path / "_metadata", metadata_collector=held)
    assert len(read(EventFiles(tmp_path, EventColumns("at"), source="web"))) == 1


def test_rows_of_files_that_nobody_has_counted__are_expected_by_their_size(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from forecasting.arrivals.counting.spark_rows import expected_rows

    (tmp_path / "a.csv").write_bytes(b"x" * 30_000)
    (tmp_path / "b.csv.gz").write_bytes(b"x" * 3_000)
    # A row of 30 bytes, and eight of them in what takes as much when it is packed.
    assert expected_rows(spark, EventFiles(tmp_path, EventColumns("at"), "csv", source="web")) == 1000 + 800 + 1


def test_files_that_are_absent_empty_or_broken__are_named(tmp_path: Path, read: Read) -> None:
    columns = EventColumns("at")
    with pytest.raises(HistoryError, match=r"Path does not exist: .*nowhere"):
        read(EventFiles(tmp_path / "nowhere", columns, source="web"))
    (tmp_path / "none").mkdir()
    with pytest.raises(HistoryError, match="none cannot be read as parquet"):
        read(EventFiles(tmp_path / "none", columns, source="web"))
    (tmp_path / "header.csv").write_text("at\n")
    with pytest.raises(HistoryError, match=r"header\.csv holds no event"):
        read(EventFiles(tmp_path / "header.csv", columns, "csv", source="web"))
    (tmp_path / "broken.parquet").write_text("PAR1, but no more")
    with pytest.raises(HistoryError, match=r"file:.*broken\.parquet"):
        read(EventFiles(tmp_path / "broken.parquet", columns, source="web"))
