"""What is drawn of parameters that were measured, and how wide."""

import numpy as np
import pytest

from modeling.evaluate_many import evaluate_many
from modeling.flow.scenarios import Parameters
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.uncertainty.estimate_intervals import estimate_intervals, evaluate_draws
from modeling.uncertainty.parameter_draws import ParameterDraws, parameter_draws


def test_draws_of_a_measured_service_time__have_the_quantiles_of_students_t() -> None:
    profile = OperatorProfile("o", 0.1, service_s_error=0.001, samples=4)
    factor = parameter_draws({"o": profile}, np.random.default_rng(1), 4000).parameters.service_factor["o"]
    # t of 3 degrees of freedom: 95 % below 2.353, of an error of 1 %; the normal has 1.645
    assert np.quantile(factor, 0.95) == pytest.approx(np.exp(0.02353 - 0.00005), abs=2e-4)
    assert np.quantile(factor, 0.05) == pytest.approx(np.exp(-0.02353 - 0.00005), abs=2e-4)


def test_draws_of_two_samples__stay_finite() -> None:
    profile = OperatorProfile("o", 0.1, {"o->p": 1.0}, 0.05, samples=2, selectivity_error={"o->p": 0.3})
    draws = parameter_draws({"o": profile}, np.random.default_rng(1), 20_000).parameters
    assert 1e-3 <= draws.service_factor["o"].min() < draws.service_factor["o"].max() <= 1e3
    assert draws.selectivity_factor["o->p"].min() == 0
    assert np.isfinite(draws.selectivity_factor["o->p"]).all()


@pytest.mark.parametrize(("error_s", "cv"), [(0.0, 0.05), (0.001, 0.05), (0.02, 0.2)])
def test_draws_of_a_lone_sample__are_off_by_5_percent_or_more(error_s: float, cv: float) -> None:
    profile = OperatorProfile("o", 0.1, service_s_error=error_s, samples=1)
    factor = parameter_draws({"o": profile}, np.random.default_rng(1), 4000).parameters.service_factor["o"]
    assert factor.std() == pytest.approx(cv, rel=0.02)


@pytest.mark.slow
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


def test_draws_of_what_streams_bring_about__reach_as_far_as_its_intervals() -> None:
    profile = OperatorProfile(
        "c",
        0.002,
        {"c->d": 1.0},
        samples=3,
        service_s_error=1e-4,
        stream_service_s={"a->c": 0.001, "b->c": 0.003},
        input_selectivity={"c->d": {"a->c": 0.5, "b->c": 2.0}},
        selectivity_error={"c->d": 0.1},
        intervals={"stream_service_s[a->c]": (0.0008, 0.0012), "input_selectivity[c->d][b->c]": (0.0, 2.4)},
    )
    draws = parameter_draws({"c": profile}, np.random.default_rng(1), 8000).parameters
    assert draws.stream_service_factor.keys() == {"a->c"}
    # log-normal: ln(1 ± .2) about, so that ends are off by the square of it
    assert np.quantile(draws.stream_service_factor["a->c"], [0.025, 0.975]) == pytest.approx([0.8, 1.2], abs=0.025)
    assert draws.input_selectivity_factor.keys() == {("c->d", "b->c")}
    assert np.quantile(draws.input_selectivity_factor["c->d", "b->c"], 0.975) == pytest.approx(1.2, abs=1e-3)
    assert draws.selectivity_factor == {}


def test_error_of_a_selectivity__is_relative_to_that_of_all_inputs() -> None:
    by_input = {"c->d": {"a->c": 0.001, "b->c": 1000.0}}
    profile = OperatorProfile("c", 0.1, {"c->d": 1.0}, input_selectivity=by_input, selectivity_error={"c->d": 0.1})
    factor = parameter_draws({"c": profile}, np.random.default_rng(1), 2000).parameters.selectivity_factor["c->d"]
    assert factor.std() == pytest.approx(0.1, rel=0.02)


