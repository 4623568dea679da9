"""Plans and schedules as plain JSON, and back without loss: what the ledger keeps and processes hand to each other.

Moments are ISO times in UTC. JSON knows no infinity, so a number that is not finite is written as its text.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from modeling.errors import ModelError
from modeling.excuse import Excuse
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from planner.errors import PlanError
from planner.scaling_schedule import Alternative, ScalingSchedule, ScheduledStep

Json = dict[str, Any]


def plan_to_json(plan: PhysicalPlan) -> Json:
    return {
        "topology": plan.topology,
        "parallelism": dict(plan.parallelism),
        "packing": [
            {"id": container.id, "instances": [[i.operator, i.index] for i in container.instances]}
            for container in plan.packing
        ],
    }


def plan_from_json(body: Mapping[str, Any]) -> PhysicalPlan:
    """Raises PlanError for a body that no plan was written as."""
    try:
        return _plan(body)
    except _MALFORMED as error:
        raise PlanError(f"a stored plan cannot be read: {_said(error)}; write it with plan_to_json") from error


def schedule_to_json(schedule: ScalingSchedule) -> Json:
    """Raises PlanError for a moment without a time zone."""
    return {
        "topology": schedule.topology,
        "made_at": moment_to_json(schedule.made_at),
        "start": moment_to_json(schedule.start),
        "end": moment_to_json(schedule.end),
        "quantile": _number(schedule.quantile),
        "current": plan_to_json(schedule.current),
        "steps": [_step_to_json(step) for step in schedule.steps],
        "cost_instance_hours": _number(schedule.cost_instance_hours),
        "why": schedule.why,
        "short_s": _number(schedule.short_s),
        "alternatives": [
            {
                "name": alternative.name,
                "cost_instance_hours": _number(alternative.cost_instance_hours),
                "rescales": alternative.rescales,
                "short_s": _number(alternative.short_s),
                "excuse": alternative.excuse,
            }
            for alternative in schedule.alternatives
        ],
        "excuses": [
            {
                "plan": plan_to_json(excuse.plan),
                "target": excuse.target,
                "operator": excuse.operator,
                "value": _number(excuse.value),
                "bound": _number(excuse.bound),
                "reason": excuse.reason,
                "remedy": excuse.remedy,
                "change": dict(excuse.change),
            }
            for excuse in schedule.excuses
        ],
        "derived_from": dict(schedule.derived_from),
    }


def schedule_from_json(body: Mapping[str, Any]) -> ScalingSchedule:
    """Raises PlanError for a body that no schedule was written as."""
    try:
        return ScalingSchedule(
            topology=body["topology"],
            made_at=datetime.fromisoformat(body["made_at"]),
            start=datetime.fromisoformat(body["start"]),
            end=datetime.fromisoformat(body["end"]),
            quantile=float(body["quantile"]),
            current=_plan(body["current"]),
            steps=tuple(_step(step) for step in body["steps"]),
            cost_instance_hours=float(body["cost_instance_hours"]),
            why=body["why"],
            short_s=float(body["short_s"]),
            alternatives=tuple(
                Alternative(
                    name=alternative["name"],
                    cost_instance_hours=float(alternative["cost_instance_hours"]),
                    rescales=int(alternative["rescales"]),
                    short_s=float(alternative["short_s"]),
                    excuse=alternative["excuse"],
                )
                for alternative in body["alternatives"]
            ),
            excuses=tuple(_excuse(excuse) for excuse in body["excuses"]),
            derived_from=dict(body["derived_from"]),
        )
    except _MALFORMED as error:
        raise PlanError(f"a stored schedule cannot be read: {_said(error)}; write it with schedule_to_json") from error


def _excuse(body: Mapping[str, Any]) -> Excuse:
    plan, value, bound = _plan(body["plan"]), float(body["value"]), float(body["bound"])
    if "quantity" in body:
        # As schedules of before 0.2 tell it: a quantity of a bottleneck, which may be the whole plan.
        quantity, of = body["quantity"], body["bottleneck"]
        operator = of if of in plan.parallelism else ""
        reason = f"{quantity} {value:.3g} of {of} is beyond {bound:.3g}"
        return Excuse(plan, quantity, operator, value, bound, reason, body["remedy"])
    change = {operator: int(count) for operator, count in body["change"].items()}
    return Excuse(plan, body["target"], body["operator"], value, bound, body["reason"], body["remedy"], change)


def numbers_to_json(numbers: Mapping[str, float]) -> Json:
    """
    >>> numbers_to_json({"latency_s": float("inf"), "downtime_s": 25.0})
    {'latency_s': 'inf', 'downtime_s': 25.0}
    """
    return {name: _number(value) for name, value in numbers.items()}


def numbers_from_json(body: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in body.items()}


def moment_to_json(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise PlanError(f"moment {moment} has no time zone; give it in UTC")
    return moment.astimezone(UTC).isoformat()


_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, ModelError)


def _said(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _number(value: float) -> float | str:
    return value if isfinite(value) else str(value)


def _plan(body: Mapping[str, Any]) -> PhysicalPlan:
    packing = tuple(
        Container(container["id"], tuple(Instance(operator, index) for operator, index in container["instances"]))
        for container in body["packing"]
    )
    return PhysicalPlan(body["topology"], dict(body["parallelism"]), packing)


def _step_to_json(step: ScheduledStep) -> Json:
    return {
        "deploy_at": moment_to_json(step.deploy_at),
        "in_place_at": moment_to_json(step.in_place_at),
        "needed_from": moment_to_json(step.needed_from),
        "needed_until": moment_to_json(step.needed_until),
        "plan": plan_to_json(step.plan),
        "replaces": plan_to_json(step.replaces),
        "load_per_s": numbers_to_json(step.load_per_s),
        "bottleneck": step.bottleneck,
        "utilisation": _number(step.utilisation),
        "saturation_scale": _number(step.saturation_scale),
        "downtime_s": _number(step.downtime_s),
        "catch_up_s": _number(step.catch_up_s),
        "cost_instance_hours": _number(step.cost_instance_hours),
        "why": step.why,
    }


def _step(body: Mapping[str, Any]) -> ScheduledStep:
    return ScheduledStep(
        deploy_at=datetime.fromisoformat(body["deploy_at"]),
        in_place_at=datetime.fromisoformat(body["in_place_at"]),
        needed_from=datetime.fromisoformat(body["needed_from"]),
        needed_until=datetime.fromisoformat(body["needed_until"]),
        plan=_plan(body["plan"]),
        replaces=_plan(body["replaces"]),
        load_per_s=numbers_from_json(body["load_per_s"]),
        bottleneck=body["bottleneck"],
        utilisation=float(body["utilisation"]),
        saturation_scale=float(body["saturation_scale"]),
        downtime_s=float(body["downtime_s"]),
        catch_up_s=float(body["catch_up_s"]),
        cost_instance_hours=float(body["cost_instance_hours"]),
        why=body["why"],
    )
