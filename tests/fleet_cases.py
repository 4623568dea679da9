"""Schedules by hand of topologies that share instances: one operator each, so many instances from an hour on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from modeling.inputs.physical_plan import PhysicalPlan
from planner.fleet.grants import Replanned
from planner.fleet.holding import Holding
from planner.fleet.stagger import ChangeBounds
from planner.fleet.terms import Quota
from planner.horizon.horizon_plan import ChangeRules
from planner.horizon.prices import ChangeTerms
from planner.scaling_schedule import Alternative, AlternativeKind, ScalingSchedule, ScheduledStep

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
END = MONDAY + timedelta(days=1)


def at(hours: float) -> datetime:
    return MONDAY + timedelta(hours=hours)


def wish(name: str, running: int, changes: Mapping[float, int], held_minutes: float = 0.0) -> Holding:
    """changes: instances from each hour on. held_minutes: in violation, if what runs were held; none otherwise."""
    steps, before = list[ScheduledStep](), PhysicalPlan(name, {"work": running})
    for hour, count in changes.items():
        plan = PhysicalPlan(name, {"work": count})
        moment, ready = at(hour), at(hour) + timedelta(seconds=330)
        steps.append(
            ScheduledStep(
                moment, ready, ready, END, plan, before, {"work": 1.0}, "work", 0.5, 2.0, 30.0, 0.0, float(count), "why"
            )
        )
        before = plan
    current, hold = (
        PhysicalPlan(name, {"work": running}),
        Alternative("hold", 0.0, 0, held_minutes, "", kind=AlternativeKind.HOLD),
    )
    made = ScalingSchedule(name, MONDAY, MONDAY, END, 0.95, current, tuple(steps), 100.0, "why", alternatives=(hold,))
    return Holding(made)


def bounds(
    wishes: Sequence[Holding], dwell_s: float = 0.0, closed: Sequence[tuple[datetime, datetime]] = ()
) -> dict[str, ChangeBounds]:
    """The same of all: 300 s until more instances are there, 30 s of downtime. closed: planning.freeze."""
    spans = [(begin.timestamp(), end.timestamp()) for begin, end in closed]
    each = ChangeBounds(ChangeTerms(lead_s=300, downtime_s=30, apart_s=dwell_s, max_lag_s=60), ChangeRules(spans))
    return {wish.name: each for wish in wishes}


def fleet(instances: int, wishes: Sequence[Holding]) -> tuple[Quota, ...]:
    return (Quota("the quota", frozenset(each.name for each in wishes), instances),)


def capped(wishes: Sequence[Holding]) -> Replanned:
    """Planned anew, each step has as much of what it had as it may; one that changes nothing is left out."""
    own = {each.name: each.schedule for each in wishes}

    def replanned(at_most: Mapping[str, int]) -> dict[str, ScalingSchedule]:
        made = {}
        for name, most in at_most.items():
            steps, before = list[ScheduledStep](), own[name].current
            for step in own[name].steps:
                plan = PhysicalPlan(name, {"work": min(most, step.plan.instances)})
                if plan != before:
                    steps.append(replace(step, plan=plan, replaces=before))
                    before = plan
            made[name] = replace(own[name], steps=tuple(steps))
        return made

    return replanned
