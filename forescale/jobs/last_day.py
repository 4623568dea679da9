"""The day before a decision, replayed: cost of the guard alone and of hindsight, beside what ran."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from forecasting.arrivals.history import ArrivalHistory
from forecasting.errors import HistoryError
from forescale.situation.situation import Situation
from forescale.situation.workspace import Workspace
from forescale.wiring.planning_terms import guard_terms_of
from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import PlanError
from planner.ledger.entries import ScheduleEntry
from planner.ledger.ledger import Ledger
from planner.ledger.minute_records import MinuteCount
from planner.ledger.step_state import StepState
from planner.pricing.plan_pricing import PlanPricing
from planner.replay.last_day import DayCost, DayTerms, LastDay, last_day, price_of
from planner.replay.load import minute_load

logger = logging.getLogger(__name__)

DAY = timedelta(days=1)
MAX_CHANGES = 400
"""Newest deployments searched for those of the day and the one before it."""


def day_before(workspace: Workspace, situation: Situation, entry: ScheduleEntry) -> LastDay | None:
    """The 24 hours before the decision. None, with the reason in the log, if their arrivals are unknown."""
    config, schedule, topology = situation.config, entry.schedule, situation.topology
    end = schedule.made_at.replace(second=0, microsecond=0)
    start = end - DAY
    terms = day_terms(situation)
    try:
        history = situation.history.between(start, end)
        _check_whole(history, topology.sources, start, end)
        load = minute_load(history.series, may_be_silent=True)
        plans, unknown = _plans(workspace.ledger, entry, load.start)
        known = workspace.ledger.minutes.count(config.topology, load.start, load.end)
        ran = _cost(plans, load.end, known, terms.pricing) if plans else None
        first = plans[0][1] if plans else schedule.current
        return last_day(load, situation.model, terms, first.parallelism, ran, unknown)
    except (HistoryError, PlanError, ModelError) as error:
        logger.warning("the day before the decision on %s is not replayed: %s", config.topology, error)
        return None


def day_terms(situation: Situation) -> DayTerms:
    """Terms of planning now, with what past deployments teach."""
    learned = situation.learned
    planning = learned.planning
    return DayTerms(
        learned.engine,
        guard_terms_of(situation.config, learned.engine.whole_s, situation.model, learned.warmed.warm_up),
        planning.min_parallelism,
        planning.allowed_share,
        planning.price_per_violation_minute,
        situation.priced.pricing,
    )


def _check_whole(history: ArrivalHistory, sources: Sequence[str], start: datetime, end: datetime) -> None:
    """Raises HistoryError if a source's history does not reach from the first hour of the day to the last."""
    for source in sources:
        series = history.source(source)
        if series.start > start + timedelta(hours=1) or series.end < end - timedelta(hours=1):
            raise HistoryError(f"arrivals of {source} are known only from {series.start} to {series.end} of that day")


def _plans(ledger: Ledger, entry: ScheduleEntry, start: datetime) -> tuple[list[tuple[datetime, PhysicalPlan]], str]:
    """Plans with the moment from which each ran, from `start` to the decision; or none, and why they are unknown."""
    schedule = entry.schedule
    if entry.shadow:
        return [], f"in shadow mode `forescale replay {schedule.topology} --live` shows it"
    verified = ledger.outcomes(schedule.topology, states=(StepState.VERIFIED,), limit=MAX_CHANGES)
    known = [(outcome.verified_at, step) for step, outcome in verified if outcome.verified_at is not None]
    changes = sorted((change for change in known if change[0] <= schedule.made_at), key=lambda change: change[0])
    earlier = [step.plan for at, step in changes if at <= start]
    within = [(at, step) for at, step in changes if at > start]
    if not earlier:
        return [], "nothing was deployed before that day, so the plan at its beginning is unknown"
    plans = [(start, earlier[-1]), *((at, step.plan) for at, step in within)]
    found = [*(step.replaces for _, step in within), schedule.current]
    for (_, plan), runs in zip(plans, found, strict=True):
        if not plan.same_parallelism(runs):
            return [], f"{plan.brief()} was replaced by {runs.brief()} outside forescale, at an unknown time"
    return plans, ""


def _cost(
    plans: Sequence[tuple[datetime, PhysicalPlan]], end: datetime, known: MinuteCount, pricing: PlanPricing | None
) -> DayCost:
    """Cost up to `end`."""
    edges = [*(min(at, end) for at, _ in plans), end]
    hours_each = [(until - at).total_seconds() / 3600 for at, until in pairwise(edges)]
    hours = sum(plan.instances * hours for (_, plan), hours in zip(plans, hours_each, strict=True))
    rescales = sum(at < end for at, _ in plans) - 1
    priced = price_of(((spent, plan.parallelism) for (_, plan), spent in zip(plans, hours_each, strict=True)), pricing)
    return DayCost(hours, float(known.in_violation), rescales, known.known, priced)
