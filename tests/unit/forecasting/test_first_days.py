"""The usual day of a source with days of history, and how sure so few days are."""

from dataclasses import replace

import numpy as np
import pytest
from arrival_series import busy_offices, web_requests

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.models.few_days_level import HYPOTHESES, MEAN_VARIANCE, LogLoad, chances, log_levels
from forecasting.models.first_days_forecaster import FirstDaysForecaster
from forecasting.models.time_grid import newest, oldest
from forecasting.peaks import actual_peak_per_s, peak_quantiles_per_s
from forecasting.pipeline import issue, train
from forecasting.terms import ForecastTerms

PER_HOUR = 4
"""Windows of 15 minutes."""


def log_load(hours: np.ndarray, values: np.ndarray) -> LogLoad:
    return LogLoad(hours, values, np.full(hours.size, 1e-4))


def spread(drawn: np.ndarray) -> np.ndarray:
    """Half the distance of the quantiles of one standard deviation, which heavy tails move little."""
    low, high = np.quantile(drawn, (0.1587, 0.8413), axis=0)
    return np.asarray((high - low) / 2)


def wave(hours: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(2 * np.pi * hours / 24))


def test_a_wave_of_the_day__is_known_as_repeating_and_a_walk_is_not() -> None:
    hours = np.arange(-72.0, 0)
    repeats = np.array([share for share, _ in HYPOTHESES])
    assert chances(log_load(hours, wave(hours))) @ repeats > 0.85
    walk = np.cumsum(np.random.default_rng(3).normal(0, 0.3, hours.size))
    assert chances(log_load(hours, walk)) @ repeats < 0.5


def test_chances__add_up_to_one_and_stay_open_with_a_day_of_evidence() -> None:
    hours = np.arange(-24.0, 0)
    likely = chances(log_load(hours, wave(hours)))
    assert likely.sum() == pytest.approx(1)
    # A single day cannot show whether it repeats.
    assert likely.max() < 0.9


def test_an_hour_of_the_day_that_was_never_seen__is_less_certain_than_one_seen_twice() -> None:
    hours = np.arange(-60.0, 0)
    seen = hours[(hours % 24 < 8) | (hours % 24 >= 16)]
    weights = chances(log_load(seen, wave(seen)))
    drawn = log_levels(log_load(seen, wave(seen)), weights, np.array([12.0, 21.0]), 4000, np.random.default_rng(1))
    never, twice = spread(drawn)
    assert never > 1.5 * twice


def test_far_from_all_evidence__the_level_is_as_uncertain_as_its_mean_and_all_that_wanders() -> None:
    # One value 0 without noise: K = 2 + 1 = 3, and the covariance with a level a hundred days on is that of the mean,
    # the repeating share (the same time of day in another week: .9 of it and a little more) and nothing that wanders.
    known = LogLoad(np.zeros(1), np.zeros(1), np.zeros(1))
    only = np.eye(len(HYPOTHESES))[0]
    repeats = HYPOTHESES[0][0]
    drawn = log_levels(known, only, np.array([2400.0]), 100_000, np.random.default_rng(2))
    alike = MEAN_VARIANCE + 0.9 * repeats
    # The prior alone gives the scale: 8 values of variance .25 and one of 0 make 2 / 9.
    variance = 2 / 9 * (3 - alike**2 / 3)
    # Student's t of 4 degrees and that variance × 1.15²: its quantile of one standard deviation is 1.1416 / sqrt(2).
    assert spread(drawn)[0] == pytest.approx(1.15 * np.sqrt(variance) * 1.1416 / np.sqrt(2), rel=0.03)


