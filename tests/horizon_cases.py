"""Forecasts by hand, and schedules for them: paths that are told, and one work operator of a second a tuple."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from forecasting.forecast import Forecast
from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.services.pools import ServiceTerms
from planner.decision_basis import NOTHING_KNOWN, DecisionBasis
from planner.horizon.budget import Budget
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import NO_DISRUPTION, NO_RULES, Announced, ChangeRules, HorizonPlanner, Present
from planner.horizon.prices import ChangeTerms, DisruptionPrices
from planner.limits import FULL, Limits
from planner.plan_model import PlanModel
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import PlanPricing
from planner.scaling_schedule import ScalingSchedule
from planner.schedule import make_schedule

START = datetime(2026, 3, 2, 20, 0, tzinfo=UTC)
PAIR = Topology("pair", (Operator("source"), Operator("work")), (Stream("source", "work"),))
PROFILES = {"source": OperatorProfile("source", 1e-6), "work": OperatorProfile("work", 1.0)}
TERMS = ChangeTerms(lead_s=300.0, downtime_s=30.0, apart_s=0.0, max_lag_s=180.0)
LIMITS = Limits(max_utilisation=FULL)


def forecast_of(paths_per_s: Floats, step_s: int, source: str = "source", start: datetime = START) -> Forecast:
    """paths_per_s: shape (paths, steps)."""
    horizon_s = step_s * paths_per_s.shape[1]
    return Forecast(
        issued_at=start,
        topology="pair",
        source=source,
        start=start,
        step_s=step_s,
        quantiles=(0.5,),
        rate_per_s=np.median(paths_per_s, axis=0)[:, None],
        peak_per_s={horizon_s: np.array([float(paths_per_s.max())])},
        paths_per_s=paths_per_s,
        forecaster={horizon_s: "by hand"},
        trained_from=start - timedelta(days=7),
        trained_to=start,
        history_digest="",
        seed=0,
    )


def level(rates_per_s: Sequence[float], step_s: int = 300, source: str = "source") -> dict[str, Forecast]:
    """Everybody is sure of it."""
    return {source: forecast_of(np.array([rates_per_s], dtype=np.float64), step_s, source)}


def schedule_of(
    forecasts: Mapping[str, Forecast],
    running: Mapping[str, int],
    *,
    topology: Topology = PAIR,
    profiles: Profiles = PROFILES,
    limits: Limits = LIMITS,
    terms: ChangeTerms = TERMS,
    rescale_h: float = 1.0,
    budget: Budget = Budget(),  # noqa: B008 (a frozen value)
    free_at: datetime | None = None,
    waiting: float = 0.0,
    after_s: float = 0.0,
    announced: Sequence[Announced] = (),
    changes: Sequence[float] = (),
    rules: ChangeRules = NO_RULES,
    least: Mapping[str, int] | None = None,
    candidates: Mapping[str, PhysicalPlan] | None = None,
    pricing: PlanPricing | None = None,
    disruption: DisruptionPrices = NO_DISRUPTION,
    headroom: Headroom | None = None,
    placing: Placing | None = None,
    services: ServiceTerms | None = None,
    basis: DecisionBasis = NOTHING_KNOWN,
) -> ScalingSchedule:
    """Made after_s seconds after the start of the forecasts."""
    planner = HorizonPlanner(
        PlanModel(topology, profiles, services=services),
        limits,
        terms,
        rescale_h,
        least=least,
        pricing=pricing,
        disruption=disruption,
        headroom=headroom,
    )
    proposed = [plan.parallelism for plan in (candidates or {}).values()]
    free_at_s = 0.0 if free_at is None else free_at.timestamp()
    planned = planner.planned(
        forecasts,
        Present(START.timestamp() + after_s, running, waiting, free_at_s, announced, changes),
        budget,
        rules,
        proposed,
    )
    assert planned is not None
    current = PhysicalPlan(topology.name, dict(running))
    return make_schedule(planned, current, quantile=0.95, basis=basis, candidates=candidates, placing=placing)
