"""The tasks' own reader of Parquet and Spark's readers make the same history of the same rows, or one says why not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.arrival_source import Arrivals
from forecasting.arrivals.counting.event_files import EventColumns, EventFiles, Format
from forecasting.arrivals.counting.parquet_rows import row_groups
from forecasting.arrivals.coverage import covered_us
from forecasting.arrivals.grid import to_us
from forecasting.arrivals.sources.counted_events import CountedEvents
from forecasting.errors import HistoryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = EventColumns("at", "feed", key="topic", id="id", weight="n", arrived="came")
START = datetime(2003, 3, 3, tzinfo=UTC)
SEVEN = START + timedelta(hours=7)
Read = Callable[..., Arrivals]


@pytest.fixture
def read(spark: "SparkSession") -> Read:
    """Two days in windows of an hour."""

    def arrivals(files: EventFiles) -> Arrivals:
        source = CountedEvents(spark, files, datetime(2003, 3, 10, tzinfo=UTC))
        return source.read(START, START + timedelta(days=2), 3600)

    return arrivals


def told(arrivals: Arrivals) -> dict[str, object]:
    """All that a history is made of."""
    sources: dict[str, object] = {
        name: (
            one.counts.tolist(),
            covered_us(one.alive, arrivals.edges_us()).tolist(),
            {tally: numbers.tolist() for tally, numbers in one.tallies.items() if numbers.any()},
        )
        for name, one in arrivals.sources.items()
    }
    return {**sources, "keys": arrivals.keys}


def rows() -> dict[str, list[object]]:
    """600 rows of three days, to the microsecond, with copies, nulls, late ones, and clocks that are wrong."""
    rng = np.random.default_rng(7)
    ids = [None if n % 20 == 0 else f"call-{n}" for n in rng.integers(0, 500, 600).tolist()]
    at = [START - timedelta(hours=8) + timedelta(microseconds=int(us)) for us in rng.integers(0, 2 * 10**11, 600)]
    came = [time + timedelta(seconds=int(s)) for time, s in zip(at, rng.choice([0, 5, 9000, 20_000], 600), strict=True)]
    for row in rng.integers(0, 600, 20).tolist():
        at[row] = datetime(1970, 1, 1, tzinfo=UTC) if row % 2 else datetime(2033, 5, 1, tzinfo=UTC)
    return {
        "id": list(ids),
        "at": list(at),
        "came": list(came),
        "feed": rng.choice(["ingest", " ingest", "mail", "ämter\t"], 600).tolist(),
        "topic": [None if n == 0 else f"topic {n}" for n in rng.integers(0, 5, 600).tolist()],
        "n": rng.integers(0, 5, 600).tolist(),
    }


def written(folder: Path, given: dict[str, list[object]], form: str) -> EventFiles:
    """The rows in three files. wall: with times in Berlin, and no zone."""
    folder.mkdir()
    zone = ZoneInfo("Europe/Berlin") if "wall" in form else UTC
    kind = pa.timestamp("us", None if "wall" in form else "UTC")
    for part in range(3):
        table: dict[str, object] = {name: values[part::3] for name, values in given.items()}
        for name in ("at", "came"):
            times = [time.astimezone(zone) for time in table[name]]  # type: ignore[attr-defined]
            shown = [time.replace(tzinfo=None) for time in times] if "wall" in form else times
            texts = [time.isoformat() for time in shown]
            table[name] = pa.array(shown, kind) if "parquet" in form else pa.array(texts)
        whole = pa.table(table)
        match form.split()[0]:
            case "csv":
                pyarrow.csv.write_csv(whole, folder / f"{part}.csv")
            case "jsonl":
                import json

                lines = [json.dumps({k: v for k, v in row.items() if v is not None}) for row in whole.to_pylist()]
                (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n")
            case _:
                pq.write_table(whole, folder / f"{part}.parquet", row_group_size=50)
    name: Format = form.split()[0]  # type: ignore[assignment]
    zone_name = "Europe/Berlin" if "wall" in form else "UTC"
    return EventFiles(folder, COLUMNS, name, timezone=zone_name, lateness_s=7200, max_silence_s=1800)


def test_same_rows__make_the_same_history_in_every_format(tmp_path: Path, read: Read) -> None:
    given = rows()
    by_tasks = written(tmp_path / "parquet", given, "parquet")
    uris = [path.as_uri() for path in sorted((tmp_path / "parquet").iterdir())]
    assert row_groups(uris, by_tasks) is not None
    expected = told(read(by_tasks))
    # None of it is there by chance alone.
    counts, alive_us, tallies = expected["ingest"]  # type: ignore[misc]
    assert sum(counts) > 100
    assert 5 < sum(0 < us < 3_600_000_000 for us in alive_us) < 48
    assert set(tallies) == {"rows_read", "duplicates", "late", "future", "unset_clock"}
    for form in ("parquet wall", "csv", "csv wall", "jsonl"):
        assert told(read(written(tmp_path / form.replace(" ", "-"), given, form))) == expected, form


def write(tmp_path: Path, name: str, **columns: object) -> None:
    """A file of one row below tmp_path/events."""
    path = tmp_path / "events" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {"at": pa.array([SEVEN], pa.timestamp("us", tz="UTC")), **columns}
    pq.write_table(pa.table(table), path)


def counted(arrivals: Arrivals) -> dict[str, list[int]]:
    """Hours after START in which events came, of each source."""
    return {name: np.flatnonzero(one.counts).tolist() for name, one in arrivals.sources.items()}


WALL = SEVEN.replace(tzinfo=None)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_without_a_zone__are_read_in_that_of_the_source_in_every_unit(
    tmp_path: Path, read: Read, unit: str
) -> None:
    write(tmp_path, "a.parquet", at=pa.array([WALL], pa.timestamp(unit)))
    files = EventFiles(tmp_path / "events", EventColumns("at"), source="web", timezone="America/New_York")
    # New York is five hours behind UTC.
    assert counted(read(files)) == {"web": [12]}


def test_times_in_nanoseconds__are_read_by_either_reader(tmp_path: Path, read: Read) -> None:
    ns = pa.array([SEVEN], pa.timestamp("ns", tz="UTC"))
    write(tmp_path, "a.parquet", at=ns, id=pa.array(["a"]))
    assert counted(read(EventFiles(tmp_path / "events", EventColumns("at", id="id"), source="web"))) == {"web": [7]}
    # Ids that are fractions are none that the tasks read by themselves.
    write(tmp_path, "a.parquet", at=ns, id=pa.array([1.5]))
    assert counted(read(EventFiles(tmp_path / "events", EventColumns("at", id="id"), source="web"))) == {"web": [7]}


def test_times_in_int96__are_in_utc(tmp_path: Path, read: Read) -> None:
    (tmp_path / "events").mkdir()
    table = pa.table({"at": pa.array([WALL], pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "events" / "old.parquet", use_deprecated_int96_timestamps=True)
    files = EventFiles(tmp_path / "events", EventColumns("at"), source="web", timezone="America/New_York")
    assert counted(read(files)) == {"web": [7]}


@pytest.mark.parametrize("other", [pa.timestamp("us"), pa.timestamp("ns"), pa.string(), pa.int64()], ids=str)
def test_files_whose_times_are_told_in_two_ways__are_refused_and_not_guessed(
    tmp_path: Path, read: Read, other: pa.DataType
) -> None:
    write(tmp_path, "a.parquet")
    write(tmp_path, "b.parquet", at=pa.array([WALL], pa.timestamp("us")).cast(other))
    with pytest.raises(HistoryError, match=r"column 'at' (holds .* in .*; store it in one way|is .*, not a time)"):
        read(EventFiles(tmp_path / "events", EventColumns("at"), source="web", timezone="America/New_York"))


def test_ids_of_two_kinds__are_refused_by_name(tmp_path: Path, read: Read) -> None:
    write(tmp_path, "a.parquet", id=pa.array(["7"]))
    write(tmp_path, "b.parquet", id=pa.array([7]))
    with pytest.raises(
        HistoryError, match=r"reading file .*\.parquet. Data type mismatches when reading Parquet column \[id\]"
    ):
        read(EventFiles(tmp_path / "events", EventColumns("at", id="id"), source="web"))


def test_folders_value__is_the_source_also_where_the_files_have_a_column_of_that_name(
    tmp_path: Path, read: Read
) -> None:
    write(tmp_path, "feed=web/a.parquet")
    write(tmp_path, "feed=mail/a.parquet", feed=pa.array(["other"]))
    assert counted(read(EventFiles(tmp_path / "events", EventColumns("at", "feed")))) == {"web": [7], "mail": [7]}


def test_date_of_the_folder__can_be_the_source(tmp_path: Path, read: Read) -> None:
    write(tmp_path, "date=2003-03-03/a.parquet")
    assert counted(read(EventFiles(tmp_path / "events", EventColumns("at", "date")))) == {"2003-03-03": [7]}


def test_files_in_folders_with_odd_names__are_read(tmp_path: Path, read: Read) -> None:
    write(tmp_path, "region=a b%20#c/x y#z.parquet")
    files = EventFiles(tmp_path / "events", EventColumns("at"), source="web")
    assert counted(read(files)) == {"web": [7]}


def test_files_without_statistics__are_counted_all_the_same(tmp_path: Path, read: Read) -> None:
    (tmp_path / "events").mkdir()
    table = pa.table({"at": pa.array([SEVEN], pa.timestamp("us", tz="UTC"))})
    pq.write_table(table, tmp_path / "events" / "bare.parquet", write_statistics=False)
    source = EventFiles(tmp_path / "events", EventColumns("at"), source="web")
    assert counted(read(source)) == {"web": [7]}


def test_first_moment__is_the_same_by_statistics_and_by_looking(tmp_path: Path, spark: "SparkSession") -> None:
    write(tmp_path, "a.parquet", feed=pa.array(["web"]))
    looked_up = CountedEvents(spark, EventFiles(tmp_path / "events", EventColumns("at", "feed")), SEVEN)
    assert looked_up.first_moment() == SEVEN
    # A clock that was not set is no first moment.
    write(tmp_path, "b.parquet", feed=pa.array(["web"]), at=pa.array([0], pa.timestamp("us", tz="UTC")))
    assert CountedEvents(spark, looked_up.files, SEVEN).first_moment() == SEVEN


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("weight", [-1, 1.5, 10**13, None])
def test_weights_that_do_not_count__are_refused_with_the_value_and_the_remedy(
    tmp_path: Path, read: Read, form: Format, weight: float | None
) -> None:
    table = pa.table({"at": ["2003-03-03T07:00:00Z"] * 2, "n": pa.array([2, weight])})
    (tmp_path / "events").mkdir()
    if form == "csv":
        pyarrow.csv.write_csv(table, tmp_path / "events" / "a.csv")
    else:
        times = pa.array([SEVEN] * 2, pa.timestamp("us", tz="UTC"))
        pq.write_table(table.set_column(0, "at", times), tmp_path / "events" / "a.parquet")
    with pytest.raises(
        HistoryError, match=r"1 of 2 events .* no valid weight in column 'n'.*whole numbers from 0 to 10{12}"
    ):
        read(EventFiles(tmp_path / "events", EventColumns("at", weight="n"), form, "web"))


def test_whole_weights_among_fractions__count(tmp_path: Path, read: Read) -> None:
    # As a table of numbers has them where some were lacking.
    write(tmp_path, "a.parquet", n=pa.array([3.0]))
    arrivals = read(EventFiles(tmp_path / "events", EventColumns("at", weight="n"), source="web"))
    assert arrivals.sources["web"].counts.sum() == 3


def test_windows_narrower_than_what_a_row_stands_for__are_refused(tmp_path: Path, read: Read) -> None:
    write(tmp_path, "a.parquet", n=pa.array([3]))
    files = EventFiles(tmp_path / "events", EventColumns("at", weight="n"), source="web", span_s=7200)
    with pytest.raises(HistoryError, match="windows of 3600 s are narrower than the 7200 s that a row stands for"):
        read(files)


def test_throughput__is_held_back_throughout(tmp_path: Path, read: Read) -> None:
    from forecasting.arrivals.arrival_source import Measures

    write(tmp_path, "a.parquet")
    arrivals = read(EventFiles(tmp_path / "events", EventColumns("at"), source="web", measures=Measures.THROUGHPUT))
    assert arrivals.measures is Measures.THROUGHPUT
    assert arrivals.sources["web"].held_back.tolist() == [[to_us(START), to_us(START + timedelta(days=2))]]
