"""Past commits of the history, kept for a while so that a reading can be repeated.

A manifest is archived in `_snapshots/` before the next one replaces it; its files stay until it has been superseded for
longer than the retention. So every commit that was in force within the retention can be read, and a crash between the
steps leaves every commit in force or archived. Removal happens in batches: checking all archived commits at every
commit of an hourly history would cost more than the commit.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial

from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.folder import Folder
from forecasting.arrivals.storage.layout import topology_folder
from forecasting.arrivals.storage.manifest import Manifest, read_manifest, read_manifest_file
from forecasting.errors import HistoryError, HistoryStoreError

KEEP_S = 90 * 86_400
_FOLDER = "_snapshots"
_LOT = 1 / 20
_TIME = "%Y%m%dT%H%M%S.%fZ"
_FILE = re.compile(r"(?P<time>\d{8}T\d{6}\.\d{6}Z)-(?P<id>[0-9a-f]{16})\.json")
_SHOWN = 5


@dataclass(frozen=True)
class Snapshot:
    """A readable commit. superseded_at: when it was replaced, None for the one in force.

    dates: number of dates with windows, from first_date to last_date. built_until: end of the latest interval written
    by then; None if an older version did not record it.
    """

    id: str
    committed_at: datetime
    superseded_at: datetime | None
    first_date: date
    last_date: date
    dates: int
    built_until: datetime | None


@dataclass(frozen=True, order=True)
class _Aside:
    superseded_at: datetime
    id: str
    name: str


def snapshots(directory: Directory, topology: str) -> list[Snapshot]:
    """The readable commits of the topology, newest first. Raises HistoryError for a damaged one."""
    folder = topology_folder(directory, topology)
    # In this order, so that a commit superseded in between is seen as the one in force, not overlooked.
    in_force, aside = read_manifest(folder), _aside(folder)
    if in_force is None:
        return []
    found = {in_force.snapshot: _snapshot(in_force, None)}
    for file, manifest in zip(aside, folder.each(partial(_manifest_aside, folder), aside), strict=True):
        # A commit may have been in force more than once; the last time counts.
        if file.id not in found and manifest is not None:
            found[file.id] = _snapshot(manifest, file.superseded_at)
    return list(found.values())


def manifest_of(folder: Folder, snapshot: str | None) -> Manifest | None:
    """The manifest of a commit, or of the one in force if None; returns None if none is in force.

    Raises HistoryError for an unknown or expired commit.
    """
    in_force = read_manifest(folder)
    if in_force is None or snapshot in (None, in_force.snapshot):
        return in_force
    aside = _aside(folder)
    for file in aside:
        if file.id == snapshot and (manifest := _manifest_aside(folder, file)) is not None:
            return manifest
    known = list(dict.fromkeys([in_force.snapshot, *(file.id for file in aside)]))
    more = f" and {len(known) - _SHOWN} older ones" if len(known) > _SHOWN else ""
    raise HistoryError(
        f"history in {folder} has no snapshot {snapshot!r}; the newest are {', '.join(known[:_SHOWN])}{more}; a commit "
        f"is kept for {in_force.keep_s / 86_400:g} days after the next one: read one of these, or keep them longer "
        "from now on"
    )


def put_aside(folder: Folder, manifest: Manifest, superseded_at: datetime) -> None:
    """Archive a commit that is about to be superseded."""
    name = f"{superseded_at.astimezone(UTC).strftime(_TIME)}-{manifest.snapshot}.json"
    folder.add(f"{_FOLDER}/{name}", manifest.to_json())


def sweep(folder: Folder, keep_s: float, now: datetime, *, after_a_crash: bool) -> None:
    """Remove commits superseded for longer than keep_s, and files that no commit names any more.

    Without a crash, it starts once one commit has expired by a twentieth of keep_s, and then removes all expired ones.
    It checks only the files of removed commits; after a crash and in a shared folder, where crashes go unnoticed, all
    files. Only within a turn.
    """
    if not after_a_crash and not _one_before(folder, now - timedelta(seconds=keep_s * (1 + _LOT))):
        return
    try:
        # In this order, so that a commit superseded in between is seen in at least one place.
        in_force, aside = read_manifest(folder), _aside(folder)
        expired = _superseded_before(aside, now - timedelta(seconds=keep_s))
        named = (set() if in_force is None else in_force.files()) | _named_aside(
            folder, [file for file in aside if file not in expired]
        )
        every = after_a_crash or folder.shared
        unnamed = (set(folder.names("date=", settled=True)) if every else _named_aside(folder, expired)) - named
    except HistoryStoreError:
        raise
    except HistoryError:
        # The files of a damaged manifest are unknown, so none may be removed. Listing the snapshots names it.
        return
    # Remove a commit from disk before its files, or a power failure could restore it without them.
    folder.remove(file.name for file in expired)
    folder.remove(unnamed)
    if after_a_crash:
        folder.remove_unfinished()


def _one_before(folder: Folder, moment: datetime) -> bool:
    """Whether the earliest archived name dates from before the moment, or is not a manifest of ours."""
    first = folder.first_name(_FOLDER)
    oldest = None if first is None else _as_aside(first)
    return first is not None and (oldest is None or oldest.superseded_at <= moment)


def _superseded_before(aside: list[_Aside], moment: datetime) -> list[_Aside]:
    return [file for file in aside if file.superseded_at <= moment]


def _named_aside(folder: Folder, aside: list[_Aside]) -> set[str]:
    manifests = folder.each(partial(_manifest_aside, folder), aside)
    return {name for manifest in manifests if manifest is not None for name in manifest.files()}


def _aside(folder: Folder) -> list[_Aside]:
    """Archived manifests, latest first."""
    return sorted(filter(None, map(_as_aside, folder.names(_FOLDER))), reverse=True)


def _as_aside(name: str) -> _Aside | None:
    match = _FILE.fullmatch(name.removeprefix(f"{_FOLDER}/"))
    return _Aside(datetime.fromisoformat(match["time"]), match["id"], name) if match else None


def _manifest_aside(folder: Folder, file: _Aside) -> Manifest | None:
    """None if it has expired meanwhile."""
    remedy = "remove this file; its commit is lost"
    manifest = read_manifest_file(folder, file.name, remedy)
    if manifest is not None and manifest.snapshot != file.id:
        raise HistoryError(f"{folder.place(file.name)} is damaged: it holds commit {manifest.snapshot}; {remedy}")
    return manifest


def _snapshot(manifest: Manifest, superseded_at: datetime | None) -> Snapshot:
    first, last = (date.fromisoformat(end(manifest.parts)) for end in (min, max))
    return Snapshot(
        id=manifest.snapshot,
        committed_at=manifest.committed_at,
        superseded_at=superseded_at,
        first_date=first,
        last_date=last,
        dates=len(manifest.parts),
        built_until=manifest.built_until,
    )
