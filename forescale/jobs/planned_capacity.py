"""What the plans of a schedule can process, as its page draws it, and the load that its running plan is judged by."""

from datetime import UTC, datetime

import numpy as np

from forescale.report.decision.decision import CapacityStep
from planner.horizon.capacity_use import CapacityUse
from planner.horizon.ladder import ladder_of
from planner.horizon.outlook import Outlook
from planner.plan_model import PlanModel
from planner.scaling_schedule import ScalingSchedule


def busiest_per_s(schedule: ScalingSchedule, ahead: Outlook, model: PlanModel) -> dict[str, float]:
    """Rates by source at which the plan that runs before all steps would be busiest, at the schedule's quantile."""
    peak = CapacityUse(ahead, ladder_of([schedule.current], model)).peak_per_s(0, schedule.quantile)
    return dict(zip(model.topology.sources, peak.tolist(), strict=True))


def planned_capacity(
    schedule: ScalingSchedule, ahead: Outlook, model: PlanModel, max_utilisation: float
) -> tuple[CapacityStep, ...]:
    """Of several sources, each for itself while the others come at the median of their forecasts, which changes with
    every step of the outlook.
    """
    placed, sources = schedule.plans_running(), model.topology.sources
    plans = list({plan.plan_id: plan for plan, _, _ in placed}.values())
    load_per_s = np.median(ahead.rate_per_s, axis=2)
    if len(sources) == 1:
        load_per_s = load_per_s[:, :1]
    all_of_it = ladder_of(plans, model).beside_per_s(load_per_s)
    usable = ladder_of(plans, model, max_utilisation).beside_per_s(load_per_s)
    number = {plan.plan_id: at for at, plan in enumerate(plans)}
    edges = [datetime.fromtimestamp(ahead.start_s + edge_s, UTC) for edge_s in ahead.edges_s.tolist()]
    steps = []
    for plan, start, end in placed:
        inner = [edge for edge in edges[1:-1] if start < edge < end] if len(sources) > 1 else []
        for begin, until in zip([start, *inner], [*inner, end], strict=True):
            at = min(ahead.step_at(begin.timestamp() - ahead.start_s), load_per_s.shape[1] - 1)
            mst, within = (
                dict(zip(sources, most[number[plan.plan_id], :, max(at, 0)].tolist(), strict=True))
                for most in (all_of_it, usable)
            )
            steps.append(CapacityStep(begin, until, plan, mst, within))
    return tuple(steps)
