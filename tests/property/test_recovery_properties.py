"""What holds of every rescale: of the state that moves, and of the backlog that it leaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Topology
from modeling.rescaling.drain import drained
from modeling.rescaling.recovery import recovery
from modeling.rescaling.rescale_model import declared_rescale
from modeling.rescaling.state import Restored, key_groups_moved, state_move

PARALLELISM = st.integers(1, 40)
RATES = st.lists(st.floats(0, 500), min_size=1, max_size=12)
GIB = st.floats(0, 1000)
JOB = Topology("job", (Operator("count"),), ())


def _move(gib: float, before: int, after: int, restored: Restored) -> tuple[float, float]:
    plans = [PhysicalPlan("job", {"count": count}) for count in (before, after)]
    move = state_move(JOB, {"count": gib}, plans[0], plans[1:], restored=restored)
    return float(move.restored_gib[0]), float(move.moved_gib[0])


@given(PARALLELISM, PARALLELISM, st.integers(40, 300))
def test_key_groups__move_between_none_and_all_and_none_where_nothing_changes(a: int, b: int, groups: int) -> None:
    moved = int(key_groups_moved(a, b, groups))
    assert 0 <= moved <= groups
    assert (moved == 0) == (a == b)
    assert moved == int(key_groups_moved(b, a, groups))


@given(GIB, PARALLELISM, PARALLELISM, st.sampled_from(Restored))
def test_state__that_is_restored_is_at_most_all_of_it(gib: float, a: int, b: int, restored: Restored) -> None:
    total, moved = _move(gib, a, b, restored)
    assert 0 <= total <= gib
    assert moved <= gib
    if restored is Restored.MOVED_KEY_GROUPS:
        # Instances may take each other's place: no more is fetched than changes its number.
        assert total <= moved * (1 + 1e-9)
    if a == b or gib == 0:
        assert (total, moved) == (0, 0)


@given(GIB, st.floats(1, 5), PARALLELISM, PARALLELISM, st.sampled_from(Restored), st.floats(1, 100))
def test_more_state__never_recovers_sooner(
    gib: float, factor: float, a: int, b: int, restored: Restored, load_per_s: float
) -> None:
    model = declared_rescale(10.0)
    less, more = (
        recovery(load_per_s, 110.0, model.downtime_s(_move(size, a, b, restored)[0])) for size in (gib, gib * factor)
    )
    assert more.recovery_s >= less.recovery_s
    assert more.peak_lag_s >= less.peak_lag_s


@given(st.floats(0, 300), st.floats(0, 300), st.floats(0, 300), st.floats(0, 600), st.floats(0, 100))
def test_recovery__grows_with_the_load_and_falls_with_capacity(
    load_per_s: float, more_per_s: float, capacity_per_s: float, downtime_s: float, replayed_s: float
) -> None:
    loads = np.array([load_per_s, load_per_s + more_per_s])
    by_load = recovery(loads, capacity_per_s, downtime_s, replayed_s=replayed_s)
    assert by_load.recovery_s[0] <= by_load.recovery_s[1] * (1 + 1e-9)
    by_capacity = recovery(load_per_s, capacity_per_s + np.array([0.0, more_per_s]), downtime_s, replayed_s=replayed_s)
    assert by_capacity.recovery_s[1] <= by_capacity.recovery_s[0] * (1 + 1e-9)


@given(RATES, st.floats(1, 600), st.floats(1, 600), st.floats(0, 900), st.floats(0, 1e5))
def test_drain__keeps_its_curves_in_order(
    rates: list[float], capacity_per_s: float, step_s: float, downtime_s: float, backlog: float
) -> None:
    one = drained(rates, step_s, capacity_per_s, downtime_s, backlog=backlog)
    assert (np.diff(one.arrived_s) >= 0).all()
    assert (one.wait_s >= 0).all()
    assert one.peak_backlog >= one.backlog >= 0
    assert one.catch_up_s >= 0
    # first come, first served: who comes later is not done sooner
    done_s = one.arrived_s + one.wait_s
    assert (np.diff(done_s) >= -1e-6 * (1 + np.abs(done_s[1:]))).all()
    span_s = float(one.arrived_s[-1] - one.arrived_s[0])
    for max_lag_s in (0.0, 30.0, 1e9):
        assert -1e-6 <= one.violation_s(max_lag_s) <= span_s * (1 + 1e-9)
    assert one.violation_s(60.0) <= one.violation_s(30.0) + 1e-6


@given(RATES, st.floats(0, 100), st.floats(1, 600), st.floats(1, 900))
def test_drain__of_more_load_is_never_over_sooner(
    rates: list[float], more_per_s: float, capacity_per_s: float, downtime_s: float
) -> None:
    loads = np.array([rates, [rate + more_per_s for rate in rates]])
    both = drained(loads, 60.0, capacity_per_s, downtime_s)
    assert both.peak_backlog[0] <= both.peak_backlog[1] * (1 + 1e-9)
    assert both.catch_up_s[0] <= both.catch_up_s[1] * (1 + 1e-9) + 1e-6


@given(st.floats(1, 300), st.floats(1.01, 5), st.floats(0.1, 600), st.floats(0, 1e4))
def test_drain__of_a_constant_load_is_the_closed_form(
    load_per_s: float, spare: float, downtime_s: float, backlog: float
) -> None:
    one = drained([load_per_s] * 3, 200.0, load_per_s * spare, downtime_s, backlog=backlog)
    closed = recovery(load_per_s, load_per_s * spare, downtime_s, backlog=backlog)
    assert float(one.backlog) == pytest.approx(float(closed.backlog))
    assert float(one.catch_up_s) == pytest.approx(float(closed.catch_up_s), rel=1e-6)
    assert float(one.peak_lag_s) == pytest.approx(float(closed.peak_lag_s), rel=1e-6)
