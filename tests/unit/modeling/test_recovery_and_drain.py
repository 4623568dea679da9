"""Backlog, catch-up and lag after a rescale, under constant and changing loads, against hand arithmetic."""

import math

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.rescaling.drain import drained
from modeling.rescaling.recovery import catch_up_s, newest_wait_s, recovery, time_to_violation_s


def test_recovery__of_many_plans_is_that_of_each() -> None:
    capacities = np.array([100.0, 110.0, 160.0])
    many = recovery(100.0, capacities, 40.0)
    # 40 s down at 100/s leave 4000; none, 10/s and 60/s to spare
    assert many.catch_up_s.tolist() == pytest.approx([math.inf, 400, 4000 / 60])
    assert many.recovery_s.tolist() == pytest.approx([math.inf, 440, 40 + 4000 / 60])


def test_catch_up__never_ends_without_spare_capacity_and_is_nothing_without_backlog() -> None:
    # 40 s down at 100/s leave 4000, drained at 160 − 100 = 60/s: 66.7 s
    assert catch_up_s(100, 160, 40) == pytest.approx(4000 / 60)
    assert catch_up_s(100, 100, 40) == math.inf
    assert catch_up_s(0, 0, 40) == 0
    assert catch_up_s(100, 50, 0) == 0


def test_what_is_processed_again__waits_with_what_came() -> None:
    # (20 s again + 40 s down) · 100/s = 6000 at 60/s: 100 s; the oldest came 60 s before the end of the downtime
    one = recovery(100.0, 160.0, 40.0, replayed_s=20.0)
    assert float(one.backlog) == 6000
    assert float(one.recovery_s) == pytest.approx(140)
    assert float(one.peak_lag_s) == pytest.approx(60)
    assert float(one.peak_backlog) == 6000


def test_recovery__of_an_overload_never_comes() -> None:
    over = recovery(100.0, 90.0, 0.0)
    assert float(over.peak_lag_s) == math.inf
    assert float(over.catch_up_s) == 0  # nothing waits at the start
    assert float(recovery(100.0, 100.0, 10.0).catch_up_s) == math.inf
    assert float(recovery(100.0, 100.0, 10.0).peak_lag_s) == 10


def test_no_load__needs_no_recovery() -> None:
    none = recovery(0.0, 0.0, 30.0)
    assert (float(none.catch_up_s), float(none.peak_lag_s)) == (0, 0)


def test_newest_tuple__waits_for_the_backlog_before_it() -> None:
    # 3000 waiting at 160/s; none waiting
    assert newest_wait_s([3000.0, 0.0], [160.0, 0.0]).tolist() == [18.75, 0]


def test_violation__comes_when_the_backlog_fills_the_target() -> None:
    # target 30 s at 100/s: 3000; 20/s more come: 150 s; 1000 there already: 100 s; too many already: now
    assert time_to_violation_s(120.0, 100.0, 30.0, backlog=[0, 1000, 4000]).tolist() == [150, 100, 0]
    assert time_to_violation_s(90.0, 100.0, 30.0).tolist() == math.inf


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_recovery__refuses_numbers_that_cannot_be(value: float) -> None:
    with pytest.raises(ModelError, match=r"downtime_s is .*; give a finite number"):
        recovery(1.0, 2.0, value)
    with pytest.raises(ModelError, match="arrival_rates_per_s"):
        drained([1.0, value], 60.0, 2.0, 1.0)


def test_drain__of_a_constant_load_is_the_closed_form() -> None:
    one = drained([100.0], 1000.0, 160.0, 40.0, backlog=2000.0)
    closed = recovery(100.0, 160.0, 40.0, backlog=2000.0)
    assert float(one.catch_up_s) == pytest.approx(float(closed.catch_up_s))
    assert float(one.peak_lag_s) == pytest.approx(float(closed.peak_lag_s))
    assert float(one.peak_backlog) == pytest.approx(float(closed.peak_backlog))


