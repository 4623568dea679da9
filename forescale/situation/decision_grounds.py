"""What a decision stands on besides what plans carry: load, limits, freezes, events, and the budget that is left."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import datetime, timedelta

from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forescale.situation.grounds import HISTORY
from forescale.situation.situation import Situation
from modeling.queueing.bursts import Arrivals
from planner.limits import Limits
from planner.provenance import ASSUMED, TOPOLOGY_FILE, Ground, Origin, Provenance, Quantity

FORECAST = "forecast"
LEDGER = "lags in the ledger"
VARIATION_SPAN = timedelta(days=7)
"""The newest part of the training data, in which the variability of arrivals is measured."""
_WITH_DEFAULTS = (
    "max_instances",
    "max_lag_s",
    "rescale_cost_instance_hours",
    "min_dwell_s",
    "max_catch_up_s",
    "review_s",
    "stale_s",
)
"""Fields of `planning` whose default decides a number; without the others nothing is bounded."""
_OWN = {"min_parallelism", "max_step", "windows"}
_LIMITS = frozenset(field.name for field in fields(Limits)) | {*_WITH_DEFAULTS, *_OWN}
_BUDGETS = frozenset({"allow", "quantile"})


def decision_grounds(
    situation: Situation,
    forecasts: Mapping[str, Forecast],
    arrival_cv2: float | Arrivals,
) -> tuple[Ground, ...]:
    """Of the load, of how arrivals vary, and of `rule_grounds`. arrival_cv2: as plans are judged with."""
    trained_to = max((forecast.trained_to for forecast in forecasts.values()), default=None)
    variation = variation_grounds(situation, forecasts, arrival_cv2, trained_to)
    return (*_of_load(forecasts), *variation, *rule_grounds(situation))


def variation_grounds(
    situation: Situation, sources: Iterable[str], arrival_cv2: float | Arrivals, until: datetime | None
) -> tuple[Ground, ...]:
    """Of how arrivals vary within a step. arrival_cv2: as plans are judged with. until: end of what it was measured
    in.
    """
    if situation.config.planning.arrival_cv2 is not None:
        return (Ground(Quantity.VARIATION, TOPOLOGY_FILE),)
    by_source = arrival_cv2.by_source if isinstance(arrival_cv2, Arrivals) else {}

    def measured(source: str) -> Provenance:
        return Provenance(Origin.MEASURED, HISTORY, until, _days_measured(situation, source, until))

    return tuple(
        Ground(Quantity.VARIATION, measured(each) if each in by_source else ASSUMED, (each,)) for each in sources
    )


def _days_measured(situation: Situation, source: str, until: datetime | None) -> int:
    """Of a source's history; a young one is shorter than the span."""
    end = until or situation.past.at
    with suppress(HistoryError):
        series = situation.history.between(end - VARIATION_SPAN, end).series.get(source)
        if series is not None:
            return max(1, round((series.end - series.start) / timedelta(days=1)))
    return VARIATION_SPAN.days


def rule_grounds(situation: Situation) -> tuple[Ground, ...]:
    """Of limits, freezes, events, and the budget: what is left of it. Raises LedgerError."""
    return (*_of_rules(situation), _of_budget(situation))


def _of_load(forecasts: Mapping[str, Forecast]) -> Iterator[Ground]:
    for source, forecast in forecasts.items():
        days = max(1, (forecast.trained_to - forecast.trained_from).days)
        yield Ground(Quantity.LOAD, Provenance(Origin.MEASURED, FORECAST, forecast.issued_at, days), (source,))


def _of_rules(situation: Situation) -> Iterator[Ground]:
    planning = situation.config.planning
    declared = [name for name in type(planning).model_fields if name in planning.model_fields_set & _LIMITS]
    if declared:
        yield Ground(Quantity.LIMITS, TOPOLOGY_FILE, tuple(declared))
    if assumed := [name for name in _WITH_DEFAULTS if name not in declared]:
        yield Ground(Quantity.LIMITS, ASSUMED, tuple(assumed))
    if planning.freeze:
        yield Ground(Quantity.FREEZES, TOPOLOGY_FILE)
    if situation.config.events:
        yield Ground(Quantity.EVENTS, TOPOLOGY_FILE)


def _of_budget(situation: Situation) -> Ground:
    budget = situation.budget
    if budget.price_h is not None:
        return Ground(Quantity.BUDGET, TOPOLOGY_FILE)
    if budget.past_minutes:
        return Ground(Quantity.BUDGET, Provenance(Origin.MEASURED, LEDGER, situation.past.at, int(budget.past_minutes)))
    return Ground(Quantity.BUDGET, TOPOLOGY_FILE if situation.config.planning.model_fields_set & _BUDGETS else ASSUMED)
