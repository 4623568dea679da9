"""Standings of topologies: read from their files, the ledger, forecasts and history, without asking any cluster.

A damaged row of the ledger is named in the standing and hides nothing else.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from forescale.files.file_error import FileError
from forescale.files.profile import measured_at
from forescale.files.topology import TopologyConfig
from forescale.jobs.forecast_report import read_forecast_pages
from forescale.jobs.past_forecasts import ForecastTopology, PastForecasts, forecasts_of_source, past_forecasts
from forescale.report.kit.step_reasons import made_words
from forescale.report.overview.topology_page import Decided
from forescale.situation.known_profiles import profile_path
from forescale.situation.workspace import Workspace
from forescale.standing import SourceStanding, Standing, Standings
from planner.errors import DamagedRowError, LedgerError
from planner.ledger.entries import ScheduleEntry, StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import UNDER_WAY, WAITING, StepState

logger = logging.getLogger(__name__)

ENDED = (StepState.VERIFIED, StepState.ROLLED_BACK)
MAX_DECISIONS = 50

Config = TopologyConfig | FileError | None
"""A value of `known_topologies`."""
Expected = tuple[type[Exception], ...]
Sources = Callable[[Workspace, Ledger, TopologyConfig, datetime], tuple[SourceStanding, ...]]


def named_standings(workspace: Workspace, names: Iterable[str], expected: Expected) -> Standings:
    """Standings by name or path of topology files, with all past forecasts judged again. One that cannot be read hides
    no other. expected: errors about wrong input or surroundings; any other is logged with its traceback.
    """
    known: dict[str, Standing] = {}
    unread: dict[str, str] = {}

    def read(name: str) -> Standing:
        config = workspace.config(name)
        found = known.get(config.topology)
        return found or standing(workspace, config.topology, config, judged_sources)

    for name in names:
        found = _read_or_why(partial(read, name), name, expected)
        if isinstance(found, Standing):
            known[found.topology] = found
        else:
            unread[name] = found
    return Standings(tuple(known.values()), unread)


def shown_standing(workspace: Workspace, name: str, config: Config) -> Standing:
    """The standing with its sources as the last forecast left them; if unreadable, only with the reason."""
    read = partial(standing, workspace, name, config, sources_as_left)
    found = _read_or_why(read, name, (FileError, LedgerError))
    return found if isinstance(found, Standing) else Standing(name, workspace.clock.now(), damaged=(found,))


def standing(workspace: Workspace, name: str, config: Config, sources: Sources) -> Standing:
    """Raises LedgerError, FileError or OSError. An unreadable history or forecast is left out."""
    now, ledger = workspace.clock.now(), workspace.ledger.past_damage()
    newest = next(iter(ledger.schedules(name, limit=1)), None)
    since = now - timedelta(days=1) if newest is None else newest.schedule.made_at
    open_steps = ledger.steps(topology=name, states=(*WAITING, *UNDER_WAY))
    ahead = [step for step in open_steps if step.state in UNDER_WAY or step.expires_at > now]
    expired = ledger.steps(topology=name, states=(StepState.EXPIRED,), changed_since=since)
    verified = ledger.outcomes(name, states=(StepState.VERIFIED,), limit=1)
    stands = Standing(
        topology=name,
        at=now,
        schedule=newest,
        ahead=tuple(ahead),
        ended=_ended(ledger, name, since),
        lost=(*expired, *(step for step in open_steps if step not in ahead)),
        step_counts=ledger.step_counts(name),
        last_change=verified[0] if verified else None,
        open_action=ledger.guard.open_action(name),
        guard_counts=ledger.guard.counts(name),
        barred=ledger.guard.barred(name),
        busy=_busy(ledger, name),
    )
    if isinstance(config, TopologyConfig):
        profiles, situation = profile_path(config, workspace.settings), workspace.situation(config, now)
        situation = situation.with_ledger(ledger)
        stands = replace(
            stands,
            sources=sources(workspace, ledger, config, now),
            calibrated_at=measured_at(profiles) if profiles.exists() else None,
            learned=situation.learned.learned,
            budget=situation.budget,
            timezone=config.local_timezone,
        )
    else:
        stands = replace(stands, no_file=str(config or f"it has no topology file in {workspace.settings.topologies}"))
    return replace(stands, damaged=ledger.damaged)


def judged_sources(
    workspace: Workspace, ledger: Ledger, config: TopologyConfig, now: datetime
) -> tuple[SourceStanding, ...]:
    """Score past forecasts again by the arrivals: about half a minute for very many sources."""
    forecasts = ForecastTopology.of(config)
    past = past_forecasts(workspace, forecasts, ledger, now, forecasts_of_source(len(forecasts.sources)))
    return tuple(_judged(source, known) for source, known in past.items())


def sources_as_left(
    workspace: Workspace, _ledger: Ledger, config: TopologyConfig, _now: datetime
) -> tuple[SourceStanding, ...]:
    """The sources as the pages on forecasts were last written."""
    pages = read_forecast_pages(workspace, config.topology)
    return tuple(
        SourceStanding(source, cause=page.cause, drifts=tuple(page.drifts[horizon] for horizon in sorted(page.drifts)))
        for source, page in pages.items()
    )


def decided(ledger: Ledger, schedules: Sequence[ScheduleEntry], reports: Mapping[str, str]) -> list[Decided]:
    """Decisions with the state of their steps. reports: addresses by schedule id; a schedule without one has no
    report.
    """
    return [
        Decided(
            made,
            Counter(str(step.state) for step in ledger.steps(schedule_id=made.id)),
            reports.get(made.id, ""),
            _replaced_words(ledger, made.replaced_by) if made.replaced_by else "",
        )
        for made in schedules
    ]


def _replaced_words(ledger: Ledger, by_step: str) -> str:
    try:
        plan, first = ledger.step(by_step).plan, ledger.events(by_step)[0]
    except (DamagedRowError, IndexError):
        return "replaced by a plan deployed by hand"
    return f"replaced by {plan.brief()}, deployed by hand: {made_words(first)}"


def _read_or_why(read: Callable[[], Standing], name: str, expected: Expected) -> Standing | str:
    """A standing, or in one line why it could not be read."""
    try:
        return read()
    except Exception as error:
        # A defect with one topology must not hide the others.
        if not isinstance(error, (*expected, OSError)):
            logger.warning("topology %s could not be read", name, exc_info=True)
        return " ".join(str(error).split()) or type(error).__name__


def _ended(ledger: Ledger, name: str, since: datetime) -> tuple[StepEntry, ...]:
    steps = ledger.steps(topology=name, states=ENDED, changed_since=since)
    return tuple(sorted(steps, key=lambda step: (step.updated_at, step.id)))


def _judged(source: str, past: PastForecasts) -> SourceStanding:
    newest = past.entries[0] if past.entries else None
    return SourceStanding(
        source,
        None if newest is None else newest.issued_at,
        None if newest is None else newest.horizon_end,
        None if past.history is None else past.history.end,
        past.failure or past.error,
        () if past.judged is None else past.judged.scores,
        () if past.judged is None else past.judged.drifts,
    )


def _busy(ledger: Ledger, topology: str) -> dict[str, float]:
    looks = ledger.guard.looks(topology)
    return {name: max(of.busy) for name, of in looks[-1].operators.items() if of.busy} if looks else {}
