"""Where a topology stands at a moment of its clock, for metrics, messages and pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from forecasting.drift import ForecastDrift
from forecasting.track_scores import TrackScore
from planner.horizon.budget import Budget
from planner.learned_rescale import LearnedRescale
from planner.ledger.entries import ActionCount, BarredPair, GuardAction, Outcome, ScheduleEntry, StepEntry
from planner.ledger.step_state import UNDER_WAY, StepState


@dataclass(frozen=True)
class SourceStanding:
    """issued_at, ends_at: of the newest forecast; history_end: of the known history. Each is None if there is none or
    it was not looked up. cause: why it could not be forecast the last time, empty if it could. scores, drifts: of past
    forecasts, per horizon.
    """

    source: str
    issued_at: datetime | None = None
    ends_at: datetime | None = None
    history_end: datetime | None = None
    cause: str = ""
    scores: tuple[TrackScore, ...] = ()
    drifts: tuple[ForecastDrift, ...] = ()


@dataclass(frozen=True)
class Standing:
    """schedule: the newest. ahead: steps being deployed now or still to come, by time. Since the newest schedule,
    ended: steps that were verified or rolled back, in that order; lost: steps whose time passed before they were
    deployed, called off or not. last_change: the newest verified deployment. budget: over the past week. open_action:
    of the guard. busy: by operator, utilisation of its busiest instance when the guard last looked; empty if it never
    did.

    no_file: why its topology file is missing or unreadable, empty if it can be read; without a file calibrated_at,
    learned and budget are None. damaged: what is wrong with its ledger rows; the other fields ignore those rows.
    timezone: of the times that people read.
    """

    topology: str
    at: datetime
    no_file: str = ""
    sources: tuple[SourceStanding, ...] = ()
    calibrated_at: datetime | None = None
    schedule: ScheduleEntry | None = None
    ahead: tuple[StepEntry, ...] = ()
    ended: tuple[StepEntry, ...] = ()
    lost: tuple[StepEntry, ...] = ()
    step_counts: Mapping[StepState, int] = field(default_factory=dict)
    last_change: tuple[StepEntry, Outcome] | None = None
    learned: LearnedRescale | None = None
    budget: Budget | None = None
    open_action: GuardAction | None = None
    guard_counts: Sequence[ActionCount] = ()
    barred: Sequence[BarredPair] = ()
    busy: Mapping[str, float] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    timezone: str = "UTC"

    @property
    def next_step(self) -> StepEntry | None:
        """The step being deployed now, or the first waiting one."""
        deploying = (step for step in self.ahead if step.state in UNDER_WAY)
        return next(deploying, self.ahead[0] if self.ahead else None)


@dataclass(frozen=True)
class Standings:
    """unread: by topology, why it could not be read."""

    known: tuple[Standing, ...]
    unread: Mapping[str, str]

    @property
    def lacking(self) -> dict[str, str]:
        """By topology, what could not be read: everything, or some rows of the ledger."""
        return {each.topology: "; ".join(each.damaged) for each in self.known if each.damaged} | dict(self.unread)
