"""Pages of known topologies, drawn at each request."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from starlette.exceptions import HTTPException

from forecasting.errors import HistoryError
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.history.binned_windows import PAGE_POINTS, binned_history, readable_width_s
from forescale.history.span import history_span
from forescale.jobs.approvals import needs_review
from forescale.jobs.proposals import proposal_of
from forescale.jobs.standings import MAX_DECISIONS, decided, shown_standing
from forescale.report.history.history_page import render_history_page
from forescale.report.overview.actions import Actions
from forescale.report.overview.overview_page import render_overview
from forescale.report.overview.topology_page import render_topology_page
from forescale.situation.workspace import Workspace
from forescale.standing import Standing
from forescale.web.activity import actions
from forescale.web.addresses import (
    below_airflow,
    decision_path,
    forecast_path,
    overview_path,
    picture_path,
    topology_path,
)
from forescale.web.stored import NOT_FOUND, has_decision_file, has_forecast_file, has_replay_file
from planner.errors import DamagedRowError
from planner.ledger.entries import ScheduleEntry


def known_topology(workspace: Workspace, name: str) -> TopologyConfig | FileError | None:
    """The value in `known_topologies`. Raises HTTPException 404 for an unknown topology."""
    known = workspace.topologies
    if name not in known:
        raise HTTPException(NOT_FOUND, f"no topology {name[:80]!r}; known are: {', '.join(known) or 'none'}")
    return known[name]


def overview(workspace: Workspace) -> str:
    """The page of all topologies."""
    standings = [shown_standing(workspace, *each) for each in workspace.topologies.items()]
    return render_overview(
        standings,
        workspace.clock.now(),
        page_of=lambda each: below_airflow(topology_path(each.topology)),
        picture_of=lambda each: _picture(workspace, each),
        actions=_actions(workspace),
    )


def topology_page(workspace: Workspace, name: str) -> str:
    """The page of one topology. Raises HTTPException 404 for an unknown topology."""
    config = known_topology(workspace, name)
    stands = shown_standing(workspace, name, config)
    readable = workspace.ledger.past_damage()
    made = readable.schedules(name, limit=MAX_DECISIONS)
    decisions = decided(readable, made, _reports(workspace, made))
    pages = {}
    if isinstance(config, TopologyConfig):
        pages["Arrival history"] = below_airflow(topology_path(name, "history"))
        for source in config.as_topology().sources:
            if has_forecast_file(workspace, name, source):
                pages[f"How good the forecasts of {source} were"] = below_airflow(forecast_path(name, source))
    if has_replay_file(workspace, name):
        pages["The last replay"] = below_airflow(topology_path(name, "replay"))
    now, known = workspace.clock.now(), config if isinstance(config, TopologyConfig) else None
    newest = stands.schedule
    proposal = None
    if newest is not None and not newest.replaced_by:
        proposal = proposal_of(known, newest, readable.steps(schedule_id=newest.id), now)
    return render_topology_page(
        replace(stands, damaged=tuple(dict.fromkeys((*stands.damaged, *readable.damaged)))),
        decisions,
        now,
        proposal=proposal,
        report=_reports(workspace, [newest]).get(newest.id, "") if newest is not None else "",
        picture=_picture(workspace, stands),
        pages=pages,
        overview=below_airflow(overview_path()),
        actions=_actions(workspace),
    )


def drawn_history(workspace: Workspace, name: str) -> str:
    """Raises HTTPException 404 for a topology that is unknown or has no readable file or history."""
    config = known_topology(workspace, name)
    if not isinstance(config, TopologyConfig):
        raise HTTPException(
            NOT_FOUND, str(config or f"topology {name!r} has no file in {workspace.settings.topologies}")
        )
    try:
        return history_page(workspace, config)
    except HistoryError as error:
        raise HTTPException(NOT_FOUND, str(error)) from None


def _reports(workspace: Workspace, schedules: Sequence[ScheduleEntry]) -> dict[str, str]:
    """Addresses of existing reports, by the id of the schedule."""
    return {
        made.id: below_airflow(decision_path(made.schedule.topology, made.id))
        for made in schedules
        if has_decision_file(workspace, made, ".html")
    }


def _actions(workspace: Workspace) -> Actions:
    """Of reviews those whose answer decides something. Airflow knows a topology by the name of its file."""
    now = actions()
    reviews = [replace(each, topology=_topology_of(workspace, each.topology)) for each in now.reviews]
    return replace(now, reviews=reviews).that_decide(partial(_asks, workspace))


def _topology_of(workspace: Workspace, file: str) -> str:
    try:
        return workspace.config(file).topology if file else ""
    except FileError:
        return file


def _asks(workspace: Workspace, topology: str) -> bool:
    """Whether the newest schedule of a topology waits for an answer; as far as its rows can be read."""
    try:
        newest = workspace.ledger.schedules(topology, limit=1)
        return bool(newest) and needs_review(workspace.ledger, newest[0])
    except DamagedRowError:
        return True


def _picture(workspace: Workspace, stands: Standing) -> str:
    made = stands.schedule
    if made is None or made.replaced_by or not has_decision_file(workspace, made, ".svg"):
        return ""
    return below_airflow(picture_path(stands.topology, made.id))


def history_page(workspace: Workspace, config: TopologyConfig) -> str:
    """The page of `forescale history show --plot` with its default days. Raises HistoryError without a history."""
    directory = workspace.settings.history_dir
    asked = history_span(directory, config.topology, start=None, end=None, days=None, snapshot=None)
    span = asked.within_history()
    binned = binned_history(directory, span, config.as_topology().sources, (), [readable_width_s(span, PAGE_POINTS)])
    return render_history_page(binned.by_width[0], span, binned.measures)
