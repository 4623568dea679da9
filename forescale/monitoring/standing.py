"""Where each topology stands: read from ledger, forecasts, history and calibration, without asking any cluster."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from forecasting.drift import Drift
from forecasting.track_scores import TrackScore
from forescale.files.profile import measured_at
from forescale.files.topology import TopologyConfig
from forescale.jobs.known_profiles import profile_path
from forescale.jobs.learned_rescale import learned_planning
from forescale.jobs.past_forecasts import ForecastTopology, PastForecasts, forecasts_of_source, past_forecasts
from forescale.jobs.violation_budget import recorded_budget
from forescale.settings import Settings
from forescale.wiring.parts import clock_of, ledger_of, topology_config
from planner.horizon.budget import Budget
from planner.learned_rescale import LearnedRescale
from planner.ledger.entries import ActionCount, BarredPair, Outcome, ScheduleEntry, StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import WAITING, StepState

logger = logging.getLogger(__name__)

Expected = tuple[type[Exception], ...]


@dataclass(frozen=True)
class SourceStanding:
    """issued_at, ends_at: of the newest forecast, None without one; history_end: None without history. failed: whether
    it could not be forecast the last time. scores, drifts: of past forecasts, per horizon.
    """

    source: str
    issued_at: datetime | None
    ends_at: datetime | None
    history_end: datetime | None
    failed: bool
    scores: tuple[TrackScore, ...]
    drifts: tuple[Drift, ...]


@dataclass(frozen=True)
class Standing:
    """Of one topology at a moment of its clock. schedule: the newest; next_step: the first that waits or is deployed.

    last_change: the newest deployment that was verified. budget: over the past week. busy: by operator, share of the
    time that its busiest instance worked when the guard last looked; empty where it never did.
    """

    topology: str
    at: datetime
    sources: tuple[SourceStanding, ...]
    calibrated_at: datetime | None
    schedule: ScheduleEntry | None
    next_step: StepEntry | None
    step_counts: Mapping[StepState, int]
    last_change: tuple[StepEntry, Outcome] | None
    learned: LearnedRescale
    budget: Budget
    guard_counts: Sequence[ActionCount]
    barred: Sequence[BarredPair]
    busy: Mapping[str, float]


@dataclass(frozen=True)
class Standings:
    """unread: by topology, why it could not be read."""

    known: tuple[Standing, ...]
    unread: Mapping[str, str]


def standings(settings: Settings, names: Iterable[str], expected: Expected) -> Standings:
    """One that cannot be read hides no other. names: or paths. expected: errors that say what is wrong with the world;
    of any other the log has the traceback.
    """
    known: dict[str, Standing] = {}
    unread: dict[str, str] = {}
    for name in names:
        try:
            config = topology_config(name, settings)
            if config.topology not in known:
                known[config.topology] = standing(settings, config)
        except Exception as error:
            # A defect with one topology must not hide the others.
            if not isinstance(error, (*expected, OSError)):
                logger.warning("topology %s could not be read", name, exc_info=True)
            unread[name] = " ".join(str(error).split()) or type(error).__name__
    return Standings(tuple(known.values()), unread)


def standing(settings: Settings, config: TopologyConfig) -> Standing:
    """Raises LedgerError, FileError or OSError. A history or a forecast that cannot be read is missing in it."""
    ledger, now, name = ledger_of(settings), clock_of(settings).now(), config.topology
    forecasts = ForecastTopology.of(config)
    past = past_forecasts(settings, forecasts, ledger, now, forecasts_of_source(len(forecasts.sources)))
    profiles = profile_path(config, settings)
    made = ledger.schedules(name, limit=1)
    ahead = ledger.steps(topology=name, states=(*WAITING, StepState.DEPLOYING))
    verified = ledger.outcomes(name, states=(StepState.VERIFIED,), limit=1)
    return Standing(
        topology=name,
        at=now,
        sources=tuple(_source(source, known) for source, known in past.items()),
        calibrated_at=measured_at(profiles) if profiles.exists() else None,
        schedule=made[0] if made else None,
        next_step=next((step for step in ahead if step.state is StepState.DEPLOYING or step.expires_at > now), None),
        step_counts=ledger.step_counts(name),
        last_change=verified[0] if verified else None,
        learned=learned_planning(settings, ledger, config).learned,
        budget=recorded_budget(config, ledger, now),
        guard_counts=ledger.guard.counts(name),
        barred=ledger.guard.barred(name),
        busy=_busy(ledger, name),
    )


def _source(source: str, past: PastForecasts) -> SourceStanding:
    newest = past.entries[0] if past.entries else None
    return SourceStanding(
        source,
        None if newest is None else newest.issued_at,
        None if newest is None else newest.horizon_end,
        None if past.history is None else past.history.end,
        bool(past.failure or past.error),
        () if past.judged is None else past.judged.scores,
        () if past.judged is None else past.judged.drifts,
    )


def _busy(ledger: Ledger, topology: str) -> dict[str, float]:
    looks = ledger.guard.looks(topology)
    return {name: max(of.busy) for name, of in looks[-1].operators.items() if of.busy} if looks else {}
