"""One step of what waits and of the lag, by hand and against a simulation second by second."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.horizon.ways import stepped


def test_a_downtime__leaves_what_came_and_its_drain_is_late_until_the_lag_is_back() -> None:
    """10/s, down for 120 s: 1,200 wait, a lag of 120 s. At 30/s they drain by 20/s.

    Late from second 90 to 120, and then until 900 wait: (1,200 - 900) / 20 = 15 s. After 180 s nothing waits:
    1,200 - 20 * 60 = 0.
    """
    after, late_s = stepped(0.0, 10.0, 30.0, 180.0, 120.0, 90.0)
    assert after == pytest.approx(0.0)
    assert late_s == pytest.approx(45.0)


def test_a_load_above_capacity__is_late_from_when_the_lag_has_grown_too_long() -> None:
    """20/s for a capacity of 10/s: the lag grows by half a second a second, and is 90 s after 180 s of 300."""
    after, late_s = stepped(0.0, 20.0, 10.0, 300.0, 0.0, 90.0)
    assert after == 3000.0
    assert late_s == pytest.approx(120.0)


def test_where_nothing_comes__nothing_is_late() -> None:
    after, late_s = stepped(0.0, 0.0, 10.0, 300.0, 60.0, 90.0)
    assert (after, late_s) == (0.0, 0.0)


@given(
    st.floats(0, 5000),
    st.floats(0.5, 50),
    st.floats(0.5, 80),
    st.sampled_from([0.0, 20.0, 60.0, 180.0]),
    st.floats(5, 150),
)
def test_a_step__is_what_seconds_add_up_to(
    waiting: float, rate: float, capacity: float, down_s: float, max_lag_s: float
) -> None:
    after, late_s = stepped(waiting, rate, capacity, 180.0, down_s, max_lag_s)
    now, counted_s = waiting, 0.0
    for second in np.arange(0.0, 180.0, 0.05):
        now = max(0.0, now + 0.05 * (rate - (capacity if second >= down_s else 0.0)))
        counted_s += 0.05 * (now / rate > max_lag_s)
    assert after == pytest.approx(now, abs=0.2 * max(rate, capacity))
    assert late_s == pytest.approx(counted_s, abs=1.0)
