"""An operator whose two inputs take differently long: what calibration says of its spread, and what plans are told.

j serves tuples of a in 1 ms and tuples of b in 5 ms on average, each exponentially: within a stream cv² is 1. Of both
together it is more, by what the streams differ by (law of total variance).
"""

from dataclasses import replace

import numpy as np
import pytest

from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology

JOIN = Topology("join", tuple(Operator(n) for n in "abj"), (Stream("a", "j"), Stream("b", "j")))
SOURCES = {name: OperatorProfile(name, 0.0) for name in "ab"}
OF_A_S, OF_B_S = 0.001, 0.005
MIXES = [(1000.0, 200.0), (300.0, 900.0), (700.0, 700.0), (1200.0, 100.0), (100.0, 1500.0)]


def samples(cv2: float = 1.0, *, tells_moments: bool = True, slower: float = 1.0) -> list[OperatorSample]:
    """What a perfect measurement of 60 s of each mix says."""
    made = []
    for number, (a, b) in enumerate(MIXES):
        # Of single tuples E[s²] = (1 + cv²) · E[s]², stream by stream.
        square_s2 = (1 + cv2) * (a * OF_A_S**2 + b * OF_B_S**2) / (a + b) * slower**2
        made.append(
            OperatorSample(
                "j",
                0,
                60.0,
                (a * OF_A_S + b * OF_B_S) * slower,
                0.0,
                a + b,
                {},
                60.0 * number,
                records_in_by={"a->j": a, "b->j": b},
                service_second_moment_s2=square_s2 if tells_moments else None,
            )
        )
    return made


DECLARED = OperatorProfile("j", 0.002)


def profile_of(taken: list[OperatorSample], known: OperatorProfile = DECLARED) -> OperatorProfile:
    return calibrated(JOIN, taken, SOURCES | {"j": known}).profiles["j"]


@pytest.mark.parametrize("cv2", [0.0, 0.5, 1.0, 3.0])
def test_service_cv2__is_that_within_a_stream(cv2: float) -> None:
    profile = profile_of(samples(cv2))
    assert profile.stream_service_s == {"a->j": pytest.approx(OF_A_S), "b->j": pytest.approx(OF_B_S)}
    assert profile.service_cv2 == pytest.approx(cv2, abs=1e-9)
    assert profile.service_cv2_interval is not None
    low, high = profile.service_cv2_interval
    assert low <= cv2 + 1e-9
    assert cv2 - 1e-9 <= high


def test_perfectly_calibrated_operator__is_told_its_true_mean_and_p95() -> None:
    # 100/s of each: λ = 200/s, ρ = .1 + .5. E[s] = 3 ms, E[s²] = (2 · 1 + 2 · 25) / 2 = 26 ms².
    # Pollaczek-Khinchine: wait = λ E[s²] / 2 (1 - ρ) = 200 · 26e-6 / .8 = 6.5 ms, so 9.5 ms with the service.
    # The transform of the sojourn is (1 - ρ) S(z) z / (z - λ + λ S(z)) with S(z) = (600 z + 200,000) / (z + 1000)
    # (z + 200), which is (240 z + 80,000) / (z² + 1000 z + 80,000): P(T > t) = .8153 e^(-87.69 t) + .1847 e^(-912.3 t),
    # and .05 at t = ln(.8153 / .05) / 87.69 = 31.83 ms.
    estimate = evaluate(
        JOIN,
        SOURCES | {"j": profile_of(samples())},
        PhysicalPlan("join", dict.fromkeys("abj", 1)),
        {"a": 100.0, "b": 100.0},
        percentiles=True,
    )
    assert estimate.latency is not None
    assert estimate.latency.mean_s == pytest.approx(0.0095, rel=0.01)
    # The model knows two moments of the mixed service time, not that it has two parts.
    assert estimate.latency.p95_s == pytest.approx(0.03183, rel=0.05)


def test_spread_of_means__that_comes_from_the_mix_is_none_of_single_tuples() -> None:
    # Constant within a stream: means of the spans differ by their mix alone, and the bound of cv² is 0.
    taken = samples(0.0, tells_moments=False)
    profile = profile_of(taken, OperatorProfile("j", 0.002, service_cv2=0.7))
    assert profile.service_cv2_interval == (0.0, pytest.approx(0.0, abs=1e-12))
    assert profile.service_cv2 == pytest.approx(0.0, abs=1e-12)


