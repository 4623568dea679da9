"""The downtime of a rescale: declared, and learnt from measured ones."""

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.inputs.topology import Engine
from modeling.rescaling import rescale_fit
from modeling.rescaling.rescale_fit import MeasuredRescale, fitted_rescale
from modeling.rescaling.rescale_model import RescaleModel, declared_for, declared_rescale

DECLARED = declared_rescale(10.0, save_s_per_gib=10.0, restore_s_per_gib=10.0)


def _noise_free(count: int) -> list[MeasuredRescale]:
    """20 s + 4 s per GiB saved + 8 s per GiB restored, every other one with a savepoint."""
    return [
        MeasuredRescale(20 + 8 * gib + (4 * gib if gib % 2 else 0), gib, gib if gib % 2 else 0)
        for gib in (float(k % 7) for k in range(count))
    ]


def test_downtime__is_restart_and_state_over_bandwidth() -> None:
    # 10 s + 3 GiB · 10 s/GiB; with a savepoint of 3 GiB another 30 s
    assert DECLARED.downtime_s([0.0, 3.0]).tolist() == pytest.approx([10, 40])
    assert float(DECLARED.downtime_s(3.0, 3.0)) == pytest.approx(70)
    # declared to 100 %, one rescale varies by a quarter of its 40 s: √(10² + 30² + 10²)
    assert float(DECLARED.downtime_error_s(3.0)) == pytest.approx((100 + 900 + 100) ** 0.5)


def test_fit__finds_what_made_the_downtimes() -> None:
    fitted = fitted_rescale(_noise_free(200), declared_rescale(10.0, noise=0.01))
    assert (fitted.restart_s, fitted.save_s_per_gib, fitted.restore_s_per_gib) == pytest.approx((20, 4, 8), rel=1e-3)
    assert fitted.measured == 200


def test_fit__leans_on_what_was_declared_while_little_is_measured() -> None:
    assert fitted_rescale([], DECLARED) is DECLARED
    one = fitted_rescale([MeasuredRescale(30.0)], DECLARED)
    # between the declared 10 s and the measured 30 s, and nothing learnt of state
    assert 10 < one.restart_s < 30
    assert one.restore_s_per_gib == pytest.approx(10)
    errors = [fitted_rescale(_noise_free(count), DECLARED).errors for count in (2, 8, 32)]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("took_s", [1.0, 60.0, 100.0])
def test_fit__believes_measurements_that_agree_against_a_declaration_that_is_far_off(took_s: float) -> None:
    fitted = fitted_rescale([MeasuredRescale(took_s)] * 5, DECLARED)
    assert fitted.restart_s == pytest.approx(took_s, rel=0.05)
    # the misfit of the declaration is no noise of the measurements: 2 of .25² among 2 + 5 that are 0, and the fit's own
    assert fitted.noise < 0.25


def test_fit__of_a_restart_declared_to_take_no_time_learns_that_it_does() -> None:
    declared = declared_rescale(0.0, save_s_per_gib=0.0, restore_s_per_gib=0.0)
    fitted = fitted_rescale([MeasuredRescale(each) for each in (5.0, 6.0, 4.0)], declared)
    assert fitted.restart_s == pytest.approx(5.0, rel=0.1)
    assert float(fitted.downtime_quantile_s(0.95)) > 5
    assert fitted_rescale([MeasuredRescale(0.0)], declared).restart_s == pytest.approx(0.0)


def test_fit__has_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        count = int(rng.integers(1, 8))
        measured = [MeasuredRescale(rng.lognormal(3, 0.5), rng.choice([0.0, 2.0, 10.0])) for _ in range(count)]
        told = []
        for rounds in (30, 31):
            monkeypatch.setattr(rescale_fit, "ROUNDS", rounds)
            told.append(float(fitted_rescale(measured, DECLARED).downtime_s(5.0)))
        assert told[0] == pytest.approx(told[1], rel=1e-3)


def test_fit__keeps_what_was_declared_without_error() -> None:
    fixed = declared_for(Engine.STORM)
    fitted = fitted_rescale([MeasuredRescale(60.0)] * 20, fixed)
    assert fitted.restart_s == pytest.approx(60, abs=1)
    assert fitted.restore_s_per_gib == 0


def test_fit__never_makes_state_speed_up_a_restart() -> None:
    falling = [MeasuredRescale(30.0 - 2 * gib, gib) for gib in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)] * 5
    assert fitted_rescale(falling, DECLARED).restore_s_per_gib == 0


@pytest.mark.slow
def test_downtime_quantile__holds_as_often_as_it_says() -> None:
    """90 % quantile of the next rescale after 10 measured ones, 400 draws: within 3 standard errors, 4.5 points."""
    rng = np.random.default_rng(5)
    below = 0
    for _ in range(400):
        gib = rng.uniform(0, 10, 11)
        downtimes = (20 + 8 * gib) * np.maximum(0.0, 1 + rng.normal(0, 0.1, 11))
        measured = [MeasuredRescale(float(d), float(g)) for d, g in zip(downtimes[:10], gib[:10], strict=True)]
        fitted = fitted_rescale(measured, declared_rescale(15.0, restore_s_per_gib=10.0, noise=0.1))
        below += bool(downtimes[10] <= fitted.downtime_quantile_s(0.9, gib[10]))
    assert below / 400 == pytest.approx(0.9, abs=0.045)


def test_fit__takes_the_noise_as_a_part_of_the_downtime() -> None:
    """Without state 1 s ± 1 %, with 10 GiB 20 s ± 10 %: the short ones tell the restart, whatever the long ones do."""
    measured = [MeasuredRescale(1.0 + off) for off in (-0.01, 0.0, 0.01)]
    measured += [MeasuredRescale(20.0 + off, 10.0) for off in (-2.0, 0.0, 2.0)]
    fitted = fitted_rescale(measured, declared_rescale(5.0, relative_error=10.0))
    assert fitted.restart_s == pytest.approx(1.0, abs=0.1)
    assert fitted.restore_s_per_gib == pytest.approx(1.9, abs=0.1)  # (20 − 1) / 10
    assert float(fitted.downtime_error_s(10.0)) > 10 * float(fitted.downtime_error_s(0.0))


@pytest.mark.parametrize("value", [float("nan"), -1.0, float("inf")])
@pytest.mark.parametrize("field", ["downtime_s", "restored_gib", "saved_gib"])
def test_measured_rescale__that_cannot_be_is_refused_with_its_field(field: str, value: float) -> None:
    with pytest.raises(ModelError, match=rf"{field} is {value}; leave this rescale out"):
        MeasuredRescale(**{"downtime_s": 1.0, field: value})


def test_model__refuses_numbers_that_cannot_be() -> None:
    with pytest.raises(ModelError, match="restart_s is -1"):
        RescaleModel(-1.0, 0.0, 0.0, np.zeros((3, 3)), 1.0)
    with pytest.raises(ModelError, match="covariance of shape"):
        RescaleModel(1.0, 0.0, 0.0, np.zeros((2, 2)), 1.0)
    with pytest.raises(ModelError, match=r"restored_gib is -1\.0; give the size"):
        DECLARED.downtime_s(-1.0)
    with pytest.raises(ModelError, match="level 1"):
        DECLARED.downtime_quantile_s(1.0)


def test_heron_update__is_down_in_tens_of_seconds() -> None:
    assert declared_for(Engine.HERON).restart_s == 20
