"""Which Parquet files the tasks read by themselves, which of their row groups, and what they make of the rows."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counted_rows import rules

from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.counting.parquet_rows import RowGroup, batches, row_groups, splits, zone_of_nanoseconds
from forecasting.arrivals.counting.tally import Rules
from forecasting.arrivals.grid import DAY_S, SECOND_US, to_us
from forecasting.errors import HistoryError

COLUMNS = EventColumns(time="at", source="feed", key="topic", id="id", weight="n", arrived="came")
SEVEN = datetime(2003, 3, 3, 7, tzinfo=UTC)
DAY_US = DAY_S * SECOND_US
Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A file of two rows, with columns in place of those that it would have; None for one that it is to lack."""

    def written(name: str = "part.parquet", **columns: pa.Array | None) -> str:
        table = {
            "at": pa.array([SEVEN, SEVEN + timedelta(hours=1)], pa.timestamp("us", tz="UTC")),
            "feed": pa.array(["web", "mail"]),
            "topic": pa.array(["loans", None]),
            "id": pa.array(["a", "b"]),
            "n": pa.array([1, 2]),
            "came": pa.array([SEVEN, SEVEN + timedelta(hours=2)], pa.timestamp("us", tz="UTC")),
            **columns,
        }
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({at: column for at, column in table.items() if column is not None}), path)
        return path.as_uri()

    return written


def groups(*uris: str, columns: EventColumns = COLUMNS, source: str | None = None) -> list[RowGroup] | None:
    return row_groups(uris, EventFiles("events", columns, source=source))


