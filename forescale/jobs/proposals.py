"""A recorded schedule as pages and forms show it."""

from collections.abc import Sequence
from datetime import datetime

from forescale.files.topology import TopologyConfig
from forescale.report.decision.proposal import Proposal
from forescale.report.kit.local_time import UTC_TIME, LocalTime
from planner.ledger.entries import ScheduleEntry
from planner.ledger.minute_records import MinuteCount


def proposal_of(
    config: TopologyConfig | None,
    entry: ScheduleEntry,
    states: Sequence[str],
    at: datetime,
    past: MinuteCount | None = None,
) -> Proposal:
    """states: of its steps in the ledger, in order. config: None if its topology file cannot be read."""
    return Proposal(
        entry.id,
        entry.schedule,
        at,
        UTC_TIME if config is None else LocalTime(config.local_timezone),
        dict(enumerate(states)),
        entry.shadow,
        None if config is None else config.planning.max_lag_s,
        past,
    )
