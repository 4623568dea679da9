"""What windows and windowed joins give out: by hand, and against counting made-up tuples."""

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.flow.limits import OperatorLimit
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind


def counted(rate_per_s: float, keys: np.ndarray, span_s: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and keys of Poisson tuples."""
    rng = np.random.default_rng(seed)
    size = rng.poisson(rate_per_s * span_s)
    return np.sort(rng.uniform(0, span_s, size)), rng.choice(keys.size, size, p=keys)


SHARES = np.array([0.5, 0.2, *[0.3 / 50] * 50])
HEAVY = KeyHistogram({"a": 0.5, "b": 0.2})
SPAN_S = 20_000.0


def test_tumbling_windows__give_out_each_key_that_was_seen() -> None:
    output = WindowedOutput(WindowKind.TUMBLING, 10.0, 52, keys=HEAVY)
    at, key = counted(3.0, SHARES, SPAN_S, 1)
    panes = np.unique(np.stack([at // 10, key]), axis=1).shape[1] / SPAN_S
    assert output.given_per_s({"in": 3.0}) == pytest.approx(panes, rel=0.02)
    # Twice the load does not bring twice as much out.
    assert output.given_per_s({"in": 6.0}) < 2 * output.given_per_s({"in": 3.0})


def test_sliding_windows__give_out_each_key_once_a_slide() -> None:
    output = WindowedOutput(WindowKind.SLIDING, 10.0, 52, slide_s=2.0, keys=HEAVY)
    # All keys seen in every window, 52 of them, every two seconds.
    assert output.given_per_s({"in": 1e6}) == pytest.approx(26)


def test_sessions__end_when_nothing_follows_in_the_gap() -> None:
    output = WindowedOutput(WindowKind.SESSION, 30.0, 52, keys=HEAVY)
    at, key = counted(3.0, SHARES, SPAN_S, 2)
    order = np.lexsort((at, key))
    gaps = np.diff(at[order])
    ends = int(((gaps > 30) & (np.diff(key[order]) == 0)).sum()) / SPAN_S
    assert output.given_per_s({"in": 3.0}) == pytest.approx(ends, rel=0.05)


def test_a_windowed_join__gives_out_every_pair_of_a_key() -> None:
    output = WindowedOutput(WindowKind.JOIN, 10.0, 52, keys=HEAVY)
    (left_at, left_key), (right_at, right_key) = (counted(rate, SHARES, SPAN_S, 3 + rate) for rate in (2, 1))
    panes = [
        np.bincount((at // 10).astype(int) * SHARES.size + key, minlength=int(SPAN_S // 10 + 1) * SHARES.size)
        for at, key in ((left_at, left_key), (right_at, right_key))
    ]
    pairs = float((panes[0] * panes[1]).sum()) / SPAN_S
    assert output.given_per_s({"left": 2.0, "right": 1.0}) == pytest.approx(pairs, rel=0.05)


def windowed(kind: WindowKind = WindowKind.TUMBLING) -> tuple[Topology, dict[str, OperatorProfile], PhysicalPlan]:
    topology = Topology(
        "t", (Operator("in"), Operator("count"), Operator("sink")), (Stream("in", "count"), Stream("count", "sink"))
    )
    profiles = {
        "in": OperatorProfile("in", 0.0),
        "count": OperatorProfile("count", 0.001, windowed={"count->sink": WindowedOutput(kind, 10.0, 500)}),
        "sink": OperatorProfile("sink", 0.01),
    }
    return topology, profiles, PhysicalPlan("t", {"in": 1, "count": 2, "sink": 1})


def test_evaluate__finds_where_a_topology_with_windows_saturates() -> None:
    topology, profiles, plan = windowed()
    estimate = evaluate(topology, profiles, plan, {"in": 100.0})
    # 500 keys x (1 - e^(-100 x 10 / 500)) / 10 = 43.2 a second out, 10 ms each.
    assert estimate.operators["sink"].utilisation == pytest.approx(0.4323, abs=1e-4)
    # However much comes, 50 a second go out at most, half of what the sink can do: two counters of 1,000 saturate.
    assert estimate.bottleneck == OperatorLimit("count")
    assert estimate.mst_per_s["in"] == pytest.approx(2000)
    assert evaluate(topology, profiles, plan, {"in": 4000.0}).throughput_per_s["in"] == pytest.approx(2000)


def test_more_load_than_a_reader_of_sessions_could_take_less_of__is_carried() -> None:
    """One key: L a second end L e^-L sessions of a second's gap, at most 1/e at L = 1, and 0.193 at L = 2.6."""
    topology = Topology("sessions", tuple(map(Operator, "swr")), (Stream("s", "w"), Stream("w", "r")))
    sessions = {"w->r": WindowedOutput(WindowKind.SESSION, 1.0, 1)}
    profiles = {
        "s": OperatorProfile("s", 0.0),
        "w": OperatorProfile("w", 0.0, windowed=sessions),
        "r": OperatorProfile("r", 4.0),
    }
    plan = PhysicalPlan("sessions", dict.fromkeys("swr", 1))
    one = evaluate(topology, profiles, plan, {"s": 2.6})
    assert one.utilisation == pytest.approx(4 * 2.6 * np.exp(-2.6))
    assert one.stable
    assert one.excess_per_s == {"s": 0.0}
    assert np.isfinite(one.latency_s)
    # L e^-L = 1/4 has the roots 0.357 and 2.153: what is between them is too much.
    over = evaluate(topology, profiles, plan, {"s": 1.0})
    assert not over.stable
    assert over.headroom_factor == pytest.approx(0.35740295)


def test_many_at_once__find_the_same_as_one_by_one() -> None:
    topology, profiles, plan = windowed()
    wider = PhysicalPlan("t", {"in": 1, "count": 5, "sink": 1})
    loads = [0.0, 10.0, 100.0, 1900.0, 2100.0, 9000.0]
    many = evaluate_many(topology, profiles, [plan, wider], {"in": loads})
    for row, each in enumerate((plan, wider)):
        for column, load in enumerate(loads):
            one = evaluate(topology, profiles, each, {"in": load})
            assert many.utilisation[row, column].max() == pytest.approx(one.utilisation, rel=1e-9)
            assert many.headroom_factor[row, column] == pytest.approx(one.headroom_factor, rel=1e-9)
            assert many.throughput_per_s[row, column, 0] == pytest.approx(one.throughput_per_s["in"], rel=1e-8)
            if load > 0:
                assert many.bottleneck_of(row, column) == one.bottleneck
    # Two counters of 1,000 a second saturate; five do not before their windows' output has long reached its most.
    assert many.headroom_factor[0, 2] == pytest.approx(20)
    assert many.headroom_factor[1, 2] == pytest.approx(50)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((WindowKind.TUMBLING, 0.0, 5), "window of 0.0 s"),
        ((WindowKind.TUMBLING, float("nan"), 5), "window of nan s"),
        ((WindowKind.TUMBLING, 1.0, 0), "0 distinct keys"),
        ((WindowKind.SLIDING, 1.0, 5), "sliding windows have one"),
        ((WindowKind.SLIDING, 1.0, 5, 2.0), "slide of 2.0 s"),
        ((WindowKind.TUMBLING, 1.0, 1, None, HEAVY), "2 heavy keys of 1 distinct"),
    ],
)
def test_windows_that_cannot_be__are_refused(given: tuple[object, ...], named: str) -> None:
    with pytest.raises(ModelError, match=named):
        WindowedOutput(*given)  # type: ignore[arg-type]