def test_file_that_needs_no_interpretation__is_read_by_the_tasks(write: Write) -> None:
    seven = to_us(SEVEN)
    uri = write()
    bounds = (seven, seven + DAY_US // 24, seven, seven + DAY_US // 12)
    assert groups(uri) == [RowGroup(uri, 0, 2, *bounds)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_times__have_the_same_bounds_and_values_in_every_unit(write: Write, unit: str, zone: str) -> None:
    files = EventFiles("events", COLUMNS)
    times = pa.array([SEVEN, SEVEN + timedelta(hours=1)], pa.timestamp(unit, tz=zone))
    (group,) = row_groups([write(at=times)], files) or []
    assert (group.first_us, group.last_us) == (to_us(SEVEN), to_us(SEVEN) + DAY_US // 24)
    (batch,) = batches([group], files)
    assert batch.time_us.tolist() == [group.first_us, group.last_us]


def test_times_that_no_calendar_holds__have_bounds_as_well(write: Write) -> None:
    # A clock in milliseconds taken for microseconds the wrong way round: the year 34,000.
    far = pa.array([0, 10**18], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    assert [(group.first_us, group.last_us) for group in groups(write(at=far)) or []] == [(0, 10**18)]


def test_nanoseconds__are_cut_to_microseconds_within_their_bounds(write: Write) -> None:
    files = EventFiles("events", COLUMNS)
    times = pa.array([1_000_000_000_000_001_999, 1_000_000_000_000_001_001], pa.timestamp("ns", tz="UTC"))
    (group,) = row_groups([write(at=times)], files) or []
    (batch,) = batches([group], files)
    assert batch.time_us.tolist() == [1_000_000_000_000_001] * 2
    assert group.first_us <= 1_000_000_000_000_001 <= group.last_us


def test_row_group_with_a_null_time_or_without_statistics__may_hold_any_time(write: Write, tmp_path: Path) -> None:
    null = pa.array([SEVEN, None], pa.timestamp("us", tz="UTC"))
    (group,) = groups(write(at=null)) or []
    assert (group.first_us, group.last_us, group.came_first_us) == (-(2**63), 2**63 - 1, to_us(SEVEN))
    path = tmp_path / "bare.parquet"
    pq.write_table(pq.read_table(write(), partitioning=None), path, write_statistics=False)
    (group,) = groups(path.as_uri()) or []
    assert (group.first_us, group.last_us) == (-(2**63), 2**63 - 1)


def test_sources_keys_and_ids__are_read_alike_as_text_and_as_codes(write: Write) -> None:
    files = EventFiles("events", COLUMNS)
    told = []
    codes = pa.dictionary(pa.int16(), pa.string())
    for number, kind in enumerate((pa.string(), pa.large_string(), codes)):
        columns = {"feed": ["web", "mail"], "topic": ["loans", None], "id": ["a", "b"]}
        uri = write(f"{number}.parquet", **{at: pa.array(given).cast(kind) for at, given in columns.items()})
        (batch,) = batches(row_groups([uri], files) or [], files)
        assert batch.key is not None
        assert batch.ids is not None
        names = [batch.source.names[code] for code in batch.source.codes]
        told.append((names, batch.key.names[batch.key.codes[0]], batch.key.codes[1], batch.ids.tolist()))
    assert told[0] == told[1] == told[2]
    assert told[0][:3] == (["web", "mail"], "loans", -1)


def test_one_source_of_all_events__is_that_of_every_row(write: Write) -> None:
    files = EventFiles("events", EventColumns("at"), source="calls")
    (batch,) = batches(row_groups([write()], files) or [], files)
    assert [batch.source.names[code] for code in batch.source.codes] == ["calls", "calls"]


WALL = pa.array([SEVEN.replace(tzinfo=None)] * 2, pa.timestamp("us"))


@pytest.mark.parametrize(
    "columns",
    [
        {"at": WALL},
        {"came": WALL},
        {"at": pa.array(["2003-03-03T07:00:00Z"] * 2)},
        {"at": pa.array([1, 2])},
        {"feed": pa.array([1, 2])},
        {"topic": pa.array([1, 2])},
        {"id": pa.array([1.5, 2.5])},
        {"id": None},
        {"n": pa.array([1.0, 2.0])},
        {"n": pa.array(["1", "2"])},
        {"feed": pa.array([{"name": "web"}, {"name": "mail"}])},
    ],
    ids=lambda columns: "-".join(f"{name} {getattr(column, 'type', 'absent')}" for name, column in columns.items()),
)
def test_file_that_needs_interpretation__is_left_to_spark(write: Write, columns: dict[str, pa.Array | None]) -> None:
    assert groups(write(**columns)) is None


def test_times_in_int96__are_left_to_spark(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "old.parquet"
    pq.write_table(pq.read_table(write(), partitioning=None), path, use_deprecated_int96_timestamps=True)
    assert groups(path.as_uri()) is None


def test_name_with_a_dot__which_may_lead_into_a_struct__is_left_to_spark(write: Write) -> None:
    uri = write(**{"at": pa.array([{"utc": SEVEN}] * 2), "at.utc": pa.array([SEVEN] * 2, pa.timestamp("us", tz="UTC"))})
    assert groups(uri, columns=EventColumns("at.utc"), source="web") is None


def test_column_that_a_folder_names_as_well__is_left_to_spark_which_takes_the_folders_value(write: Write) -> None:
    assert groups(write("feed=web/part.parquet")) is None
    assert groups(write("date=2003-03-03/part.parquet")) is not None


def test_nested_columns_before_the_time__do_not_shift_its_bounds(tmp_path: Path) -> None:
    path = tmp_path / "nested.parquet"
    table = {"deep": [{"x": 1, "y": 2}], "at": pa.array([SEVEN], pa.timestamp("us", tz="UTC"))}
    pq.write_table(pa.table(table), path)
    (group,) = groups(path.as_uri(), columns=EventColumns("at"), source="web") or []
    assert (group.first_us, group.last_us) == (to_us(SEVEN), to_us(SEVEN))


def test_file_whose_ids_are_of_another_kind__leaves_all_to_spark(write: Write) -> None:
    text, whole = write("a.parquet"), write("b.parquet", id=pa.array([1, 2]))
    narrow, unsigned = (
        write("c.parquet", id=pa.array([1, 2], pa.int16())),
        write("d.parquet", id=pa.array([1, 2], "u8")),
    )
    assert groups(text, whole) is None
    assert groups(whole, unsigned) is None
    assert len(groups(whole, narrow) or []) == 2


@pytest.mark.parametrize("role", ["at", "came"])
def test_files_whose_times_are_told_in_two_ways__are_refused_by_name(write: Write, role: str) -> None:
    zoned, bare = write("a.parquet"), write("b.parquet", **{role: WALL})
    both = r"times in UTC in .*a.parquet and times without a zone in .*b.parquet; store it in one way"
    with pytest.raises(HistoryError, match=f"column '{role}' holds {both}"):
        groups(zoned, bare)


def test_file_that_is_no_parquet__is_left_to_spark_that_says_so(write: Write, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_text("PAR1, but no more")
    assert groups(write(), (tmp_path / "broken.parquet").as_uri()) is None


def test_odd_names_of_files_and_folders__are_read(write: Write) -> None:
    uri = write("odd %20#name=1/a b#c?.parquet")
    (group,) = groups(uri) or []
    (batch,) = batches([group], EventFiles("events", COLUMNS))
    assert batch.time_us.size == 2


def test_nanoseconds__are_told_from_bare_numbers(write: Write) -> None:
    ns = pa.array([SEVEN] * 2, pa.timestamp("ns", tz="UTC"))
    assert zone_of_nanoseconds([write(at=ns)], "at") is True
    assert zone_of_nanoseconds([write(at=WALL.cast(pa.timestamp("ns")))], "at") is False
    assert zone_of_nanoseconds([write()], "at") is None
    assert zone_of_nanoseconds([write(at=pa.array([1, 2]))], "at") is None


def day(number: int, *, came: int | None = None) -> RowGroup:
    """A file of one day of the thirty from 1970 on; came: the day on which all its rows arrived."""
    came = number if came is None else came
    return RowGroup(
        f"{number}", 0, 1000, number * DAY_US, (number + 1) * DAY_US - 1, came * DAY_US, (came + 1) * DAY_US - 1
    )


def read_for(groups: list[RowGroup], given: Rules, look_back_us: int = 0) -> list[str]:
    return sorted((group.uri for lot in splits(groups, given, look_back_us) for group in lot), key=float)


def test_one_day_of_thirty__needs_the_files_of_that_day_and_its_neighbours() -> None:
    thirty = [day(number) for number in range(30)]
    # An hour of silence on either side reaches into the days before and after; a gap of a day one further back.
    given = rules(20 * DAY_US, 21 * DAY_US, window_us=DAY_US // 24)
    assert read_for(thirty, given) == ["19", "20", "21"]
    assert read_for(thirty, given, DAY_US) == ["18", "19", "20", "21"]
    assert read_for(thirty, rules(29 * DAY_US, 30 * DAY_US, window_us=DAY_US // 24)) == ["28", "29"]


def test_files_of_clocks_that_were_wrong__are_read_where_their_rows_are_told_of() -> None:
    hour_us = DAY_US // 24
    files = [day(20), day(21), day(-5, came=20), day(90, came=20), day(-6, came=3)]
    by_arrival = rules(20 * DAY_US, 21 * DAY_US, window_us=hour_us, arrivals=True)
    assert read_for(files, by_arrival) == ["-5", "20", "21", "90"]
    # Where nothing tells when they came, only with the newest window that is over now.
    files = [replace(file, came_first_us=-(2**63), came_last_us=2**63 - 1) for file in files]
    newest = rules(20 * DAY_US, 21 * DAY_US, window_us=hour_us, now_us=21 * DAY_US)
    assert read_for(files, newest) == ["-6", "-5", "20", "21", "90"]
    older = rules(20 * DAY_US, 21 * DAY_US, window_us=hour_us, now_us=24 * DAY_US)
    assert read_for(files, older) == ["20", "21"]


def test_lots__hold_what_lies_side_by_side_in_time() -> None:
    files = [
        RowGroup(str(at), 0, 1_500_000, at * DAY_US, at * DAY_US + 1, -(2**63), 2**63 - 1) for at in (3, 0, 4, 1, 2)
    ]
    lots = splits(files, rules(0, 5 * DAY_US, window_us=DAY_US), 0)
    # A lot is full once it holds 4 million rows: three of 1.5 million.
    assert [[group.uri for group in lot] for lot in lots] == [["0", "1", "2"], ["3", "4"]]
