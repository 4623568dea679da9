"""Waits of tuples that come in batches, against theory and simulation."""

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.queueing.batches import Batches, as_customers, firing_waits
from modeling.queueing.exact_wait import exact_wait
from modeling.queueing.lattice import two_moment_lattice
from modeling.queueing.queues import kingman_waits_s
from tests.unit.modeling.lindley import confidence, waits_s


def test_batch__of_one_size_waits_for_half_of_the_others() -> None:
    # 0, 1 … 19 equally likely: 9.5; squares 1/20 · 19·20·39/6 = 123.5; cubes 1/20 · (19·20/2)² = 1805
    assert [float(each) for each in Batches.sized(20.0).before()] == pytest.approx([9.5, 123.5, 1805])
    assert [float(each) for each in Batches.sized(0.3).before()] == [0, 0, 0]


def test_batch__of_geometric_size_leaves_a_geometric_number_before() -> None:
    # P(X = k) = ¼ (¾)^(k−1): mean 4, cv² ¾; the number before a tuple has mean 3 and second moment 3 + 2 · 9 = 21
    mean, second, _ = Batches.sized(4.0, 0.75).before()
    assert float(mean) == pytest.approx(3)
    assert float(second) == pytest.approx(21, rel=0.05)


def test_batch__that_is_routed_or_hashed_is_as_much_smaller() -> None:
    assert float(Batches.sized(20.0).routed(4).of_tuple) == 5
    assert float(Batches.sized(20.0).routed(40).of_tuple) == 1
    # a quarter of 20: a tuple meets ¼ of the 19 others; of those who get any (1 − ¾²⁰) it is 5 / (1 − ¾²⁰)
    some = Batches.sized(20.0).thinned(0.25)
    assert float(some.of_tuple) == pytest.approx(1 + 19 / 4)
    assert float(some.mean) == pytest.approx(5 / (1 - 0.75**20))


def test_wait_in_batches__is_exact_in_the_mean_of_m_x_g_1() -> None:
    # Burke 1975: ρ s (E[X²]/E[X] + cs²) / (2 (1 − ρ)) for the batch, (E[X²]/E[X] − 1) s / 2 within it
    rho, service_s, cs2, batches = 0.6, 0.5, 2.0, Batches.sized(10.0, 0.9)
    customers = as_customers(batches.of_tuple, service_s, batches.of_tuple, cs2)
    before = float(kingman_waits_s(rho, *customers))
    within = float(batches.waited(service_s, 1 + cs2, 6.0)[0])
    assert before + within == pytest.approx(0.6 * 0.5 * (19 + 2) / 0.8 + 18 * 0.5 / 2)


def test_wait_within_a_batch__has_the_moments_of_its_distribution() -> None:
    service = two_moment_lattice(1.0, 0.5, 0.02, 2**14)
    for batches in (Batches.sized(8.0), Batches.sized(6.5, 0.4), Batches.sized(20.0).thinned(0.2)):
        masses = np.fft.irfft(batches.transform(np.fft.rfft(service.mass)), service.mass.size)
        at = np.arange(service.mass.size) * service.step_s
        # of a gamma of cv² ½: E[S³] = 1.5 · 2
        found = batches.waited(1.0, 1.5, 3.0)
        assert masses.sum() == pytest.approx(1)
        assert [float(masses @ at**power) for power in (1, 2)] == pytest.approx(
            [float(each) for each in found[:2]], rel=0.05
        )
        assert float(masses @ at) == pytest.approx(float(found[0]), rel=1e-6)


@pytest.mark.parametrize(("rho", "cs2"), [(0.1, 1.0), (0.6, 0.25)])
def test_percentiles_in_batches__are_those_of_a_simulation(rho: float, cs2: float) -> None:
    rng = np.random.default_rng(1)

    def replication() -> float:
        arrivals = np.repeat(np.cumsum(rng.exponential(20 / rho, 4000)), 20)
        return float(np.quantile(waits_s(arrivals, rng.gamma(1 / cs2, cs2, arrivals.size)), 0.95))

    customers = as_customers(20.0, 1.0, 20.0, cs2)
    before = exact_wait(rho, *(float(each) for each in customers))
    size, step_s = 2**14, 1500 / 2**14
    within = Batches.sized(20.0).transform(np.fft.rfft(two_moment_lattice(1.0, cs2, step_s, size).mass))
    masses = np.fft.irfft(np.fft.rfft(before.on(step_s, size).mass) * within, size)
    p95 = float(np.searchsorted(np.cumsum(masses), 0.95)) * step_s
    low, high = confidence([replication() for _ in range(12)])
    assert low - step_s <= p95 <= high + step_s


def test_tuples_beside_a_window__wait_while_it_is_worked_off() -> None:
    # 100 tuples of 0.01 s every 10 s (ρ 0.1) beside others at ρ ½: 1 s of work lasts 2 s, a fifth of the time, and
    # waits fall from 1 s to 0 meanwhile
    chance, longest_s = firing_waits(100.0, 0.01, 0.1, 0.5)
    assert (float(chance), float(longest_s)) == pytest.approx((0.2, 1.0))


def test_batches__of_negative_size_or_spread_are_refused() -> None:
    with pytest.raises(ModelError, match="none may be negative"):
        Batches.sized(-1.0)


def test_batches__that_vary_more_than_geometric_ones_are_taken_for_these_and_some_for_none() -> None:
    # half a tuple on average, E[X²]/E[X] = 3: geometric of mean 2, of every fourth
    sizes = Batches.sized(0.5, 5.0)
    assert (float(sizes.mean), float(sizes.of_tuple)) == (2.0, 3.0)
    service = two_moment_lattice(1.0, 1.0, 0.1, 2**12)
    masses = np.fft.irfft(sizes.transform(np.fft.rfft(service.mass)), 2**12)
    assert float(masses @ np.arange(2**12)) * 0.1 == pytest.approx(1.0)
