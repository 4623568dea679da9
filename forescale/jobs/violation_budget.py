"""The violation budget of a plan, paced over the past week: by the lag of the job that ran or, in shadow mode, by the
simulated lag.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from forescale.files.planning_section import Planning
from forescale.files.topology import TopologyConfig
from forescale.situation.past import past_minutes
from planner.clusters.cluster import Cluster
from planner.decision_basis import BudgetFacts
from planner.horizon.budget import PACED, Budget
from planner.ledger.entries import ScheduleEntry
from planner.ledger.ledger import Ledger
from planner.ledger.minute_records import MINUTE_S


@dataclass(frozen=True)
class BudgetUse:
    """allowed_minutes: of violation over the horizon, None if such a minute has a price. past_minutes: of the week
    before, those whose lag is known; used_minutes: those of them that were in violation.
    """

    allowed_minutes: float | None
    past_minutes: int
    used_minutes: int


def budget_use(ledger: Ledger, entry: ScheduleEntry) -> BudgetUse:
    """Budget and use of a recorded schedule."""
    schedule = entry.schedule
    past = past_minutes(ledger, schedule.topology, schedule.made_at, shadow=entry.shadow)
    return BudgetUse(schedule.allowed_minutes, past.known, past.in_violation)


def record_lags(config: TopologyConfig, ledger: Ledger, cluster: Cluster, now: datetime) -> None:
    """Copy the cluster's record of lag, if any, into the ledger, which paces the budget; in shadow mode it is that of
    another plan.
    """
    if config.planning.shadow or (record := cluster.record(now - PACED, now)) is None:
        return
    ends_s = record.minute.astype(np.int64) + MINUTE_S
    told = zip(ends_s[record.known].tolist(), record.lag_s[record.known].tolist(), strict=True)
    lags_s = [(datetime.fromtimestamp(end_s, UTC), lag_s) for end_s, lag_s in told]
    ledger.minutes.record(config.topology, lags_s, max_lag_s=config.planning.max_lag_s)


def budget_facts(planning: Planning, budget: Budget) -> BudgetFacts:
    """What the budget is based on."""
    return BudgetFacts(
        budget.past_minutes,
        budget.used_minutes,
        budget.past_allowed_minutes,
        planning.price_per_violation_minute,
        planning.shadow,
    )
