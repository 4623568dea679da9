"""A recorded schedule as pages and forms show it."""

from collections.abc import Sequence
from datetime import datetime

from forescale.files.topology import TopologyConfig
from forescale.report.decision.proposal import Proposal
from forescale.report.kit.local_time import UTC_TIME, LocalTime
from forescale.report.kit.step_reasons import state_reasons
from planner.ledger.entries import ScheduleEntry, StepEntry
from planner.ledger.minute_records import MinuteCount
from planner.ledger.step_state import WAITING, StepState


def proposal_of(
    config: TopologyConfig | None,
    entry: ScheduleEntry,
    steps: Sequence[StepEntry],
    at: datetime,
    past: MinuteCount | None = None,
) -> Proposal:
    """steps: of the schedule in the ledger, in order. config: None if its topology file cannot be read."""
    return Proposal(
        entry.id,
        entry.schedule,
        at,
        UTC_TIME if config is None else LocalTime(config.local_timezone),
        {index: str(_state_at(step, at)) for index, step in enumerate(steps)},
        entry.shadow,
        None if config is None else config.planning.max_lag_s,
        past,
        reasons=state_reasons(steps),
    )


def _state_at(step: StepEntry, at: datetime) -> StepState:
    """A waiting step is over when its time is, even while no job has recorded that."""
    return StepState.EXPIRED if step.state in WAITING and step.expires_at <= at else step.state
