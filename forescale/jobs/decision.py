"""What the report of a decision shows, put together from the ledger's entries and the files they name."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from forecasting.arrivals.history import ArrivalHistory
from forecasting.forecast import Forecast
from forescale.files.topology import TopologyConfig
from forescale.report.decision.decision import CapacityStep, Decision, DecisionOutcome
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from planner.demand import demand
from planner.scaling_schedule import ScalingSchedule

RECENT = timedelta(days=2)


def decision_of(
    config: TopologyConfig,
    schedule_id: str,
    schedule: ScalingSchedule,
    history: ArrivalHistory,
    forecasts: Mapping[str, Forecast],
    profiles: Mapping[str, OperatorProfile],
    *,
    links: Mapping[str, str],
    states: Mapping[int, str],
    outcome: DecisionOutcome | None = None,
) -> Decision:
    """history may be longer than what is shown: the last two days before the decision."""
    topology = config.as_topology()
    planning = config.planning
    peak = _planned_peak_per_s(config, schedule, forecasts)
    largest = max((schedule.current, *(step.plan for step in schedule.steps)), key=lambda plan: plan.instances)
    shown = {
        source: series.between(max(series.start, schedule.made_at - RECENT), min(series.end, schedule.made_at))
        for source, series in history.series.items()
    }

    def capacity(plan: PhysicalPlan, start: datetime, end: datetime) -> CapacityStep:
        mst = evaluate(topology, profiles, plan, peak).mst_per_s
        usable = {source: rate * planning.max_utilisation for source, rate in mst.items()}
        return CapacityStep(start, end, plan, mst, usable)

    return Decision(
        schedule_id=schedule_id,
        schedule=schedule,
        history=ArrivalHistory(history.topology, shown),
        forecasts=forecasts,
        capacity=tuple(capacity(plan, start, end) for plan, start, end in schedule.plans_in_place()),
        profiles=profiles,
        max_utilisation=planning.max_utilisation,
        max_lag_s=planning.max_lag_s,
        now_estimate=evaluate(topology, profiles, schedule.current, peak),
        then_estimate=evaluate(topology, profiles, largest, peak) if schedule.steps else None,
        declared=config.declared_profiles(),
        links=links,
        states=states,
        outcome=outcome,
    )


def _planned_peak_per_s(
    config: TopologyConfig, schedule: ScalingSchedule, forecasts: Mapping[str, Forecast]
) -> dict[str, float]:
    """The largest demand of the schedule's horizon: what the plans were chosen to carry."""
    planned = demand(forecasts, slot_s=config.planning.slot_s, quantile=schedule.quantile)
    ahead = planned.still_to_come(schedule.made_at)
    return ahead.peak_per_s(0, ahead.slots)
