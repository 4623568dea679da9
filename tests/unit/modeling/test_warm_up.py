"""How a job warms up after a start: the curve, what it loses, and how long the backlog of a rescale then drains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.errors import ModelError
from modeling.rescaling.drain import COLD_PARTS, MAX_PARTS, share_late_cold
from modeling.rescaling.recovery import catch_up_s, recovery
from modeling.rescaling.warm_up import NEW_JVM, WARM, WarmUp

CURVES = st.builds(WarmUp, st.floats(0.05, 1.0), st.floats(1.0, 600.0))


def test_share__goes_from_the_start_share_to_full_speed() -> None:
    curve = WarmUp(0.2, 100.0)
    # 1 - 0.8 e^-1 at a time constant of 100 s / 4
    assert curve.share([0.0, 25.0, 100.0, 1e6]).tolist() == pytest.approx([0.2, 1 - 0.8 * np.exp(-1), 1.0, 1.0])


@given(CURVES, st.floats(0.0, 1000.0))
def test_lost_s__is_the_area_above_the_curve(curve: WarmUp, up_s: float) -> None:
    edges_s = np.linspace(0.0, up_s, 20_001)
    middles_s = (edges_s[1:] + edges_s[:-1]) / 2
    area_s = float(((1 - curve.share(middles_s)) * np.diff(edges_s)).sum())
    assert float(curve.lost_s(up_s)) == pytest.approx(area_s, abs=0.05)


def test_new_jvm__is_what_nexmark_query_5_was_measured_to_be() -> None:
    assert float(NEW_JVM.share(0.0)) == pytest.approx(46_500 / 179_000, abs=0.005)
    assert float(NEW_JVM.share(120.0)) == 1.0


@given(
    CURVES,
    st.floats(1.0, 100.0),
    st.floats(1.05, 4.0),
    st.floats(0.0, 120.0),
)
def test_recovery__agrees_with_a_fluid_queue_simulated_in_small_steps(
    curve: WarmUp, load_per_s: float, times: float, downtime_s: float
) -> None:
    capacity_per_s = load_per_s * times
    told = recovery(load_per_s, capacity_per_s, downtime_s, warm_up=curve)
    end_s = float(told.catch_up_s) * 1.2 + 10
    step_s = end_s / 40_000
    middles_s = (np.arange(40_000) + 0.5) * step_s
    change = (load_per_s - capacity_per_s * curve.share(middles_s)) * step_s
    waits = load_per_s * downtime_s + np.cumsum(change)
    late = np.flatnonzero(waits > 0)
    drained_s = step_s * (late[-1] + 1) if late.size else 0.0
    assert float(told.catch_up_s) == pytest.approx(drained_s, rel=0.01, abs=0.2)
    peak = max(load_per_s * downtime_s, waits.max())
    assert float(told.peak_backlog) == pytest.approx(max(peak, 0.0), rel=0.01, abs=0.05 * load_per_s)
    assert float(told.peak_lag_s) == pytest.approx(float(told.peak_backlog) / load_per_s, abs=1e-6)


@given(st.floats(0.0, 100.0), st.floats(0.0, 100.0), st.floats(0.0, 200.0), st.floats(0.0, 600.0))
def test_recovery__at_full_speed_from_the_start_is_exactly_what_it_was(
    load_per_s: float, capacity_per_s: float, downtime_s: float, warm_s: float
) -> None:
    plain, warm = (
        recovery(load_per_s, capacity_per_s, downtime_s, warm_up=each) for each in (WARM, WarmUp(1.0, warm_s))
    )
    for name in ("backlog", "catch_up_s", "peak_backlog", "peak_lag_s"):
        assert float(getattr(plain, name)) == float(getattr(warm, name))
    expected = catch_up_s(load_per_s, capacity_per_s, downtime_s)
    assert catch_up_s(load_per_s, capacity_per_s, downtime_s, WarmUp(1.0, warm_s)) == expected


def test_recovery__of_a_job_that_carries_its_load_even_cold_has_nothing_to_catch_up() -> None:
    assert catch_up_s(10.0, 100.0, 0.0, WarmUp(0.2, 100.0)) == 0.0
    # Cold it carries 10 of 15/s, so a backlog grows before it drains, though nothing waited at the start.
    assert catch_up_s(15.0, 50.0, 0.0, WarmUp(0.2, 100.0)) > 0.0


@pytest.mark.parametrize(("share", "warm_s"), [(0.0, 10.0), (1.2, 10.0), (0.5, -1.0), (0.5, float("nan"))])
def test_warm_up__that_cannot_be_is_refused(share: float, warm_s: float) -> None:
    with pytest.raises(ModelError, match="warm-up: "):
        WarmUp(share, warm_s)


@given(CURVES, st.floats(0.05, 0.95), st.floats(1.0, 120.0), st.floats(5.0, 3600.0))
def test_lag__of_a_job_that_warms_up_passes_a_target_exactly_up_to_the_longest_wait(
    curve: WarmUp, busy: float, downtime_s: float, step_s: float
) -> None:
    longest_s = float(recovery(busy, 1.0, downtime_s, warm_up=curve).peak_lag_s)
    steps = np.full((1, int(np.ceil(2 * (downtime_s + curve.warm_s) / step_s)) + 1), busy)
    nothing = np.zeros(1)

    def late(max_lag_s: float) -> bool:
        return bool((share_late_cold(steps, step_s, nothing + downtime_s, nothing, curve, max_lag_s) > 0).any())

    part_s = max(step_s / MAX_PARTS, curve.warm_s / COLD_PARTS)
    assert late(longest_s * 0.98 - part_s / 4)
    assert not late(longest_s * 1.02)
