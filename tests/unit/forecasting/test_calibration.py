"""Calibration of peak quantiles, by hand."""

import numpy as np
import pytest

from forecasting.calibration import LARGEST_OFFSET, calibration, floor_per_s

QUANTILES = (0.5, 0.9, 0.95, 0.99)


def test_a_forecaster_that_is_always_half_of_what_comes__is_raised_towards_it() -> None:
    # 12 origins, one horizon: every log ratio is log((10 + 0.1) / (5 + 0.1)), trusted by 12 / (12 + 12) = 1/2.
    learnt = calibration(np.full((12, 1, 4), 5.0), np.full((12, 1), 10.0), QUANTILES)
    assert learnt.floor_per_s == pytest.approx(0.1)
    assert learnt.log_offsets == pytest.approx(np.full((1, 4), 0.5 * np.log(10.1 / 5.1)))
    assert learnt.applied(np.full((1, 4), 5.0)) == pytest.approx(np.full((1, 4), 5.0 * (10.1 / 5.1) ** 0.5))


def test_a_perfect_forecaster__is_left_alone() -> None:
    learnt = calibration(np.full((12, 2, 4), 5.0), np.full((12, 2), 5.0), QUANTILES)
    assert not learnt.log_offsets.any()


def test_closed_hours__say_nothing_and_stay_zero() -> None:
    peaks, actual = np.full((12, 1, 4), 5.0), np.full((12, 1), 5.0)
    peaks[:6], actual[:6] = 0.0, 0.0
    learnt = calibration(peaks, actual, QUANTILES)
    assert not learnt.log_offsets.any()
    assert not learnt.applied(np.zeros((1, 4))).any()


def test_unknown_peaks__are_left_out() -> None:
    actual = np.full((12, 1), 5.0)
    actual[3] = np.nan
    assert np.isfinite(calibration(np.full((12, 1, 4), 4.0), actual, QUANTILES).log_offsets).all()


def test_offsets__are_bounded() -> None:
    learnt = calibration(np.full((200, 1, 4), 1.0), np.full((200, 1), 1000.0), QUANTILES)
    assert learnt.log_offsets == pytest.approx(np.full((1, 4), LARGEST_OFFSET))


def test_the_floor__is_a_hundredth_of_the_median_peak() -> None:
    assert floor_per_s(np.array([[0.0, 2.0], [np.nan, 4.0]])) == pytest.approx(0.03)
    assert floor_per_s(np.zeros((3, 2))) == 1.0
