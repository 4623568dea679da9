"""Alternatives beside a new schedule: a reactive scaler, and the same plan under a guard that acts."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from forecasting.forecast import Forecast
from forescale.files.topology import TopologyConfig
from forescale.jobs.last_day import day_terms
from forescale.jobs.planning_case import PlanningCase
from forescale.situation.situation import Situation
from forescale.wiring.planning_terms import change_terms_of, headroom_of
from modeling.errors import ModelError
from planner.errors import PlanError
from planner.ledger.entries import ScheduleEntry
from planner.ledger.ledger import Ledger
from planner.replay.reactive import reactive_alternative
from planner.scaling_schedule import Alternative, AlternativeKind, ScalingSchedule

logger = logging.getLogger(__name__)


def beside_acting_guard(
    ledger: Ledger, situation: Situation, case: PlanningCase, made: ScheduleEntry, forecasts: Mapping[str, Forecast]
) -> ScheduleEntry:
    """The recorded schedule with what the same costs under a guard that acts among its alternatives, which is
    recorded. forecasts: joined. Unchanged where the guard acts, or cannot.
    """
    schedule = made.schedule
    if not may_act(situation.config) or AlternativeKind.ACTING_GUARD in {each.kind for each in schedule.alternatives}:
        return made
    try:
        other = _alternative(situation, case, schedule, forecasts)
    except (PlanError, ModelError) as error:
        logger.warning("the schedule of %s is not compared with a guard that acts: %s", schedule.topology, error)
        return made
    ledger.record_comparison(made.id, other)
    return replace(made, schedule=replace(schedule, alternatives=(*schedule.alternatives, other)))


def may_act(config: TopologyConfig) -> bool:
    """Whether the guard advises, and the file would be valid if it acted."""
    planning = config.planning
    if planning.guard.mode != "advise" or planning.shadow or planning.floor or config.cluster_section is None:
        return False
    try:
        config.cluster.check_mode(planning.mode, "act")
    except ValueError:
        return False
    return config.cluster.counts_tuples


def _alternative(
    situation: Situation, case: PlanningCase, made: ScalingSchedule, forecasts: Mapping[str, Forecast]
) -> Alternative:
    learned = situation.learned
    guard = learned.planning.guard.model_copy(update={"mode": "act"})
    planning = learned.planning.model_copy(update={"guard": guard})
    every_s = situation.config.forecast.every_s
    terms = change_terms_of(planning, every_s, learned.restore, learned.warmed.warm_up)
    planned = replace(case, terms=terms, headroom=headroom_of(planning)).planned_as(made, forecasts)
    pricing = situation.priced.pricing
    return Alternative(
        "",
        planned.found.instance_hours,
        len(planned.found.turns),
        planned.found.violation_minutes,
        price=None if pricing is None else planned.found.paid_h * pricing.instance_per_hour,
        kind=AlternativeKind.ACTING_GUARD,
    )


def beside_reactive(
    ledger: Ledger, situation: Situation, made: ScheduleEntry, forecasts: Mapping[str, Forecast], waiting: float = 0.0
) -> ScheduleEntry:
    """The recorded schedule with the cost of a reactive scaler among its alternatives, which is recorded; without, with
    the reason in the log, if that cannot be simulated. A decision neither waits for it nor depends on it. waiting:
    tuples at the sources when it was made.
    """
    schedule = made.schedule
    if not schedule.basis.rung.plans or AlternativeKind.REACTIVE in {each.kind for each in schedule.alternatives}:
        return made
    try:
        reactive = reactive_alternative(
            forecasts,
            schedule.start,
            schedule.end,
            situation.model,
            day_terms(situation),
            schedule.current.parallelism,
            waiting,
        )
    except (PlanError, ModelError) as error:
        logger.warning("the schedule of %s is not compared with a reactive scaler: %s", schedule.topology, error)
        return made
    if reactive is None:
        return made
    ledger.record_comparison(made.id, reactive)
    return replace(made, schedule=replace(schedule, alternatives=(*schedule.alternatives, reactive)))
