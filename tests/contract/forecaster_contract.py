"""What every forecaster keeps to. A test module subclasses ForecasterContract and gives the fixture `forecaster`."""

from datetime import timedelta

import numpy as np
import pytest
from arrival_series import busy_offices, web_requests, with_gaps

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecaster import Forecaster

STEPS, PATHS = 96, 200
"""A day of 15-minute steps."""


class ForecasterContract:
    def test_paths__have_the_asked_shape_and_are_finite_and_never_negative(self, forecaster: Forecaster) -> None:
        series = web_requests()
        paths = forecaster.fit(series).paths_per_s(series, STEPS, PATHS, np.random.default_rng(1))
        assert paths.shape == (PATHS, STEPS)
        assert np.isfinite(paths).all()
        assert (paths >= 0).all()

    def test_paths__are_the_same_for_the_same_seed(self, forecaster: Forecaster) -> None:
        series = web_requests()
        first, second = (
            forecaster.fit(series).paths_per_s(series, STEPS, PATHS, np.random.default_rng(5)) for _ in range(2)
        )
        assert np.array_equal(first, second)

    def test_paths__reach_further_than_a_day(self, forecaster: Forecaster) -> None:
        series = web_requests()
        paths = forecaster.fit(series).paths_per_s(series, 2 * STEPS + 7, 50, np.random.default_rng(1))
        assert paths.shape == (50, 2 * STEPS + 7)
        assert np.isfinite(paths).all()

    def test_paths__follow_newer_counts_than_those_learnt_from(self, forecaster: Forecaster) -> None:
        series = web_requests()
        fitted = forecaster.fit(series.between(series.start, series.end - timedelta(hours=18)))
        # Half the load for the last three hours: every forecaster but the seasonal naives must expect less than before.
        halved = series.counts.copy()
        halved[-12:] *= 0.5
        lower = ArrivalSeries(series.topology, series.source, series.start, series.window_s, halved)
        usual = np.median(fitted.paths_per_s(series, 4, PATHS, np.random.default_rng(1)))
        less = np.median(fitted.paths_per_s(lower, 4, PATHS, np.random.default_rng(1)))
        assert less < usual or forecaster.name in {"day_naive", "week_naive"}

    def test_paths__stay_at_the_size_of_the_load(self, forecaster: Forecaster) -> None:
        # The true rate never exceeds peak × drift: 5 × exp(3 × 0.03 / sqrt(1 - 0.97²)) = 5 × 1.45 = 7.2/s.
        series = web_requests()
        paths = forecaster.fit(series).paths_per_s(series, STEPS, PATHS, np.random.default_rng(1))
        assert np.quantile(paths.max(axis=1), 0.9) < 2 * 7.2
        assert np.median(paths) > 1.0

    def test_gaps__are_accepted_and_are_not_zeros(self, forecaster: Forecaster) -> None:
        series, gaps = web_requests(), with_gaps(web_requests())
        whole = forecaster.fit(series).paths_per_s(series, STEPS, PATHS, np.random.default_rng(1))
        paths = forecaster.fit(gaps).paths_per_s(gaps, STEPS, PATHS, np.random.default_rng(1))
        assert np.isfinite(paths).all()
        # A twentieth of zeros in place of the gaps would pull the median of the night down; missing ones do not.
        assert np.median(paths) == pytest.approx(np.median(whole), rel=0.15)

    def test_closed_hours__stay_near_zero(self, forecaster: Forecaster) -> None:
        # Issued on a Wednesday at 17:00, in the middle of a day that is twice as busy as usual.
        series = busy_offices(days=24.0 - 7 / 24)
        counts = series.counts.copy()
        counts[-40:] *= 2
        series = ArrivalSeries(series.topology, series.source, series.start, series.window_s, counts)
        paths = forecaster.fit(series).paths_per_s(series, 48, PATHS, np.random.default_rng(1))
        if forecaster.name == "persistence":
            # What came last goes on: it knows closed hours from its errors alone.
            return
        # Step 18 starts at 21:30, step 47 ends at 5:00; the rate by day reaches 1/s.
        night = paths[:, 18:]
        assert np.median(night) < 0.01
        if not forecaster.naive:
            assert night.max() == 0

    def test_too_short_a_series__is_refused_with_what_is_lacking(self, forecaster: Forecaster) -> None:
        series = web_requests(days=0.75)
        assert "0.75 days of history" in (forecaster.unsuitable_because(series) or "")
        with pytest.raises(ForecastError, match=r"are needed"):
            forecaster.fit(series)

    def test_a_series_that_is_mostly_missing__is_refused_with_its_share(self, forecaster: Forecaster) -> None:
        series = web_requests()
        counts = np.where(np.arange(series.counts.size) % 4 == 0, series.counts, np.nan)
        sparse = ArrivalSeries(series.topology, series.source, series.start, series.window_s, counts)
        assert "25% of the windows are observed" in (forecaster.unsuitable_because(sparse) or "")

    def test_another_window_width__is_refused(self, forecaster: Forecaster) -> None:
        series = web_requests()
        with pytest.raises(ForecastError, match="resample it first"):
            forecaster.fit(series).paths_per_s(series.resampled(1800), 4, 10, np.random.default_rng(1))

    def test_a_constant_series__is_continued_or_refused(self, forecaster: Forecaster) -> None:
        series = web_requests()
        constant = ArrivalSeries(
            series.topology, series.source, series.start, series.window_s, np.full(series.counts.size, 90.0)
        )
        if forecaster.unsuitable_because(constant):
            assert "naive" in str(forecaster.unsuitable_because(constant))
            return
        paths = forecaster.fit(constant).paths_per_s(constant, STEPS, 20, np.random.default_rng(1))
        # 90 events in 900 s.
        assert paths == pytest.approx(np.full((20, STEPS), 0.1), rel=1e-6)
