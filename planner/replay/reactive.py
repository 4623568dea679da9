"""What a reactive scaler is expected to cost over a schedule's horizon: the guard alone on forecast paths."""

from collections.abc import Mapping
from datetime import datetime

import numpy as np

from forecasting.forecast import Forecast
from planner.plan_model import PlanModel
from planner.replay.last_day import DayTerms, guard_alone
from planner.replay.load import MINUTE_S, Load
from planner.scaling_schedule import Alternative, AlternativeKind

PATHS = 5
"""Number of sample paths that are replayed."""


def reactive_alternative(
    forecasts: Mapping[str, Forecast],
    start: datetime,
    end: datetime,
    model: PlanModel,
    terms: DayTerms,
    first: Mapping[str, int],
    waiting: float = 0.0,
) -> Alternative | None:
    """The mean over paths from the lowest to the highest. forecasts: by source, in the same steps; paths of several
    sources are paired as they come. first: the plan that runs; waiting: tuples at all sources now. None if they do not
    reach into the horizon. Raises as `last_day`.
    """
    loads = [load.between(start.timestamp(), end.timestamp()) for load in _loads(forecasts)]
    if not loads or loads[0].minutes < 1:
        return None
    costs = [guard_alone(load, model, terms, first, _shared(waiting, load)) for load in loads]
    prices = [cost.price for cost in costs if cost.price is not None]
    return Alternative(
        "",
        float(np.mean([cost.instance_hours for cost in costs])),
        round(float(np.mean([cost.rescales for cost in costs]))),
        float(np.mean([cost.violation_minutes for cost in costs])),
        price=float(np.mean(prices)) if len(prices) == len(costs) else None,
        kind=AlternativeKind.REACTIVE,
        sample_paths=len(costs),
    )


def _shared(waiting: float, load: Load) -> dict[str, float]:
    """Tuples over the sources as they come."""
    coming = {source: float(rates[0]) for source, rates in load.rate_per_s.items()}
    total_per_s = sum(coming.values())
    return {
        source: waiting * (rate / total_per_s if total_per_s else 1 / len(coming)) for source, rate in coming.items()
    }


def _loads(forecasts: Mapping[str, Forecast]) -> list[Load]:
    """Paths in equal steps of their mean load, as loads of minutes."""
    one = next(iter(forecasts.values()))
    if one.step_s % MINUTE_S:
        return []
    total = np.sum([forecast.paths_per_s.mean(axis=1) for forecast in forecasts.values()], axis=0)
    ranks = np.linspace(0, total.size, min(PATHS, total.size), endpoint=False) + total.size / (2 * PATHS)
    chosen = np.argsort(total, kind="stable")[np.minimum(ranks.astype(int), total.size - 1)]
    start_s, minutes = int(one.start.timestamp()), one.step_s // MINUTE_S
    return [
        Load(start_s, {name: np.repeat(forecast.paths_per_s[path], minutes) for name, forecast in forecasts.items()})
        for path in chosen.tolist()
    ]
