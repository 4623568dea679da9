"""A borrowed shape knows no size: a source that is k times as large is forecast k times as high."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sibling_series import noisy, old, young

from forecasting.models.borrowed_forecaster import BorrowedForecaster
from forecasting.siblings import likeness

SIBLING = noisy(old(), 1)


@settings(max_examples=25, deadline=None)
@given(
    factor=st.floats(1e-3, 1e3),
    hours=st.sampled_from([3, 6, 12, 24, 36]),
    missing=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_a_source_k_times_as_large__is_forecast_k_times_as_high(
    factor: float, hours: int, missing: int, seed: int
) -> None:
    series = noisy(young(hours), seed)
    counts = series.counts.copy()
    counts[np.random.default_rng(seed).integers(counts.size, size=missing)] = np.nan
    once, scaled = replace(series, counts=counts), replace(series, counts=factor * counts)
    said, of_scaled = (
        BorrowedForecaster([SIBLING]).fit(each).paths_per_s(each, 96, 50, np.random.default_rng(7))
        for each in (once, scaled)
    )
    np.testing.assert_allclose(of_scaled, factor * said, rtol=1e-6)
    alike, of_larger = likeness(once, SIBLING), likeness(scaled, SIBLING)
    np.testing.assert_allclose(of_larger.correlation, alike.correlation, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(of_larger.chance, alike.chance, rtol=1e-5, atol=1e-12)
