"""Wall-clock times on the days on which the clocks are set: what is skipped, what repeats, and what is certain."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.arrival_source import SourceArrivals
from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.coverage import status_codes
from forecasting.arrivals.history import STATUSES
from forecasting.arrivals.sources.counted_events import CountedEvents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Read = Callable[..., tuple[SourceArrivals, list[str]]]
# Where an hour repeats, a lone event lies in either of the two: the silence of the other must not end a span.
SILENCE_S = 7200
HALF_HOURS = [timedelta(minutes=30 * n) for n in range(200)]


@pytest.fixture
def read(spark: "SparkSession") -> Read:
    """What half-hour windows tell of the one source, from a time in UTC on, and their statuses."""

    def told(files: EventFiles, start: str, windows: int, window_s: int = 1800) -> tuple[SourceArrivals, list[str]]:
        begin = datetime.fromisoformat(start).replace(tzinfo=UTC)
        source = CountedEvents(spark, files, datetime(2030, 1, 1, tzinfo=UTC))
        arrivals = source.read(begin, begin + windows * timedelta(seconds=window_s), window_s)
        (web,) = arrivals.sources.values()
        return web, np.array(STATUSES)[status_codes(web.alive, arrivals.edges_us(), web.counts)].tolist()

    return told


def shown(first: str, last: str) -> list[datetime]:
    """What a clock shows every half hour, ten minutes past it, from first to last; as if no clock were ever set."""
    begin, end = datetime.fromisoformat(first), datetime.fromisoformat(last)
    return [begin + step + timedelta(minutes=10) for step in HALF_HOURS if begin + step <= end]


def csv(tmp_path: Path, times: list[str], zone: str) -> EventFiles:
    (tmp_path / "events.csv").write_text("at\n" + "\n".join(times) + "\n")
    return EventFiles(tmp_path / "events.csv", EventColumns("at"), "csv", "web", zone, max_silence_s=SILENCE_S)


def parquet(tmp_path: Path, times: list[datetime], zone: str, unit: str = "us") -> EventFiles:
    table = pa.table({"at": pa.array(times, pa.timestamp("us")).cast(pa.timestamp(unit))})
    pq.write_table(table, tmp_path / "events.parquet")
    return EventFiles(tmp_path / "events.parquet", EventColumns("at"), "parquet", "web", zone, max_silence_s=SILENCE_S)


def either(tmp_path: Path, times: list[datetime], zone: str, form: str) -> EventFiles:
    if form == "csv":
        return csv(tmp_path, [time.isoformat(" ") for time in times], zone)
    return parquet(tmp_path, times, zone, form)


FORMS = pytest.mark.parametrize("form", ["csv", "us", "ns"])


@FORMS
def test_hour_that_is_skipped__goes_to_quarantine(tmp_path: Path, read: Read, form: str) -> None:
    # Berlin, 30 March 2003: the clock goes from 2:00 (+1) to 3:00 (+2), which is 1:00 in UTC. Shown are 0:10 to 4:40:
    # 0:10, 0:40, 1:10 and 1:40 are 23:10 to 0:40 in UTC, 3:10 to 4:40 are 1:10 to 2:40; 2:10 and 2:40 never were.
    files = either(tmp_path, shown("2003-03-30T00:00", "2003-03-30T04:30"), "Europe/Berlin", form)
    told, status = read(files, "2003-03-29T23:00", 8)
    assert told.counts.tolist() == [1] * 8
    assert status == ["partial", *["observed"] * 6, "partial"]
    # A clock that was not set would show 2:10 at 1:10 in UTC: that is where they are told of.
    assert told.tallies["skipped_hour"].tolist() == [0, 0, 0, 0, 1, 1, 0, 0]
    assert told.tallies["rows_read"].tolist() == [1, 1, 1, 1, 2, 2, 1, 1]


@FORMS
def test_hour_that_repeats__leaves_both_hours_unobserved(tmp_path: Path, read: Read, form: str) -> None:
    # Berlin, 26 October 2003: the clock goes from 3:00 (+2) back to 2:00 (+1), which is 1:00 in UTC. 1:10 and 1:40 are
    # 23:10 and 23:40 in UTC; 2:10 and 2:40 are 0:10 and 0:40, or an hour later; 3:10 and 3:40 are 2:10 and 2:40.
    times = shown("2003-10-26T01:00", "2003-10-26T01:30") + 2 * shown("2003-10-26T02:00", "2003-10-26T02:30")
    files = either(tmp_path, times + shown("2003-10-26T03:00", "2003-10-26T03:30"), "Europe/Berlin", form)
    told, status = read(files, "2003-10-25T23:00", 8)
    # Both showed 2:10 and 2:40 once.
    assert told.counts.tolist() == [1] * 8
    assert status[1:7] == ["observed", *["partial"] * 4, "observed"]


def test_hour_that_repeats__counts_half_of_its_events_in_each_of_the_two(tmp_path: Path, read: Read) -> None:
    # One event a second: 3,600 an hour, and 7,200 between 2:00 and 3:00 by the clock.
    hour = [datetime(2003, 10, 26, 2) + timedelta(seconds=n) for n in range(3600)]
    told, status = read(parquet(tmp_path, hour + hour, "Europe/Berlin"), "2003-10-26T00:00", 2, 3600)
    assert told.counts.tolist() == [3600, 3600]
    assert status == ["partial", "partial"]


def test_hour_that_repeats__is_certain_in_windows_that_hold_both(tmp_path: Path, read: Read) -> None:
    # Every half hour of three days; from 2:00 to 3:00 of 26 October twice. That day in UTC holds both hours: 4 events,
    # and those of the 22 hours from 3:00 to 1:00 of the next day: 44. All others hold 48 half hours.
    times = shown("2003-10-24T20:00", "2003-10-26T02:30") + shown("2003-10-26T02:00", "2003-10-28T00:00")
    told, status = read(parquet(tmp_path, times, "Europe/Berlin"), "2003-10-25T00:00", 2, 86_400)
    assert told.counts.tolist() == [48, 48]
    assert status == ["observed", "observed"]


def test_hour_that_repeats__is_certain_where_times_have_offsets_and_the_day_has_25_hours(
    tmp_path: Path, read: Read
) -> None:
    # 26 October 2003 in Berlin, from 22:00 in UTC: one event an hour, ten minutes past.
    first = datetime(2003, 10, 25, 22, 10, tzinfo=UTC)
    times = [first + timedelta(hours=n) for n in range(-1, 26)]
    offsets = [timedelta(hours=2 if time < datetime(2003, 10, 26, 1, tzinfo=UTC) else 1) for time in times]
    written = [
        f"{(time + offset).replace(tzinfo=None).isoformat()}+0{offset // timedelta(hours=1)}:00"
        for time, offset in zip(times, offsets, strict=True)
    ]
    assert "2003-10-26T02:10:00+02:00" in written
    assert "2003-10-26T02:10:00+01:00" in written
    told, status = read(csv(tmp_path, written, "Europe/Berlin"), "2003-10-25T22:00", 25, 3600)
    assert told.counts.tolist() == [1] * 25
    assert status == ["observed"] * 25
    assert "skipped_hour" not in told.tallies


def test_southern_zone__repeats_in_its_autumn(tmp_path: Path, read: Read) -> None:
    # Sydney, 30 March 2003: from 3:00 (+11) back to 2:00 (+10), which is 16:00 of the 29th in UTC.
    files = parquet(tmp_path, shown("2003-03-30T01:00", "2003-03-30T03:30"), "Australia/Sydney")
    told, status = read(files, "2003-03-29T14:00", 8)
    # 1:10 and 1:40 are 14:10 and 14:40; 2:10 and 2:40 are 15:10 and 15:40, or an hour later; 3:10 is 17:10.
    assert told.counts[[0, 1, 6, 7]].tolist() == [1] * 4
    assert (told.counts[2:4] + told.counts[4:6]).tolist() == [1, 1]
    assert (status[1], status[6]) == ("observed", "observed")
    assert "observed" not in status[2:6]


def test_half_an_hour_that_repeats__leaves_just_two_half_hours_unobserved(tmp_path: Path, read: Read) -> None:
    # Lord Howe Island, 30 March 2003: from 2:00 (+11) back to 1:30 (+10:30), which is 15:00 of the 29th in UTC.
    files = parquet(tmp_path, shown("2003-03-30T00:30", "2003-03-30T02:30"), "Australia/Lord_Howe")
    told, status = read(files, "2003-03-29T13:30", 6)
    # 0:40 and 1:10 are 13:40 and 14:10; 1:40 is 14:40 or 15:10; 2:10 and 2:40 are 15:40 and 16:10.
    assert told.counts[[0, 1, 4, 5]].tolist() == [1] * 4
    assert told.counts[2:4].sum() == 1
    assert sorted(status[2:4]) == ["missing", "partial"]


def test_half_an_hour_that_is_skipped__goes_to_quarantine(tmp_path: Path, read: Read) -> None:
    # Lord Howe Island, 26 October 2003: from 2:00 (+10:30) to 2:30 (+11), which is 15:30 of the 25th in UTC.
    files = parquet(tmp_path, shown("2003-10-26T01:00", "2003-10-26T03:00"), "Australia/Lord_Howe")
    told, _ = read(files, "2003-10-25T14:30", 4)
    # 1:10 and 1:40 are 14:40 and 15:10; 2:10 never was; 2:40 and 3:10 are 15:40 and 16:10.
    assert told.counts.tolist() == [1, 1, 1, 1]
    assert told.tallies["skipped_hour"].sum() == 1


def test_arrival_in_an_hour_that_repeats__is_not_before_the_event(tmp_path: Path, read: Read) -> None:
    # At 1:20 in UTC of 26 October 2003 the clock in Berlin shows 2:20, as it did at 0:20. An event that is stamped with
    # its offset arrives a minute later: no event of the future.
    (tmp_path / "events.csv").write_text(
        "at,came\n2003-10-26T00:20:00Z,2003-10-26 02:21:00\n2003-10-26T01:20:00Z,2003-10-26 02:21:00\n"
    )
    columns = EventColumns("at", arrived="came")
    files = EventFiles(tmp_path / "events.csv", columns, "csv", source="web", timezone="Europe/Berlin")
    told, _ = read(files, "2003-10-26T00:00", 4)
    assert told.counts.tolist() == [1, 0, 1, 0]
    assert "future" not in told.tallies


@pytest.mark.parametrize("suffix", [" UTC", "GMT", "Z", "+00", "-0000", "+00:00"])
def test_every_way_to_write_utc__is_read_as_utc_whatever_the_time_zone(tmp_path: Path, read: Read, suffix: str) -> None:
    told, _ = read(csv(tmp_path, [f"2003-03-03 07:10:00{suffix}"], "Europe/Berlin"), "2003-03-03T07:00", 2)
    assert told.counts.tolist() == [1, 0]
