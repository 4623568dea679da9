"""The reactive scaler beside a new schedule."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from forecasting.forecast import Forecast
from forescale.jobs.last_day import day_terms
from forescale.situation.situation import Situation
from modeling.errors import ModelError
from planner.errors import PlanError
from planner.ledger.entries import ScheduleEntry
from planner.ledger.ledger import Ledger
from planner.replay.reactive import reactive_alternative
from planner.scaling_schedule import AlternativeKind

logger = logging.getLogger(__name__)


def beside_reactive(
    ledger: Ledger, situation: Situation, made: ScheduleEntry, forecasts: Mapping[str, Forecast]
) -> ScheduleEntry:
    """The recorded schedule with the cost of a reactive scaler among its alternatives, which is recorded; without, with
    the reason in the log, if that cannot be simulated. A decision neither waits for it nor depends on it.
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
        )
    except (PlanError, ModelError) as error:
        logger.warning("the schedule of %s is not compared with a reactive scaler: %s", schedule.topology, error)
        return made
    if reactive is None:
        return made
    ledger.record_comparison(made.id, reactive)
    return replace(made, schedule=replace(schedule, alternatives=(*schedule.alternatives, reactive)))
