"""Calibration over parallelisms, and of memory, CPU and state."""

from dataclasses import replace

import numpy as np
import pytest

from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import Feature
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.scale_efficiency import LINEAR, ScaleEfficiency
from tests.unit.modeling.calibration_samples import DECLARED, JOIN, profile_of, sample


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
    assert "do not report the parallelism" in untold.notes[0]


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
            gc_pauses=3.0,
            began_s=0.0,
        )
        for index, rate in enumerate((10, 20, 30, 40))
    ]
    made = calibrated(JOIN, samples, DECLARED).operators["k"]
    assert made.profile.memory_mib == pytest.approx(256)
    assert made.profile.memory_mib_s == pytest.approx(2)
    assert made.profile.cpu_s == pytest.approx(0.003)
    assert made.profile.gc_share == pytest.approx(0.01)
    assert made.profile.gc_pause_s == pytest.approx(0.2)  # three collections in .6 s
    # four instances of half a GiB
    assert made.profile.state_gib == pytest.approx(2.0)
    assert made.profile.idle_cores == pytest.approx(0.1)
    assert "idle_cores" in made.profile.intervals


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


def test_features_of_a_measured_job_that_the_model_leaves_out__are_notes_on_its_estimates() -> None:
    seen = (Feature.UNALIGNED_CHECKPOINTS, Feature.STATE_ON_DISK)
    samples = [sample(10, 1000, index, state_gib=0.5, features=seen) for index in range(4)]
    profiles = {**DECLARED, "k": calibrated(JOIN, samples, DECLARED).operators["k"].profile}
    assert profiles["k"].features == (Feature.STATE_ON_DISK, Feature.UNALIGNED_CHECKPOINTS)
    plan = PhysicalPlan(JOIN.name, dict.fromkeys(JOIN.order, 1))
    notes = evaluate(JOIN, profiles, plan, dict.fromkeys(JOIN.sources, 1.0)).notes
    assert any(note.startswith("checkpoints are unaligned") for note in notes)
    assert any("with 2 GiB of it; calibrate again once it has grown" in note for note in notes)
