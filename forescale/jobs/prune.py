"""Retention: data that is old and not referenced by anything in use is listed, and then removed.

The ledger itself is kept whole: it is the record of all decisions.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

from forecasting.errors import TrackingError
from forescale.situation.workspace import Workspace
from forescale.tracking.old_runs import old_records, remove_run, remove_version
from planner.ledger.entries import ForecastEntry
from planner.ledger.schedule_use import ScheduleUse


@dataclass(frozen=True)
class Retention:
    """What stays: everything newer than older_than, and the `keep` newest of each kind, per forecast source and per
    topology. wall_now: the machine's clock, for data that no replayed clock has dated.
    """

    older_than: timedelta
    keep: int
    wall_now: datetime


class RemovableKind(StrEnum):
    FORECAST = "forecast"
    REPORT = "report"
    REPLAY = "replay"
    MODEL_VERSION = "model version"
    RUN = "run"


@dataclass(frozen=True)
class Removable:
    """name: a path, a run's id or `model/number`. dated: when it was made."""

    kind: RemovableKind
    name: str
    dated: datetime
    topology: str = ""


@dataclass(frozen=True)
class Pruned:
    """What may be removed, and whether it was. untracked: why MLflow data is not included, by topology."""

    removable: tuple[Removable, ...]
    removed: tuple[Removable, ...]
    untracked: dict[str, str]


def counted(removables: Sequence[Removable]) -> dict[str, int]:
    """Number of removables of each kind."""
    return dict(Counter(one.kind for one in removables))


def prunable(workspace: Workspace, retention: Retention) -> Pruned:
    """List what may be removed, without removing it. Raises LedgerError: without the ledger, use is unknown."""
    uses = workspace.ledger.uses
    now = workspace.clock.now()
    found = list(_replays(workspace, retention))
    untracked: dict[str, str] = {}
    for topology in uses.topologies():
        schedules, forecasts = uses.schedules(topology, now), uses.forecasts(topology)
        in_use = _in_use(schedules, forecasts, retention.keep)
        before = now - retention.older_than
        found += _forecasts(workspace, topology, forecasts, in_use, schedules, before)
        found += _reports(workspace, topology, schedules, before, retention.keep)
        try:
            found += _tracked(workspace, topology, in_use, schedules, retention)
        except TrackingError as error:
            untracked[topology] = str(error)
    return Pruned(tuple(found), (), untracked)


def prune_by_age(workspace: Workspace, older_than_days: float, keep: int) -> dict[str, int]:
    """Remove all that may be removed, without asking; returns the number of each kind. Raises TrackingError, after
    removing the files, if MLflow does not answer.
    """
    retention = Retention(timedelta(days=older_than_days), keep, datetime.now(UTC))
    done = prune(workspace, retention, prunable(workspace, retention).removable)
    for why in done.untracked.values():
        raise TrackingError(why)
    return counted(done.removed)


def prune(workspace: Workspace, retention: Retention, listed: Sequence[Removable]) -> Pruned:
    """Remove what was listed and may still be removed. Safe to run again after a kill. Raises LedgerError, OSError."""
    still = prunable(workspace, retention)
    untracked, removed = dict(still.untracked), []
    wanted = {(one.kind, one.name) for one in listed}
    for one in still.removable:
        if (one.kind, one.name) not in wanted:
            continue
        try:
            _remove(workspace, one)
        except TrackingError as error:
            untracked[one.topology] = str(error)
            continue
        removed.append(one)
    return Pruned(still.removable, tuple(removed), untracked)


def _remove(workspace: Workspace, one: Removable) -> None:
    if one.kind is RemovableKind.MODEL_VERSION:
        remove_version(workspace.settings, one.name)
    elif one.kind is RemovableKind.RUN:
        remove_run(workspace.settings, one.name)
    elif Path(one.name).is_dir():
        shutil.rmtree(one.name)
    else:
        Path(one.name).unlink(missing_ok=True)


def _in_use(schedules: Sequence[ScheduleUse], forecasts: Sequence[ForecastEntry], keep: int) -> list[ForecastEntry]:
    """Forecasts that a live schedule is based on, and the newest of each source."""
    live = {forecast for schedule in schedules if schedule.live for forecast in schedule.forecasts}
    newer: dict[str, int] = {}
    found = []
    for entry in forecasts:
        newer[entry.source] = newer.get(entry.source, 0) + 1
        if entry.id in live or newer[entry.source] <= keep:
            found.append(entry)
    return found


def _forecasts(
    workspace: Workspace,
    topology: str,
    forecasts: Sequence[ForecastEntry],
    in_use: Sequence[ForecastEntry],
    schedules: Sequence[ScheduleUse],
    before: datetime,
) -> Iterator[Removable]:
    """Folders of forecasts and profiles. What a killed job left, unknown to the ledger, is dated by its folder."""
    issued = {Path(entry.folder).name: entry.issued_at for entry in forecasts}
    staying = {Path(entry.folder).name for entry in in_use}
    for schedule in schedules:
        names = schedule.basis.profiles
        if schedule.live:
            staying.update(names)
        for name in names:
            issued.setdefault(name, schedule.made_at)
    for folder in _entries(workspace.settings.forecasts_dir / topology):
        dated = issued.get(folder.name, _changed(folder))
        if folder.is_dir() and folder.name not in staying and dated < before:
            yield Removable(RemovableKind.FORECAST, str(folder), dated, topology)


def _reports(
    workspace: Workspace, topology: str, schedules: Sequence[ScheduleUse], before: datetime, keep: int
) -> Iterator[Removable]:
    old = {each.id: each.made_at for each in schedules[keep:] if not each.live and each.made_at < before}
    for file in _entries(workspace.settings.reports_dir / topology):
        if file.stem in old and file.is_file():
            yield Removable(RemovableKind.REPORT, str(file), old[file.stem], topology)


def _replays(workspace: Workspace, retention: Retention) -> Iterator[Removable]:
    """Stored replays and forecasts that `forescale replay` would make again."""
    for folder in (workspace.settings.home / "replay" / "done", workspace.settings.home / "replay" / "forecasts"):
        newest_first = sorted(((_changed(path), path) for path in _entries(folder)), reverse=True)
        for changed, path in newest_first[retention.keep :]:
            if changed < retention.wall_now - retention.older_than:
                yield Removable(RemovableKind.REPLAY, str(path), changed)


def _tracked(
    workspace: Workspace,
    topology: str,
    in_use: Sequence[ForecastEntry],
    schedules: Sequence[ScheduleUse],
    retention: Retention,
) -> Iterator[Removable]:
    """Versions before runs: a version names its run."""
    calibrated = {schedule.basis.calibration.version for schedule in schedules if schedule.live} - {""}
    old = old_records(
        workspace.settings,
        topology,
        before=retention.wall_now - retention.older_than,
        keep=retention.keep,
        runs_in_use={entry.run_id for entry in in_use},
        versions_in_use={entry.model_version for entry in in_use} | calibrated,
    )
    for version, dated in old.versions:
        yield Removable(RemovableKind.MODEL_VERSION, version, dated, topology)
    for run_id, dated in old.runs:
        yield Removable(RemovableKind.RUN, run_id, dated, topology)


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.resolve().iterdir()) if folder.is_dir() else []


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
