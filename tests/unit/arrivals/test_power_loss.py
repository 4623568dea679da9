"""What a power failure can take: whatever was not brought to disk (fsync) before the manifest named it."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forecasting.arrivals.store import write_history

Events = list[tuple[str, str]]
WriteFrom = Callable[..., None]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    """Every file or folder that is brought to disk, by the name that it has then, and every rename, by its new name."""
    noted: Events = []
    sync, replace = os.fsync, os.replace

    def noting_sync(descriptor: int) -> None:
        sync(descriptor)
        noted.append(("synced", str(Path(f"/proc/self/fd/{descriptor}").readlink())))

    def noting_replace(source: Path, target: Path) -> None:
        replace(source, target)
        noted.append(("renamed", str(target)))

    monkeypatch.setattr(os, "fsync", noting_sync)
    monkeypatch.setattr(os, "replace", noting_replace)
    return noted


def assert_renamed_durably(path: Path, events: Events) -> None:
    """Its content was on disk before the rename, and the name before any later one below another folder."""
    at = events.index(("renamed", str(path)))
    assert ("synced", str(path.with_name(f".{path.name}.new"))) in events[:at]
    assert events[at + 1] == ("synced", str(path.parent))


def test_commit__is_on_disk_before_its_manifest_names_it_and_the_manifest_before_the_end(
    tmp_path: Path, write_from: WriteFrom, events: Events
) -> None:
    write_from("2003-03-03T23:00", [1, 2])
    folder = tmp_path / "topology=calls"
    manifest = folder / "_manifest.json"
    in_force = events.index(("renamed", str(manifest)))
    assert_renamed_durably(manifest, events)
    parts = list(folder.glob("date=*/part-*"))
    assert len(parts) == 2
    for part in parts:
        assert_renamed_durably(part, events[:in_force])
    # The names of the new folders: of the topology, and of the two dates.
    assert events[:in_force].count(("synced", str(folder))) == 2
    assert ("synced", str(tmp_path)) in events[:in_force]


def test_commit_that_is_superseded__is_on_disk_aside_before_the_next_is_in_force(
    tmp_path: Path, rows_from: Callable[..., object], write_from: WriteFrom, events: Events
) -> None:
    write_from("2003-03-03T07:00", [1])
    events.clear()
    interval = datetime(2003, 3, 3, 7, tzinfo=UTC), datetime(2003, 3, 3, 8, tzinfo=UTC)
    write_history(rows_from("2003-03-03T07:00", [2]), tmp_path, "calls", *interval)
    folder = tmp_path / "topology=calls"
    in_force = events.index(("renamed", str(folder / "_manifest.json")))
    (aside,) = folder.glob("_snapshots/*.json")
    assert_renamed_durably(aside, events[:in_force])
    assert ("synced", str(folder)) in events[:in_force]
