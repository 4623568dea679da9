"""What a topology file's section `planning` means to planner and guard: limits, terms of a change, prices, rules."""

from dataclasses import fields, replace
from datetime import datetime, timedelta
from math import inf

from forescale.files.planning_section import Planning
from forescale.files.topology import TopologyConfig
from modeling.rescaling.state_restore import NO_RESTORE, StateRestore
from modeling.rescaling.warm_up import WARM, WarmUp
from planner.decision_basis import BoundedSpan
from planner.guard.terms import GuardTerms
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import ChangeRules
from planner.horizon.prices import ChangeTerms, DisruptionPrices
from planner.limits import FULL, Limits
from planner.plan_model import PlanModel

METRICS_S = 60.0
"""Seconds until the metrics of a minute are available."""


def limits_of(planning: Planning) -> Limits:
    """Limits with the default headroom if the file sets none."""
    given = planning.model_dump(include={field.name for field in fields(Limits)}, exclude_none=True)
    return Limits(**given)


def planned_limits_of(planning: Planning) -> Limits:
    """Limits for planning: if the file sets none, `headroom_of` and the violation budget decide."""
    return replace(limits_of(planning), max_utilisation=planning.max_utilisation or FULL)


def guard_terms_of(
    config: TopologyConfig,
    downtime_s: float,
    model: PlanModel | None,
    warm_up: WarmUp = WARM,
    at: datetime | None = None,
) -> GuardTerms:
    """downtime_s: of a rescale, as used in planning; warm_up: of the job after it. model: of what plans carry, None if
    it is not known. at: when it looks, for the windows of people; None leaves them out.
    """
    planning = config.planning
    limits, least = limits_of(planning), dict(planning.min_parallelism)
    for span in [] if at is None else bounded_spans(planning, at, at + timedelta(seconds=1)):
        lower = {name: min(most, limits.max_parallelism.get(name, most)) for name, most in span.most.items()}
        limits = replace(limits, max_parallelism={**limits.max_parallelism, **lower})
        least |= {name: max(count, least.get(name, 1)) for name, count in span.least.items()}
    return GuardTerms(
        **planning.guard.model_dump(exclude={"mode"}),
        max_lag_s=planning.max_lag_s,
        downtime_s=downtime_s,
        limits=limits,
        least=least,
        model=model,
        warm_up=warm_up,
    )


def change_terms_of(
    planning: Planning, replanned_s: float, restore: StateRestore = NO_RESTORE, warm_up: WarmUp = WARM
) -> ChangeTerms:
    """replanned_s: from one forecast to the next. restore: of state, added to the section's downtime. warm_up: of the
    job after it. An overload is acted on once the guard has seen it, or with the next forecast.
    """
    acts = planning.guard_mode == "act"
    seen_s = planning.guard.window_s + METRICS_S if acts else replanned_s
    return ChangeTerms(
        planning.lead_s,
        planning.downtime_s,
        planning.min_dwell_s,
        planning.max_lag_s,
        seen_s + planning.lead_s,
        planning.max_step or inf,
        planning.scale_out_only,
        restore,
        replanned_s,
        planning.guard.utilisation if acts else limits_of(planning).max_utilisation,
        planning.guard.drain_s,
        planning.guard_mode != "off",
        warm_up,
        weighs_rescues=acts,
    )


def headroom_of(planning: Planning) -> Headroom | None:
    """None above a floor: the scaler adds what is missing at once, so the budget alone decides how full a plan may be.
    With a guard that acts, spikes are left to it.
    """
    if planning.floor:
        return None
    if planning.guard_mode == "act":
        return Headroom.of_usual_load(planned_limits_of(planning))
    return Headroom.of(planned_limits_of(planning), planning.quantile)


def disruption_prices_of(planning: Planning) -> DisruptionPrices:
    return DisruptionPrices(planning.started_cost_instance_hours, planning.moved_state_cost_instance_hours_per_gib)


def rules_of(planning: Planning, start: datetime, end: datetime) -> ChangeRules:
    """Rules over a horizon."""
    closed = [span for window in planning.freeze for span in window.spans(start, end)]
    spans = [(begins.timestamp(), ends.timestamp()) for begins, ends in closed]
    return ChangeRules(spans, planning.max_rescales_a_day, bounded=bounded_spans(planning, start, end))


def bounded_spans(planning: Planning, start: datetime, end: datetime) -> list[BoundedSpan]:
    """Of all windows, those that overlap [start, end)."""
    return [
        BoundedSpan(begins.timestamp(), ends.timestamp(), window.min_parallelism, window.max_parallelism)
        for window in planning.windows
        for begins, ends in window.spans(start, end)
    ]
