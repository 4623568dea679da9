"""What a schedule says of itself."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from modeling.inputs.physical_plan import PhysicalPlan
from planner.scaling_schedule import ScalingSchedule, ScheduledStep

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def plan(count: int) -> PhysicalPlan:
    return PhysicalPlan("words", {"count": count})


def step(hours: float, replaces: int, count: int) -> ScheduledStep:
    """Asked for at that hour, in place ten minutes later."""
    deploy_at = NOON + timedelta(hours=hours)
    in_place_at = deploy_at + timedelta(minutes=10)
    return ScheduledStep(
        deploy_at,
        in_place_at,
        in_place_at,
        NOON + timedelta(hours=6),
        plan(count),
        plan(replaces),
        {"lines": 1.0},
        "count",
        0.8,
        1.2,
        30.0,
        570.0,
        1.0,
        "the peak",
    )


def test_a_step__is_not_due_before_the_schedule_is_recorded() -> None:
    first, second = step(0.0, 1, 3), step(2.0, 3, 4)
    schedule = ScalingSchedule("words", NOON, NOON, NOON + timedelta(hours=6), 0.95, plan(1), (first, second), 9.0, "")
    minute = timedelta(minutes=1)
    moved, same = schedule.due_from(NOON + minute).steps
    assert (moved.deploy_at, moved.in_place_at) == (NOON + minute, NOON + 11 * minute)
    assert moved.needed_from == first.needed_from
    assert same == second
    assert schedule.due_from(NOON) == schedule


def test_plan__runs_from_when_the_job_is_back_until_it_stops_being_the_plan() -> None:
    # Each step is in place ten minutes after its request, of which 570 s are catch-up: it runs after 30 s.
    steps = (step(1, 1, 2), step(3, 2, 1), step(6, 1, 4))
    schedule = ScalingSchedule("words", NOON, NOON, NOON + timedelta(hours=6), 0.95, plan(1), steps, 20.0, "rescale")
    first, second = (NOON + timedelta(hours=hours, seconds=30) for hours in (1, 3))
    # The third step's plan runs 30 s after the end: nothing of it within the horizon.
    assert schedule.plans_running() == [
        (plan(1), NOON, first),
        (plan(2), first, second),
        (plan(1), second, schedule.end),
    ]


def test_step__catches_up_only_if_its_backlog_is_gone_before_the_next_plan() -> None:
    # Needed until 18:00: asked for at 17:49 it is in place at 17:59, asked for at 17:50 only at 18:00.
    assert step(5 + 49 / 60, 1, 2).catches_up
    assert not step(5 + 50 / 60, 1, 2).catches_up


def test_a_decision__is_later_than_the_newest_if_the_clock_has_stood_still() -> None:
    first = ScalingSchedule("words", NOON, NOON, NOON + timedelta(hours=6), 0.95, plan(1), (), 6.0)
    tick, minute = timedelta(microseconds=1), timedelta(minutes=1)
    second = first.decided_after(first)
    assert (second.made_at, first.decided_after(second).made_at) == (NOON + tick, NOON + 2 * tick)
    # One that another planner began earlier or later keeps its moment.
    for by in (minute, -minute):
        other = replace(first, made_at=NOON + by)
        assert other.decided_after(first) == other
