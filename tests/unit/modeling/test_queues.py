"""Queueing closed forms against theory, and against the discrete-event simulator Ciw."""

import ciw
import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.queueing.queues import kingman_waits_s, klb_waits_s


def test_kingman__is_exact_for_m_m_1() -> None:
    # M/M/1: Wq = ρ/(1−ρ)·s = 0.8/0.2 · 0.5 s = 2 s
    assert kingman_waits_s(0.8, 0.5, 1, 1) == pytest.approx(2.0)


def test_kingman__is_exact_for_m_d_1() -> None:
    # Pollaczek–Khinchine with constant service: half of M/M/1's 2 s
    assert kingman_waits_s(0.8, 0.5, 1, 0) == pytest.approx(1.0)


def test_waits__of_many_stations_are_those_of_each_and_unstable_from_1_on() -> None:
    rho = np.array([[0.0, 0.8], [1.0, 7.0]])
    # M/M/1 of 0.5 s at 0.8: 2 s
    assert kingman_waits_s(rho, 0.5, 1, 1) == pytest.approx(np.array([[0, 2], [np.inf, np.inf]]))
    assert klb_waits_s(rho, 0.5, 1, 1) == pytest.approx(np.array([[0, 2], [np.inf, np.inf]]))


@pytest.mark.parametrize(
    "values", [(-0.1, 1, 1, 1), (np.nan, 1, 1, 1), (0.5, -1, 1, 1), (0.5, 1, np.nan, 1), ([0.5, 0.5], 1, 1, [1, -2])]
)
def test_waits__of_values_that_cannot_be_are_refused(values: tuple[float, float, float, float]) -> None:
    with pytest.raises(ModelError, match="negative or NaN"):
        klb_waits_s(*values)


def test_klb__lowers_kingman_by_hand_arithmetic() -> None:
    # ρ = ½, ca² = ¼, cs² = 1: Kingman 1·(5/4)/2 = 0.625; exponent −2·½·(¾)²/(3·½·5/4) = −0.3
    assert klb_waits_s(0.5, 1.0, 0.25, 1.0) == pytest.approx(0.625 * np.exp(-0.3))
    # ca² = 4: Kingman 2.5; exponent −½·3/(4 + 4) = −0.1875
    assert klb_waits_s(0.5, 1.0, 4.0, 1.0) == pytest.approx(2.5 * np.exp(-0.1875))


def test_klb__says_that_nobody_waits_where_nothing_varies() -> None:
    assert klb_waits_s(0.5, 1.0, 0.0, 0.0) == 0


def test_wait__grows_without_bound_towards_saturation() -> None:
    assert kingman_waits_s(1 - 1e-9, 1.0, 1, 1) > 1e8


@pytest.mark.slow
@pytest.mark.parametrize("shape", [1, 4])
def test_kingman__agrees_with_simulated_m_g_1(shape: int) -> None:
    """Erlang-`shape` services have cv² = 1/shape; mean wait within 12 % of a simulation of 60,000 customers at ρ =
    0.8.
    """
    rate_per_s, service_s = 0.8, 1.0
    waits = []
    for seed in range(3):
        ciw.seed(seed)
        network = ciw.create_network(
            arrival_distributions=[ciw.dists.Exponential(rate_per_s)],
            service_distributions=[ciw.dists.Gamma(shape, service_s / shape)],
            number_of_servers=[1],
        )
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(20_000 / rate_per_s)
        records = simulation.get_all_records()
        waits.append(np.mean([r.waiting_time for r in records if r.arrival_date > 1000 / rate_per_s]))
    assert kingman_waits_s(0.8, service_s, 1, 1 / shape) == pytest.approx(np.mean(waits), rel=0.12)
