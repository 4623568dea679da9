"""What queues hold for every utilisation and variability."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modeling.flow.plan_rates import plan_flows
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.latency.delay import Delay
from modeling.latency.distribution import latency_distribution, stations
from modeling.queueing.exact_wait import exact_wait
from modeling.queueing.queues import delay_probability, kingman_waits_s, klb_waits_s
from modeling.queueing.two_moments import mean_excess_s

utilisations = st.floats(0.01, 0.98)
variations = st.floats(0.0, 8.0)


@given(utilisations, utilisations, variations, variations)
def test_wait__grows_with_utilisation(one: float, other: float, ca2: float, cs2: float) -> None:
    low, high = klb_waits_s(sorted([one, other]), 1.0, ca2, cs2)
    assert 0 <= low <= high * (1 + 1e-9)


@given(utilisations, variations, variations, variations)
def test_wait__grows_with_the_variation_of_arrivals_and_of_services(
    rho: float, one: float, other: float, fixed: float
) -> None:
    low, high = klb_waits_s(rho, 1.0, fixed, sorted([one, other]))
    assert low <= high * (1 + 1e-9)
    # Where services hardly vary, Kraemer and Langenbach-Belz' correction for bursts outgrows them; not above 1/4.
    low, high = klb_waits_s(rho, 1.0, sorted([one, other]), max(fixed, 0.25))
    assert low <= high * (1 + 1e-9)


@given(variations, variations)
def test_wait__has_no_bound_towards_saturation(ca2: float, cs2: float) -> None:
    nearly = 1 - 1e-9
    if ca2 + cs2 > 1e-3:
        assert klb_waits_s(nearly, 1.0, ca2, cs2) == pytest.approx(kingman_waits_s(nearly, 1.0, ca2, cs2), rel=1e-4)
        assert klb_waits_s(nearly, 1.0, ca2, cs2) > 1e5
    assert np.isposinf(klb_waits_s([1.0, 3.0], 1.0, ca2, cs2)).all()


@given(st.floats(0, 3), variations, variations)
def test_share_that_waits__is_a_probability(rho: float, ca2: float, cs2: float) -> None:
    assert 0 <= delay_probability(rho, ca2, cs2) <= 1


@settings(max_examples=20, deadline=None)
@given(st.floats(0.3, 0.95), variations, variations)
def test_lattice__is_a_distribution_whose_mean_keeps_to_the_bounds_of_every_queue(
    rho: float, ca2: float, cs2: float
) -> None:
    wait = exact_wait(rho, 1.0, ca2, cs2)
    assert wait.mass.sum() == pytest.approx(1)
    assert wait.quantile_s(0.5) <= wait.quantile_s(0.95) <= wait.quantile_s(0.99)
    # Kingman 1962: λ (σa² + σs²) / (2 (1 − ρ)) with λ = ρ; both variances grow by a quarter of a step squared.
    assert wait.mean_s <= rho * (ca2 / rho**2 + cs2 + wait.step_s**2 / 2) / (2 * (1 - rho))
    # Who comes to an idle server waits S − A where that is positive: by Jensen at least E[max(S − E[A], 0)].
    assert wait.mean_s >= mean_excess_s(1 / rho, 1.0, cs2) * (1 - 1e-9)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.05, 0.9), st.floats(0.1, 4.0)), min_size=2, max_size=5),
    st.one_of(st.just(0.0), st.floats(1e-3, 5)),
)
def test_mean_of_a_way__is_the_sum_of_its_means(parts: list[tuple[float, float]], delay_s: float) -> None:
    names = [f"o{i}" for i in range(len(parts))]
    streams = tuple(Stream(a, b) for a, b in pairwise(names))
    topology = Topology("way", tuple(Operator(name) for name in names), streams)
    profiles = {
        name: OperatorProfile(name, service_s, service_cv2=cv2)
        for name, (service_s, cv2) in zip(names, parts, strict=True)
    }
    plan = PhysicalPlan("way", dict.fromkeys(names, 1))
    operators = stations(topology, plan_flows(topology, profiles, plan, {"o0": 1.0}))
    told = latency_distribution(topology, operators, {streams[0].name: Delay(delay_s, delay_s**2)})
    parts_s = sum(operators[name].waits()[0].waits[0].mean_s + operators[name].service_s[0] for name in names) + delay_s
    assert told.of_tuples.mean_s == pytest.approx(parts_s, rel=2e-3)
