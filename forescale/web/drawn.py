"""Pages of known topologies, drawn at each request."""

from collections.abc import Sequence
from dataclasses import replace

from starlette.exceptions import HTTPException

from forecasting.errors import HistoryError
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.jobs.history_page import history_page
from forescale.jobs.proposals import proposal_of
from forescale.jobs.standings import MAX_DECISIONS, decided, shown_standing
from forescale.report.overview.overview_page import render_overview
from forescale.report.overview.topology_page import render_topology_page
from forescale.settings import Settings
from forescale.situation.known_topologies import known_topologies
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
from forescale.wiring.parts import clock_of
from planner.ledger.entries import ScheduleEntry
from planner.ledger.ledger import Ledger


def known_topology(settings: Settings, ledger: Ledger, name: str) -> TopologyConfig | FileError | None:
    """The value in `known_topologies`. Raises HTTPException 404 for an unknown topology."""
    known = known_topologies(settings, ledger)
    if name not in known:
        raise HTTPException(NOT_FOUND, f"no topology {name[:80]!r}; known are: {', '.join(known) or 'none'}")
    return known[name]


def overview(settings: Settings, ledger: Ledger) -> str:
    """The page of all topologies."""
    standings = [shown_standing(settings, ledger, *each) for each in known_topologies(settings, ledger).items()]
    return render_overview(
        standings,
        clock_of(settings).now(),
        page_of=lambda each: below_airflow(topology_path(each.topology)),
        picture_of=lambda each: _picture(settings, each),
        actions=actions(),
    )


def topology_page(settings: Settings, ledger: Ledger, name: str) -> str:
    """The page of one topology. Raises HTTPException 404 for an unknown topology."""
    config = known_topology(settings, ledger, name)
    stands = shown_standing(settings, ledger, name, config)
    readable = ledger.past_damage()
    made = readable.schedules(name, limit=MAX_DECISIONS)
    decisions = decided(readable, made, _reports(settings, made))
    pages = {}
    if isinstance(config, TopologyConfig):
        pages["Arrival history"] = below_airflow(topology_path(name, "history"))
        for source in config.as_topology().sources:
            if has_forecast_file(settings, name, source):
                pages[f"How good the forecasts of {source} were"] = below_airflow(forecast_path(name, source))
    if has_replay_file(settings, name):
        pages["The last replay"] = below_airflow(topology_path(name, "replay"))
    now, known = clock_of(settings).now(), config if isinstance(config, TopologyConfig) else None
    newest = stands.schedule
    proposal = None
    if newest is not None and not newest.replaced_by:
        proposal = proposal_of(known, newest, readable.steps(schedule_id=newest.id), now)
    return render_topology_page(
        replace(stands, damaged=tuple(dict.fromkeys((*stands.damaged, *readable.damaged)))),
        decisions,
        now,
        proposal=proposal,
        report=_reports(settings, [newest]).get(newest.id, "") if newest is not None else "",
        picture=_picture(settings, stands),
        pages=pages,
        overview=below_airflow(overview_path()),
    )


def drawn_history(settings: Settings, ledger: Ledger, name: str) -> str:
    """Raises HTTPException 404 for a topology that is unknown or has no readable file or history."""
    config = known_topology(settings, ledger, name)
    if not isinstance(config, TopologyConfig):
        raise HTTPException(NOT_FOUND, str(config or f"topology {name!r} has no file in {settings.topologies}"))
    try:
        return history_page(settings, config)
    except HistoryError as error:
        raise HTTPException(NOT_FOUND, str(error)) from None


def _reports(settings: Settings, schedules: Sequence[ScheduleEntry]) -> dict[str, str]:
    """Addresses of existing reports, by the id of the schedule."""
    return {
        made.id: below_airflow(decision_path(made.schedule.topology, made.id))
        for made in schedules
        if has_decision_file(settings, made, ".html")
    }


def _picture(settings: Settings, stands: Standing) -> str:
    made = stands.schedule
    if made is None or made.replaced_by or not has_decision_file(settings, made, ".svg"):
        return ""
    return below_airflow(picture_path(stands.topology, made.id))
