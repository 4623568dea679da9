"""What holds of every peak forecast, whatever the paths, the quantiles and the backtest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from forecasting.calibration import calibration, ordered
from forecasting.deployed import mixture, stretched
from forecasting.models.transform import LOG, SQRT
from forecasting.peaks import peak_quantiles_per_s, pinball

QUANTILES = (0.5, 0.9, 0.95, 0.99)
rates = st.floats(0, 1e4, allow_nan=False)
some_paths = arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(4, 30)), elements=rates)


@given(some_paths)
def test_peaks__rise_with_the_quantile_and_the_horizon(paths: np.ndarray) -> None:
    horizons = range(1, paths.shape[1] + 1)
    peaks = peak_quantiles_per_s(paths, horizons, QUANTILES)
    # Interpolating between equal order statistics may lose the last bit.
    slack = 1e-9 * (1 + paths.max())
    assert (np.diff(peaks, axis=0) >= -slack).all()
    assert (np.diff(peaks, axis=1) >= -slack).all()


@given(some_paths)
def test_peaks__are_never_below_the_pointwise_quantiles(paths: np.ndarray) -> None:
    peaks = peak_quantiles_per_s(paths, [paths.shape[1]], QUANTILES)[0]
    pointwise = np.quantile(paths, QUANTILES, axis=0).max(axis=1)
    assert (peaks >= pointwise - 1e-9 * (1 + paths.max())).all()


@given(some_paths, st.integers(2, 5))
def test_peaks__of_every_path_taken_several_times_stay_within_those_of_the_paths(paths: np.ndarray, times: int) -> None:
    steps = [paths.shape[1]]
    once = peak_quantiles_per_s(paths, steps, (0.0, 1.0))
    more = peak_quantiles_per_s(np.repeat(paths, times, axis=0), steps, QUANTILES)
    slack = 1e-9 * (1 + paths.max())
    assert (more >= once[0, 0] - slack).all()
    assert (more <= once[0, 1] + slack).all()


@given(
    arrays(np.float64, (8, 3, 4), elements=rates),
    arrays(np.float64, (8, 3), elements=rates),
    arrays(np.float64, (3, 4), elements=rates),
)
def test_calibrated_peaks__never_cross_and_are_never_negative(
    peaks: np.ndarray, actual: np.ndarray, fresh: np.ndarray
) -> None:
    calibrated = calibration(ordered(peaks), actual, QUANTILES).applied(ordered(fresh))
    assert np.isfinite(calibrated).all()
    assert (calibrated >= 0).all()
    assert (np.diff(calibrated, axis=0) >= 0).all()
    assert (np.diff(calibrated, axis=1) >= 0).all()


@given(some_paths, arrays(np.float64, (2, 4), elements=rates))
def test_stretched_paths__are_finite_never_negative_and_keep_their_zeros(paths: np.ndarray, wanted: np.ndarray) -> None:
    scaled = stretched(paths, [2, paths.shape[1]], ordered(wanted), QUANTILES)
    assert scaled.shape == paths.shape
    assert np.isfinite(scaled).all()
    assert (scaled >= 0).all()
    assert ((scaled == 0) >= (paths == 0)).all()
    # Two horizons, each within three times.
    assert (scaled <= 9.01 * paths).all()


@pytest.mark.slow
@given(some_paths, st.lists(st.floats(0.05, 1), min_size=1, max_size=4))
def test_a_mixture__has_as_many_paths_as_were_asked_for_in_the_given_shares(
    paths: np.ndarray, parts: list[float]
) -> None:
    given = {str(number): np.full_like(paths, number) for number in range(len(parts))}
    shares = {str(number): part / sum(parts) for number, part in enumerate(parts)}
    mixed = mixture(given, shares)
    assert mixed.shape == paths.shape
    for number, share in enumerate(shares.values()):
        assert abs((mixed[:, 0] == number).sum() - share * paths.shape[0]) <= 1


thousandths = st.integers(0, 10**9).map(lambda number: number / 1000)


@given(thousandths, thousandths, st.sampled_from(QUANTILES))
def test_pinball__is_nothing_only_for_a_perfect_forecast(actual: float, forecast: float, quantile: float) -> None:
    loss = float(pinball(actual, np.array(forecast), quantile))
    assert loss >= 0
    assert (loss == 0) == (actual == forecast)


@settings(max_examples=50)
@given(arrays(np.float64, 20, elements=st.floats(-1e3, 1e3)))
def test_transforms__never_give_a_negative_or_infinite_count(values: np.ndarray) -> None:
    for transform in (LOG, SQRT):
        counts = transform.inverse(values)
        assert np.isfinite(counts).all()
        assert (counts >= 0).all()
