"""How variability passes through stations in line, against theorems and simulation."""

import numpy as np
import pytest

from modeling.queueing import departures
from modeling.queueing.departures import Carried
from modeling.queueing.queues import klb_waits_s
from tests.unit.modeling.lindley import departures_s


def memory_s(rho: float, cs2: float) -> float:
    """At an arrival a second."""
    return float(departures.memory_s(rho * rho / (1 - rho), cs2))


def line_waits_s(utilisations: list[float], cs2: float, ca2: float = 1.0) -> list[float]:
    """Mean waits of stations in line, an arrival a second."""
    carried, found = Carried.arriving(ca2), []
    for rho in utilisations:
        memory = memory_s(rho, cs2)
        found.append(float(klb_waits_s(rho, rho, carried.ca2_in_line(rho, memory, cs2), cs2)))
        carried = carried.past(memory, cs2)
    return found


def test_constant_services__wait_at_the_first_of_equal_stations_only() -> None:
    # Friedman 1965; M/D/1 at 0.85: ρ²/(2 (1 − ρ))
    assert line_waits_s([0.85, 0.85, 0.85], 0.0) == pytest.approx([0.85**2 / 0.3, 0.0, 0.0], abs=1e-9)


def test_constant_services__wait_as_long_in_all_as_at_the_longest_alone() -> None:
    # Friedman 1965: what the shorter ones before take is saved at the longest
    assert sum(line_waits_s([0.5, 0.85, 0.7], 0.0)) == pytest.approx(0.85**2 / 0.3, rel=0.01)


def test_poisson_departures__of_exponential_services_stay_poisson() -> None:
    # Burke 1956: each waits as M/M/1 does
    assert line_waits_s([0.5, 0.85, 0.7], 1.0) == pytest.approx([0.5, 0.85**2 / 0.15, 0.49 / 0.3])


def test_a_station_near_saturation__feels_what_came_from_outside_and_one_of_short_memory_the_services() -> None:
    carried = Carried.arriving(4.0).past(memory_s(0.8, 0.1), 0.1)
    assert float(carried.ca2(0.9999, memory_s(0.9999, 0.1))) == pytest.approx(4.0, rel=0.01)
    assert float(carried.ca2(0.3, memory_s(0.3, 0.1))) == pytest.approx(0.1, abs=0.1)


def test_thinning_and_merging__are_those_of_long_spans() -> None:
    carried = Carried.arriving(4.0).past(1.0, 0.5).scaled(0.25, 0.75)
    assert (float(carried.long_ca2), float(carried.even_ca2)) == pytest.approx((0.25 * 4 + 0.75, 0.25 * 0.5 + 0.75))
    assert float(carried.together(Carried.arriving(1.0), 0.5).long_ca2) == pytest.approx((1.75 + 1) / 2)


@pytest.mark.parametrize(
    ("utilisations", "cs2"), [([0.85] * 5, 0.1), ([0.85] * 5, 0.25), ([0.5] * 4, 0.1), ([0.6, 0.85, 0.7, 0.85], 0.5)]
)
@pytest.mark.slow
def test_latency_of_a_line__is_within_a_twentieth_of_a_simulation(utilisations: list[float], cs2: float) -> None:
    rng, count, runs = np.random.default_rng(6), 200_000, []
    for _ in range(4):
        came = left = np.cumsum(rng.standard_exponential(count))
        for rho in utilisations:
            left = departures_s(left, rho * rng.gamma(1 / cs2, cs2, count))
        runs.append(float((left - came)[count // 10 :].mean()))
    assert sum(line_waits_s(utilisations, cs2)) + sum(utilisations) == pytest.approx(np.mean(runs), rel=0.05)
