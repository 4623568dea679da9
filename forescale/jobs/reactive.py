"""The reactive scaler beside a new schedule."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from forecasting.forecast import Forecast
from forescale.jobs.last_day import day_terms
from forescale.situation.situation import Situation
from modeling.errors import ModelError
from planner.errors import PlanError
from planner.ledger.ledger import Ledger
from planner.replay.reactive import reactive_alternative
from planner.scaling_schedule import ScalingSchedule

logger = logging.getLogger(__name__)


def beside_reactive(
    situation: Situation, ledger: Ledger, schedule: ScalingSchedule, forecasts: Mapping[str, Forecast]
) -> ScalingSchedule:
    """The schedule with the cost of a reactive scaler among its alternatives; without, with the reason in the log, if
    that cannot be simulated.
    """
    try:
        reactive = reactive_alternative(
            forecasts,
            schedule.start,
            schedule.end,
            situation.model,
            day_terms(situation, ledger),
            schedule.current.parallelism,
        )
    except (PlanError, ModelError) as error:
        logger.warning("the schedule of %s is not compared with a reactive scaler: %s", schedule.topology, error)
        return schedule
    return schedule if reactive is None else replace(schedule, alternatives=(*schedule.alternatives, reactive))