def test_interval_of_the_mst__is_that_of_the_exponent_where_more_instances_are_asked_for() -> None:
    efficiency = ScaleEfficiency(0.8, measured_at=2, exponent_error=0.1)
    profiles = {"k": OperatorProfile("k", 0.01, efficiency=efficiency)}
    topology = Topology("t", (Operator("k"),), ())
    told = {
        count: estimate_intervals(
            topology, profiles, PhysicalPlan("t", {"k": count}), {"k": 1.0}, np.random.default_rng(3), 4000
        ).mst_per_s["k"]
        for count in (2, 32)
    }
    # 32 instances of 10 ms · 16^(1 − exponent), the exponent .8 ± 1.645 · .1; at 2, where it was measured, no error
    assert told[32] == (
        pytest.approx(3200 / 16 ** (0.2 + 0.1645), rel=0.005),
        pytest.approx(3200 / 16 ** (0.2 - 0.1645), rel=0.005),
    )
    assert told[2] == (pytest.approx(200), pytest.approx(200))


def joined() -> tuple[Topology, dict[str, OperatorProfile], PhysicalPlan]:
    names = ("a", "b", "c", "d")
    streams = (Stream("a", "c"), Stream("b", "c"), Stream("c", "d", Grouping.FORWARD))
    topology = Topology("t", tuple(map(Operator, names)), streams)
    profiles = {name: OperatorProfile(name, 0.001) for name in names}
    return topology, profiles, PhysicalPlan("t", {"a": 1, "b": 1, "c": 3, "d": 3})


def test_each_draw_of_streams_and_scale__says_what_its_profiles_say() -> None:
    topology, profiles, plan = joined()
    profiles["c"] = OperatorProfile(
        "c",
        0.002,
        stream_service_s={"a->c": 0.001, "b->c": 0.003},
        input_selectivity={"c->d": {"a->c": 0.5, "b->c": 2.0}},
        efficiency=ScaleEfficiency(0.9, 1e-4, 2),
    )
    drawn = Parameters(
        service_factor={"c": np.array([5.0, 7.0])},
        stream_service_factor={"a->c": np.array([1.0, 2.0]), "b->c": np.array([1.0, 0.5])},
        input_selectivity_factor={("c->d", "b->c"): np.array([1.0, 1.5])},
        scale_exponent={"c": np.array([0.9, 0.7])},
        coordination_s={"c": np.array([1e-4, 3e-4])},
    )
    draws = ParameterDraws(2, drawn)
    loads = {"a": [10.0, 700.0, 2000.0], "b": [90.0, 100.0, 3000.0]}
    many = evaluate_draws(topology, profiles, [plan], loads, draws)
    # The factor is of all that the operator takes, so that coordination_s is twice, or half, as much; for both streams
    # together that is no profile, so one of them each is compared at a time.
    for source, other, factor, stream_s in (("a", "b", 2.0, 0.001), ("b", "a", 0.5, 0.003)):
        alone = {source: loads[source], other: [0.0, 0.0, 0.0]}
        several = evaluate_draws(topology, profiles, [plan], alone, draws)
        second = OperatorProfile(
            "c",
            stream_s * factor,
            input_selectivity={"c->d": {"a->c": 0.5, "b->c": 3.0}},
            efficiency=ScaleEfficiency(0.7, 3e-4 * factor, 2),
        )
        for at, profile in enumerate((profiles["c"], second)):
            one = evaluate_many(topology, {**profiles, "c": profile}, [plan], alone)
            assert np.allclose(several.utilisation[at], one.utilisation)
            assert np.allclose(several.headroom_factor[at], one.headroom_factor)
            assert np.allclose(several.throughput_per_s[at], one.throughput_per_s)
    first = evaluate_many(topology, profiles, [plan], loads)
    assert np.allclose(many.utilisation[0], first.utilisation)
    assert np.allclose(many.throughput_per_s[0], first.throughput_per_s)
    # busy of c at 100 a second of b and 700 of a, per instance: .7: (3/2)^.3 = 1.129
    each_s = {"a": (0.001 * 1.5**0.3 + 3e-4) * 2, "b": (0.003 * 1.5**0.3 + 3e-4) / 2}
    busy = (700 * each_s["a"] + 100 * each_s["b"]) / 3
    assert many.utilisation[1, 0, 1, many.operators.index("c")] == pytest.approx(busy)
    assert many.utilisation[1, 0, 1, many.operators.index("d")] == pytest.approx((700 * 0.5 + 100 * 3.0) / 3 * 0.001)