def test_drain__follows_a_load_that_falls() -> None:
    one = drained([100.0, 40.0], 60.0, 90.0, 30.0)
    # 3000 after 30 s, 3300 after 60 s (10/s more), then 50/s: 66 s; 30 + 66 = 96 s from 30 s on
    assert float(one.backlog) == pytest.approx(3000)
    assert float(one.peak_backlog) == pytest.approx(3300)
    assert float(one.catch_up_s) == pytest.approx(96)
    # the tuple at u < 60 is done when 90/s since 30 s made 100·u: 30 + 100u/90; waits 30 + u/9, most at 60: 36.67 s
    assert float(one.peak_lag_s) == pytest.approx(30 + 60 / 9)
    assert float(one.time_to_violation_s(35.0)) == pytest.approx(45)
    # over 35 s from 45 to 60; then at 60 + v: 36.67 − (5/9)·v, down to 35 after 3 s
    assert float(one.violation_s(35.0)) == pytest.approx(15 + 3)
    assert float(one.violation_s(40.0)) == 0
    assert float(one.time_to_violation_s(40.0)) == math.inf


def test_drain__sees_a_load_that_outgrows_the_plan() -> None:
    # 10 s down at 50/s; 100/s spare; empty after 5 s; from 60 s on 200/s against 150/s
    one = drained([50.0, 200.0], 60.0, 150.0, 10.0)
    assert float(one.catch_up_s) == pytest.approx(5)
    # at 60 + v 50·v wait 50·v/150: over 12 s after v = 36
    assert float(one.time_to_violation_s(12.0)) == pytest.approx(96)
    assert float(drained([200.0], 60.0, 150.0, 10.0).catch_up_s) == math.inf


def test_drain__waits_of_an_idle_gap_are_none() -> None:
    one = drained([100.0, 0.0, 100.0], 60.0, 200.0, 30.0)
    # 3000 at 100/s spare are gone at 60 s, when nothing comes for a minute
    assert float(one.catch_up_s) == pytest.approx(30)
    assert one.wait_s[one.arrived_s >= 60].max() == pytest.approx(0, abs=1e-9)
    assert float(one.peak_lag_s) == pytest.approx(30)


def test_drain__counts_what_waited_from_when_it_came() -> None:
    # 600 waited at 10/s: the oldest came 60 s before the stop, and waits 60 + 30 s
    one = drained([10.0], 600.0, 50.0, 30.0, backlog=600.0)
    assert float(one.peak_lag_s) == pytest.approx(90)
    assert one.arrived_s.min() == pytest.approx(-60)


def test_drain__goes_on_after_the_last_step_as_in_it() -> None:
    # 3000 at 1/s spare, though the steps end after 60 s
    assert float(drained([100.0], 60.0, 101.0, 30.0).catch_up_s) == pytest.approx(3000)
    assert float(drained([100.0], 60.0, 0.0, 30.0).peak_lag_s) == math.inf
    # a downtime longer than the steps
    assert float(drained([100.0], 60.0, 200.0, 120.0).backlog) == pytest.approx(12_000)


def test_drain__of_plans_by_loads_has_their_shape() -> None:
    rates = np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 5.0]])
    many = drained(rates[:, None, :], 60.0, np.array([60.0, 90.0]), 30.0)
    assert many.catch_up_s.shape == (3, 2)
    assert many.wait_s.shape[:2] == (3, 2)
    one = drained(rates[2], 60.0, 90.0, 30.0)
    assert float(many.catch_up_s[2, 1]) == pytest.approx(float(one.catch_up_s))
    assert many.violation_s(20.0)[2, 1] == pytest.approx(float(one.violation_s(20.0)))


def test_drain__agrees_with_a_queue_stepped_by_the_second() -> None:
    rng = np.random.default_rng(3)
    rates = rng.uniform(0, 200, 30)
    one = drained(rates, 60.0, 120.0, 45.0)
    backlog, peak, empty_at = 0.0, 0.0, math.inf
    for tenth in range(30 * 600):
        at = tenth / 10
        backlog = max(0.0, backlog + (rates[tenth // 600] - (120.0 if at >= 45 else 0.0)) / 10)
        peak = max(peak, backlog)
        if at >= 45 and backlog == 0:
            empty_at = min(empty_at, at)
    assert float(one.peak_backlog) == pytest.approx(peak, rel=1e-6)
    assert float(one.recovery_s) == pytest.approx(empty_at, abs=0.2)


def test_drain__refuses_no_steps() -> None:
    with pytest.raises(ModelError, match="0 steps"):
        drained([], 60.0, 1.0, 1.0)
