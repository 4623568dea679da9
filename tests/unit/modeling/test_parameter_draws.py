"""What is drawn of parameters that were measured, and how wide."""

import numpy as np
import pytest

from modeling.estimate_intervals import estimate_intervals
from modeling.operator_profile import OperatorProfile
from modeling.parameter_draws import parameter_draws
from modeling.physical_plan import PhysicalPlan
from modeling.topology import Operator, Topology


def test_draws_of_a_measured_service_time__have_the_quantiles_of_students_t() -> None:
    profile = OperatorProfile("o", 0.1, service_s_error=0.001, samples=4)
    factor = parameter_draws({"o": profile}, np.random.default_rng(1), 4000).service_factor["o"]
    # t of 3 degrees of freedom: 95 % below 2.353, of an error of 1 %; the normal has 1.645
    assert np.quantile(factor, 0.95) == pytest.approx(np.exp(0.02353 - 0.00005), abs=2e-4)
    assert np.quantile(factor, 0.05) == pytest.approx(np.exp(-0.02353 - 0.00005), abs=2e-4)


def test_draws_of_two_samples__stay_finite() -> None:
    profile = OperatorProfile("o", 0.1, {"o->p": 1.0}, 0.05, samples=2, selectivity_error={"o->p": 0.3})
    draws = parameter_draws({"o": profile}, np.random.default_rng(1), 20_000)
    assert 1e-3 <= draws.service_factor["o"].min() < draws.service_factor["o"].max() <= 1e3
    assert draws.selectivity_factor["o->p"].min() == 0
    assert np.isfinite(draws.selectivity_factor["o->p"]).all()


@pytest.mark.parametrize(("error_s", "cv"), [(0.0, 0.05), (0.001, 0.05), (0.02, 0.2)])
def test_draws_of_a_lone_sample__are_off_by_5_percent_or_more(error_s: float, cv: float) -> None:
    profile = OperatorProfile("o", 0.1, service_s_error=error_s, samples=1)
    factor = parameter_draws({"o": profile}, np.random.default_rng(1), 4000).service_factor["o"]
    assert factor.std() == pytest.approx(cv, rel=0.02)


@pytest.mark.parametrize("samples", [2, 3, 4, 8])
def test_interval_of_the_mst__covers_what_its_share_says(samples: int) -> None:
    rng, topology, plan = np.random.default_rng(7), Topology("t", (Operator("k"),), ()), PhysicalPlan("t", {"k": 1})
    covered, runs = 0, 400
    for _ in range(runs):
        measured_s = 0.002 * rng.lognormal(0, 0.05, samples)
        error_s = float(measured_s.std(ddof=1)) / np.sqrt(samples)
        profiles = {"k": OperatorProfile("k", float(measured_s.mean()), service_s_error=error_s, samples=samples)}
        low, high = estimate_intervals(topology, profiles, plan, {"k": 100.0}, rng).mst_per_s["k"]
        covered += low <= 500 <= high
    # three standard errors of 400 runs about 0.9: 3 · sqrt(0.9 · 0.1 / 400) = 0.045
    assert covered / runs == pytest.approx(0.9, abs=0.045)