def test_mix__that_samples_do_not_tell_leaves_an_upper_bound() -> None:
    untold = [replace(one, records_in_by={}) for one in samples()]
    known = OperatorProfile("j", 0.003, service_cv2=0.7, stream_service_s={"a->j": OF_A_S, "b->j": OF_B_S})
    made = calibrated(JOIN, untold, SOURCES | {"j": known}).operators["j"]
    a, b = np.array(MIXES).sum(axis=0)
    total = 2 * (a * OF_A_S**2 + b * OF_B_S**2) * (a + b) / (a * OF_A_S + b * OF_B_S) ** 2 - 1
    assert made.profile.service_cv2_interval is not None
    low, high = made.profile.service_cv2_interval
    assert low == 0
    assert high > total
    # What was declared lies below, and stands.
    assert made.profile.service_cv2 == 0.7
    assert "do not report input by stream" in " ".join(made.notes)
    high_known = replace(known, service_cv2=50.0)
    assert profile_of(untold, high_known).service_cv2 == pytest.approx(total)


def test_spread_between_parallelisms__is_none_of_single_tuples() -> None:
    """Instances that take longer the more there are: their second moments are those of different means."""
    alone = Topology("alone", (Operator("a"), Operator("k")), (Stream("a", "k"),))
    rng = np.random.default_rng(5)
    taken = []
    for number in range(24):
        parallelism = (1, 4)[number % 2]
        mean_s = 0.010 * parallelism**0.5 * rng.normal(1, 0.001)
        taken.append(
            OperatorSample(
                "k",
                0,
                60.0,
                1000 * mean_s,
                0.0,
                1000.0,
                {},
                60.0 * number,
                parallelism=parallelism,
                service_second_moment_s2=2 * mean_s**2,
            )
        )
    profile = calibrated(alone, taken, {n: OperatorProfile(n, 0.01) for n in "ak"}).profiles["k"]
    assert profile.efficiency.exponent == pytest.approx(0.5, abs=0.01)
    # Means of 10 and 20 ms differ by a cv² of 1/9: of all samples in one it would be 2 · 250 / 15² - 1 = 1.22.
    assert profile.service_cv2 == pytest.approx(1.0, rel=0.01)


def test_copies_of_a_stream_to_all__count_in_what_an_instance_serves() -> None:
    topology = Topology(
        "copies", tuple(Operator(n) for n in "abj"), (Stream("a", "j", Grouping.FIELDS), Stream("b", "j", Grouping.ALL))
    )
    of_j = OperatorProfile("j", 0.002, service_cv2=0.0, stream_service_s={"a->j": 0.001, "b->j": 0.02})
    plan = PhysicalPlan("copies", {"a": 1, "b": 1, "j": 2})
    one = evaluate(topology, {**SOURCES, "j": of_j}, plan, {"a": 300.0, "b": 20.0})
    # Each of two is given 150 of a and all 20 of b: rho = .15 + .4, and by Pollaczek and Khinchine
    # W = sum of rate x s² / 2 (1 - rho) = (150 x 1e-6 + 20 x 4e-4) / 0.9
    assert one.operators["j"].wait_s == pytest.approx(8.15e-3 / 0.9)
    # A tuple of j is one of 300 of a or of 40 copies of b.
    mean_s = 8.15e-3 / 0.9 + (300 * 0.001 + 40 * 0.02) / 340
    assert one.latency_s == pytest.approx(mean_s)


def test_cores__are_in_proportion_to_the_service_times_of_inputs() -> None:
    topology = Topology(
        "rules",
        (Operator("facts"), Operator("rules"), Operator("join")),
        (Stream("facts", "join"), Stream("rules", "join", Grouping.ALL)),
    )
    profiles = {name: OperatorProfile(name, 0.0) for name in ("facts", "rules")}
    # Measured of four: 600 facts of 2 ms and 4 · 30 rules of 8 ms a second, 3 ms in the mean, half of it computing.
    each_s = {"facts->join": 0.002, "rules->join": 0.008}
    profiles["join"] = OperatorProfile("join", 0.003, stream_service_s=each_s, cpu_s=0.0015)
    # 600 · 1 ms + 8 · 30 · 4 ms by eight; at 1.5 ms of each tuple it were 840 · 1.5 ms.
    for instances, cores in ((4, 1.08), (8, 1.56)):
        plan = PhysicalPlan("rules", {"facts": 1, "rules": 1, "join": instances})
        needs = evaluate(topology, profiles, plan, {"facts": 600.0, "rules": 30.0}).resources
        assert needs.cores["join"].sum() == pytest.approx(cores)


@pytest.mark.parametrize("rate", [71.42857142857143, 100 / 3, 0.1, 123.456])
def test_constant_services_of_streams_alike__do_not_vary_whatever_rounding_says(rate: float) -> None:
    of_j = OperatorProfile("j", 0.001, service_cv2=0.0, stream_service_s={"a->j": 0.001})
    one = evaluate(
        JOIN, {**SOURCES, "j": of_j}, PhysicalPlan("join", dict.fromkeys("abj", 1)), {"a": rate, "b": rate / 7}
    )
    used = rate * 8 / 7 * 0.001
    assert one.operators["j"].wait_s == pytest.approx(used / (1 - used) * 0.001 / 2)
