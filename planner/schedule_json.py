"""Lossless JSON for plans and schedules, as stored in the ledger."""

from collections.abc import Mapping
from typing import Any

from modeling.inputs.physical_plan import PhysicalPlan
from planner.codec import Codec, Json, number_to_json
from planner.decision_basis import DecisionBasis
from planner.errors import PlanError
from planner.scaling_schedule import ScalingSchedule
from planner.stored_versions import FACTS, upgraded, upgraded_basis

SCHEMA_VERSION = 6


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


def basis_to_json(basis: DecisionBasis) -> Json:
    return _BASIS.to_json(basis)


def basis_from_json(body: Mapping[str, Any]) -> DecisionBasis:
    """Raises PlanError for a body that is neither a stored basis nor the texts of an earlier version."""
    return _BASIS.from_json(body)


def numbers_to_json(numbers: Mapping[str, float]) -> Json:
    """
    >>> numbers_to_json({"latency_s": float("inf"), "downtime_s": 25.0})
    {'latency_s': 'inf', 'downtime_s': 25.0}
    """
    return {name: number_to_json(value) for name, value in numbers.items()}


def numbers_from_json(body: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in body.items()}


_REMEDY = "restore the ledger from a backup, or install the release that wrote it"
_PLAN = Codec(PhysicalPlan, SCHEMA_VERSION, PlanError, "a stored plan", _REMEDY, upgraded)
_SCHEDULE = Codec(ScalingSchedule, SCHEMA_VERSION, PlanError, "a stored schedule", _REMEDY, upgraded)
_BASIS = Codec(
    DecisionBasis,
    SCHEMA_VERSION,
    PlanError,
    "the basis of a stored schedule",
    _REMEDY,
    lambda texts, version: upgraded_basis(texts) if version < FACTS else texts,
)
