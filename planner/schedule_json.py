"""Lossless JSON for plans and schedules, as stored in the ledger."""

from collections.abc import Mapping
from typing import Any

from modeling.inputs.physical_plan import PhysicalPlan
from planner.codec import Codec, Json, number_to_json
from planner.errors import PlanError
from planner.scaling_schedule import ScalingSchedule

SCHEMA_VERSION = 4


def plan_to_json(plan: PhysicalPlan) -> Json:
    return _PLAN.to_json(plan)


def plan_from_json(body: Mapping[str, Any]) -> PhysicalPlan:
    """Raises PlanError for a body that is not a stored plan."""
    return _PLAN.from_json(body)


def schedule_to_json(schedule: ScalingSchedule) -> Json:
    """Raises PlanError for a moment without a time zone."""
    return _SCHEDULE.to_json(schedule)


def schedule_from_json(body: Mapping[str, Any]) -> ScalingSchedule:
    """Raises PlanError for a body that is not a stored schedule."""
    return _SCHEDULE.from_json(body)


def numbers_to_json(numbers: Mapping[str, float]) -> Json:
    """
    >>> numbers_to_json({"latency_s": float("inf"), "downtime_s": 25.0})
    {'latency_s': 'inf', 'downtime_s': 25.0}
    """
    return {name: number_to_json(value) for name, value in numbers.items()}


def numbers_from_json(body: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in body.items()}


def _in_words_of_now(value: Any, version: int) -> Any:
    """Rename and convert the fields of earlier versions.

    Version 1 wrote instances as pairs, and an excuse as a quantity of a bottleneck or of the whole plan. Version 2 gave
    the seconds in which the target would be missed at the planned quantile; they are read as the expected ones. Up to
    version 3 the headroom factor was called a saturation scale.
    """
    if isinstance(value, list):
        return [_in_words_of_now(each, version) for each in value]
    if not isinstance(value, Mapping):
        return value
    now = {key: _in_words_of_now(each, version) for key, each in value.items()}
    if "short_s" in now:
        now["violation_minutes"] = float(now.pop("short_s")) / 60
    if "saturation_scale" in now:
        now["headroom_factor"] = now.pop("saturation_scale")
    if version > 1:
        return now
    if "id" in value and isinstance(value.get("instances"), list):
        now["instances"] = [{"operator": operator, "index": index} for operator, index in value["instances"]]
    if "quantity" in value and "bottleneck" in value and "plan" in value:
        quantity, bottleneck = now.pop("quantity"), now.pop("bottleneck")
        now["target"] = quantity
        now["operator"] = bottleneck if bottleneck in value["plan"]["parallelism"] else ""
        now["reason"] = f"{quantity} {float(value['value']):.3g} of {bottleneck} is beyond {float(value['bound']):.3g}"
    return now


_REMEDY = "restore the ledger from a backup, or install the release that wrote it"
_PLAN = Codec(PhysicalPlan, SCHEMA_VERSION, PlanError, "a stored plan", _REMEDY, _in_words_of_now)
_SCHEDULE = Codec(ScalingSchedule, SCHEMA_VERSION, PlanError, "a stored schedule", _REMEDY, _in_words_of_now)
