"""MST(n) = α·n^β − γ·ND_max(n): fitted in stages, and when another node lowers what all sustain."""

import math

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.rescaling.node_scaling import MeasuredThroughput, NodeScaling, best_nodes, fitted_node_scaling

TRUE = NodeScaling(1000.0, 0.9, 20.0, np.zeros((3, 3)), 0)
POINTS = [(1, 0.0), (2, 0.5), (3, 0.5), (4, 0.5), (4, 15.0), (5, 25.0), (6, 25.0), (8, 40.0)]


def _measured(points: list[tuple[int, float]], noise_per_s: float = 0.0, seed: int = 0) -> list[MeasuredThroughput]:
    rng = np.random.default_rng(seed)
    return [
        MeasuredThroughput(n, float(TRUE.mst_per_s(n, delay_ms)) + noise_per_s * float(rng.normal()), delay_ms)
        for n, delay_ms in points
    ]


def test_model__is_power_of_nodes_less_delay() -> None:
    # 1000 · 4^0.9 = 3482.2; less 20 · 15
    assert float(TRUE.mst_per_s(4, 15.0)) == pytest.approx(1000 * 4**0.9 - 300)
    assert TRUE.mst_per_s([1, 1], [0.0, 500.0]).tolist() == [1000, 0]


def test_one_measurement__scales_linearly_and_knows_nothing_of_delay() -> None:
    fitted = fitted_node_scaling([MeasuredThroughput(4, 2000.0)])
    assert (fitted.alpha_per_s, fitted.beta, fitted.gamma_per_s_ms) == (500, 1, 0)
    assert fitted.errors == (math.inf, 0, math.inf)
    assert fitted.interval()[0] == (-math.inf, math.inf)


def test_two_measurements__give_alpha_and_gamma() -> None:
    # 500·2 − 0·γ = 1000; 500·4 − 10·γ = 1900
    fitted = fitted_node_scaling([MeasuredThroughput(2, 1000.0), MeasuredThroughput(4, 1900.0, 10.0)])
    assert (fitted.alpha_per_s, fitted.beta, fitted.gamma_per_s_ms) == pytest.approx((500, 1, 10))
    near = fitted_node_scaling([MeasuredThroughput(2, 1000.0), MeasuredThroughput(4, 1900.0)])
    # least squares through the origin: (2·1000 + 4·1900) / 20
    assert near.alpha_per_s == pytest.approx(480)
    assert near.errors[2] == math.inf


@pytest.mark.parametrize(
    "points", [POINTS, POINTS[::-1], [(2, 5.0), (3, 9.0), (4, 5.0), (6, 30.0), (7, 11.0)], [(1, 0), (3, 0), (4, 8.0)]]
)
def test_fit__recovers_what_made_the_points(points: list[tuple[int, float]]) -> None:
    fitted = fitted_node_scaling(_measured(points))
    assert (fitted.alpha_per_s, fitted.beta, fitted.gamma_per_s_ms) == pytest.approx((1000, 0.9, 20), rel=1e-5)


def test_near_points_alone__leave_gamma_open() -> None:
    fitted = fitted_node_scaling(_measured([(1, 0.0), (2, 0.0), (4, 0.0), (8, 0.0)], noise_per_s=5.0))
    assert fitted.gamma_per_s_ms == 0
    assert fitted.errors[2] == math.inf
    assert fitted.errors[1] < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("parameter", [0, 1, 2])
def test_interval__holds_the_truth_as_often_as_it_says(parameter: int) -> None:
    """95 % intervals over 600 noisy draws: within 3 standard errors, 2.7 points."""
    truth = (1000.0, 0.9, 20.0)[parameter]
    held = 0
    for seed in range(600):
        low, high = fitted_node_scaling(_measured(POINTS, 50.0, seed)).interval(0.95)[parameter]
        held += low <= truth <= high
    assert held / 600 == pytest.approx(0.95, abs=0.027)


@pytest.mark.slow
def test_gammas_error__bears_what_alpha_and_beta_lack() -> None:
    """Its standard error agrees with the spread of 600 fits; that of its own stage would be too small."""
    fits = [fitted_node_scaling(_measured(POINTS, 50.0, seed)) for seed in range(600)]
    spread = np.std([fit.gamma_per_s_ms for fit in fits])
    told = np.sqrt(np.mean([fit.errors[2] ** 2 for fit in fits]))
    assert told == pytest.approx(spread, rel=0.1)
    of_its_own_stage = 50 / np.sqrt(sum(delay_ms**2 for _, delay_ms in POINTS[4:]))
    assert of_its_own_stage < 0.7 * spread


def test_points__that_cannot_tell_are_refused_in_words() -> None:
    with pytest.raises(ModelError, match="there are no measurements"):
        fitted_node_scaling([])
    with pytest.raises(ModelError, match="all 3 measurements used 4 nodes"):
        fitted_node_scaling([MeasuredThroughput(4, 1000.0, d) for d in (0.0, 5.0, 9.0)])
    with pytest.raises(ModelError, match="delay grows in step with the number of nodes"):
        fitted_node_scaling([MeasuredThroughput(n, 900.0 * n, 5.0 * n) for n in (2, 4)])
    with pytest.raises(ModelError, match=r"2 at 10 ms.*another delay"):
        fitted_node_scaling([MeasuredThroughput(n, 900.0 * n, 5.0 * n) for n in (2, 2, 4)])
    with pytest.raises(ModelError, match="delay grows in step"):
        fitted_node_scaling([MeasuredThroughput(n, 900.0 * n, 5.0 * n) for n in (2, 4, 6, 8)])


@pytest.mark.parametrize(
    ("nodes", "mst_per_s", "delay_ms", "field"),
    [(0, 1.0, 0.0, "nodes"), (1, float("nan"), 0.0, "mst_per_s"), (1, 0.0, 0.0, "is 0"), (1, 1.0, -1.0, "delay_ms")],
)
def test_measurement__that_cannot_be_is_refused(nodes: int, mst_per_s: float, delay_ms: float, field: str) -> None:
    with pytest.raises(ModelError, match=field):
        MeasuredThroughput(nodes, mst_per_s, delay_ms)


def test_best_nodes__leaves_out_a_node_that_lowers_what_all_sustain() -> None:
    names = ["a", "b", "c", "far"]
    links = [
        MeasuredLink(p, q, 25.0 if q == "far" else 1.0, bandwidth_mbit_per_s=100.0)
        for i, p in enumerate(names)
        for q in names[i + 1 :]
    ]
    network = measured_network(links, np.random.default_rng(0))
    scaling = NodeScaling(100.0, 1.0, 8.0, np.zeros((3, 3)), 0)
    choice = best_nodes(scaling, network)
    # 100; 200 − 8; 300 − 8; 400 − 200
    assert [chosen.mst_per_s for chosen in choice.by_count] == [100, 192, 292, 200]
    assert choice.nodes == ("a", "b", "c")
    assert choice.lowers == (4,)
    # where delay costs little, the far node is worth it
    assert len(best_nodes(NodeScaling(100.0, 1.0, 1.0, np.zeros((3, 3)), 0), network).nodes) == 4