def test_36_hours_of_a_clear_day__cover_the_peaks_of_six_hours() -> None:
    """Persistence alone covered a quarter of them: it knows the morning's rise from one day's errors."""
    terms = ForecastTerms(900, 86400, (3600, 21600, 86400), paths=200, origins=12)
    below = []
    for seed in range(6):
        whole = web_requests(days=4, seed=seed)
        for hour in (4, 10, 16, 22):
            end = (36 + hour) * PER_HOUR
            known = newest(oldest(whole, end), 36 * PER_HOUR)
            forecast = issue(train(known, issued_at=known.end, terms=terms), known, issued_at=known.end)
            ahead = whole.rate_per_s()[end:]
            below += [
                actual_peak_per_s(ahead[: horizon_s // 900]) <= forecast.peak_quantile_per_s(horizon_s, 0.95)
                for horizon_s in (3600, 21600, 86400)
            ]
    assert np.mean(below) >= 0.9


def test_the_median__follows_the_day_that_was_seen() -> None:
    series = web_requests(days=2.5, seed=4)
    drawn = FirstDaysForecaster().fit(series).paths_per_s(series, 96, 400, np.random.default_rng(1))
    # Issued at noon: 5 × (.6 - .4 cos) is 5/s at noon, 1/s at midnight and 5/s again at the next noon, up to its drift.
    median = np.median(drawn, axis=0)
    assert median[48] == pytest.approx(1.0, rel=0.35)
    assert median[0] == pytest.approx(5.0, rel=0.35)
    assert median[95] == pytest.approx(5.0, rel=0.35)


def test_an_empty_night__counts_as_closed_only_once_it_came_twice() -> None:
    for series, closed in ((busy_offices(days=1.6), False), (busy_offices(days=3.6), True)):
        drawn = FirstDaysForecaster().fit(series).paths_per_s(series, 48, 200, np.random.default_rng(1))
        # From 14:24 on: steps 32 to 47 lie between 22:00 and 3:00.
        assert bool(drawn[:, 32:].max() == 0) is closed
        assert np.median(drawn[:, 32:]) < 0.02


def test_a_day_of_history__is_forecast_by_its_own_shape_beside_persistence() -> None:
    series = web_requests(days=1)
    trained = train(series, issued_at=series.end, terms=ForecastTerms(900, 86400, (86400,), paths=100, origins=4))
    # Nothing has judged them yet: .8 ** -6 = 3.81 times the weight of persistence, 3.81 / 4.81 = .79.
    assert trained.deployed.ensemble.weights[0] == pytest.approx({"first_days": 0.79, "persistence": 0.21}, abs=0.005)
    assert not any("first_days" in note for note in trained.notes)


def test_more_than_two_weeks__need_it_no_more_and_no_note_says_so() -> None:
    series = web_requests(days=15)
    trained = train(series, issued_at=series.end, terms=ForecastTerms(900, 86400, (3600,), paths=60, origins=4))
    assert not any("first_days" in note for note in trained.notes)
    assert "first_days" not in trained.deployed.fitted


def test_more_than_two_weeks__are_left_to_the_others() -> None:
    series = web_requests(days=15)
    assert FirstDaysForecaster().unsuitable_because(series) == "15.00 days of history, it is for the first 14"
    with pytest.raises(ForecastError, match="it is for the first 14"):
        FirstDaysForecaster().fit(series)


def test_an_hour_of_counts_lost__changes_the_forecast_little() -> None:
    series = web_requests(days=3)
    counts = series.counts.copy()
    counts[100:104] = np.nan
    whole, gap = (
        FirstDaysForecaster().fit(one).paths_per_s(one, 96, 400, np.random.default_rng(1))
        for one in (series, replace(series, counts=counts))
    )
    horizons, levels = (24, 96), (0.5, 0.95)
    assert peak_quantiles_per_s(gap, horizons, levels) == pytest.approx(
        peak_quantiles_per_s(whole, horizons, levels), rel=0.15
    )


def test_counts_that_all_became_zero__are_continued() -> None:
    series = web_requests(days=2)
    fitted = FirstDaysForecaster().fit(series)
    silent = ArrivalSeries(series.topology, series.source, series.start, 900, np.zeros(series.counts.size))
    assert (fitted.paths_per_s(silent, 96, 50, np.random.default_rng(1)) == 0).all()
