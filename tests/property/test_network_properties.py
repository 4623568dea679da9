"""What holds of network coordinates and of the choice of nodes, whatever the nodes."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from modeling.errors import ModelError
from modeling.inputs.network import MeasuredLink, Network, measured_network
from modeling.inputs.vivaldi import vivaldi_coordinates
from modeling.rescaling.node_scaling import MeasuredThroughput, NodeScaling, best_nodes, fitted_node_scaling

SEEDS = st.integers(0, 2**32 - 1)


def _planar(seed: int, count: int) -> tuple[list[str], np.ndarray]:
    """Nodes on a plane of 100 ms, and their distances; none closer than 1 ms to another."""
    at = np.random.default_rng(seed).uniform(0, 100, (count, 2))
    delay_ms = np.sqrt(((at[:, None] - at[None]) ** 2).sum(-1))
    return [f"n{i}" for i in range(count)], delay_ms


@pytest.mark.slow
@given(SEEDS, st.integers(6, 14))
@settings(max_examples=6, deadline=None)
def test_vivaldi__finds_nodes_on_a_plane_within_the_error_it_tells(seed: int, count: int) -> None:
    """Of 70 % of the pairs; those left out are as wrong as told, or hardly wrong at all."""
    _, delay_ms = _planar(seed, count)
    pairs = list(itertools.combinations(range(count), 2))
    assume(min(delay_ms[pair] for pair in pairs) > 1)
    keep = np.random.default_rng(seed + 1).random(len(pairs)) < 0.7
    measured_ms = delay_ms.copy()
    left_out = [pair for pair, k in zip(pairs, keep, strict=True) if not k]
    for i, j in left_out:
        measured_ms[i, j] = measured_ms[j, i] = np.nan
    try:
        found = vivaldi_coordinates(measured_ms, np.random.default_rng(seed))
    except ModelError:
        assume(False)
    assert np.median(found.relative_error) < 0.1
    wrong = [abs(found.delay_ms[pair] - delay_ms[pair]) / delay_ms[pair] for pair in left_out]
    if wrong and found.held_out_error.size:
        assert np.median(wrong) <= max(0.05, 2 * float(np.quantile(found.held_out_error, 0.9)))


@pytest.mark.slow
@given(SEEDS, st.randoms(use_true_random=False))
@settings(max_examples=6, deadline=None)
def test_network__is_the_same_in_any_order_of_links(seed: int, shuffler: object) -> None:
    names, delay_ms = _planar(seed, 6)
    links = [MeasuredLink(names[i], names[j], float(delay_ms[i, j])) for i, j in itertools.combinations(range(6), 2)]
    assume(min(link.delay_ms for link in links) > 1)
    links = links[1:]
    other = [MeasuredLink(link.second, link.first, link.delay_ms) for link in links]
    shuffler.shuffle(other)  # type: ignore[attr-defined]
    one, same = (measured_network(given_links, np.random.default_rng(seed)) for given_links in (links, other))
    assert one.nodes == same.nodes
    assert one.delay_ms.tolist() == same.delay_ms.tolist()
    assert one.estimate_error == same.estimate_error


@given(SEEDS, st.integers(2, 8), st.permutations(range(8)), st.floats(0.5, 1.2), st.floats(0, 50))
def test_best_nodes__do_not_depend_on_their_order_and_are_at_most_twice_as_far_as_need_be(
    seed: int, count: int, order: list[int], beta: float, gamma: float
) -> None:
    names, delay_ms = _planar(seed, count)
    order = [i for i in order if i < count]
    zeros, none = np.zeros((count, count)), np.zeros((count, count), dtype=bool)
    one = Network(tuple(names), delay_ms, zeros, zeros, none)
    other = Network(tuple(names[i] for i in order), delay_ms[np.ix_(order, order)], zeros, zeros, none)
    scaling = NodeScaling(1000.0, beta, gamma, np.zeros((3, 3)), 0)
    choice = best_nodes(scaling, one)
    assert choice == best_nodes(scaling, other)
    for chosen in choice.by_count:
        members = list(one.of(chosen.nodes))
        assert chosen.largest_delay_ms == pytest.approx(delay_ms[np.ix_(members, members)].max())
        least = min(
            delay_ms[np.ix_(subset, subset)].max() for subset in itertools.combinations(range(count), len(members))
        )
        assert chosen.largest_delay_ms <= 2 * least + 1e-9
    assert choice.mst_per_s == max(chosen.mst_per_s for chosen in choice.by_count)


@given(
    st.floats(10, 1e5),
    st.floats(0.5, 1.2),
    st.floats(0, 0.02),
    st.lists(st.integers(1, 20), min_size=2, max_size=6, unique=True),
    st.lists(st.tuples(st.integers(1, 20), st.floats(5, 40)), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
@settings(deadline=None)
def test_node_scaling__recovers_noise_free_parameters_in_any_order(
    alpha: float, beta: float, lost: float, near: list[int], far: list[tuple[int, float]], shuffler: object
) -> None:
    gamma = alpha * lost
    measured = [MeasuredThroughput(n, alpha * n**beta) for n in near]
    measured += [MeasuredThroughput(n, alpha * n**beta - gamma * delay_ms, delay_ms) for n, delay_ms in far]
    shuffler.shuffle(measured)  # type: ignore[attr-defined]
    fitted = fitted_node_scaling(measured)
    assert fitted.alpha_per_s == pytest.approx(alpha, rel=1e-4)
    assert fitted.beta == pytest.approx(beta, abs=1e-4)
    assert fitted.gamma_per_s_ms == pytest.approx(gamma, rel=1e-3, abs=alpha * 1e-4)
