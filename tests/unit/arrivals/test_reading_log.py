"""Readings on disk: what a crash, two writers or a broken line leave of them."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from forecasting.arrivals.grid import to_us
from forecasting.arrivals.sources.reading_log import Reading, ReadingLog
from forecasting.errors import HistoryError

NOON = datetime(2024, 3, 3, 12, tzinfo=UTC)


def reading(minute: float, **told: object) -> Reading:
    return Reading(NOON + timedelta(minutes=minute), told)


def all_of(log: ReadingLog) -> list[Reading]:
    return log.between(to_us(NOON - timedelta(days=9)), to_us(NOON + timedelta(days=9)))


@pytest.fixture
def log(tmp_path: Path) -> ReadingLog:
    return ReadingLog(tmp_path / "readings" / "words")


def test_log__gives_back_what_was_appended(log: ReadingLog) -> None:
    assert log.append(reading(0, emitted={"a": [1, 2]}))
    assert log.append(reading(1, emitted={}))
    assert all_of(log) == [reading(0, emitted={"a": [1, 2]}), reading(1, emitted={})]
    assert log.first() == reading(0, emitted={"a": [1, 2]})


def test_log__that_does_not_exist_is_empty(log: ReadingLog) -> None:
    assert all_of(log) == []
    assert log.first() is None


def test_log__has_a_file_a_day_and_reads_across_them(log: ReadingLog) -> None:
    for minute in (0, 720, 2160):
        log.append(reading(minute))
    assert sorted(path.name for path in log.folder.iterdir()) == [
        "2024-03-03.jsonl",
        "2024-03-04.jsonl",
        "2024-03-05.jsonl",
    ]
    assert log.between(to_us(NOON), to_us(NOON + timedelta(minutes=720))) == [reading(0), reading(720)]


def test_log__takes_a_moment_in_any_zone_once(log: ReadingLog) -> None:
    assert log.append(reading(0, n=1))
    elsewhere = NOON.astimezone(timezone(timedelta(hours=-7)))
    assert not log.append(Reading(elsewhere, {"n": 2}))
    assert not log.append(reading(-1, n=3))
    assert all_of(log) == [reading(0, n=1)]


@pytest.mark.parametrize("torn", [b'{"at": "2024-03-03T12:0', b"{", b'{"at": "2024-03-03T12:05:00+00:00"}'])
def test_log__with_a_torn_last_line_is_read_and_written_on_without_it(log: ReadingLog, torn: bytes) -> None:
    log.append(reading(0))
    file = log.folder / "2024-03-03.jsonl"
    file.write_bytes(file.read_bytes() + torn)
    assert all_of(log) == [reading(0)]
    assert log.append(reading(1))
    assert all_of(log) == [reading(0), reading(1)]
    assert file.read_bytes().count(b"\n") == 2


def test_log__with_nothing_but_a_torn_line_starts_anew(log: ReadingLog) -> None:
    log.folder.mkdir(parents=True)
    (log.folder / "2024-03-03.jsonl").write_bytes(b'{"at')
    assert log.first() is None
    assert log.append(reading(0))
    assert all_of(log) == [reading(0)]


@pytest.mark.parametrize("line", ["{]", "[1]", '{"when": 1}', '{"at": "noon"}', '{"at": "2024-03-03T12:00:00"}', ""])
def test_log__with_a_broken_line_names_it(log: ReadingLog, line: str) -> None:
    log.append(reading(0))
    file = log.folder / "2024-03-03.jsonl"
    file.write_text(file.read_text() + line + "\n" + '{"at": "2024-03-03T13:00:00+00:00"}\n')
    with pytest.raises(HistoryError, match=r"2024-03-03.jsonl, line 2: .* is no reading; remove the line"):
        all_of(log)


def test_log__with_a_file_of_no_day_says_so(log: ReadingLog) -> None:
    log.append(reading(0))
    (log.folder / "2024-13-03.jsonl").touch()
    with pytest.raises(HistoryError, match="not named after a day"):
        all_of(log)


def test_log__where_no_folder_can_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HistoryError, match=r"cannot be written to .*file/readings"):
        ReadingLog(tmp_path / "file" / "readings").append(reading(0))


def test_log__that_two_write_at_once_is_whole(log: ReadingLog) -> None:
    """Long lines, so that a write that is not locked would be cut in two."""
    text = "x" * 20_000

    def append(seconds: range) -> int:
        return sum(log.append(reading(second / 60, text=text)) for second in seconds)

    with ThreadPoolExecutor(4) as pool:
        added = sum(pool.map(append, [range(first, 200, 4) for first in range(4)]))
    readings = all_of(log)
    assert len(readings) == added
    assert {one.content["text"] for one in readings} == {text}
    assert [one.at for one in readings] == sorted({one.at for one in readings})


def test_log__of_a_writer_that_was_killed_is_whole(log: ReadingLog, tmp_path: Path) -> None:
    program = tmp_path / "writer.py"
    program.write_text(
        "import sys\nfrom datetime import timedelta\nfrom pathlib import Path\n"
        "from forecasting.arrivals.grid import from_us\n"
        "from forecasting.arrivals.sources.reading_log import Reading, ReadingLog\n"
        "log = ReadingLog(Path(sys.argv[1]))\n"
        "for number in range(10**6):\n"
        f"    log.append(Reading(from_us({to_us(NOON)} + number * 1000), {{'x': 'y' * 5000}}))\n"
    )
    writer = subprocess.Popen([sys.executable, program, log.folder])
    try:
        deadline = time.monotonic() + 60
        while not all_of(log):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(0.3)
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    before = all_of(log)
    assert log.append(reading(9999))
    assert [one.at for one in before] == [NOON + timedelta(milliseconds=number) for number in range(len(before))]
