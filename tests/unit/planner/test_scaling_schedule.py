"""What a schedule says of itself."""

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


def test_plan__is_in_place_once_it_has_caught_up_until_the_next_one_has() -> None:
    # The third step catches up at 18:05, five minutes after the end: nothing of it is in place within the horizon.
    steps = (step(1, 1, 2), step(3, 2, 4), step(5.92, 4, 1))
    schedule = ScalingSchedule("words", NOON, NOON, NOON + timedelta(hours=6), 0.95, plan(1), steps, 20.0, "rescale")
    first, second = (NOON + timedelta(hours=hours, minutes=10) for hours in (1, 3))
    assert schedule.plans_in_place() == [
        (plan(1), NOON, first),
        (plan(2), first, second),
        (plan(4), second, schedule.end),
    ]
