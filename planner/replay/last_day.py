"""Cost of the last day under alternatives: the guard alone, and the optimum in hindsight.

Both use the true arrivals, the believed profiles, and the lead time and downtime of planning. What really ran is shown
beside them as far as it is known; it ran on the real cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from modeling.arrays import Floats
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
    ladder, hourly_h = _weighed(ladder, terms.pricing)
    if terms.price_h is None:
        best = hindsight_within(load, ahead, ladder, max_lag_s, terms.allowed_share, hourly_h=hourly_h)
    else:
        best = hindsight(load, ahead, ladder, max_lag_s, terms.price_h, hourly_h=hourly_h)
    ends_s = [*(at_s for at_s, _ in best.changes[1:]), float(load.end_s)]
    hours = [((until_s - at_s) / 3600.0, plan) for (at_s, plan), until_s in zip(best.changes, ends_s, strict=True)]
    return LastDay(
        load.start,
        load.end,
        guard_alone(load, model, terms, first),
        DayCost(
            sum(of_plan * sum(plan.values()) for of_plan, plan in hours),
            best.violation_minutes,
            len(best.changes) - 1,
            load.minutes,
            price_of(hours, terms.pricing),
        ),
        ran,
        unknown,
        load.notes,
    )


def guard_alone(
    load: Load,
    model: PlanModel,
    terms: DayTerms,
    first: Mapping[str, int],
    waiting: Mapping[str, float] | None = None,
) -> DayCost:
    """A reactive scaler that begins with the first plan and these waiting tuples, and knows nothing of what comes.
    Raises as `last_day`.
    """
    limits, topology = terms.guard.limits, model.topology
    guarded = replay(
        Guard(topology, terms.guard),
        load,
        Reality(model, terms.engine, Differences(), load.start_s, load.end_s, load.mean_per_s),
        first,
        most={name: limits.max_parallelism.get(name, most) for name, most in topology.max_parallelism.items()},
        max_instances=limits.max_instances,
        waiting=waiting,
    )
    track = track_of(guarded, terms.guard.max_lag_s)
    return DayCost(
        float(track.instances.sum()) * MINUTE_S / 3600.0,
        float(track.violation.sum()),
        int(track.changes_s.size),
        load.minutes,
        price_of(_hours(track), terms.pricing),
    )


def _hours(track: Track) -> list[tuple[float, Mapping[str, int]]]:
    """Of each plan that ran."""
    minutes = np.bincount(track.plan, minlength=len(track.plans)).tolist()
    return [(spent * MINUTE_S / 3600.0, plan) for plan, spent in zip(track.plans, minutes, strict=True) if spent]


def price_of(hours: Iterable[tuple[float, Mapping[str, int]]], pricing: PlanPricing | None) -> float | None:
    """Of plans for hours. None without prices, and for a plan that cannot be packed."""
    if pricing is None:
        return None
    with suppress(PlanError):
        return sum(spent * pricing.per_hour(plan) for spent, plan in hours)
    return None


def _weighed(
    ladder: list[Mapping[str, int]], pricing: PlanPricing | None
) -> tuple[list[Mapping[str, int]], Floats | None]:
    """The plans that can be packed, with what each weighs for an hour in instance-hours; None without prices, and if
    none can be packed.
    """
    if pricing is None:
        return ladder, None
    weights = list[tuple[Mapping[str, int], float]]()
    for plan in ladder:
        with suppress(PlanError):
            weights.append((plan, pricing.weighed_per_hour(plan) / pricing.instance_per_hour))
    if not weights:
        return ladder, None
    return [plan for plan, _ in weights], np.array([weight for _, weight in weights])


def _with_least(ladder: Sequence[Mapping[str, int]], least: Mapping[str, int]) -> list[Mapping[str, int]]:
    plans = [{name: max(count, least.get(name, 1)) for name, count in plan.items()} for plan in ladder]
    return list({tuple(plan.values()): plan for plan in plans}.values())
