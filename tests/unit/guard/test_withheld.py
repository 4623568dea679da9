"""Which plans that take instances away have to wait, by what is measured of the plan that runs."""

import pytest
from guard_bench import TERMS
from guard_windows import look, steady, window

from planner.guard.window import Window
from planner.guard.withheld import withheld
from planner.guard_facts import Need, Reason, ReasonKind

FOUR = {"read": 1, "work": 4}


def of_four(*backlogs: float, offered: float = 10.0, busy: float = 0.25) -> Window:
    """Four instances that do 10/s each at full use."""
    shares = (busy,) * 4
    into = [10.0 * busy] * 4
    return window(
        *(look(n, work=shares, into=into, offered=offered, backlog=waits) for n, waits in enumerate(backlogs))
    )


def why(work: int, of: Window | None, settles_s: float = 0.0) -> Reason | None:
    return withheld({"read": 1, "work": work}, FOUR, of, TERMS, settles_s)


def test_a_plan_that_takes_nothing_away__is_never_withheld() -> None:
    draining = of_four(9000, 8000, 7000, offered=30.0, busy=1.0)
    assert [why(4, draining), why(6, draining), why(5, None, 60.0)] == [None] * 3


def test_a_plan_that_carries_what_comes__is_not_withheld() -> None:
    # Two instances do 20/s.
    assert why(2, of_four(0, 0, 0)) is None


def test_a_plan_that_carries_less_than_what_comes__is_withheld() -> None:
    # 30/s keep three instances busy, and are too much for two.
    of = of_four(0, 0, 0, offered=30.0, busy=0.75)
    assert why(2, of) == Reason(ReasonKind.NEEDS_MORE, need=Need(30.0, 0.0, 30.0, pytest.approx(20.0)))
    assert why(3, of) is None


def test_a_load_that_has_fallen_by_the_newest_look__holds_nothing_back() -> None:
    shares, into = (0.75,) * 4, [7.5] * 4
    before = [look(n, work=shares, into=into, offered=30.0, backlog=0.0) for n in range(2)]
    assert why(2, window(*before, look(2, work=shares, into=into, offered=15.0, backlog=0.0))) is None


def test_while_a_backlog_drains__nothing_is_taken_away_even_where_it_would_be_enough() -> None:
    assert why(2, of_four(600, 500, 400, busy=0.5)) == Reason(ReasonKind.BACKLOG_DRAINS, observed=400.0)
    # Ten tuples are a second of what comes; and what waits as long at every look is what a source has not told yet.
    assert why(2, of_four(600, 300, 10, busy=0.5)) is None
    assert why(2, of_four(400, 400, 400)) is None


def test_a_backlog_that_does_not_drain__has_to_be_carried_in_time() -> None:
    # 10 + 6,600 / 600 = 21/s.
    reason = why(2, of_four(6600, 6600, 6600))
    assert reason is not None
    assert reason.need == Need(10.0, 6600.0, pytest.approx(21.0), pytest.approx(20.0))


def test_a_bottleneck_that_keeps_its_instances__is_no_reason_to_wait() -> None:
    # read is idle: one of its two instances carries as much as the work does.
    busy = steady(work=(1.0, 1.0), into=(10.0, 10.0), offered=30.0, backlog=900.0)
    assert withheld({"read": 1, "work": 2}, {"read": 2, "work": 2}, busy, TERMS) is None


@pytest.mark.parametrize("of", [None, of_four(0, 0, 0)])
def test_right_after_a_scale_up_that_its_forecast_did_not_know__a_plan_waits(of: Window | None) -> None:
    assert why(2, of, 240.0) == Reason(ReasonKind.UNFORESEEN, observed=240.0)
    assert why(2, of) is None
