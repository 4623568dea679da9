"""Readings on disk as JSON lines, appended to a file per UTC day; a crash loses at most the last one."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from forecasting.arrivals.grid import from_us, in_calendar, to_us
from forecasting.arrivals.storage.durable_files import sync_folder
from forecasting.bounded_file import MAX_TRACE_BYTES, bounded_bytes
from forecasting.errors import HistoryError

_TAIL_BYTES = 1 << 20


@dataclass(frozen=True)
class Reading:
    """One reading, at a moment in UTC."""

    at: datetime
    content: Mapping[str, object]


class ReadingLog:
    """Readings in their own folder. Any number of processes may append and read at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def append(self, reading: Reading) -> bool:
        """Store a reading durably before returning; False if the last one is of the same moment or later.

        Raises HistoryError if the folder cannot be written.
        """
        at = reading.at.astimezone(UTC)
        line = json.dumps({"at": at.isoformat(timespec="microseconds"), **reading.content}, sort_keys=True)
        path = self.folder / f"{at.date().isoformat()}.jsonl"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with path.open("a+b") as file:
                # Lock out other recorders; the lock ends with the process that holds it.
                fcntl.flock(file, fcntl.LOCK_EX)
                size = file.seek(0, os.SEEK_END)
                begin = max(0, size - _TAIL_BYTES)
                file.seek(begin)
                tail = file.read()
                whole = tail.rfind(b"\n") + 1
                if whole < len(tail):
                    # A crash cut the last line short. If kept, it would corrupt the next one.
                    if whole == 0 and begin > 0:
                        raise HistoryError(f"{path} ends in a line of more than {_TAIL_BYTES} bytes; move it away")
                    file.truncate(begin + whole)
                last = tail[:whole].rstrip(b"\n").rpartition(b"\n")[2]
                if last and self._parsed(path, "the last line", last).at >= at:
                    return False
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            if size == 0:
                sync_folder(self.folder)
        except OSError as error:
            raise HistoryError(f"readings cannot be written to {path}: {error.strerror}; see its folder") from None
        return True

    def between(self, begin_us: int, end_us: int) -> list[Reading]:
        """Readings from begin to end (inclusive) in order of time, one per moment."""
        first, last = from_us(begin_us).date(), from_us(end_us).date()
        found: dict[int, Reading] = {}
        for path, day in self._files():
            if first <= day <= last:
                for reading in self._readings(path):
                    if begin_us <= to_us(reading.at) <= end_us:
                        found.setdefault(to_us(reading.at), reading)
        return [found[moment] for moment in sorted(found)]

    def first(self) -> Reading | None:
        """The oldest reading; None if there is none."""
        for path, _ in self._files():
            if readings := list(self._readings(path)):
                return min(readings, key=lambda reading: reading.at)
        return None

    def _files(self) -> list[tuple[Path, date]]:
        files = []
        for path in sorted(self.folder.glob("????-??-??.jsonl")):
            try:
                files.append((path, date.fromisoformat(path.stem)))
            except ValueError:
                raise HistoryError(f"{path} is not named after a day; move it out of the folder of readings") from None
        return files

    def _readings(self, path: Path) -> Iterator[Reading]:
        try:
            content = bounded_bytes(path, MAX_TRACE_BYTES)
        except OSError as error:
            raise HistoryError(f"readings in {path} cannot be read: {error.strerror}; see its rights") from None
        # Bytes after the last newline are a line being written, or cut short when its writer died.
        for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), start=1):
            yield self._parsed(path, f"line {number}", line)

    def _parsed(self, path: Path, where: str, line: bytes) -> Reading:
        try:
            content = json.loads(line)
            at = datetime.fromisoformat(content.pop("at"))
            in_calendar(at)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise HistoryError(
                f"{path}, {where}: {line[:60].decode(errors='replace')!r} is no reading; "
                "remove the line, and the time until the next one is missing"
            ) from None
        return Reading(at, content)
