"""Drift between two calibrations: told where both errors cannot explain a difference that matters."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from modeling.calibration.calibrated import calibrated, calibrated_profiles
from modeling.calibration.drift import drifts
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.topology import Operator, Topology

ALONE = Topology("alone", (Operator("k"),), ())
OLD = OperatorProfile("k", 0.010, {"k->l": 2.0}, 0.0001, samples=12, selectivity_error={"k->l": 0.01})


def test_larger_service_time__is_a_drift_of_its_field() -> None:
    new = replace(OLD, service_s=0.012)
    (found,) = drifts({"k": OLD}, {"k": new})
    # 2 ms apart with 0.14 ms of error
    assert (found.operator, found.parameter, found.old, found.new) == ("k", "service_s", 0.010, 0.012)
    assert found.relative_change == pytest.approx(0.2)
    assert found.p < 1e-6
    assert found.field == "service_s"


def test_difference_within_the_errors__is_none() -> None:
    # 6 % apart, but known to 5 % each
    old, new = replace(OLD, service_s_error=0.0005), replace(OLD, service_s=0.0106, service_s_error=0.0005)
    assert drifts({"k": old}, {"k": new}) == []


def test_difference_too_small_to_matter__is_none_however_sure() -> None:
    assert drifts({"k": OLD}, {"k": replace(OLD, service_s=0.0104, service_s_error=1e-6)}) == []


def test_chance__is_welch_s_corrected_for_the_number_of_parameters() -> None:
    new = replace(OLD, service_s=0.0105, selectivity={"k->l": 2.001}, samples=7)
    (found,) = drifts({"k": OLD}, {"k": new}, matters=0.01)
    # t = 0.5 / √(0.1² + 0.1²) = 3.536 of 4/(1/11 + 1/6) = 15.53 degrees of freedom: p 0.0028, times two parameters
    assert found.p == pytest.approx(2 * 0.0028, rel=0.05)


def test_declared_profiles__do_not_drift() -> None:
    assert drifts({"k": replace(OLD, samples=0)}, {"k": replace(OLD, service_s=1.0)}) == []
    assert drifts({}, {"k": OLD}) == []


def test_service_times__are_compared_at_one_parallelism() -> None:
    # 10 ms alone and 20 ms of four, under an exponent of a half, are the same
    old = replace(OLD, efficiency=ScaleEfficiency(0.5, measured_at=1))
    new = replace(OLD, service_s=0.020, efficiency=ScaleEfficiency(0.5, measured_at=4))
    assert drifts({"k": old}, {"k": new}) == []


def test_parameters_without_an_error_of_their_own__are_compared_by_their_intervals() -> None:
    old = replace(OLD, memory_mib=100.0, intervals={"memory_mib": (98.0, 102.0)})
    new = replace(OLD, memory_mib=150.0, intervals={"memory_mib": (148.0, 152.0)})
    assert [found.parameter for found in drifts({"k": old}, {"k": new})] == ["memory_mib"]
    assert drifts({"k": replace(old, intervals={})}, {"k": new}) == []


def test_lone_samples__are_no_surer_than_machines_are_steady() -> None:
    old, new = (OperatorProfile("k", service_s, {}, 1e-6, samples=1) for service_s in (0.010, 0.011))
    # 10 % apart with 5 % of error each: 1.35 standard errors
    assert drifts({"k": old}, {"k": new}, lone=True) == []
    # 0.015: 5 ms apart with 0.5 and 0.75 ms: 5.5 standard errors
    slow = {"k": replace(old, service_s=0.015)}
    assert len(drifts({"k": old}, slow, lone=True)) == 1
    # A reason to look again, and no evidence of a drift.
    assert drifts({"k": old}, slow) == []
    # One of nine samples is known to 4 % · √9 = 12 %: 20 % are 1.6 standard errors of it and the mean.
    many = replace(old, service_s_error=0.0004, samples=9)
    assert drifts({"k": many}, {"k": replace(old, service_s=0.012)}) == []


def test_one_look__is_never_beyond_all_doubt() -> None:
    old, new = (OperatorProfile("k", service_s, {}, 1e-6, samples=1) for service_s in (0.001, 0.018))
    (found,) = drifts({"k": old}, {"k": new}, lone=True)
    # 17 ms apart with 0.9 ms: 18.9 standard errors; of 4 degrees of freedom, p = 4.6e-5
    assert found.p == pytest.approx(4.6e-5, rel=0.1)


def _measured(rng: np.random.Generator, service_s: float) -> dict[str, OperatorProfile]:
    """One sitting, in which the machine is faster or slower by 5 %."""
    speed = rng.normal(1, 0.05)
    samples = [
        OperatorSample(
            "k", 0, 60, float(rng.gamma(400, service_s * speed)), 0, 400, {}, began_s=60.0 * span, cpu_s=cpu_s * speed
        )
        for span, cpu_s in enumerate(rng.normal(3, 0.1, 8))
    ]
    return calibrated_profiles(ALONE, samples, {"k": OperatorProfile("k", 0.010)})


@pytest.mark.slow
def test_alarms__are_rare_without_drift_and_sure_with_it() -> None:
    rng = np.random.default_rng(5)
    false = sum(bool(drifts(_measured(rng, 0.010), _measured(rng, 0.010), matters=0.0)) for _ in range(300))
    # 5 % of 300 is 15; 3 standard deviations of √(300 · 0.05 · 0.95) = 3.8 above it
    assert false <= 15 + 3 * 3.8
    # 50 % more, known to √(5² / 8 + 5²) = 5.3 % each
    true = sum(
        any(d.parameter == "service_s" for d in drifts(_measured(rng, 0.010), _measured(rng, 0.015))) for _ in range(50)
    )
    assert true >= 48


def _sitting(rng: np.random.Generator, hour: float) -> Sequence[OperatorSample]:
    """Two minutes of 8 instances at 10 ms a tuple, on machines whose speed is theirs for the sitting."""
    speed = float(np.exp(0.05 * rng.standard_normal()))
    return [
        OperatorSample(
            "k", at, 60.0, 10 * speed * float(rng.normal(1, 0.01)), 0.0, 1000, {}, began_s=3600 * hour + span
        )
        for span in (0.0, 60.0)
        for at in range(8)
    ]


def test_calibrations_minutes_apart__do_not_exclude_each_others_intervals() -> None:
    """16 samples agree to .3 %, and the next sitting is 7 % off (5 % each): 95 % intervals of 10 % each way meet in
    all but P(|z| > 19.6 / 7.1) = .6 % of the pairs, and a difference of 5 % in 100 is a drift.
    """
    rng = np.random.default_rng(13)
    meet, drifted = [], []
    for _ in range(300):
        first, second = (
            calibrated(ALONE, _sitting(rng, hour), {"k": OperatorProfile("k", 0.01)}).operators["k"].profile
            for hour in (0.0, 0.3)
        )
        lows, highs = zip(first.intervals["service_s"], second.intervals["service_s"], strict=True)
        meet.append(max(lows) <= min(highs))
        drifted.append(bool(drifts({"k": first}, {"k": second})))
    assert np.mean(meet) > 0.98
    assert np.mean(drifted) < 0.08


def test_service_time_that_rose_with_the_state__says_by_how_much_that_grew() -> None:
    old = replace(OLD, state_gib=6.0)
    (found,) = drifts({"k": old}, {"k": replace(old, service_s=0.012, state_gib=8.0)})
    assert found.state_gib == (6.0, 8.0)


@pytest.mark.parametrize(
    "new",
    [
        replace(OLD, service_s=0.012, state_gib=6.3),  # grown by 5 %
        replace(OLD, service_s=0.008, state_gib=8.0),  # quicker
        replace(OLD, state_gib=8.0, selectivity={"k->l": 3.0}),  # no time
    ],
)
def test_drift__that_a_larger_state_does_not_explain_names_none(new: OperatorProfile) -> None:
    (found,) = drifts({"k": replace(OLD, state_gib=6.0)}, {"k": new})
    assert found.state_gib is None
