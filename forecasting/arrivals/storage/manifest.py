"""The files of a commit, and the file that puts it in force."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from hashlib import sha256
from typing import Any

from forecasting.arrivals.grid import DAY_S, EPOCH, in_calendar
from forecasting.arrivals.storage.folder import Folder
from forecasting.bounded_file import MAX_BYTES
from forecasting.errors import HistoryError, HistoryStoreError

# Readers of Parquet folders skip names with an underscore.
MANIFEST = "_manifest.json"
FORMAT = 2
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*\.parquet")
_MAX_KEPT_S = 36_525 * DAY_S


def of_date(day: str, name: str) -> str:
    """Path of the name in its date's folder."""
    return f"date={day}/{name}"


@dataclass(frozen=True)
class Manifest:
    """window_s: width of all windows. parts: date (ISO) to the name of the part file in its folder. keys: likewise for
    files of key histograms. built_until: end of the latest interval ever written; None if a writer of format 1 did not
    record it. keep_s: how long the writer of this commit kept earlier commits.
    """

    window_s: int
    parts: Mapping[str, str]
    keys: Mapping[str, str] = field(default_factory=dict)
    built_until: datetime | None = None
    committed_at: datetime = EPOCH
    keep_s: float = 0.0

    @cached_property
    def snapshot(self) -> str:
        """The commit's id: 16 hex digits, a digest of its content alone, independent of the time."""
        content = self._content(_by_content(self.parts), _by_content(self.keys))
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    def part(self, day: str) -> str:
        """Name of the date's part in the topology's folder."""
        return of_date(day, self.parts[day])

    def files(self) -> set[str]:
        """Names of all its files."""
        return {of_date(day, name) for names in (self.parts, self.keys) for day, name in names.items()}

    def to_json(self) -> bytes:
        kept = {"committed_at": self.committed_at.isoformat(), "keep_s": self.keep_s}
        body = {"format": FORMAT, "snapshot": self.snapshot, **kept, **self._content(self.parts, self.keys)}
        return json.dumps(body, indent=1).encode()

    def _content(self, parts: Mapping[str, str], keys: Mapping[str, str]) -> dict[str, Any]:
        return {
            "window_s": self.window_s,
            "built_until": None if self.built_until is None else self.built_until.isoformat(),
            "parts": dict(sorted(parts.items())),
            "keys": dict(sorted(keys.items())),
        }


def _by_content(names: Mapping[str, str]) -> dict[str, str]:
    """The names without the part that makes them unique: `part-DIGEST.parquet` for `part-NEW-DIGEST.parquet`
    (Folder.new_name).
    """
    return {
        day: name if name.count("-") < 2 else f"{name.partition('-')[0]}-{name.rpartition('-')[2]}"
        for day, name in names.items()
    }


@dataclass(frozen=True)
class InForce:
    """The manifest in force; both fields are None before the first commit. version: for Folder.replace."""

    manifest: Manifest | None
    version: str | None


def read_manifest(folder: Folder) -> Manifest | None:
    """The manifest in force, None before the first commit. Raises HistoryError if it cannot be read."""
    return in_force(folder).manifest


def in_force(folder: Folder) -> InForce:
    """The manifest in force with its version."""
    return _read(folder, MANIFEST, f"move {folder} away, or restore its copy, and rebuild the history")


def read_manifest_file(folder: Folder, name: str, remedy: str) -> Manifest | None:
    """The manifest in a file of this or an older format; None if there is no file."""
    return _read(folder, name, remedy).manifest


def _read(folder: Folder, name: str, remedy: str) -> InForce:
    content: bytes | None = None
    try:
        content, version = folder.read_version(name, MAX_BYTES)
        return InForce(_manifest(json.loads(content), folder, name, remedy), version)
    except FileNotFoundError:
        return InForce(None, None)
    except HistoryStoreError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if content is not None:
            folder.check_stored(name, content)
        if isinstance(error, HistoryError):
            raise
        cause = f"{type(error).__name__}: {error}"
        raise HistoryError(f"{folder.place(name)} is damaged ({cause}); {remedy}") from None


def _manifest(body: Any, folder: Folder, name: str, remedy: str) -> Manifest:
    if body["format"] == 1:
        committed_at = folder.modified_at(name)
        return Manifest(_window_s(body["window_s"]), _names(body["parts"]), committed_at=committed_at)
    if body["format"] != FORMAT:
        raise HistoryError(
            f"{folder.place(name)} has format {body['format']!r}, this version reads {FORMAT} and older ones; {remedy}"
        )
    manifest = Manifest(
        _window_s(body["window_s"]),
        _names(body["parts"]),
        _names(body["keys"]),
        None if body["built_until"] is None else in_calendar(datetime.fromisoformat(body["built_until"])),
        in_calendar(datetime.fromisoformat(body["committed_at"])),
        _kept_s(body["keep_s"]),
    )
    if manifest.snapshot != body["snapshot"]:
        mismatch = f"its content is {manifest.snapshot}, not {body['snapshot']}"
        raise HistoryError(f"{folder.place(name)} is damaged: {mismatch}; {remedy}")
    return manifest


def _names(body: Mapping[str, object]) -> dict[str, str]:
    """Raises ValueError for an invalid date or file name, since both become parts of paths."""
    for day, name in body.items():
        if date.fromisoformat(day).isoformat() != day:
            raise ValueError(f"{day!r} is no date")
        if not _FILE.fullmatch(str(name)):
            raise ValueError(f"{name!r} is no name of a part")
    return {day: str(name) for day, name in body.items()}


def _window_s(value: object) -> int:
    if not isinstance(value, int) or not 0 < value <= DAY_S:
        raise ValueError(f"window_s is {value!r}, not 1 to {DAY_S}")
    return value


def _kept_s(value: object) -> float:
    if not isinstance(value, int | float) or not 0 <= value <= _MAX_KEPT_S:
        raise ValueError(f"keep_s is {value!r}, not 0 to {_MAX_KEPT_S}")
    return float(value)
