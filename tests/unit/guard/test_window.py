"""What comes to sources and waits there, of windows in which some looks tell and others do not."""

from dataclasses import replace
from datetime import timedelta

import pytest
from guard_bench import START, TERMS
from guard_windows import look, window

from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.cluster import SourceBacklog
from planner.clusters.waiting import waiting
from planner.guard.look import Look, OperatorLook, Waiting
from planner.guard.symptoms import growing_queue, lag
from planner.guard.window import Window

BOTH = Topology("both", (Operator("a"), Operator("b"), Operator("work")), (Stream("a", "work"), Stream("b", "work")))


def waits(*backlogs: float | None, held_back: float = 0.9) -> Window:
    """Looks a minute apart, 10/s taken in by a source that waits for room nearly always."""
    return window(*(look(n, waits=held_back, offered=None, backlog=tuples) for n, tuples in enumerate(backlogs)))


def of_both(number: int, backlog: dict[str, float], unmeasured: dict[str, str]) -> Look:
    source = OperatorLook((0.1,), (0.5,), (10.0,), {"a->work": 10.0, "b->work": 10.0})
    operators = {"a": source, "b": source, "work": OperatorLook((1.0,), (0.0,), (20.0,))}
    at = START + timedelta(minutes=number + 1)
    return Look(at, 60.0, operators, Waiting(backlog=backlog, unmeasured=unmeasured))


def test_what_comes__is_what_is_taken_in_and_by_how_much_the_backlog_grows() -> None:
    # 10/s are taken in. In two minutes 600 more wait: 15/s come, and not the 50/s that the waiting lets believe.
    assert waits(100, 350, 700).offered_per_s == {"read": pytest.approx(10 + 600 / 120)}
    # Catching up: 600 fewer wait, so 5/s come.
    falling = waits(700, 350, 100)
    assert falling.offered_per_s == {"read": pytest.approx(5.0)}
    assert falling.unmeasured == {}
    assert waits(9000, 0).offered_per_s == {"read": 0.0}


def test_what_comes__is_reckoned_from_looks_that_tell_and_the_moments_of_their_backlogs() -> None:
    assert waits(100, None, 700).offered_per_s == {"read": pytest.approx(15.0)}
    assert waits(100, 350, None).backlog == {"read": 350.0}
    # Asked 30 s after the end of the second look, the backlog is that of 90 s after the first one's.
    first, second = waits(100, 550).looks
    late = replace(second, waiting=replace(second.waiting, at=second.at + timedelta(seconds=30)))
    assert window(first, late).offered_per_s == {"read": pytest.approx(10 + 450 / 90)}


def test_what_comes__is_estimated_where_fewer_than_two_looks_tell() -> None:
    # Nine tenths of the time it waits: ten times as much, of which five times are believed.
    for one in (waits(None, None), waits(None, 700), waits(700)):
        assert one.offered_per_s == {"read": pytest.approx(50.0)}
        assert one.unmeasured == {"read": "fewer than two looks have the backlog of source 'read'"}


def test_a_source_that_tells_nothing__is_estimated_beside_one_that_does() -> None:
    silent = {"b": "source 'b' publishes no pendingRecords"}
    both = Window(BOTH, tuple(of_both(n, {"a": 60.0 * n}, silent) for n in range(3)))
    # a: 10/s and a growth of 1/s. b: 10/s in half of the time.
    assert both.offered_per_s == pytest.approx({"a": 11.0, "b": 20.0})
    assert both.unmeasured == silent
    assert both.backlog_growth_per_s == pytest.approx(1.0)


def test_growth__is_between_looks_that_tell_of_the_same_sources() -> None:
    # From the second look on b tells, too: that 5,000 wait there is no growth.
    queues = [{"a": 0.0}, {"a": 60.0, "b": 5000.0}, {"a": 120.0, "b": 5000.0}]
    both = Window(BOTH, tuple(of_both(n, queue, {}) for n, queue in enumerate(queues)))
    assert both.backlog_growth_per_s == pytest.approx(1.0)
    assert growing_queue(both) == []
    more = Window(BOTH, (*both.looks, of_both(3, {"a": 180.0, "b": 5000.0}, {})))
    assert [found.value for found in growing_queue(more)] == [pytest.approx(1.0)]


def test_lag__of_a_backlog_whose_age_nobody_tells_is_reckoned_from_what_comes() -> None:
    # 10/s are taken in and 2,000 wait as before: 10/s come, so 200 s of them wait.
    assert [found.value for found in lag(waits(2000, 2000), TERMS)] == [pytest.approx(200.0)]


def test_waiting__has_the_longest_lag_that_is_known_and_says_what_is_not() -> None:
    told = {
        "a": SourceBacklog(600.0, 5.0),
        "b": SourceBacklog(40.0, None, "nothing came"),
        "c": SourceBacklog(None, None, "silent"),
        "d": SourceBacklog(9.0, 1.0),
    }
    assert waiting(told, START) == Waiting(
        backlog={"a": 600.0, "b": 40.0, "d": 9.0},
        lag_s=5.0,
        unmeasured={"b": "nothing came", "c": "silent"},
        at=START,
    )
    assert waiting({"c": told["c"]}, START).lag_s is None
