"""Calibration: what samples tell of each parameter, which of them count, and how sure it is."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from modeling.calibration import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.scale_efficiency import LINEAR, ScaleEfficiency
from modeling.inputs.topology import Operator, Stream, Topology

JOIN = Topology("join", tuple(Operator(n) for n in "abjk"), (Stream("a", "j"), Stream("b", "j"), Stream("j", "k")))
DECLARED = {name: OperatorProfile(name, 0.5, {"j->k": 7.0} if name == "j" else {}) for name in "abjk"}


def sample(busy_s: float, records_in: float, index: int = 0, **told: object) -> OperatorSample:
    """60 s of an instance of k."""
    plain = OperatorSample("k", index, 60.0, busy_s, 0.0, records_in, {})
    return replace(plain, **told)  # type: ignore[arg-type]


def joined(of_a: float, of_b: float, busy_s: float, out: float, **told: object) -> OperatorSample:
    """60 s of an instance of j."""
    by = {"a->j": of_a, "b->j": of_b}
    plain = OperatorSample("j", 0, 60.0, busy_s, 0.0, of_a + of_b, {"j->k": out}, records_in_by=by)
    return replace(plain, **told)  # type: ignore[arg-type]


def profile_of(*samples: OperatorSample, known: Mapping[str, OperatorProfile] = DECLARED) -> OperatorProfile:
    return calibrated(JOIN, samples, known).operators[samples[0].operator].profile


def test_interval__is_student_s_over_instances_and_spans() -> None:
    profile = profile_of(sample(9, 1000), sample(10, 1000, 1), sample(11, 1000))
    # mean 10 ms, standard deviation of the three 1 ms: error 1/√3 ms, t(0.975, 2) = 4.303
    assert profile.service_s_error == pytest.approx(0.001 / 3**0.5)
    low, high = profile.intervals["service_s"]
    assert (low, high) == (
        pytest.approx(0.010 - 4.303 * 0.001 / 3**0.5, rel=1e-3),
        pytest.approx(0.010 + 4.303 * 0.001 / 3**0.5, rel=1e-3),
    )


def test_one_sample__is_as_sure_as_its_tuples_and_its_machine_make_it() -> None:
    # declared cv² 1: 100 ms / √100
    assert profile_of(sample(10, 100)).service_s_error == pytest.approx(0.010)
    # 1 ms / √10,000 is 1 %, but from minute to minute machines are only steady to some 5 %.
    profile = profile_of(sample(10, 10_000))
    assert profile.service_s_error == pytest.approx(5e-5)
    assert profile.intervals["service_s"] == (
        pytest.approx(0.001 - 1.96 * 5e-5, rel=1e-4),
        pytest.approx(0.001098, rel=1e-4),
    )


def test_warm_up__is_dropped_and_counted() -> None:
    young = sample(50, 1000, age_s=5.0, began_s=0.0)
    warm = sample(10, 1000, age_s=65.0, began_s=60.0)
    made = calibrated(JOIN, [young, warm], DECLARED).operators["k"]
    assert made.profile.service_s == pytest.approx(0.010)
    assert made.used == 1
    assert [one.why for one in made.dropped] == ["started 5 s before, less than 20 s"]


def test_busy_without_a_tuple__is_a_start_unless_the_instance_worked_before() -> None:
    restoring = sample(60, 0, began_s=0.0)
    assert calibrated(JOIN, [restoring, sample(10, 1000, began_s=60.0)], DECLARED).operators["k"].used == 1
    slow = [replace(restoring, age_s=300.0), sample(10, 1000, began_s=60.0, age_s=360.0)]
    assert calibrated(JOIN, slow, DECLARED).operators["k"].used == 1
    old = [replace(restoring, age_s=3600.0), sample(10, 1000, began_s=60.0, age_s=3660.0)]
    assert calibrated(JOIN, old, DECLARED).operators["k"].used == 2
    # The other way round it is work that lasts longer than a span: (10 + 60) s / 1000.
    long_work = calibrated(JOIN, [sample(10, 1000, began_s=0.0), sample(60, 0, began_s=60.0)], DECLARED)
    assert long_work.operators["k"].profile.service_s == pytest.approx(0.070)


def test_backpressure__censors_the_throughput_and_keeps_the_service_time() -> None:
    source = [
        OperatorSample("a", 0, 60, 6, backpressured_s=54, records_in=600, records_out={"a->j": 600}, began_s=0.0),
        OperatorSample("a", 0, 60, 12, backpressured_s=0, records_in=1200, records_out={"a->j": 1200}, began_s=60.0),
    ]
    made = calibrated(JOIN, source, DECLARED)
    assert made.operators["a"].profile.service_s == pytest.approx(0.010)
    assert [(one.began_s, one.why) for one in made.operators["a"].censored] == [
        (0.0, "backpressured for 90% of its span")
    ]
    # Only the free span tells what was offered: 1200 / 60 s.
    assert made.offered["a"].rate_per_s == pytest.approx(20)
    assert not made.offered["a"].censored
    held = calibrated(JOIN, source[:1], DECLARED).offered["a"]
    assert (held.rate_per_s, held.censored, held.spans) == (10, True, (0, 1))


def test_saturated_instance__is_censored_too() -> None:
    made = calibrated(JOIN, [sample(58.5, 1000)], DECLARED).operators["k"]
    assert [one.why for one in made.censored] == ["busy for 98% of its span"]


def test_offered_load__adds_up_instances_of_a_span() -> None:
    samples = [
        OperatorSample("a", index, 60, 6, 0, 600, {"a->j": 600}, began_s=began_s)
        for began_s in (0.0, 60.0)
        for index in (0, 1)
    ]
    # 2 instances at 10/s, in both spans
    assert calibrated(JOIN, samples, DECLARED).offered["a"].rate_per_s == pytest.approx(20)
    untimed = [replace(one, began_s=None) for one in samples]
    assert calibrated(JOIN, untimed, DECLARED).offered["a"].rate_per_s == pytest.approx(20)


def arrivals(index: int, began_s: float, count: float, **told: object) -> OperatorSample:
    """60 s of an instance of a, a source."""
    plain = OperatorSample("a", index, 60, 6, 0, count, {"a->j": count}, began_s=began_s, age_s=600.0)
    return replace(plain, **told)  # type: ignore[arg-type]


def test_offered_load__takes_instances_that_are_not_read_in_the_same_moment_together() -> None:
    samples = [arrivals(index, began_s + 0.7 * index, 600) for began_s in (0.0, 60.0) for index in (0, 1, 2)]
    made = calibrated(JOIN, samples, DECLARED)
    # 3 instances at 10/s, in both spans
    assert made.offered["a"].rate_per_s == pytest.approx(30)
    assert (made.offered["a"].censored, made.offered["a"].spans) == (False, (2, 2))


def test_offered_load__of_spans_that_lack_instances_is_scaled_up_and_said() -> None:
    # One of three is missing in the second span, which does not count beside the whole one.
    whole = [arrivals(index, 0.0, 600) for index in (0, 1, 2)]
    part = [arrivals(index, 60.0, 900) for index in (0, 1)]
    made = calibrated(JOIN, [*whole, *part], DECLARED)
    assert made.offered["a"].rate_per_s == pytest.approx(30)
    assert (made.offered["a"].censored, made.offered["a"].spans) == (False, (2, 2))
    assert made.operators["a"].notes == ()
    # Alone: 2 of 3 at 15/s, told by the parallelism, or by a sample that was dropped
    for lacking in (
        [replace(one, parallelism=3) for one in part],
        [*part, arrivals(2, 60.0, 900, age_s=5.0)],
    ):
        made = calibrated(JOIN, lacking, DECLARED)
        assert made.offered["a"].rate_per_s == pytest.approx(45)
        assert "at best by 2 of 3" in made.operators["a"].notes[-1]


MIXES = [(1000.0, 200.0), (300.0, 900.0), (700.0, 700.0), (1200.0, 100.0), (100.0, 1500.0)]


def test_inputs__that_differ_are_told_apart_by_their_mix() -> None:
    # a tuple of a takes 1 ms and makes 1, one of b takes 5 ms and makes 3
    profile = profile_of(*(joined(a, b, 0.001 * a + 0.005 * b, a + 3 * b) for a, b in MIXES))
    assert profile.stream_service_s == {"a->j": pytest.approx(0.001), "b->j": pytest.approx(0.005)}
    assert profile.input_selectivity == {"j->k": {"a->j": pytest.approx(1), "b->j": pytest.approx(3)}}
    # Of all together: a 3300, b 3400. 3.3 s + 17 s, and 3300 + 10,200, over 6700
    assert profile.service_s == pytest.approx(20.3 / 6700)
    assert profile.selectivity["j->k"] == pytest.approx(13_500 / 6700)
    assert "stream_service_s[b->j]" in profile.intervals
    assert "input_selectivity[j->k][a->j]" in profile.intervals


def test_inputs__that_do_not_differ_have_one_ratio() -> None:
    rng = np.random.default_rng(1)
    samples = [joined(a, b, 0.002 * (a + b) * rng.normal(1, 0.05), 2 * (a + b) * rng.normal(1, 0.05)) for a, b in MIXES]
    known = {**DECLARED, "j": replace(DECLARED["j"], stream_service_s={"a->j": 0.3}, intervals={"x": (0.0, 1.0)})}
    made = calibrated(JOIN, samples, known).operators["j"]
    assert (made.profile.stream_service_s, made.profile.input_selectivity, made.notes) == ({}, {}, ())
    assert "x" not in made.profile.intervals


def test_inputs__that_go_up_and_down_together_are_pooled_with_a_note() -> None:
    made = calibrated(JOIN, [joined(n, 2 * n, 0.01 * n, n) for n in (100, 200, 300, 400, 500)], DECLARED).operators["j"]
    assert made.profile.stream_service_s == {}
    assert made.profile.service_s == pytest.approx(0.01 / 3)
    assert "go up and down together" in made.notes[0]


def test_inputs__that_were_known_to_differ_do_so_until_data_show_otherwise() -> None:
    before = replace(
        DECLARED["j"],
        stream_service_s={"a->j": 0.001, "b->j": 0.005},
        input_selectivity={"j->k": {"a->j": 1.0, "b->j": 3.0}},
    )
    known = {**DECLARED, "j": before}
    # Collinear: a and twice as many of b, all of it half as much again as it was.
    together = [joined(n, 2 * n, 1.5 * (0.001 * n + 0.005 * 2 * n), 1.5 * (n + 6 * n)) for n in (100, 200, 300, 400)]
    profile = profile_of(*together, known=known)
    assert profile.stream_service_s == {"a->j": pytest.approx(0.0015), "b->j": pytest.approx(0.0075)}
    assert profile.input_selectivity == {"j->k": {"a->j": pytest.approx(1.5), "b->j": pytest.approx(4.5)}}
    # Told apart, and the other way round: 5 ms and 1 ms, 3 and 1.
    swapped = profile_of(*(joined(a, b, 0.005 * a + 0.001 * b, 3 * a + b) for a, b in MIXES), known=known)
    assert swapped.stream_service_s == {"a->j": pytest.approx(0.005), "b->j": pytest.approx(0.001)}
    assert swapped.input_selectivity == {"j->k": {"a->j": pytest.approx(3), "b->j": pytest.approx(1)}}


def test_sample_that_does_not_tell_a_stream__is_no_sample_of_nothing() -> None:
    told = [joined(n, 0, 1, 3 * n) for n in (100.0, 200.0)]
    untold = joined(1000.0, 0, 1, 0, records_out={})
    # 900 out of the 300 that were told with them, not of 1300
    assert profile_of(*told, untold).selectivity["j->k"] == pytest.approx(3)
    # What is told to be nothing is nothing: 900 of 1300
    assert profile_of(*told, joined(1000.0, 0, 1, 0)).selectivity["j->k"] == pytest.approx(900 / 1300)
    assert profile_of(untold).selectivity["j->k"] == 7.0
    by_mix = [joined(a, b, 1, a + 3 * b) for a, b in MIXES]
    found = profile_of(*by_mix, joined(500.0, 500.0, 1, 0, records_out={})).input_selectivity["j->k"]
    assert found == {"a->j": pytest.approx(1), "b->j": pytest.approx(3)}


DIFFERED = {
    **DECLARED,
    "j": replace(
        DECLARED["j"],
        service_s=0.003,
        selectivity={"j->k": 2.0},
        stream_service_s={"a->j": 0.001, "b->j": 0.005},
        input_selectivity={"j->k": {"a->j": 1.0, "b->j": 3.0}},
        intervals={"stream_service_s[b->j]": (0.004, 0.006)},
    ),
}


def test_input_that_comes_alone__is_measured_by_itself_where_inputs_were_known_to_differ() -> None:
    # 8 s and 12 s over 1000 tuples of b each: 10 ms, no longer 5. a stays as it was.
    profile = profile_of(joined(0, 1000, 8, 4000), joined(0, 1000, 12, 4000), known=DIFFERED)
    assert profile.stream_service_s == {"a->j": 0.001, "b->j": pytest.approx(0.010)}
    assert profile.input_selectivity == {"j->k": {"a->j": 1.0, "b->j": pytest.approx(4)}}
    low, high = profile.intervals["stream_service_s[b->j]"]
    assert low < 0.010 < high
    # Where nothing was known, the ratio of all is that of the one.
    assert profile_of(joined(0, 1000, 8, 4000), joined(0, 1000, 12, 4000)).stream_service_s == {}


def test_one_sample_of_two_inputs__scales_what_was_known() -> None:
    # 0.1 s + 0.5 s as it was, now 1.2 s; 100 + 300 tuples out, now 800
    profile = profile_of(joined(100, 100, 1.2, 800), known=DIFFERED)
    assert profile.stream_service_s == {"a->j": pytest.approx(0.002), "b->j": pytest.approx(0.010)}
    assert profile.input_selectivity == {"j->k": {"a->j": pytest.approx(2), "b->j": pytest.approx(6)}}
    low, high = profile.intervals["stream_service_s[b->j]"]
    assert low < 0.010 < high


def test_samples_that_do_not_tell_inputs__scale_what_was_known_by_the_ratio_of_all() -> None:
    # 6 ms a tuple where it was 3, and 1 tuple out where it was 2
    untold = [joined(n, n, 0.012 * n, 2 * n, records_in_by={}) for n in (100.0, 200.0, 300.0)]
    profile = profile_of(*untold, known=DIFFERED)
    assert profile.stream_service_s == {"a->j": pytest.approx(0.002), "b->j": pytest.approx(0.010)}
    assert profile.input_selectivity == {"j->k": {"a->j": pytest.approx(0.5), "b->j": pytest.approx(1.5)}}
    # Declared as 0.5 s, which inputs of 1 and 5 ms cannot have together: they have 5 ms at most, now 6.
    odd = {**DIFFERED, "j": replace(DIFFERED["j"], service_s=0.5)}
    assert profile_of(*untold, known=odd).stream_service_s["b->j"] == pytest.approx(0.006)


def test_busy_seconds_by_input__are_taken_as_told() -> None:
    told = [
        joined(n, 2 * n, 0.011 * n, n, busy_s_by={"a->j": 0.001 * n, "b->j": 0.010 * n}) for n in (100.0, 200.0, 300.0)
    ]
    # 1 ms a tuple of a; 10 ms over 2 tuples of b
    assert profile_of(*told).stream_service_s == {"a->j": pytest.approx(0.001), "b->j": pytest.approx(0.005)}


def test_silent_input__keeps_the_ratio_that_was_known() -> None:
    three = Topology("three", tuple(Operator(n) for n in "abcjk"), (*JOIN.streams, Stream("c", "j")))
    known = {**DECLARED, "c": OperatorProfile("c", 0.1)}
    known["j"] = replace(known["j"], input_selectivity={"j->k": {"c->j": 9.0}})
    samples = [joined(a, b, 0.001 * a + 0.005 * b, a + 3 * b) for a, b in MIXES]
    found = calibrated(three, samples, known).operators["j"].profile.input_selectivity["j->k"]
    assert found == {"a->j": pytest.approx(1), "b->j": pytest.approx(3), "c->j": 9.0}


def test_second_moments__tell_the_spread_of_single_tuples() -> None:
    # Exponential services of 10 ms: E[s²] = 2 · (10 ms)²
    profile = profile_of(*(sample(10, 1000, service_second_moment_s2=2e-4) for _ in range(3)))
    assert profile.service_cv2 == pytest.approx(1.0)
    assert profile.service_cv2_interval is not None
    low, high = profile.service_cv2_interval
    # χ² of 2999 / (1 + 1) degrees of freedom: about ± 1.96 · √(2 / 1499.5)
    assert (low, high) == (pytest.approx(0.932, abs=0.003), pytest.approx(1.075, abs=0.003))


def test_second_moment_of_one_sample__is_as_sure_as_of_log_normal_times() -> None:
    profile = profile_of(sample(10, 1000, service_second_moment_s2=2e-4))
    assert profile.service_cv2_interval is not None
    # cv² 1: a relative variance of 2² · (2 + 4 + 1) / 1000, as of χ² with 2000 / 28 = 71.4 degrees of freedom, of which
    # 95 % lie between about 71.4 · (1 - 2/643 ± 1.96 · √(2/643))³ = 49.9 and 96.7
    low, high = profile.service_cv2_interval
    assert (low, high) == (pytest.approx(71.4 / 96.7, abs=0.01), pytest.approx(71.4 / 49.9, abs=0.01))


@pytest.mark.parametrize("spans", [1, 2, 3, 4])
@pytest.mark.slow
def test_cv2_of_heavy_tails__is_held_by_intervals_of_few_samples(spans: int) -> None:
    # Log-normal of cv² 4: spread √ln 5 of the logarithm
    rng = np.random.default_rng(13)
    held = 0
    for _ in range(200):
        services = 0.010 * rng.lognormal(0, np.log(5) ** 0.5, (spans, 1000))
        made = [
            sample(float(row.sum()), 1000, began_s=60.0 * n, service_second_moment_s2=float((row**2).mean()))
            for n, row in enumerate(services)
        ]
        low, high = profile_of(*made).intervals["service_cv2"]
        held += low <= 4 <= high
    # Less than 95 %: few samples hold the largest values in full, and what they say goes up with its own error.
    assert held / 200 >= 0.8


def test_second_moment_that_cannot_be__is_named_and_not_used() -> None:
    made = calibrated(JOIN, [sample(10, 1000, service_second_moment_s2=1e-6)], DECLARED).operators["k"]
    assert made.profile.service_cv2 == 1.0
    assert made.profile.service_cv2_interval is None
    assert "check the units of both" in made.notes[0]


def test_spread_of_means__bounds_the_spread_of_single_tuples() -> None:
    # Means of 9.9 and 10.1 ms over 1000 tuples: variance of the means 0.02 ms², times 1000, over 100 ms²: 0.2
    profile = profile_of(sample(9.9, 1000, began_s=0.0), sample(10.1, 1000, began_s=60.0))
    # 1 degree of freedom: up to 0.2 / χ²(0.025, 1) = 0.2 / 0.000982; what was declared is below and stands
    assert profile.service_cv2 == 1.0
    assert profile.service_cv2_interval == (0.0, pytest.approx(0.2 / 0.000982, rel=1e-2))
    many = [sample(9.9 + 0.2 * (n % 2), 1000, began_s=60.0 * n) for n in range(40)]
    # 40 such means: 40 · 0.01 ms² / 39 · 1000 / 100 ms² = 0.1026; χ²(0.025, 39) = 23.65, so at most 0.169 < 1
    bounded = profile_of(*many)
    assert bounded.service_cv2 == pytest.approx(0.1026, rel=1e-2)
    assert bounded.service_cv2_interval == (0.0, pytest.approx(0.1026 * 39 / 23.65, rel=1e-2))


def test_slow_and_fast_instances__are_no_spread_of_tuples() -> None:
    alike = [sample(busy_s, 1000, index, began_s=60.0 * n) for index, busy_s in enumerate((5, 15)) for n in range(20)]
    assert profile_of(*alike).service_cv2_interval == (0.0, pytest.approx(0.0, abs=1e-9))


def scaled(p: int, service_s: float, rng: np.random.Generator, count: int = 4) -> list[OperatorSample]:
    return [sample(1000 * service_s * rng.normal(1, 0.01), 1000, index % p, parallelism=p) for index in range(count)]


def test_scale__is_fitted_where_two_parallelisms_show_it() -> None:
    rng = np.random.default_rng(2)
    # s(p) = 10 ms · p^0.2: 10 ms alone, 10 ms · 4^0.2 = 13.2 ms of four
    profile = profile_of(*scaled(1, 0.010, rng), *scaled(4, 0.010 * 4**0.2, rng, 8))
    assert profile.efficiency.measured_at == 4
    assert profile.efficiency.exponent == pytest.approx(0.8, abs=0.03)
    assert profile.service_s == pytest.approx(0.010 * 4**0.2, rel=0.02)
    assert profile.service_s_of("", 1) == pytest.approx(0.010, rel=0.02)
    low, high = profile.intervals["efficiency.exponent"]
    assert low < 0.8 < high < 1


def test_scale__is_coordination_where_that_fits_clearly_better() -> None:
    rng = np.random.default_rng(3)
    samples = [one for p in (1, 2, 4, 8, 16) for one in scaled(p, 0.010 + 0.002 * (p - 1), rng)]
    profile = profile_of(*samples)
    # 2 ms more for each further instance; told at 16, of equally many tuples the largest
    assert profile.efficiency.exponent == 1.0
    assert profile.efficiency.coordination_s == pytest.approx(0.002, rel=0.05)
    assert profile.service_s == pytest.approx(0.040, rel=0.02)
    assert profile.service_s_of("", 2) == pytest.approx(0.012, rel=0.05)


def test_scale__stays_linear_where_data_do_not_show_otherwise() -> None:
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        wrong += profile_of(*scaled(1, 0.010, rng), *scaled(4, 0.010, rng, 8)).efficiency != LINEAR
    # Adopted by chance once in a hundred: of 200 more than 8 come with a probability below 1 in 4000 (Poisson of 2).
    assert wrong <= 8


def test_scale__known_from_before_moves_to_the_parallelism_of_now() -> None:
    known = {**DECLARED, "k": replace(DECLARED["k"], efficiency=ScaleEfficiency(0.5, measured_at=1))}
    made = profile_of(*(sample(10, 1000, parallelism=4) for _ in range(3)), known=known)
    assert made.efficiency == ScaleEfficiency(0.5, measured_at=4)
    assert made.service_s == pytest.approx(0.010)
    # Alone an instance takes half as long: (1/4)^0.5
    assert made.service_s_of("", 1) == pytest.approx(0.005)
    untold = calibrated(JOIN, [sample(10, 1000)], known).operators["k"]
    assert untold.profile.efficiency == known["k"].efficiency
    assert "do not tell the parallelism" in untold.notes[0]


def test_memory_and_cpu__rise_with_the_rate_from_what_an_idle_instance_uses() -> None:
    # 256 MiB + 2 MiB per tuple a second + 512 MiB of state; 0.1 cores + 3 ms CPU a tuple; 1 % of the time collecting
    samples = [
        sample(
            0.01 * rate * 60,
            rate * 60,
            index,
            memory_mib=256 + 2 * rate + 512,
            state_gib=0.5,
            cpu_s=60 * (0.1 + 0.003 * rate),
            gc_s=0.6,
            began_s=0.0,
        )
        for index, rate in enumerate((10, 20, 30, 40))
    ]
    made = calibrated(JOIN, samples, DECLARED).operators["k"]
    assert made.profile.memory_mib == pytest.approx(256)
    assert made.profile.memory_mib_s == pytest.approx(2)
    assert made.profile.cpu_s == pytest.approx(0.003)
    assert made.profile.gc_share == pytest.approx(0.01)
    # four instances of half a GiB
    assert made.profile.state_gib == pytest.approx(2.0)
    assert "0.1 cores" in made.notes[0]


def test_memory__of_rates_that_are_alike_is_all_idle() -> None:
    profile = profile_of(*(sample(10, 1000, memory_mib=mib, cpu_s=5.0) for mib in (290, 300, 310, 300)))
    assert (profile.memory_mib, profile.memory_mib_s) == (pytest.approx(300), 0.0)
    assert profile.cpu_s == pytest.approx(0.005)


def test_memory__of_rates_that_are_alike_has_no_interval_unless_the_rise_was_measured() -> None:
    alike = [sample(10, 1000, memory_mib=mib) for mib in (290, 300, 310, 300)]
    assert "memory_mib" not in profile_of(*alike).intervals
    known = replace(DECLARED["k"], memory_mib_s=3.0, intervals={"memory_mib_s": (2.5, 3.5)})
    # 1000 tuples in 60 s at 3 MiB per tuple a second: 50 MiB less
    profile = profile_of(*alike, known={**DECLARED, "k": known})
    low, high = profile.intervals["memory_mib"]
    assert low < 250 < high


def test_intervals__hold_what_is_idle_where_data_do_not_show_it() -> None:
    """Rates within 20 % of 200/s; 0.01 cores and 300 MiB without load, 0.03 MiB per tuple a second, all but too little
    to be seen.
    """
    rng = np.random.default_rng(14)
    held: dict[str, list[bool]] = {"cpu_s": [], "memory_mib": []}
    for _ in range(200):
        rates = rng.uniform(160, 240, 6)
        samples = [
            sample(
                1,
                60 * rate,
                cpu_s=60 * (0.01 + 0.001 * rate * rng.lognormal(0, 0.03)),
                memory_mib=300 + 0.03 * rate + rng.normal(0, 5),
            )
            for rate in rates
        ]
        intervals = profile_of(*samples).intervals
        for name, truth in (("cpu_s", 0.001), ("memory_mib", 300.0)):
            if name in intervals:
                held[name].append(intervals[name][0] <= truth <= intervals[name][1])
    for name, often in held.items():
        # 95 % less what choosing between two forms costs (some 3 points), less 3 standard errors of 1.5 points.
        assert len(often) > 150, name
        assert np.mean(often) >= 0.95 - 0.03 - 3 * 0.015, name


def test_state__is_that_of_the_last_span() -> None:
    samples = [
        sample(10, 1000, index, began_s=60.0 * span, state_gib=1.0 + span, parallelism=3)
        for span in range(4)
        for index in (0, 1)
    ]
    made = calibrated(JOIN, samples, DECLARED).operators["k"]
    # 4 GiB in each of two instances that tell, as much in the third
    assert made.profile.state_gib == pytest.approx(12.0)
    assert "2 of 3 instances" in made.notes[0]
    low, high = made.profile.intervals["state_gib"]
    assert low < 12.0 < high


def test_state__is_what_each_instance_told_last() -> None:
    # Instances are read 0.5 s apart, and the second one is silent in the last span.
    rows = [(0, 0.0, 1.0), (1, 0.5, 2.0), (0, 60.0, 1.5), (1, 60.5, 2.5), (0, 120.0, 2.0)]
    samples = [sample(10, 1000, index, began_s=began_s, state_gib=gib) for index, began_s, gib in rows]
    made = calibrated(JOIN, samples, DECLARED).operators["k"]
    assert made.profile.state_gib == pytest.approx(2.0 + 2.5)
    assert made.notes == ()
    # Steps of 3, 4 and 4.5 GiB: the root of (1 + 0.25)/2, and t(0.975, 2) = 4.303
    low, high = made.profile.intervals["state_gib"]
    assert (high - 4.5) == pytest.approx(4.303 * 0.625**0.5, rel=1e-3)
    assert low >= 0


def test_state__of_instances_that_were_there_before_a_rescale_does_not_count() -> None:
    before = [sample(10, 1000, index, began_s=0.0, state_gib=1.0, parallelism=4) for index in range(4)]
    after = [sample(10, 1000, index, began_s=60.0, state_gib=2.0, parallelism=2) for index in range(2)]
    assert profile_of(*before, *after).state_gib == pytest.approx(4.0)


def test_what_samples_do_not_tell__stays_as_it_was_known() -> None:
    known = {**DECLARED, "k": replace(DECLARED["k"], cpu_s=0.1, memory_mib=64.0, state_gib=3.0, service_cv2=2.0)}
    made = profile_of(sample(10, 1000), known=known)
    assert (made.cpu_s, made.memory_mib, made.state_gib, made.service_cv2) == (0.1, 64.0, 3.0, 2.0)


def test_interval__of_before_does_not_stand_beside_a_new_value() -> None:
    before = replace(
        DECLARED["k"], memory_mib=64.0, state_gib=3.0, intervals={"memory_mib": (60.0, 68.0), "state_gib": (2.0, 4.0)}
    )
    # One sample of memory tells no spread, and none was taken of state.
    profile = profile_of(sample(10, 1000, memory_mib=300.0), known={**DECLARED, "k": before})
    assert profile.memory_mib == 300.0
    assert "memory_mib" not in profile.intervals
    assert profile.intervals["state_gib"] == (2.0, 4.0)


def test_no_busy_time_at_all__is_not_a_service_time_of_nothing() -> None:
    made = calibrated(JOIN, [sample(0.0, 1000, cpu_s=2.0)], DECLARED).operators["k"]
    assert (made.profile.service_s, made.profile.cpu_s, made.profile.samples) == (0.5, 0.002, 1)
    assert "tell no busy time" in made.notes[0]


def test_too_few_tuples__are_said_to_be_too_few() -> None:
    made = calibrated(JOIN, [sample(0.5, 99)], DECLARED).operators["k"]
    assert made.profile == DECLARED["k"]
    assert made.notes == ("not measured: 99 tuples in all its samples, at least 100 are needed",)


def test_stream_that_does_not_enter__is_refused() -> None:
    with pytest.raises(ModelError, match="names j->k, which does not enter it; those that do are a->j, b->j"):
        calibrated(JOIN, [joined(1, 1, 1, 1, records_in_by={"j->k": 2.0})], DECLARED)


def _exponential(rng: np.random.Generator, spans: int) -> list[OperatorSample]:
    """Spans of 400 exponential services of 10 ms: their sum is a gamma, and its mean square near 2 · (10 ms)²."""
    services = rng.exponential(0.010, (spans, 400))
    return [
        sample(float(row.sum()), 400, began_s=60.0 * n, service_second_moment_s2=float((row**2).mean()))
        for n, row in enumerate(services)
    ]


@pytest.mark.slow
def test_intervals__hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    held = {"service_s": 0, "service_cv2": 0, "selectivity[j->k]": 0}
    runs = 400
    for _ in range(runs):
        intervals = dict(profile_of(*_exponential(rng, 6)).intervals)
        counts = rng.poisson(300, 6)
        tuples = [joined(n, 0, 1.0, float(rng.poisson(2.0 * n))) for n in counts]
        intervals |= {name: ends for name, ends in profile_of(*tuples).intervals.items() if name.startswith("sel")}
        for name, truth in (("service_s", 0.010), ("service_cv2", 1.0), ("selectivity[j->k]", 2.0)):
            low, high = intervals[name]
            held[name] += low <= truth <= high
    # 95 % of 400 with 3 standard errors of √(0.95 · 0.05 / 400) = 1.1 %: 91.7 to 98.3 %. That of cv² is the wider of
    # two, so it may hold more often.
    assert 0.917 <= held["service_s"] / runs <= 0.983
    assert 0.917 <= held["selectivity[j->k]"] / runs <= 0.983
    assert held["service_cv2"] / runs >= 0.917


def _mixed(rng: np.random.Generator) -> list[OperatorSample]:
    """Exponential services of 1 and 5 ms, 1 and 3 tuples out on average."""
    counts = [rng.poisson(rng.uniform(200, 1500, 2)) for _ in range(8)]
    return [
        joined(a, b, float(rng.gamma(a, 0.001) + rng.gamma(b, 0.005)), float(rng.poisson(a + 3 * b))) for a, b in counts
    ]


def _scaled(rng: np.random.Generator) -> list[OperatorSample]:
    return [sample(float(rng.gamma(1000, 0.010 * p**0.1)), 1000, parallelism=p) for p in (2, 4, 8) for _ in range(4)]


def _needing(rng: np.random.Generator) -> list[OperatorSample]:
    """256 MiB and 2 more per tuple a second, ± 5; 0.05 cores and 3 ms a tuple, ± 0.01 cores."""
    return [
        sample(
            10, 60 * rate, memory_mib=rng.normal(256 + 2 * rate, 5), cpu_s=60 * rng.normal(0.05 + 0.003 * rate, 0.01)
        )
        for rate in rng.uniform(10, 60, 8)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "truths"),
    [
        (
            _mixed,
            {"stream_service_s[a->j]": 0.001, "stream_service_s[b->j]": 0.005, "input_selectivity[j->k][b->j]": 3},
        ),
        (_scaled, {"efficiency.exponent": 0.9, "service_s": 0.010 * 8**0.1}),
        (_needing, {"memory_mib": 256, "memory_mib_s": 2, "cpu_s": 0.003}),
    ],
)
def test_intervals__of_what_is_regressed_hold_the_truth_nearly_as_often(
    draw: Callable[[np.random.Generator], list[OperatorSample]], truths: Mapping[str, float]
) -> None:
    rng = np.random.default_rng(12)
    held: dict[str, list[bool]] = {name: [] for name in truths}
    for _ in range(200):
        intervals = profile_of(*draw(rng)).intervals
        for name, truth in truths.items():
            if name in intervals:
                held[name].append(intervals[name][0] <= truth <= intervals[name][1])
    # 95 % less what choosing between two forms costs (some 3 points), less 3 standard errors of 1.5 points.
    for name, often in held.items():
        assert len(often) > 150, name
        assert np.mean(often) >= 0.95 - 0.03 - 3 * 0.015, name
