"""Paths of the naive forecasters: past errors on the present level, and histories with a hole."""

from datetime import UTC, datetime

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.naive_paths import held, windows_with, without_gaps
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.seasonal_naive_forecaster import SeasonalNaiveForecaster
from forecasting.models.time_grid import oldest

PER_DAY = 96
START = datetime(2026, 3, 2, tzinfo=UTC)


def series(days: int = 21) -> ArrivalSeries:
    wave = 100 * (1 + 0.9 * np.sin(2 * np.pi * np.arange(days * PER_DAY) / PER_DAY))
    return ArrivalSeries("t", "s", START, 900, np.random.default_rng(1).poisson(wave + 5).astype(float))


@pytest.mark.parametrize(
    "forecaster", [PersistenceForecaster(), SeasonalNaiveForecaster(1), SeasonalNaiveForecaster(7)]
)
def test_a_load_that_is_never_zero__is_never_forecast_to_be(
    forecaster: PersistenceForecaster | SeasonalNaiveForecaster,
) -> None:
    history = series()
    for hour in (0, 6, 12, 18):
        known = oldest(history, history.counts.size - hour * 4)
        paths = forecaster.fit(known).paths_per_s(known, PER_DAY, 200, np.random.default_rng(1))
        # The trough is 15 a window; downward errors keep their share, so that no path falls below a tenth of it.
        assert paths.min() > 1.5 / 900


def test_an_error_downwards__keeps_its_share_and_one_upwards_its_size() -> None:
    # Persistence continues the last window, 40, as it does everywhere but around one day's 10 and 100.
    counts = np.full(3 * PER_DAY, 40.0)
    counts[PER_DAY : PER_DAY + 2] = [10, 100]
    history = ArrivalSeries("t", "s", START, 900, counts)
    paths = PersistenceForecaster().fit(history).paths_per_s(history, 2, 400, np.random.default_rng(1)) * 900
    # Before the 10: 40 × 10/40. Before the 100, from 10: 40 + 90. After it, from 100: 40 × 40/100. Else 40.
    assert np.unique(paths[:, 0].round(6)).tolist() == [10, 16, 40, 130]
    # One window later: 40 + (100 - 40), 40 + (40 - 10), 40 × 40/100; and 40 × 10/40 from the window before.
    assert np.unique(paths[:, 1].round(6)).tolist() == [10, 16, 40, 70, 100]


def test_a_hole_of_eight_days_that_ended_three_hours_ago__leaves_naives_their_errors_of_before() -> None:
    counts = series(28).counts.copy()
    counts[-12 - 8 * PER_DAY : -12] = np.nan
    history = ArrivalSeries("t", "s", START, 900, counts)
    for known in (history, oldest(history, counts.size - 12)):
        for days in (1, 7):
            forecaster = SeasonalNaiveForecaster(days)
            paths = forecaster.fit(known).paths_per_s(known, PER_DAY, 200, np.random.default_rng(1))
            assert np.isfinite(paths).all()
            # A Poisson count of 100 has a standard deviation of 10: no error at all would be a width of zero.
            assert np.std(paths * 900, axis=0).mean() > 4


def test_the_newest_windows_with_so_many_known__pass_over_what_is_missing() -> None:
    known = np.array([True, True, False, False, True])
    assert [windows_with(known, count) for count in (1, 2, 3, 9)] == [1, 4, 5, 5]


def test_missing_counts__are_the_newest_for_a_while_and_then_those_of_a_season_before() -> None:
    nan = np.nan
    counts = np.array([1, 2, 3, 4, nan, 6, nan, nan, nan, nan, 7])
    # Two newest known: (3 + 4) / 2, then (4 + 6) / 2 for two windows; then those four windows earlier.
    assert without_gaps(held(counts, 2, 2), 4).tolist() == [1, 2, 3, 4, 3.5, 6, 5, 5, 3.5, 6, 7]


@pytest.mark.parametrize("window_s", [60, 300, 900])
def test_a_feed_that_is_silent_for_half_an_hour__is_forecast_at_the_load_before_not_at_that_of_another_hour(
    window_s: int,
) -> None:
    per_day = 86400 // window_s
    phase = 2 * np.pi * np.arange(10 * per_day) / per_day
    rates = 1 + 0.9 * np.sin(phase - np.pi / 2)  # lowest at midnight, where the history ends
    counts = 100.0 * rates
    counts[-1800 // window_s :] = np.nan
    history = ArrivalSeries("t", "s", START, window_s, counts)
    paths = PersistenceForecaster().fit(history).paths_per_s(history, 900 // window_s, 200, np.random.default_rng(1))
    # 10 to 12 a window; half a day earlier it was 190.
    assert np.median(paths[:, 0]) * window_s < 13
