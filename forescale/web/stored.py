"""Pages written by jobs, located through the ledger and the topology files, never by a path in the request."""

from pathlib import Path

from starlette.exceptions import HTTPException

from forescale.jobs.forecast_report import forecast_page_file
from forescale.jobs.replay_tracking import replay_page_file
from forescale.situation.workspace import Workspace
from planner.errors import LedgerError
from planner.ledger.entries import ScheduleEntry

NOT_FOUND = 404


def decision_file(workspace: Workspace, topology: str, schedule_id: str, ending: str) -> str:
    """The text of a file written for a decision. Raises HTTPException 404 if the ledger does not have the decision
    under that topology, or its file is not on this machine.
    """
    try:
        made = workspace.ledger.schedule(schedule_id)
    except LedgerError as error:
        raise HTTPException(NOT_FOUND, str(error)) from None
    if made.schedule.topology != topology:
        raise HTTPException(NOT_FOUND, f"schedule {schedule_id!r} is of topology {made.schedule.topology!r}")
    return _text(workspace, _decision_path(workspace, made, ending), f"run `forescale plan show {made.id}`")


def has_decision_file(workspace: Workspace, entry: ScheduleEntry, ending: str) -> bool:
    return _is_stored(workspace, _decision_path(workspace, entry, ending))


def forecast_file(workspace: Workspace, topology: str, source: str) -> str:
    """The page on the forecasts of a source. Raises HTTPException 404 if there is none on this machine."""
    path = forecast_page_file(workspace, topology, source)
    return _text(workspace, path, "run `forescale forecast pages`")


def has_forecast_file(workspace: Workspace, topology: str, source: str) -> bool:
    return _is_stored(workspace, forecast_page_file(workspace, topology, source))


def replay_file(workspace: Workspace, topology: str) -> str:
    """The page of the last replay. Raises HTTPException 404 if there is none on this machine."""
    return _text(workspace, replay_page_file(workspace, topology), f"run `forescale replay {topology}`")


def has_replay_file(workspace: Workspace, topology: str) -> bool:
    return _is_stored(workspace, replay_page_file(workspace, topology))


def _decision_path(workspace: Workspace, entry: ScheduleEntry, ending: str) -> Path:
    return workspace.settings.reports_dir / entry.schedule.topology / f"{entry.id}{ending}"


def _is_stored(workspace: Workspace, path: Path) -> bool:
    """Whether the file exists within the folder of reports: a name or a link might lead out of it."""
    file = path.resolve()
    return file.is_relative_to(workspace.settings.reports_dir.resolve()) and file.is_file()


def _text(workspace: Workspace, path: Path, remedy: str) -> str:
    if not _is_stored(workspace, path):
        folder = workspace.settings.reports_dir.resolve()
        raise HTTPException(
            NOT_FOUND,
            f"{path.name} is not in {folder}; {remedy}, or let Airflow's API server read that folder",
        )
    return path.read_text(encoding="utf-8")
