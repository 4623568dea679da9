"""What a decision stands on besides what plans carry: load, limits, freezes, events, and the budget that is left."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime

from forecasting.forecast import Forecast
from forescale.files.planning_section import Planning
from forescale.situation.grounds import TOPOLOGY_FILE
from forescale.situation.situation import ASSUMED, Situation
from planner.horizon.budget import Budget
from planner.limits import Limits
from planner.provenance import Ground, Origin, Provenance, Quantity

FORECAST = "forecast"
LEDGER = "lags in the ledger"
_LIMITS = frozenset(field.name for field in fields(Limits))
_BUDGETS = frozenset({"allow", "quantile"})


def decision_grounds(
    situation: Situation, forecasts: Mapping[str, Forecast], budget: Budget, now: datetime
) -> tuple[Ground, ...]:
    """Of the load and of `rule_grounds`."""
    return (*_of_load(forecasts), *rule_grounds(situation, budget, now))


def rule_grounds(situation: Situation, budget: Budget, now: datetime) -> tuple[Ground, ...]:
    """Of limits, freezes, events, and the budget: what is left of it now."""
    return (*_of_rules(situation), _of_budget(situation.config.planning, budget, now))


def _of_load(forecasts: Mapping[str, Forecast]) -> Iterator[Ground]:
    for source, forecast in forecasts.items():
        days = max(1, (forecast.trained_to - forecast.trained_from).days)
        yield Ground(Quantity.LOAD, Provenance(Origin.MEASURED, FORECAST, forecast.issued_at, days), (source,))


def _of_rules(situation: Situation) -> Iterator[Ground]:
    planning = situation.config.planning
    yield Ground(Quantity.LIMITS, TOPOLOGY_FILE if planning.model_fields_set & _LIMITS else ASSUMED)
    if planning.freeze:
        yield Ground(Quantity.FREEZES, TOPOLOGY_FILE)
    if situation.config.events:
        yield Ground(Quantity.EVENTS, TOPOLOGY_FILE)


def _of_budget(planning: Planning, budget: Budget, now: datetime) -> Ground:
    if budget.price_h is not None:
        return Ground(Quantity.BUDGET, TOPOLOGY_FILE)
    if budget.past_minutes:
        return Ground(Quantity.BUDGET, Provenance(Origin.MEASURED, LEDGER, now, int(budget.past_minutes)))
    return Ground(Quantity.BUDGET, TOPOLOGY_FILE if planning.model_fields_set & _BUDGETS else ASSUMED)
