"""Calibration of peak quantiles, by hand."""

import numpy as np
import pytest

from forecasting.calibration import MAX_OFFSET, calibration, floor_per_s

QUANTILES = (0.5, 0.9, 0.95, 0.99)


def test_a_forecaster_that_is_always_too_low__is_raised_step_by_step() -> None:
    # Each of 12 peaks lies above them: 12 steps of 0.05 spreads. Its quantiles coincide: a spread is the least, 0.05.
    learnt = calibration(np.full((12, 1, 4), 5.0), np.full((12, 1), 10.0), QUANTILES)
    assert learnt.floor_per_s == pytest.approx(0.1)
    assert learnt.offsets == pytest.approx(12 * 0.05 * np.array([QUANTILES]))
    assert learnt.applied(np.full((1, 4), 5.0)) == pytest.approx(
        np.array([[5.0 * np.exp(12 * 0.0025 * level) for level in QUANTILES]])
    )


def test_a_step__is_a_share_of_how_far_the_forecast_thinks_the_peak_may_lie() -> None:
    # From p50 to p95 a factor of e, and 30 came: above all of them.
    peaks = np.array([[[10.0, 20.0, 10.0 * np.e, 28.0]]])
    learnt = calibration(peaks, np.array([[30.0]]), QUANTILES, floor=1e-9)
    assert learnt.offsets == pytest.approx(0.05 * np.array([QUANTILES]))
    assert learnt.applied(peaks) == pytest.approx(peaks * np.exp(0.05 * np.array(QUANTILES)))
    # A calmer forecast, with a factor of e^(1/4) between them, is moved by a quarter of that.
    calm = np.array([[[10.0, 11.0, 10.0 * np.e**0.25, 14.0]]])
    assert learnt.applied(calm) == pytest.approx(calm * np.exp(0.05 / 4 * np.array(QUANTILES)))
    # 1 came, below all of them: down by the share that was to lie above.
    below = calibration(peaks, np.array([[1.0]]), QUANTILES)
    assert below.offsets == pytest.approx(0.05 * (np.array([QUANTILES]) - 1))


def test_in_the_long_run__the_share_of_peaks_below_is_the_quantile() -> None:
    # What comes is log-normal; the forecaster says its median, and twice that as every upper quantile: far too low.
    rng = np.random.default_rng(1)
    actual = np.exp(rng.normal(0, 1, (4000, 1)))
    peaks = np.tile([[[1.0, 2.0, 2.0, 2.0]]], (4000, 1, 1))
    learnt = calibration(peaks, actual, (0.5, 0.9, 0.95, 0.99))
    below = (actual < learnt.applied(peaks)[:, 0, 1:2]).mean()
    # e^1.28 = 3.6 is its p90; what a step moves the offset, 0.03, moves the share by about a point.
    assert below == pytest.approx(0.9, abs=0.03)


def test_horizons__learn_apart() -> None:
    peaks = np.full((12, 2, 4), 5.0)
    actual = np.column_stack([np.full(12, 10.0), np.full(12, 1.0)])
    offsets = calibration(peaks, actual, QUANTILES).offsets
    assert (offsets[0] > 0).all()
    assert (offsets[1] < 0).all()


def test_a_perfect_forecaster__is_left_alone() -> None:
    learnt = calibration(np.full((12, 2, 4), 5.0), np.full((12, 2), 5.0), QUANTILES)
    assert not learnt.offsets.any()


def test_closed_hours__say_nothing_and_stay_zero() -> None:
    peaks, actual = np.full((12, 1, 4), 5.0), np.full((12, 1), 5.0)
    peaks[:6], actual[:6] = 0.0, 0.0
    learnt = calibration(peaks, actual, QUANTILES)
    assert learnt.offsets == pytest.approx(calibration(peaks[6:], actual[6:], QUANTILES).offsets)
    assert not learnt.applied(np.zeros((1, 4))).any()


def test_unknown_peaks__are_left_out() -> None:
    actual = np.full((12, 1), 5.0)
    actual[3] = np.nan
    told = np.delete(actual, 3, axis=0)
    learnt = calibration(np.full((12, 1, 4), 4.0), actual, QUANTILES)
    expected = calibration(np.full((11, 1, 4), 4.0), told, QUANTILES).offsets
    assert learnt.offsets == pytest.approx(expected)


def test_what_offsets_move__is_bounded() -> None:
    learnt = calibration(np.full((2000, 1, 4), 1.0), np.full((2000, 1), 1000.0), QUANTILES)
    assert learnt.applied(np.ones((1, 4))) == pytest.approx(np.full((1, 4), np.exp(MAX_OFFSET)))


def test_the_floor__is_a_hundredth_of_the_median_peak() -> None:
    assert floor_per_s(np.array([[0.0, 2.0], [np.nan, 4.0]])) == pytest.approx(0.03)
    assert floor_per_s(np.zeros((3, 2))) == 1.0
