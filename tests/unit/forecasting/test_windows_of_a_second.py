"""Windows of a second: a week has 604,800 of them, and no step of a forecast may need memory for its square."""

import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.first_days_forecaster import FirstDaysForecaster
from forecasting.models.fourier_terms import fourier_terms
from forecasting.models.harmonic_arima_forecaster import HarmonicArimaForecaster
from forecasting.models.residual_correction import ErrorRecord, circular_sums, correction_weights, error_scales
from forecasting.models.ridge_fourier_forecaster import RidgeFourierForecaster
from forecasting.models.time_grid import DAY_S
from forecasting.models.weekly_profile import FEW, _smoothed
from forecasting.terms import ForecastTerms

MIB = 2**20
DAYS = 4


def seconds(days: int = DAYS) -> ArrivalSeries:
    rng = np.random.default_rng(1)
    wave = 20 * (1 + 0.6 * np.sin(2 * np.pi * np.arange(days * DAY_S) / DAY_S))
    return ArrivalSeries("t", "s", datetime(2026, 3, 2, tzinfo=UTC), 1, rng.poisson(wave).astype(float))


def largest_mib(work: Callable[[], object]) -> float:
    """The largest memory that the work held at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def test_error_scales__need_memory_for_the_windows_of_a_day_and_not_for_their_neighbours() -> None:
    errors = np.random.default_rng(1).normal(size=DAYS * DAY_S)
    slots = np.arange(errors.size) % DAY_S
    # 4 × 86,400 floats are 2.6 MiB; 5,401 neighbours of each of 86,400 windows were 3.5 GiB.
    assert largest_mib(lambda: error_scales(errors, slots, 1)) < 40


def test_correction_weights__are_learnt_at_leads_a_minute_apart() -> None:
    record = ErrorRecord(np.random.default_rng(1).normal(size=DAYS * DAY_S), 1, None)
    origins = np.arange(DAY_S, 3 * DAY_S, 700)
    # 247 origins × 1,440 leads are 2.7 MiB, × 86,400 leads 163 MiB.
    assert largest_mib(lambda: correction_weights(record, origins, DAY_S)) < 40
    weights = correction_weights(record, origins, 150)
    assert weights.shape == (150, 3)
    assert (weights[:60] == weights[0]).all()
    assert (weights[60:120] == weights[60]).all()
    assert (weights[60] != weights[0]).any()


@pytest.mark.parametrize("forecaster", [RidgeFourierForecaster(), HarmonicArimaForecaster()])
def test_waves__are_fitted_in_bounded_memory(forecaster: RidgeFourierForecaster | HarmonicArimaForecaster) -> None:
    # 604,800 slots × 61 waves are 281 MiB, of which a fit held three copies; a week of minutes has 10,080 slots.
    assert largest_mib(lambda: forecaster.fit(seconds())) < 120


def test_first_days__are_drawn_a_few_paths_at_a_time() -> None:
    series = seconds()
    # A path of a day of seconds is .7 MiB and 104 of them 69 MiB, which are the answer; the history is 2.6 MiB.
    fitted = FirstDaysForecaster().fit(series)
    assert largest_mib(lambda: fitted.paths_per_s(series, DAY_S, 104, np.random.default_rng(1))) < 69 + 60


def test_waves__have_a_row_a_minute_or_what_divides_the_day() -> None:
    # Of 1 s there are 60 a minute, of 25 s two, whose 50 s divide the day; of 32 s one.
    assert [fourier_terms(window_s, 6, 3)[1] for window_s in (1, 25, 32, 60, 300)] == [60, 2, 1, 1, 1]
    terms, per_row = fourier_terms(1, 6, 3)
    assert terms.shape[0] * per_row == 7 * DAY_S


def test_sums_around_the_circle__count_each_place_within_reach_once() -> None:
    # 1 2 3 4 5, two neighbours: of the first 5 + 1 + 2 = 8, of the last 4 + 5 + 1 = 10.
    assert circular_sums(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 1).tolist() == [8, 6, 9, 12, 10]
    assert circular_sums(np.array([1.0, 2.0, 3.0]), 0).tolist() == [1, 2, 3]


def test_long_kernels__smooth_like_short_ones() -> None:
    circle = np.random.default_rng(1).random(3000)
    kernel = np.ones(2 * FEW + 1) / (2 * FEW + 1)
    assert _smoothed(circle, kernel) == pytest.approx(circular_sums(circle, FEW) / kernel.size, abs=1e-12)


def test_many_steps__get_fewer_paths_and_at_least_a_hundred() -> None:
    assert ForecastTerms(300, DAY_S, paths=400).drawn_paths == 400
    # 9,000,000 / 86,400 = 104.2
    assert ForecastTerms(1, DAY_S, paths=400).drawn_paths == 104
    assert ForecastTerms(1, 7 * DAY_S, paths=400).drawn_paths == 100
