"""Plans and schedules as plain JSON, and back without loss: what the ledger keeps.

One codec over the dataclasses: a field that is added there is written and read without more ado. Moments are ISO times
in UTC. JSON knows no infinity, so a number that is not finite is written as its text.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import PlanError
from planner.scaling_schedule import ScalingSchedule

SCHEMA_VERSION = 3

Json = dict[str, Any]
Kept = TypeVar("Kept", PhysicalPlan, ScalingSchedule)

_PLAN, _SCHEDULE = TypeAdapter(PhysicalPlan), TypeAdapter(ScalingSchedule)


def plan_to_json(plan: PhysicalPlan) -> Json:
    return _written(_PLAN, plan)


def plan_from_json(body: Mapping[str, Any]) -> PhysicalPlan:
    """Raises PlanError for a body that no plan was written as."""
    return _read(_PLAN, body, "plan")


def schedule_to_json(schedule: ScalingSchedule) -> Json:
    """Raises PlanError for a moment without a time zone."""
    return _written(_SCHEDULE, schedule)


def schedule_from_json(body: Mapping[str, Any]) -> ScalingSchedule:
    """Raises PlanError for a body that no schedule was written as."""
    return _read(_SCHEDULE, body, "schedule")


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


def _written(adapter: TypeAdapter[Kept], value: Kept) -> Json:
    return {"schema_version": SCHEMA_VERSION, **_plain(adapter.dump_python(value))}


def _plain(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case datetime():
            return moment_to_json(value)
        case float():
            return _number(value)
    return value


def _read(adapter: TypeAdapter[Kept], body: Mapping[str, Any], what: str) -> Kept:
    try:
        return adapter.validate_python(
            _in_words_of_now(body, version if isinstance(version := body.get("schema_version", 1), int) else 1)
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "(whole)"
        reason = first["msg"].removeprefix("Value error, ")
        raise PlanError(
            f"a stored {what} cannot be read: {field}: {reason}; restore the ledger from a backup"
        ) from None


def _in_words_of_now(value: Any, version: int) -> Any:
    """Version 1 wrote instances as pairs, and an excuse as a quantity of a bottleneck, or of the whole plan. Version 2
    told by how many seconds the target would be missed at the planned quantile: they stand for the expected ones.
    """
    if version >= SCHEMA_VERSION:
        return value
    if isinstance(value, list):
        return [_in_words_of_now(each, version) for each in value]
    if not isinstance(value, Mapping):
        return value
    now = {key: _in_words_of_now(each, version) for key, each in value.items()}
    if "short_s" in now:
        now["violation_minutes"] = float(now.pop("short_s")) / 60
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


def _number(value: float) -> float | str:
    return value if isfinite(value) else str(value)
