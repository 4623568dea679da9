"""Latency, draws and probabilities of violation of many plans: by hand, and against the slower way."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import gammaincinv

from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.flow.plan_rates import plan_flows
from modeling.flow.scenarios import Parameters
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.latency.delay import Delay
from modeling.latency.distribution import latency_distribution, stations
from modeling.latency.moments import two_moment
from modeling.latency.sink_times import ManyLatencies
from modeling.queueing.exact_wait import exact_wait
from modeling.queueing.ladder_heights import even_heights, poisson_heights
from modeling.rescaling.drain import drained, lags_s
from modeling.uncertainty.estimate_intervals import estimate_intervals, evaluate_draws
from modeling.uncertainty.parameter_draws import ParameterDraws, parameter_draws
from modeling.uncertainty.violation import violations

Profiles = dict[str, OperatorProfile]


def told(many: object) -> ManyLatencies:
    assert isinstance(many, ManyLatencies)
    return many


def chain_of(stations: int) -> tuple[Topology, Profiles, PhysicalPlan]:
    """Single instances of a second a tuple, exponential."""
    names = [f"o{i}" for i in range(stations)]
    topology = Topology("chain", tuple(map(Operator, names)), tuple(map(Stream, names, names[1:])))
    return topology, {n: OperatorProfile(n, 1.0) for n in names}, PhysicalPlan("chain", dict.fromkeys(names, 1))


@pytest.mark.parametrize("stations", [1, 2, 5])
def test_chain_of_m_m_1__takes_an_erlang_distributed_time(stations: int) -> None:
    topology, profiles, plan = chain_of(stations)
    latency = told(evaluate_many(topology, profiles, [plan], {"o0": [0.0, 0.5, 0.8]}).latency)
    # sojourns are independent and exponential of mean 1/(1 − ρ) (Reich 1957), so their sum is Erlang's
    for column, each_s in enumerate((1.0, 2.0, 5.0)):
        assert latency.mean_s[0, column] == pytest.approx(stations * each_s)
        for share, quantile_s in ((0.5, latency.p50_s), (0.95, latency.p95_s), (0.99, latency.p99_s)):
            by_hand = gammaincinv(stations, share) * each_s
            assert quantile_s[0, column] == pytest.approx(by_hand, rel=1e-3)


def test_latency__is_infinite_where_an_operator_is_unstable_and_can_be_left_out() -> None:
    topology, profiles, plan = chain_of(2)
    many = evaluate_many(topology, profiles, [plan], {"o0": [0.999, 1.0, 3.0]})
    assert np.isfinite(told(many.latency).p99_s[0]).tolist() == [True, False, False]
    assert np.isposinf(told(many.latency).mean_s[0, 1:]).all()
    assert evaluate_many(topology, profiles, [plan], {"o0": [0.5]}, latency=False).latency is None


def test_delays_of_streams__add_their_mean_and_their_spread() -> None:
    topology, profiles, plan = chain_of(2)
    by = {"delays": {"o0->o1": Delay(3.0)}}
    without, late = (told(evaluate_many(topology, profiles, [plan], {"o0": [0.5]}, **d).latency) for d in ({}, by))
    for share in (0.5, 0.95, 0.99):
        assert late.quantile_s(share)[0, 0] == pytest.approx(without.quantile_s(share)[0, 0] + 3)
    assert late.mean_s[0, 0] == pytest.approx(without.mean_s[0, 0] + 3)
    spread = told(evaluate_many(topology, profiles, [plan], {"o0": [0.5]}, delays={"o0->o1": Delay(3.0, 9.0)}).latency)
    assert spread.mean_s[0, 0] == pytest.approx(late.mean_s[0, 0])
    assert spread.p95_s[0, 0] > late.p95_s[0, 0]
    with pytest.raises(ModelError, match="delay of o1->o0, which is no stream"):
        evaluate_many(topology, profiles, [plan], {"o0": [0.5]}, delays={"o1->o0": Delay(3.0)})


def test_sinks__keep_their_shape_in_the_percentiles() -> None:
    topology = Topology("split", tuple(map(Operator, "afs")), (Stream("a", "f"), Stream("a", "s")))
    profiles = {
        "a": OperatorProfile("a", 0.0, {"a->f": 0.75, "a->s": 0.25}),
        "f": OperatorProfile("f", 0.1),
        "s": OperatorProfile("s", 2.0),
    }
    plan = PhysicalPlan("split", {"a": 1, "f": 1, "s": 1})
    latency = told(evaluate_many(topology, profiles, [plan], {"a": [1.0]}).latency)
    # f: 0.1/(1 − 0.075); s: 2/(1 − 0.5); a fifth of the slow quarter is beyond: 0.25·exp(−t/4) = 0.05
    assert latency.mean_s[0, 0] == pytest.approx(0.75 * 0.1 / 0.925 + 0.25 * 4)
    assert latency.p95_s[0, 0] == pytest.approx(4 * np.log(5), rel=0.005)


def test_hyper_exponential_sojourns__are_met_by_their_three_moments() -> None:
    # at next to no load there is only the service: balanced means, cv² 4, with p95 by bisection on its survival
    fitted, fast = two_moment(2.0, 4.0).fitted(), (1 + np.sqrt(0.6)) / 2
    for share in (0.5, 0.95, 0.99):
        late = lambda t, share=share: fast * np.exp(-fast * t) + (1 - fast) * np.exp((fast - 1) * t) - 1 + share  # noqa: E731
        assert float(fitted.quantile_s(share)) == pytest.approx(brentq(late, 0.0, 200.0), rel=0.005)


@pytest.mark.parametrize(("ca2", "heights"), [(1.0, poisson_heights), (0.02, None)])
def test_ladder_heights__are_those_that_the_solved_queue_has(ca2: float, heights: object) -> None:
    # E[W²] = E[W](h₂/h₁ + 2 E[W]) for a geometric number of heights, h₁ = E[W](1 − P)/P
    wait = exact_wait(0.5, 1.0, ca2, 4.0)
    at = np.arange(wait.mass.size) * wait.step_s
    first, second = float(wait.mass @ at), float(wait.mass @ at**2)
    waits = 1 - float(wait.mass[0])
    spread = (second / first - 2 * first) / (first * (1 - waits) / waits)
    cs2 = np.array(4.0)
    twice = poisson_heights(cs2)[0] if heights else even_heights(np.array(0.5), cs2)[0]
    assert float(twice) == pytest.approx(spread, rel=0.02)


# Draws


def test_each_draw__says_what_its_profiles_say() -> None:
    topology, profiles, plan = chain_of(3)
    profiles["o1"] = OperatorProfile("o1", 0.5, {"o1->o2": 0.8}, service_cv2=2.0)
    draws = ParameterDraws(
        2,
        Parameters(
            service_factor={"o0": np.array([1.0, 0.5])},
            service_cv2={"o1": np.array([2.0, 3.0])},
            selectivity_factor={"o1->o2": np.array([0.5, 1.25])},
        ),
    )
    loads = {"o0": [0.1, 0.7, 4.0]}
    many = evaluate_draws(topology, profiles, [plan, plan], loads, draws)
    assert many.utilisation.shape == (2, 2, 3, 3)
    drawn: Profiles = {
        **profiles,
        "o0": OperatorProfile("o0", 0.5),
        "o1": OperatorProfile("o1", 0.5, {"o1->o2": 1.0}, service_cv2=3.0),
    }
    alone = evaluate_many(topology, drawn, [plan], loads)
    assert np.allclose(many.utilisation[1, 1], alone.utilisation[0])
    assert np.allclose(many.headroom_factor[1, 0], alone.headroom_factor[0])
    assert np.allclose(many.throughput_per_s[1, 0], alone.throughput_per_s[0])
    assert np.allclose(told(many.latency).p95_s[1, 1], told(alone.latency).p95_s[0])


def test_draws__have_the_means_and_errors_of_the_profiles() -> None:
    profile = OperatorProfile(
        "o", 0.2, {"o->p": 0.5}, 0.02, 2.0, service_cv2_interval=(1.0, 4.0), selectivity_error={"o->p": 0.05}
    )
    draws = parameter_draws({"o": profile, "p": OperatorProfile("p", 0.1)}, np.random.default_rng(1), 2000).parameters
    assert draws.service_factor.keys() == {"o"}
    assert draws.service_factor["o"].mean() == pytest.approx(1, abs=1e-3)
    assert draws.service_factor["o"].std() == pytest.approx(0.1, rel=0.02)
    assert draws.selectivity_factor["o->p"].std() == pytest.approx(0.1, rel=0.02)
    # symmetric in the logarithm: 2.5 % below 1 and above 4
    low, middle, high = np.quantile(draws.service_cv2["o"], [0.025, 0.5, 0.975])
    assert (low, middle, high) == (pytest.approx(1, rel=0.01), pytest.approx(2, rel=0.01), pytest.approx(4, rel=0.01))
    with pytest.raises(ModelError, match="0 draws"):
        parameter_draws({}, np.random.default_rng(1), 0)


def test_a_selectivity_that_may_be_0__is_never_drawn_below() -> None:
    profile = OperatorProfile("o", 0.2, {"o->p": 0.1}, selectivity_error={"o->p": 0.2})
    factor = parameter_draws({"o": profile}, np.random.default_rng(1), 500).parameters.selectivity_factor["o->p"]
    assert factor.min() == 0
    # normal of mean 1 and deviation 2: 31 % below 0
    assert (factor == 0).mean() == pytest.approx(0.3085, abs=0.003)


def test_interval_of_the_mst__is_that_of_the_service_time() -> None:
    topology, profiles, plan = chain_of(1)
    profiles["o0"] = OperatorProfile("o0", 0.01, service_s_error=0.001)
    told_of = estimate_intervals(topology, profiles, plan, {"o0": 50.0}, np.random.default_rng(3), 4000)
    # mst = 1/s with s log-normal of mean 10 ms and cv 0.1: ln s = ln 0.01 − 0.00498 ± 1.645 · 0.09975
    low, high = 100 * np.exp(0.00498 - 1.645 * 0.09975), 100 * np.exp(0.00498 + 1.645 * 0.09975)
    assert told_of.mst_per_s["o0"] == (pytest.approx(low, rel=0.005), pytest.approx(high, rel=0.005))
    assert told_of.utilisation["o0"] == (pytest.approx(50 / high, rel=0.005), pytest.approx(50 / low, rel=0.005))
    assert told_of.stable_share == 1
    # sojourn s/(1 − 50 s), exponential: 3.0 times its mean is the p95
    slowest = (1 / low) / (1 - 50 / low)
    assert told_of.latency_p95_s[1] == pytest.approx(np.log(20) * slowest, rel=0.01)
    near = estimate_intervals(topology, profiles, plan, {"o0": 100.0}, np.random.default_rng(3))
    assert 0.3 < near.stable_share < 0.7
    assert np.isinf(near.latency_p95_s[1])


def test_interval_of_the_p95__contains_that_of_the_estimate() -> None:
    # Three instances served in turn: moments say 4 % more than the distribution of an E3/M/1 queue, whose error of .1 %
    # in the service time, at a utilisation of 2/3, moves the p95 by .3 % times 1.645.
    topology = Topology("t", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    plan, load = PhysicalPlan("t", {"a": 1, "b": 3}), {"a": 20.0}
    profiles = {"a": OperatorProfile("a", 0.0001), "b": OperatorProfile("b", 0.1, service_s_error=0.0001)}
    told = evaluate(topology, profiles, plan, load, percentiles=True).latency
    assert told is not None
    rng = np.random.default_rng(3)
    low, high = estimate_intervals(topology, profiles, plan, load, rng, p95_s=told.p95_s).latency_p95_s
    assert low < told.p95_s < high
    assert high / low == pytest.approx(1 + 2 * 1.645 * 0.003, abs=0.003)


# Violations


def no_draws() -> ParameterDraws:
    return ParameterDraws(1)


def test_lag__is_that_of_the_fluid_queue() -> None:
    rates = [800.0, 1000.0, 1400.0, 1200.0, 100.0, 900.0]
    for down_s in (0.0, 45.0, 700.0):
        exact = drained(rates, 300.0, 1100.0, down_s)
        mine = lags_s(np.array(rates) / 1100, 300.0, down_s)
        assert mine.max() == pytest.approx(float(exact.peak_lag_s))
    topology, _, plan = chain_of(1)
    profiles = {"o0": OperatorProfile("o0", 1 / 1100)}
    for bound_s in (20.0, 60.0, 100.0):
        exact = drained(rates, 300.0, 1100.0, 45.0)
        found = violations(
            topology, profiles, [plan], {"o0": [rates]}, 300.0, no_draws(), Targets(max_lag_s=bound_s), downtime_s=45.0
        )
        assert found.seconds["lag"][0] == pytest.approx(float(exact.violation_s(bound_s)), abs=1e-6)


def test_probability__counts_the_paths_that_are_over() -> None:
    topology, _, plan = chain_of(1)
    profiles = {"o0": OperatorProfile("o0", 0.01)}
    # of four paths one is over 100 a second in one of two steps, another in both
    paths = [[10.0, 20.0], [150.0, 20.0], [99.0, 50.0], [101.0, 300.0]]
    unknown = PhysicalPlan("chain", {"o9": 1})
    found = violations(topology, profiles, [plan, unknown], {"o0": paths}, 60.0, no_draws(), Targets())
    assert found.probability["throughput"][0] == 0.5
    assert found.seconds["throughput"][0] == pytest.approx(60 * 3 / 4)
    assert found.error["throughput"][0] == pytest.approx(0.25)  # sqrt(0.5 · 0.5 / 4)
    assert np.isnan(found.probability["throughput"][1])
    assert found.samples == 4


@pytest.mark.parametrize(
    ("paths", "named"),
    [
        ({"o0": [1.0, 2.0]}, "paths x steps"),
        ({"o1": [[1.0]]}, "paths of o1; give them of o0"),
        ({"o0": [[1.0, -1.0]]}, "is -1"),
    ],
)
def test_paths_that_are_no_rates__are_refused(paths: dict[str, list[float]], named: str) -> None:
    topology, profiles, plan = chain_of(1)
    with pytest.raises(ModelError, match=named):
        violations(topology, profiles, [plan], paths, 60.0, no_draws(), Targets())


def test_a_target_that_cannot_be__is_refused() -> None:
    with pytest.raises(ModelError, match="target max_lag_s 0"):
        Targets(max_lag_s=0.0)


def test_a_custom_grouping__excuses_plans_of_another_parallelism() -> None:
    stream = Stream("a", "b", Grouping.CUSTOM, shares=(0.25, 0.75))
    topology = Topology("given", (Operator("a"), Operator("b")), (stream,))
    profiles = {n: OperatorProfile(n, 0.01) for n in "ab"}
    plans = [PhysicalPlan("given", {"a": 1, "b": count}) for count in (2, 3)]
    many = evaluate_many(topology, profiles, plans, {"a": [40.0]})
    assert many.utilisation[0, 0].tolist() == pytest.approx([0.4, 0.3])
    assert many.excuses[1].change == {"b": 2}


def test_a_delay_before_a_source__makes_all_tuples_older(
    chain: Topology, chain_profiles: dict[str, OperatorProfile]
) -> None:
    plans, loads = [PhysicalPlan("chain", {"a": 1, "b": 2, "c": 3})], {"a": [50.0]}
    at_once = evaluate_many(chain, chain_profiles, plans, loads).latency
    polled = evaluate_many(chain, chain_profiles, plans, loads, delays={"a": Delay(1.0, 1 / 3)}).latency
    assert at_once is not None
    assert polled is not None
    assert polled.mean_s == pytest.approx(at_once.mean_s + 1.0)


# As evaluate and path_latency have it


def packed(topology: Topology, counts: dict[str, int], nodes: list[str]) -> PhysicalPlan:
    """Instances routed to one container a node, round robin over all."""
    every = [Instance(name, index) for name in topology.order for index in range(counts[name])]
    return PhysicalPlan(
        topology.name,
        counts,
        tuple(Container(at, tuple(every[at :: len(nodes)]), node) for at, node in enumerate(nodes)),
    )


@pytest.mark.slow
def test_packed_plans__deal_to_their_own_workers_and_wait_on_slower_nodes() -> None:
    streams = (Stream("a", "b", Grouping.LOCAL_OR_SHUFFLE), Stream("b", "c", Grouping.FIELDS))
    topology = Topology("packed", tuple(map(Operator, "abc")), streams, Engine.STORM)
    profiles = {"a": OperatorProfile("a", 0.001), "b": OperatorProfile("b", 0.004), "c": OperatorProfile("c", 0.003)}
    site = Site(service_factor={"slow": 2.0})
    plans = [
        packed(topology, {"a": 2, "b": 3, "c": 4}, ["quick", "slow"]),
        packed(topology, {"a": 2, "b": 3, "c": 4}, ["quick", "slow", "other"]),
        PhysicalPlan("packed", {"a": 2, "b": 3, "c": 4}),
    ]
    many = evaluate_many(topology, profiles, plans, {"a": [100.0, 300.0]}, site=site)
    for row, plan in enumerate(plans):
        for column, load in enumerate((100.0, 300.0)):
            one = evaluate(topology, profiles, plan, {"a": load}, site=site)
            used = [one.operators[name].utilisation for name in topology.order]
            assert many.utilisation[row, column].tolist() == pytest.approx(used)
        flows = plan_flows(topology, profiles, plan, {"a": 100.0}, site)
        slower = latency_distribution(topology, stations(topology, flows)).of_tuples
        assert told(many.latency).mean_s[row, 0] == pytest.approx(slower.mean_s, rel=0.03)
        assert told(many.latency).p95_s[row, 0] == pytest.approx(slower.quantile_s(0.95), rel=0.1)


def test_streams_of_different_service_times__spread_the_service() -> None:
    topology = Topology("join", tuple(map(Operator, "abj")), (Stream("a", "j"), Stream("b", "j", Grouping.ALL)))
    profiles = {
        "a": OperatorProfile("a", 0.001),
        "b": OperatorProfile("b", 0.001),
        "j": OperatorProfile("j", 0.01, stream_service_s={"a->j": 0.001, "b->j": 0.02}),
    }
    plan = PhysicalPlan("join", {"a": 1, "b": 1, "j": 2})
    load = {"a": 300.0, "b": 20.0}
    latency = told(evaluate_many(topology, profiles, [plan], {name: [rate] for name, rate in load.items()}).latency)
    flows = plan_flows(topology, profiles, plan, load)
    slower = latency_distribution(topology, stations(topology, flows)).of_tuples
    assert latency.mean_s[0, 0] == pytest.approx(slower.mean_s, rel=0.03)
    assert latency.p95_s[0, 0] == pytest.approx(slower.quantile_s(0.95), rel=0.1)
