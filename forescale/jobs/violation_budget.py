"""The violation budget of a plan, paced over the past week: by the lag of the job that ran or, in shadow mode, by the
simulated lag.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from forescale.files.planning_section import Planning
from forescale.files.topology import TopologyConfig
from forescale.jobs.shadow import accrued_days
from planner.clusters.cluster import Cluster
from planner.decision_basis import BudgetFacts
from planner.horizon.budget import PACED, Budget
from planner.ledger.entries import ScheduleEntry
from planner.ledger.ledger import Ledger
from planner.ledger.minute_records import MINUTE_S, MinuteCount
from planner.shadow.accrual import MINUTES, midnight


@dataclass(frozen=True)
class PacedBudget:
    """facts: what the budget is based on."""

    budget: Budget
    facts: BudgetFacts


@dataclass(frozen=True)
class BudgetUse:
    """allowed_minutes: of violation over the horizon, None if such a minute has a price. past_minutes: of the week
    before, those whose lag is known; used_minutes: those of them that were in violation.
    """

    allowed_minutes: float | None
    past_minutes: int
    used_minutes: int


def paced_budget(config: TopologyConfig, ledger: Ledger, cluster: Cluster, now: datetime) -> PacedBudget:
    """The allowed violations minus those used. First copies the cluster's record of lag, if any, into the ledger."""
    planning = config.planning
    if not planning.shadow:
        _record_lags(config, ledger, cluster, now)
    budget = recorded_budget(config, ledger, now)
    return PacedBudget(budget, _facts(planning, budget))


def recorded_budget(config: TopologyConfig, ledger: Ledger, now: datetime) -> Budget:
    """The allowed violations minus those in the ledger; no cluster is asked."""
    planning = config.planning
    past = past_minutes(ledger, config.topology, now, shadow=planning.shadow)
    return Budget(planning.allowed_share, past.known, past.in_violation, price_h=planning.price_per_violation_minute)


def past_minutes(ledger: Ledger, topology: str, at: datetime, *, shadow: bool) -> MinuteCount:
    """Minutes of the week before a moment; for a shadow, those of whole days that had been accrued by then."""
    if not shadow:
        return ledger.minutes.count(topology, at - PACED, at)
    span = ledger.shadow.span(topology)
    days = [] if span is None else accrued_days(ledger, span, topology)
    within = [day for day in days if at - PACED <= midnight(day.day) and day.accrued_at < at]
    return MinuteCount(MINUTES * len(within), sum(day.violation_minutes for day in within))


def budget_use(ledger: Ledger, entry: ScheduleEntry) -> BudgetUse:
    """Budget and use of a recorded schedule."""
    schedule = entry.schedule
    past = past_minutes(ledger, schedule.topology, schedule.made_at, shadow=entry.shadow)
    return BudgetUse(schedule.allowed_minutes, past.known, past.in_violation)


def _record_lags(config: TopologyConfig, ledger: Ledger, cluster: Cluster, now: datetime) -> None:
    if (record := cluster.record(now - PACED, now)) is None:
        return
    ends_s = record.minute.astype(np.int64) + MINUTE_S
    told = zip(ends_s[record.known].tolist(), record.lag_s[record.known].tolist(), strict=True)
    lags_s = [(datetime.fromtimestamp(end_s, UTC), lag_s) for end_s, lag_s in told]
    ledger.minutes.record(config.topology, lags_s, max_lag_s=config.planning.max_lag_s)


def _facts(planning: Planning, budget: Budget) -> BudgetFacts:
    return BudgetFacts(
        budget.past_minutes,
        budget.used_minutes,
        budget.past_allowed_minutes,
        planning.price_per_violation_minute,
        planning.shadow,
    )
