"""Peaks of joint paths and the loss of their forecast, by hand."""

import numpy as np
import pytest

from forecasting.peaks import actual_peak_per_s, path_quantiles, peak_quantiles_per_s, pinball


def test_peak_quantiles__are_those_of_the_maxima_not_of_the_steps() -> None:
    # Two paths that peak at different steps: each step's p100 is 9 and 7, the maxima are 9 and 7; the medians of the
    # steps are 5 and 4, the median of the maxima is 8.
    paths = np.array([[9.0, 1.0], [1.0, 7.0]])
    assert peak_quantiles_per_s(paths, [1, 2], [0.5]).tolist() == [[5.0], [8.0]]


@pytest.mark.parametrize("paths", [1, 2, 5, 100, 401])
def test_path_quantiles__are_those_of_numpy_to_the_last_bit(paths: int) -> None:
    rng = np.random.default_rng(paths)
    # Rates of many sizes, with ties and zeros among them.
    values = rng.lognormal(0, 5, (paths, 200)) * (rng.random((paths, 200)) < 0.9)
    values[:, 100:] = np.round(values[:, 100:])
    levels = (0.0, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0)
    assert np.array_equal(path_quantiles(values, levels), np.quantile(values, levels, axis=0).T)


def test_pinball__costs_nineteen_times_more_below_than_above_at_p95() -> None:
    # 0.95 × (10 - 8) = 1.9; (1 - 0.95) × (10 - 8) = 0.1.
    assert pinball(10.0, np.array([8.0]), 0.95) == pytest.approx([1.9])
    assert pinball(8.0, np.array([10.0]), 0.95) == pytest.approx([0.1])


def test_actual_peak__is_unknown_where_more_than_a_fifth_is_missing() -> None:
    assert actual_peak_per_s(np.array([1.0, 4.0, 2.0, 3.0, np.nan])) == 4.0
    assert np.isnan(actual_peak_per_s(np.array([1.0, 4.0, 2.0, np.nan, np.nan])))
    assert np.isnan(actual_peak_per_s(np.array([])))
