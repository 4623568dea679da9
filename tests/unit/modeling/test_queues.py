"""Queueing closed forms against theory, and against the discrete-event simulator Ciw."""

import ciw
import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.queueing.queues import (
    Merging,
    allen_cunneen_wait_s,
    allen_cunneen_waits_s,
    dealt_ca2,
    departure_ca2,
    erlang_c,
    erlang_cs,
    kingman_wait_s,
    kingman_waits_s,
    klb_wait_s,
    klb_waits_s,
    merged_ca2,
    selected_ca2,
)


def test_kingman__is_exact_for_m_m_1() -> None:
    # M/M/1: Wq = ρ/(1−ρ)·s = 0.8/0.2 · 0.5 s = 2 s
    assert kingman_wait_s(0.8, 0.5, 1, 1) == pytest.approx(2.0)


def test_kingman__is_exact_for_m_d_1() -> None:
    # Pollaczek–Khinchine with constant service: half of M/M/1's 2 s
    assert kingman_wait_s(0.8, 0.5, 1, 0) == pytest.approx(1.0)


def test_allen_cunneen__is_exact_for_m_m_2() -> None:
    # M/M/2 at ρ = 0.5, s = 1: Wq = C/(c(1−ρ))·s = (1/3)/(2·0.5) = 1/3 s
    assert allen_cunneen_wait_s(0.5, 1.0, 2, 1, 1) == pytest.approx(1 / 3)


def test_erlang_c__stays_finite_for_hundreds_of_servers() -> None:
    assert 0 < erlang_c(500, 480.0) < 1


@pytest.mark.parametrize("utilisation", [1.0, 1.07, 5.0, -0.1, float("nan")])
def test_wait__is_refused_outside_stability_never_negative(utilisation: float) -> None:
    with pytest.raises(ModelError, match="unstable"):
        kingman_wait_s(utilisation, 1.0, 1, 1)


def test_waits__of_many_stations_are_those_of_each_and_unstable_from_1_on() -> None:
    rho = np.array([[0.0, 0.8], [1.0, 7.0]])
    # M/M/1 of 0.5 s at 0.8: 2 s
    assert kingman_waits_s(rho, 0.5, 1, 1) == pytest.approx(np.array([[0, 2], [np.inf, np.inf]]))
    assert klb_waits_s(rho, 0.5, 1, 1) == pytest.approx(np.array([[0, 2], [np.inf, np.inf]]))
    assert allen_cunneen_waits_s(rho, 0.5, [1, 1], 1, 1) == pytest.approx(np.array([[0, 2], [np.inf, np.inf]]))


def test_erlang_c__of_many_stations_at_once() -> None:
    # by hand: one server waits with ρ; M/M/2 at one erlang 1/3; nobody is free at 3 erlangs on 3
    assert erlang_cs([1, 2, 3], [0.4, 1.0, 3.0]) == pytest.approx([0.4, 1 / 3, 1.0])


@pytest.mark.parametrize("values", [(-0.1, 1, 1, 1), (0.5, -1, 1, 1), (0.5, 1, np.nan, 1), ([0.5, 0.5], 1, 1, [1, -2])])
def test_waits__of_values_that_cannot_be_are_refused(values: tuple[float, float, float, float]) -> None:
    with pytest.raises(ModelError, match="negative or NaN"):
        klb_waits_s(*values)


def test_klb__lowers_kingman_by_hand_arithmetic() -> None:
    # ρ = ½, ca² = ¼, cs² = 1: Kingman 1·(5/4)/2 = 0.625; exponent −2·½·(¾)²/(3·½·5/4) = −0.3
    assert klb_wait_s(0.5, 1.0, 0.25, 1.0) == pytest.approx(0.625 * np.exp(-0.3))
    # ca² = 4: Kingman 2.5; exponent −½·3/(4 + 4) = −0.1875
    assert klb_wait_s(0.5, 1.0, 4.0, 1.0) == pytest.approx(2.5 * np.exp(-0.1875))


def test_klb__says_that_nobody_waits_where_nothing_varies() -> None:
    assert klb_wait_s(0.5, 1.0, 0.0, 0.0) == 0


def test_selected__tuples_are_thinned_below_1_and_come_together_above() -> None:
    # kept at random: 0.3·0.25 + 0.7; three at once vary threefold over long spans
    assert selected_ca2([0.25, 0.25], [0.3, 3.0]) == pytest.approx([0.775, 0.75])


def test_wait__grows_without_bound_towards_saturation() -> None:
    assert kingman_wait_s(1 - 1e-9, 1.0, 1, 1) > 1e8


def test_departures__of_a_saturated_station_vary_like_its_services() -> None:
    assert departure_ca2(1.0, 1.0, 0.25) == pytest.approx(0.25)
    assert departure_ca2(0.0, 1.0, 0.25) == pytest.approx(1.0)


def test_round_robin__makes_a_poisson_stream_erlang() -> None:
    # the gap between every 4th arrival of a Poisson stream is Erlang-4: cv² = 1/4
    assert dealt_ca2(1.0, 4) == 0.25


def test_merging__weighs_by_rate() -> None:
    # (3·1 + 1·0) / 4
    assert merged_ca2([Merging(3.0, 1.0), Merging(1.0, 0.0)]) == pytest.approx(0.75)


def test_merging__of_equal_streams_is_nearer_to_poisson_where_the_station_is_idle() -> None:
    # two equal streams at ρ = ½: weight 1/(1 + ¼·(2 − 1)) = 0.8 of 0.2, the rest Poisson
    assert merged_ca2([Merging(1.0, 0.2), Merging(1.0, 0.2)], 0.5) == pytest.approx(0.36)
    assert merged_ca2([Merging(2.0, 0.2, streams=2)], 0.5) == pytest.approx(0.36)
    # one stream is what it is
    assert merged_ca2([Merging(1.0, 0.2)], 0.5) == pytest.approx(0.2)


def test_merging__of_streams_of_batches_stays_one_of_batches() -> None:
    # batches of 3 over short spans, whatever comes over long ones: 0.8·5 + 0.2·3
    assert merged_ca2([Merging(2.0, 5.0, short_ca2=3.0, streams=2)], 0.5) == pytest.approx(4.6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("servers", "shape"),
    [(1, 1), (1, 4), (3, 1), (3, 4)],
)
def test_allen_cunneen__agrees_with_simulated_m_g_c(servers: int, shape: int) -> None:
    """Erlang-`shape` services have cv² = 1/shape; mean wait within 10 % of a simulation of 60,000 customers at ρ =
    0.8.
    """
    rate_per_s, service_s = 0.8 * servers, 1.0
    waits = []
    for seed in range(3):
        ciw.seed(seed)
        network = ciw.create_network(
            arrival_distributions=[ciw.dists.Exponential(rate_per_s)],
            service_distributions=[ciw.dists.Gamma(shape, service_s / shape)],
            number_of_servers=[servers],
        )
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(20_000 / rate_per_s)
        records = simulation.get_all_records()
        waits.append(np.mean([r.waiting_time for r in records if r.arrival_date > 1000 / rate_per_s]))
    assert allen_cunneen_wait_s(0.8, service_s, servers, 1, 1 / shape) == pytest.approx(np.mean(waits), rel=0.12)
