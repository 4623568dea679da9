"""How waits spread: exact cases by hand, and G/G/1 against the simulator Ciw."""

import ciw
import numpy as np
import pytest

from modeling.queueing.exact_wait import exact_wait
from modeling.queueing.lattice import Lattice, mixture, two_moment_lattice
from modeling.queueing.queues import delay_probability
from modeling.queueing.two_moments import mean_excess_s


def test_two_moments__keep_mean_and_variation() -> None:
    for cv2 in (0.0, 0.25, 1.0, 4.0):
        lattice = two_moment_lattice(2.0, cv2, 0.02, 2**13)
        assert lattice.mean_s == pytest.approx(2.0, rel=1e-6)
        # a step squared over 4 at most comes on top
        assert lattice.variance_s2 == pytest.approx(4 * cv2, abs=2e-4 + 1e-6)


def test_hyper_exponential__has_two_phases_of_equal_weight() -> None:
    # cv² = 4: fast share (1 + √(3/5))/2 = 0.8873, rates twice the shares; each phase's excess is half of the mean's
    fast = (1 + np.sqrt(0.6)) / 2
    assert mean_excess_s(1.0, 1.0, 4.0) == pytest.approx((np.exp(-2 * fast) + np.exp(-2 * (1 - fast))) / 2)


def test_m_m_1__on_the_lattice_is_the_same() -> None:
    wait = exact_wait(0.8, 1.0, 1.0, 1.0)
    assert wait.mean_s == pytest.approx(4.0, rel=1e-3)
    assert wait.quantile_s(0.95) == pytest.approx(np.log(16) / 0.2, rel=1e-3)
    assert wait.mass[0] == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("cs2", [0.0, 0.25, 4.0])
def test_m_g_1__on_the_lattice_has_pollaczek_and_khinchines_mean(cs2: float) -> None:
    # ρ/(1−ρ)·(1 + cs²)/2
    assert exact_wait(0.7, 1.0, 1.0, cs2).mean_s == pytest.approx(0.7 / 0.3 * (1 + cs2) / 2, rel=2e-3)


def test_gi_m_1__has_its_root_as_the_share_that_waits() -> None:
    # Erlang-4 gaps at ρ = ½: σ = (2/(3 − σ))⁴, by iteration 0.30204; W of all is σ/(1 − σ)
    sigma = 0.3
    for _ in range(60):
        sigma = (2 / (3 - sigma)) ** 4
    assert exact_wait(0.5, 1.0, 0.25, 1.0).mean_s == pytest.approx(sigma / (1 - sigma), rel=2e-3)
    assert delay_probability(0.5, 0.25, 1.0) == pytest.approx(sigma, rel=0.1)


def test_near_saturation__the_lattice_gives_way_to_the_closed_form() -> None:
    assert exact_wait(0.995, 1.0, 1.0, 1.0).mean_s == pytest.approx(199, rel=1e-3)


def test_unstable__stations_have_no_finite_wait() -> None:
    assert exact_wait(1.0, 1.0, 1.0, 1.0).quantile_s(0.01) == np.inf


def test_idle__stations_make_nobody_wait() -> None:
    assert exact_wait(0.0, 1.0, 4.0, 4.0).quantile_s(0.99) == 0
    assert exact_wait(0.0, 0.0, 4.0, 4.0).quantile_s(0.99) == 0


def test_mixture__weighs_and_keeps_what_is_lost() -> None:
    half = Lattice(1.0, np.array([0.0, 1.0]))
    never = Lattice(1.0, np.zeros(2))
    both = mixture([(3.0, half), (1.0, never)])
    assert both.lost == pytest.approx(0.25)
    assert both.quantile_s(0.7) < 2
    assert both.quantile_s(0.8) == np.inf


@pytest.mark.slow
@pytest.mark.parametrize(("ca2", "cs2"), [(0.25, 4.0), (4.0, 0.25)])
def test_g_g_1__agrees_with_simulation_in_mean_and_p95(ca2: float, cs2: float) -> None:
    """Gamma up to cv² 1, hyper-exponential with balanced means above, ρ = 0.6, four runs of 12,000 customers: within
    their confidence, and 3 %.
    """
    means, highs = [], []
    for seed in range(4):
        ciw.seed(seed)
        network = ciw.create_network(
            arrival_distributions=[_drawn(ca2, 1 / 0.6)],
            service_distributions=[_drawn(cs2, 1.0)],
            number_of_servers=[1],
        )
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(20_000)
        waited = np.array([r.waiting_time for r in simulation.get_all_records() if r.arrival_date > 1000])
        means.append(waited.mean())
        highs.append(np.quantile(waited, 0.95))
    wait = exact_wait(0.6, 1.0, ca2, cs2)
    # Student's t of 3 degrees at 99.8 %: 10.2
    for told, seen in ((wait.mean_s, means), (wait.quantile_s(0.95), highs)):
        assert told == pytest.approx(np.mean(seen), abs=10.2 * np.std(seen, ddof=1) / 2 + 0.03 * float(np.mean(seen)))
        assert told == pytest.approx(np.mean(seen), rel=0.15)


def _drawn(cv2: float, mean: float) -> object:
    if cv2 <= 1:
        return ciw.dists.Gamma(1 / cv2, mean * cv2)
    fast = (1 + np.sqrt((cv2 - 1) / (cv2 + 1))) / 2
    return ciw.dists.HyperExponential([2 * fast / mean, 2 * (1 - fast) / mean], [fast, 1 - fast])


def test_even_gaps_and_short_services__hardly_ever_make_wait() -> None:
    # gaps of 25 ± 3 services, services of 1 ± 0.5: none outlasts a gap
    assert exact_wait(0.04, 1.0, 0.0135, 0.25).mean_s == pytest.approx(0, abs=1e-6)
    # constant gaps of 10 and exponential services: e^(−10) of them wait, a second each
    assert exact_wait(0.1, 1.0, 0.0, 1.0).mean_s == pytest.approx(np.exp(-10), rel=0.02)
