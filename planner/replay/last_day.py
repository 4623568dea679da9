"""Cost of the last day under alternatives: the guard alone, and the optimum in hindsight.

Both use the true arrivals, the believed profiles, and the lead time and downtime of planning. What really ran is shown
beside them as far as it is known; it ran on the real cluster.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from planner.clusters.engine_terms import EngineTerms
from planner.errors import PlanError
from planner.guard.terms import GuardTerms
from planner.limits import FULL
from planner.plan_model import PlanModel
from planner.pricing.plan_pricing import PlanPricing
from planner.replay.hindsight import hindsight, hindsight_within, plan_ladder
from planner.replay.load import MINUTE_S, Load
from planner.replay.need import Need
from planner.replay.policies.guard import Guard
from planner.replay.reality import Differences, Reality
from planner.replay.run import replay
from planner.replay.timeline import Track, track_of

LOADS = 96
"""Sampled loads of the day for which hindsight has the cheapest plan."""


@dataclass(frozen=True)
class DayCost:
    """One way to run the day. minutes_known: minutes for which it is known whether they were in violation. price: of
    all plans, None if it is not known.
    """

    instance_hours: float
    violation_minutes: float
    rescales: int
    minutes_known: int
    price: float | None = None


@dataclass(frozen=True)
class LastDay:
    """ran: what really ran, None if it is not fully known, as `unknown` explains. notes: on the arrivals."""

    start: datetime
    end: datetime
    guard: DayCost
    hindsight: DayCost
    ran: DayCost | None = None
    unknown: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DayTerms:
    """Terms for all alternatives. least: min_parallelism by operator. allowed_share: of minutes in violation; price_h:
    price of one, in instance-hours, instead. pricing: of plans, None if only instances count.
    """

    engine: EngineTerms
    guard: GuardTerms
    least: Mapping[str, int]
    allowed_share: float
    price_h: float | None = None
    pricing: PlanPricing | None = None


def last_day(
    load: Load,
    model: PlanModel,
    terms: DayTerms,
    first: Mapping[str, int],
    ran: DayCost | None = None,
    unknown: str = "",
) -> LastDay:
    """first: the guard's first plan; hindsight chooses its own. Raises PlanError or ModelError for inputs that do not
    fit together.
    """
    limits, max_lag_s = terms.guard.limits, terms.guard.max_lag_s
    need = Need(model, replace(limits.with_free_latency(), max_utilisation=FULL))
    ladder = _with_least(plan_ladder(need, load, LOADS), terms.least)
    # With full knowledge, instances are ordered in time, so lead time does not matter.
    ahead = Reality(model, replace(terms.engine, lead_s=0.0), Differences(), load.start_s, load.end_s, load.mean_per_s)
    if terms.price_h is None:
        best = hindsight_within(load, ahead, ladder, max_lag_s, terms.allowed_share)
    else:
        best = hindsight(load, ahead, ladder, max_lag_s, terms.price_h)
    return LastDay(
        load.start,
        load.end,
        guard_alone(load, model, terms, first),
        DayCost(best.instance_hours, best.violation_minutes, len(best.changes) - 1, load.minutes),
        ran,
        unknown,
        load.notes,
    )


def guard_alone(load: Load, model: PlanModel, terms: DayTerms, first: Mapping[str, int]) -> DayCost:
    """A reactive scaler that begins with the first plan and knows nothing of what comes. Raises as `last_day`."""
    limits, topology = terms.guard.limits, model.topology
    guarded = replay(
        Guard(topology, terms.guard),
        load,
        Reality(model, terms.engine, Differences(), load.start_s, load.end_s, load.mean_per_s),
        first,
        most={name: limits.max_parallelism.get(name, most) for name, most in topology.max_parallelism.items()},
        max_instances=limits.max_instances,
    )
    track = track_of(guarded, terms.guard.max_lag_s)
    return DayCost(
        float(track.instances.sum()) * MINUTE_S / 3600.0,
        float(track.violation.sum()),
        int(track.changes_s.size),
        load.minutes,
        _price(track, terms.pricing),
    )


def _price(track: Track, pricing: PlanPricing | None) -> float | None:
    """None without prices, and for a plan that cannot be packed."""
    if pricing is None:
        return None
    minutes = np.bincount(track.plan, minlength=len(track.plans))
    with suppress(PlanError):
        hourly = [pricing.per_hour(plan) if spent else 0.0 for plan, spent in zip(track.plans, minutes, strict=True)]
        return float(minutes @ hourly) * MINUTE_S / 3600.0
    return None


def _with_least(ladder: Sequence[Mapping[str, int]], least: Mapping[str, int]) -> list[Mapping[str, int]]:
    plans = [{name: max(count, least.get(name, 1)) for name, count in plan.items()} for plan in ladder]
    return list({tuple(plan.values()): plan for plan in plans}.values())
