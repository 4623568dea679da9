"""Calibration: which samples count, what they tell of service times and loads, and what stays as it was."""

from dataclasses import replace

import numpy as np
import pytest

from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from tests.unit.modeling.calibration_samples import DECLARED, JOIN, joined, profile_of, sample


def test_interval__is_student_s_over_instances_and_spans() -> None:
    profile = profile_of(sample(9, 1000), sample(10, 1000, 1), sample(11, 1000))
    # mean 10 ms, standard deviation of the three 1 ms: error 1/√3 ms, t(0.975, 2) = 4.303; and 5 % of 10 ms, by which
    # machines differ from one sitting to the next
    assert profile.service_s_error == pytest.approx((0.001**2 / 3 + 0.0005**2) ** 0.5)
    reach = ((4.303 * 0.001) ** 2 / 3 + (1.96 * 0.0005) ** 2) ** 0.5
    assert profile.intervals["service_s"] == (
        pytest.approx(0.010 - reach, rel=1e-3),
        pytest.approx(0.010 + reach, rel=1e-3),
    )


def test_instances_that_are_read_together__do_not_make_an_interval_narrow() -> None:
    # Two minutes of 8 instances: all at 10 ms, then all at 12 ms.
    twice = [
        sample(10 if began_s == 0 else 12, 1000, index, began_s=began_s)
        for began_s in (0.0, 60.0)
        for index in range(8)
    ]
    error = profile_of(*twice).service_s_error
    # over spans: mean 11 ms, standard deviation √2 ms, error 1 ms; over samples it were 0.26 ms
    assert error == pytest.approx((0.001**2 + (0.05 * 0.011) ** 2) ** 0.5)


def test_sittings_apart__are_surer_than_one() -> None:
    spans = [sample(10, 1000, began_s=3600.0 * hour) for hour in range(4)]
    # 5 % / √4 of 10 ms
    assert profile_of(*spans).service_s_error == pytest.approx(0.05 * 0.010 / 2)
    together = [replace(one, began_s=60.0 * n) for n, one in enumerate(spans)]
    assert profile_of(*together).service_s_error == pytest.approx(0.05 * 0.010)


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
        assert "at best 2 of 3" in made.operators["a"].notes[-1]


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
    assert "have no busy time" in made.notes[0]


def test_too_few_tuples__are_said_to_be_too_few() -> None:
    made = calibrated(JOIN, [sample(0.5, 99)], DECLARED).operators["k"]
    assert made.profile == DECLARED["k"]
    assert made.notes == ("not measured: 99 tuples in all its samples, at least 100 are needed",)


def test_stream_that_does_not_enter__is_refused() -> None:
    with pytest.raises(ModelError, match="names j->k, which does not enter it; those that do are a->j, b->j"):
        calibrated(JOIN, [joined(1, 1, 1, 1, records_in_by={"j->k": 2.0})], DECLARED)


def test_samples_that_show_backpressure_alone__do_not_make_the_service_time_shorter() -> None:
    # Full, "a" waits all 60 s for room and its busy time is lost in rounding; at 100/s it is busy 2 ms a tuple.
    full = OperatorSample("a", 0, 60.0, 0.0, 60.0, 0.0, {"a->j": 12_000.0}, began_s=0.0, age_s=600.0)
    calm = OperatorSample("a", 0, 60.0, 12.0, 0.0, 0.0, {"a->j": 6_000.0}, began_s=60.0, age_s=660.0)
    made = calibrated(JOIN, [full, calm], DECLARED).operators["a"]
    assert made.profile.service_s == pytest.approx(0.002)
    assert any("1 of 2 samples show backpressure alone" in note for note in made.notes)
    held = calibrated(JOIN, [full], DECLARED).operators["a"]
    assert held.profile.service_s == DECLARED["a"].service_s
    assert any("calibrate at a load that its readers carry" in note for note in held.notes)
