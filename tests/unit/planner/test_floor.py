"""A plan as a lower bound, by hand: what is raised, what is taken back, and what is left to others."""

from datetime import timedelta

import pytest
from ledger_decisions import NOON, after

from modeling.inputs.physical_plan import PhysicalPlan
from planner.floor_step import OwnRaise, floored, own_raises
from planner.ledger.entries import StepEntry
from planner.ledger.step_state import StepState


def plan(work: int, tail: int = 1) -> PhysicalPlan:
    return PhysicalPlan("pair", {"work": work, "tail": tail})


def verified(*counts: tuple[int, int]) -> list[StepEntry]:
    """Steps that found so many instances of work and left so many."""
    state, hour = StepState.VERIFIED, timedelta(hours=1)
    return [
        StepEntry(f"s-{n}", "s", n, "pair", after(n), NOON + hour, plan(new), plan(old), state, "", NOON, "deploy", 1)
        for n, (old, new) in enumerate(counts, 1)
    ]


@pytest.mark.parametrize(
    ("counts", "own"),
    [
        ([(4, 6)], OwnRaise(6, 4)),
        ([(4, 6), (6, 8)], OwnRaise(8, 4)),  # two raises go back to what ran before both
        ([(4, 8), (9, 10)], OwnRaise(10, 9)),  # somebody else had made it 9 meanwhile
        ([(4, 8), (9, 9)], None),  # and left as it was, it is theirs
        ([(4, 8), (8, 8)], OwnRaise(8, 4)),  # a step that leaves it alone forgets nothing
        ([(4, 8), (8, 3)], OwnRaise(3, 3)),  # lowered below it (mode: act): that is forescale's own level now
        ([(5, 5)], None),
    ],
)
def test_own_raises__are_what_forescale_set_and_nobody_has_changed(
    counts: list[tuple[int, int]], own: OwnRaise | None
) -> None:
    assert own_raises(verified(*counts)).get("work") == own


@pytest.mark.parametrize(
    ("running", "floor", "own", "runs"),
    [
        (4, 6, None, 6),  # below the floor: raised
        (9, 6, None, 9),  # somebody else's 9 stays
        (9, 6, OwnRaise(8, 4), 9),  # forescale had set 8, somebody else 9: stays
        (8, 6, OwnRaise(8, 4), 6),  # forescale's own 8 goes down to the floor
        (8, 2, OwnRaise(8, 4), 4),  # and no further than what ran before it
        (3, 2, OwnRaise(8, 4), 3),  # somebody else has lowered it: theirs
    ],
)
def test_floored__raises_takes_back_its_own_and_leaves_the_rest(
    running: int, floor: int, own: OwnRaise | None, runs: int
) -> None:
    made = floored(plan(running), plan(floor), {} if own is None else {"work": own}, 64)
    assert made.parallelism == {"work": runs, "tail": 1}


def test_floored__leaves_what_lies_above_the_floor_and_out_what_has_no_room() -> None:
    # 10 + 2 run, 14 may: of the 6 instances that tail lacks, 2 have room.
    made = floored(plan(10, 2), plan(4, 8), {}, 14)
    assert made.parallelism == {"work": 10, "tail": 4}
