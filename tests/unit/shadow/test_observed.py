"""What ran minute by minute, read off observations."""

from datetime import timedelta

import numpy as np
from ledger_decisions import NOON, after, plan_of

from planner.ledger.entries import Observation
from planner.shadow.observed import MAX_APART_S, ran


def seen(minutes: float, count: int, lag_s: float | None = None) -> Observation:
    return Observation("calls", after(minutes), plan_of(count), "running", lag_s=lag_s)


def test_a_plan__is_taken_to_run_from_one_observation_to_the_next() -> None:
    found = ran([seen(0, 2), seen(4, 5), seen(6, 5)], NOON.timestamp(), 8)
    # A moment belongs to the minute that it ends or lies in: noon ends the minute before, 12:04 that from 12:03.
    assert found.instances[:6].tolist() == [3, 3, 3, 6, 6, 6]
    assert np.isnan(found.instances[6:]).all()
    assert found.rescales == 1


def test_an_observation_within_a_minute__tells_of_that_minute() -> None:
    found = ran([seen(1.5, 2), seen(3.5, 2)], NOON.timestamp(), 5)
    assert np.isfinite(found.instances).tolist() == [False, True, True, True, False]


def test_observations_that_are_far_apart__leave_the_time_between_unknown() -> None:
    far = MAX_APART_S / 60
    near = ran([seen(1, 2), seen(1 + far, 2)], NOON.timestamp(), 200)
    assert np.isfinite(near.instances).sum() == far + 1
    apart = ran([seen(1, 2), seen(2 + far, 4)], NOON.timestamp(), 200)
    assert np.isfinite(apart.instances).sum() == 2
    # That the plan changed meanwhile is no rescale at a known minute.
    assert apart.rescales == 0


def test_a_change_at_the_beginning__counts_where_the_minute_before_is_known() -> None:
    assert ran([seen(-3, 2), seen(1, 4), seen(5, 4)], NOON.timestamp(), 5).rescales == 1


def test_lag__is_known_in_the_minutes_in_which_it_was_measured_and_nowhere_else() -> None:
    found = ran([seen(1, 2, 0.0), seen(1.5, 2, 7.0), seen(1.9, 2, 3.0), seen(4, 2)], NOON.timestamp(), 5)
    assert found.lag_s.tolist()[:2] == [0.0, 7.0]
    assert np.isnan(found.lag_s[2:]).all()


def test_nothing_observed__is_unknown_and_not_zero() -> None:
    found = ran([], (NOON + timedelta(days=1)).timestamp(), 3)
    assert np.isnan(found.instances).all()
    assert np.isnan(found.lag_s).all()
