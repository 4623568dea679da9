"""Where a topology stands at a moment of its clock: what metrics, messages and pages tell of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from forecasting.drift import ForecastDrift
from forecasting.track_scores import TrackScore
from planner.horizon.budget import Budget
from planner.learned_rescale import LearnedRescale
from planner.ledger.entries import ActionCount, BarredPair, GuardAction, Outcome, ScheduleEntry, StepEntry
from planner.ledger.step_state import StepState


@dataclass(frozen=True)
class SourceStanding:
    """issued_at, ends_at: of the newest forecast; history_end: of what is known. All are None where there is none, or
    nobody looked. cause: why it could not be forecast the last time, empty where it was. scores, drifts: of past
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
    """schedule: the newest. ahead: steps that are deployed now or still may be, by their time. Since the newest
    schedule, ended: those that were verified or rolled back, in that order; lost: those whose time went by before they
    were deployed, whether or not they were called off already. last_change: the newest deployment that
    was verified. budget: over the past week. open_action: of the guard. busy: by operator, share of the time that its
    busiest instance worked when the guard last looked; empty where it never did.

    no_file: why there is no topology file of it to be read, empty where there is one; without one calibrated_at,
    learned and budget are None. damaged: what is wrong with what the ledger holds of it; all else is as if that were
    not there.
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

    @property
    def next_step(self) -> StepEntry | None:
        """The one that is deployed now, or the first that waits."""
        deploying = (step for step in self.ahead if step.state is StepState.DEPLOYING)
        return next(deploying, self.ahead[0] if self.ahead else None)


@dataclass(frozen=True)
class Standings:
    """unread: by topology, why it could not be read."""

    known: tuple[Standing, ...]
    unread: Mapping[str, str]

    @property
    def lacking(self) -> dict[str, str]:
        """By topology, what could not be read: all of it, or some rows of the ledger."""
        return {each.topology: "; ".join(each.damaged) for each in self.known if each.damaged} | dict(self.unread)
