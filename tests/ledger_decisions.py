"""Decisions for tests of the ledger: small, and different by what is asked for."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import DecisionBasis
from planner.ledger.entries import ForecastEntry, StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState
from planner.scaling_schedule import ScalingSchedule, ScheduledStep

NOON = datetime(2024, 3, 4, 12, 0, tzinfo=UTC)


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def plan_of(count: int, topology: str = "calls") -> PhysicalPlan:
    return PhysicalPlan(topology, {"ingest": 1, "transcribe": count})


def step_for(deploy_at: datetime, until: datetime, count: int, topology: str = "calls") -> ScheduledStep:
    return ScheduledStep(
        deploy_at=deploy_at,
        in_place_at=deploy_at + timedelta(minutes=2),
        needed_from=deploy_at + timedelta(minutes=5),
        needed_until=until,
        plan=plan_of(count, topology),
        replaces=plan_of(2, topology),
        load_per_s={"ingest": 1.5},
        bottleneck="transcribe",
        utilisation=0.8,
        headroom_factor=1.25,
        downtime_s=30.0,
        catch_up_s=float("inf"),
        cost_instance_hours=4.0,
        recorded="the morning's calls come",
    )


def schedule_of(*counts: int, topology: str = "calls", made_at: datetime = NOON) -> ScalingSchedule:
    """A step every hour from 13:00 on, each for the hour and a half that follows."""
    steps = tuple(
        step_for(after(60 * i), after(60 * i + 90), count, topology) for i, count in enumerate(counts, start=1)
    )
    return ScalingSchedule(
        topology=topology,
        made_at=made_at,
        start=NOON,
        end=after(24 * 60),
        quantile=0.95,
        current=plan_of(2, topology),
        steps=steps,
        cost_instance_hours=50.0,
        recorded="the day's calls",
        basis=DecisionBasis(forecasts=("run-1",)),
    )


def steps_at(*steps: tuple[float, int], made_at: datetime = NOON) -> ScalingSchedule:
    """Minutes after noon and count of each step."""
    made = tuple(step_for(after(minute), after(minute + 90), count) for minute, count in steps)
    return replace(schedule_of(made_at=made_at), steps=made)


def forecast_of(run_id: str = "run-1", topology: str = "calls") -> ForecastEntry:
    return ForecastEntry(run_id, topology, "ingest", NOON, after(1440), run_id, "3", "forecasts/run-1", "ab" * 32)


def brought_to(ledger: Ledger, step_id: str, state: StepState) -> StepEntry:
    """The step after it went the straight way from proposed to a state on the way to verified."""
    way = [StepState.PROPOSED, StepState.APPROVED, StepState.DUE, StepState.DEPLOYING, StepState.VERIFIED]
    for before, following in pairwise(way[: way.index(state) + 1]):
        ledger.transition(step_id, expected=before, to=following, at=NOON, by="anna", why="as planned")
    return ledger.step(step_id)


def asked_by_hand(ledger: Ledger) -> str:
    return ledger.record_hand_made_step(
        "r1",
        plan_of(9),
        replaces=plan_of(2),
        deploy_at=after(5),
        expires_at=after(9),
        at=NOON,
        by="anna",
        why="fair",
    )
