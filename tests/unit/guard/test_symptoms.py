"""Each detector at and beside its bound."""

from datetime import timedelta

import pytest
from guard_bench import PAIR, START, TERMS
from guard_windows import look, steady, window

from modeling.calibration.operator_sample import OperatorSample
from planner.errors import ClusterError, LedgerError
from planner.guard.look import Waiting, look_from_json, look_of, look_to_json
from planner.guard.symptoms import backpressure, growing_queue, idle, lag, rate_skew, saturation, service_skew, symptoms
from planner.guard.window import window_of
from planner.guard_facts import SymptomKind


def test_backpressure__is_waiting_for_more_than_a_fiftieth_of_the_time_in_every_look() -> None:
    (found,) = backpressure(steady(waits=0.03))
    assert (found.kind, found.operator, found.value) == (SymptomKind.BACKPRESSURE, "read", pytest.approx(0.03))
    assert backpressure(steady(waits=0.02)) == []
    assert backpressure(window(look(0, waits=1.0), look(1, waits=1.0), look(2))) == []


def test_saturation__is_an_instance_that_works_all_the_time_in_every_look() -> None:
    (found,) = saturation(window(look(0, work=(0.97, 0.5)), look(1, work=(1.0, 0.5))))
    assert (found.operator, found.value) == ("work", pytest.approx(0.97))
    assert saturation(window(look(0, work=(0.97, 0.5)), look(1, work=(0.94, 0.5)))) == []
    assert [each.operator for each in saturation(steady(read=1.0))] == ["read"]


def test_growing_queue__grows_from_look_to_look_over_three_at_least() -> None:
    # 10/s come, so .2/s or 12 a minute are within the noise.
    grows = [look(0, backlog=0), look(1, backlog=60), look(2, backlog=120)]
    (found,) = growing_queue(window(*grows))
    assert (found.value, found.bound) == (pytest.approx(1.0), pytest.approx(0.2))
    assert growing_queue(window(*grows[:2])) == []
    assert growing_queue(window(grows[0], grows[1], look(2, backlog=60))) == []
    assert growing_queue(window(*(look(n, backlog=12.0 * n) for n in range(3)))) == []
    # 10 tuples are one second of arrivals: next to nothing.
    assert growing_queue(window(*(look(n, backlog=5.0 * n, offered=10.0) for n in range(3)))) == []


def test_lag__is_what_is_told_or_else_the_seconds_of_arrivals_that_wait() -> None:
    assert lag(steady(lag_s=180.0), TERMS) == []
    assert [found.value for found in lag(steady(lag_s=181.0), TERMS)] == [181.0]
    # 1,900 tuples of 10/s wait: 190 s.
    assert [found.value for found in lag(steady(backlog=1900.0), TERMS)] == [190.0]
    assert lag(steady(offered=None, backlog=None), TERMS) == []


def test_rate_skew__is_half_as_much_again_into_one_as_into_another() -> None:
    (found,) = rate_skew(steady(work=(0.5, 0.5), into=(6.1, 4.0)))
    assert (found.operator, found.instance, found.value) == ("work", 0, pytest.approx(1.525))
    assert rate_skew(steady(work=(0.5, 0.5), into=(6.0, 4.0))) == []
    assert rate_skew(steady(work=(0.0, 0.0), into=(0.0, 0.0))) == []


def test_service_skew__is_longer_service_than_peers_usually_have() -> None:
    # Tuples take .16, .1 and .1 s.
    (found,) = service_skew(steady(work=(0.16, 0.1, 0.1), into=(1.0, 1.0, 1.0)))
    assert (found.operator, found.instance, found.value) == ("work", 0, pytest.approx(1.6))
    assert service_skew(steady(work=(0.15, 0.1, 0.1), into=(1.0, 1.0, 1.0))) == []
    # Twice the tuples in twice the time is no slower.
    assert service_skew(steady(work=(0.2, 0.1), into=(2.0, 1.0))) == []


def test_idle__is_little_to_do_in_every_look_while_nothing_waits() -> None:
    # Half of the wanted 70 % is 35 %.
    (found,) = idle(steady(work=(0.34, 0.2)), TERMS)
    assert (found.operator, found.value) == ("work", pytest.approx(0.34))
    assert idle(steady(work=(0.35, 0.2)), TERMS) == []
    assert idle(window(look(0, work=(0.1, 0.1)), look(1, work=(0.4, 0.1))), TERMS) == []
    assert idle(window(look(0, work=(0.1, 0.1)), look(1, work=(0.1, 0.1), backlog=11.0)), TERMS) == []
    assert idle(steady(work=(0.1,)), TERMS) == []


def test_a_job_that_is_well__shows_nothing() -> None:
    assert symptoms(steady(), TERMS) == ()


def test_what_a_held_back_source_hides__is_told_by_its_waiting_up_to_a_bound() -> None:
    # It takes in 10/s in the half of the time in which it does not wait: 20/s come. At 99 % it would be 1,000/s: at
    # most 5 times as much is believed.
    assert steady(offered=None, backlog=None, waits=0.5).offered_per_s == {"read": pytest.approx(20.0)}
    assert steady(offered=None, backlog=None, waits=0.99).offered_per_s == {"read": pytest.approx(50.0)}
    assert steady(offered=12.0, waits=0.99).offered_per_s == {"read": 12.0}


def test_a_window__has_looks_at_the_running_plan_alone() -> None:
    looks = [look(0), look(1), look(2, work=(0.5,)), look(3)]
    now, since = START + timedelta(minutes=4), START + timedelta(seconds=30)
    plan = {"read": 1, "work": 2}
    found = window_of(PAIR, looks, plan, since, now, 180.0)
    assert found is not None
    assert [each.at for each in found.looks] == [looks[1].at, looks[3].at]
    assert window_of(PAIR, looks, {"read": 1, "work": 9}, since, now, 180.0) is None


def test_a_look__is_kept_without_loss() -> None:
    one = look(1, waits=0.25, lag_s=3.0)
    assert look_from_json(look_to_json(one)) == one
    with pytest.raises(LedgerError, match="a stored look cannot be read"):
        look_from_json({"at": "noon"})


def test_a_look__needs_counters_of_every_operator() -> None:
    samples = [
        OperatorSample("read", 0, 60.0, 6.0, 30.0, 600.0, {"read->work": 600.0}),
        OperatorSample("work", 1, 60.0, 60.0, 0.0, 200.0, {}),
        OperatorSample("work", 0, 60.0, 30.0, 0.0, 400.0, {}),
    ]
    made = look_of(PAIR, samples, START, Waiting())
    assert made.parallelism == {"read": 1, "work": 2}
    assert made.operators["work"].busy == (0.5, 1.0)
    assert made.operators["read"].backpressured == (0.5,)
    assert made.operators["read"].given_per_s == {"read->work": 10.0}
    with pytest.raises(ClusterError, match="reports no counters of operator 'read' of topology 'pair'"):
        look_of(PAIR, samples[1:], START, Waiting())
