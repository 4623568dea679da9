"""Peaks within any span: those of the forecast at its horizons, and between them what paths and calibration say."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecasting.errors import ForecastError
from forecasting.forecast import Forecast
from forecasting.span_peaks import joint_peak_between_per_s, peak_between_per_s, peaks_until_per_s

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
QUANTILES = (0.5, 0.9)
HOUR = timedelta(hours=1)


def forecast(paths_per_s: np.ndarray, peak_per_s: dict[int, list[float]], source: str = "read") -> Forecast:
    """Steps of an hour."""
    return Forecast(
        issued_at=START,
        topology="pair",
        source=source,
        start=START,
        step_s=3600,
        quantiles=QUANTILES,
        rate_per_s=np.quantile(paths_per_s, QUANTILES, axis=0).T,
        peak_per_s={horizon_s: np.array(peak) for horizon_s, peak in peak_per_s.items()},
        paths_per_s=paths_per_s,
        forecaster=dict.fromkeys(peak_per_s, "by hand"),
        trained_from=START - timedelta(days=7),
        trained_to=START,
        history_digest="",
        seed=1,
    )


def rising() -> Forecast:
    """Three paths of which each hour has 1 more than the last: 1 2 3 4, 2 3 4 5, 3 4 5 6. Their p50 of the peak is 2
    within an hour and 5 within four; calibrated are 4, twice that, and 5, as it is.
    """
    paths = np.array([[1.0, 2, 3, 4], [2.0, 3, 4, 5], [3.0, 4, 5, 6]])
    return forecast(paths, {3600: [4.0, 6.0], 4 * 3600: [5.0, 6.0]})


def test_peaks_until__are_the_forecasts_own_at_its_horizons() -> None:
    until = peaks_until_per_s(rising(), 0.5)
    assert until[0] == 4.0
    assert until[3] == 5.0


def test_peaks_until__between_horizons_are_corrected_by_both() -> None:
    # After two hours, halfway from log 1 to log 4, the paths' 3 are corrected by (2 + 1) / 2 = 1.5: 4.5. After three,
    # at log 3 / log 4 = .7925 of the way, their 4 by 2 − .7925 = 1.2075: 4.83.
    until = peaks_until_per_s(rising(), 0.5)
    assert until[1] == pytest.approx(4.5)
    assert until[2] == pytest.approx(4 * (2 - np.log(3) / np.log(4)))


def test_peak_between__of_a_span_that_begins_later_is_corrected_as_what_comes_until_its_end() -> None:
    # From 9 to 10 o'clock the paths' middle is 3, and so is that until 10: both are corrected by 1.5.
    assert peak_between_per_s(rising(), START + HOUR, START + 2 * HOUR, 0.5) == pytest.approx(4.5)


def test_peak_between__takes_every_step_that_the_span_touches() -> None:
    some = rising()
    minute = timedelta(minutes=1)
    touched = peak_between_per_s(some, START + 30 * minute, START + 61 * minute, 0.5)
    assert touched == peak_between_per_s(some, START, START + 2 * HOUR, 0.5)


def test_joint_peak__is_below_the_sum_of_peaks_that_come_at_different_hours() -> None:
    # One source brings 4 in the first hour and 1 in the second, the other 1 and 4: together 5 at any time, never 8.
    one = forecast(np.array([[4.0, 1.0]] * 3), {7200: [4.0, 4.0]})
    other = forecast(np.array([[1.0, 4.0]] * 3), {7200: [4.0, 4.0]}, source="mail")
    both = {"read": one, "mail": other}
    assert joint_peak_between_per_s(both, START, START + 2 * HOUR, 0.9) == pytest.approx(5.0)


def test_a_span__beyond_the_forecast_is_refused_with_what_it_is_for() -> None:
    with pytest.raises(ForecastError, match=r"2026-03-02 08:00 to 2026-03-02 12:00 UTC.*raise forecast.horizon_s"):
        peak_between_per_s(rising(), START, START + 5 * HOUR, 0.5)
    with pytest.raises(ForecastError, match="let it end after it begins"):
        peak_between_per_s(rising(), START + HOUR, START + HOUR, 0.5)
    with pytest.raises(ForecastError, match=r"quantiles from 0.5 to 0.9, not 0.99"):
        peaks_until_per_s(rising(), 0.99)
    with pytest.raises(ForecastError, match="no sample paths"):
        peaks_until_per_s(replace(rising(), paths_per_s=np.empty((0, 4))), 0.5)


def test_a_load_of_nothing__has_a_peak_of_nothing() -> None:
    assert peaks_until_per_s(forecast(np.zeros((3, 4)), {3600: [0.0, 0.0]}), 0.9).tolist() == [0.0] * 4


@given(
    st.integers(0, 10_000),
    st.lists(st.floats(0.2, 5.0), min_size=2, max_size=2),
    st.sampled_from([0.5, 0.7, 0.9]),
)
def test_a_longer_span__never_has_a_lower_peak(seed: int, scales: list[float], quantile: float) -> None:
    rng = np.random.default_rng(seed)
    paths = rng.gamma(1.0, 1.0, (20, 8))
    low = np.quantile(paths[:, :2].max(axis=1), QUANTILES) * scales[0]
    high = np.maximum(low, np.quantile(paths.max(axis=1), QUANTILES) * scales[1])
    some = forecast(paths, {7200: low.tolist(), 8 * 3600: high.tolist()})
    until = peaks_until_per_s(some, quantile)
    assert (np.diff(until) >= 0).all()
    assert until[1] == pytest.approx(np.interp(quantile, QUANTILES, low))
    for first in range(8):
        part = peak_between_per_s(some, START + first * HOUR, START + 8 * HOUR, quantile)
        assert part <= until[7] * (1 + 1e-9)
