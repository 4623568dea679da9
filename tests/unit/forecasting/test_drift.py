"""When an alarm is raised over forecasts, and when not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pytest
from arrival_series import web_requests
from hypothesis import given, settings
from hypothesis import strategies as st
from past_forecasts import hourly, said
from scipy.stats import binom

from forecasting.drift import (
    LEVEL,
    LOSS_FACTOR,
    MAX_WINDOWS,
    ForecastDrift,
    backtest_losses_per_s,
    deployed_score,
    drifts,
    horizons_to_demote,
)
from forecasting.forecast import BacktestScore
from forecasting.peaks import pinball
from forecasting.track_record import TrackRecord, track_record

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
HOUR_S = 3600
QUANTILES = (0.5, 0.9, 0.95, 0.99)
SCORED = np.array(QUANTILES[1:])


def drift_of(actual: np.ndarray, peaks: np.ndarray, backtest_per_s: float, horizon_s: int = HOUR_S) -> ForecastDrift:
    """Of forecasts issued every hour. peaks: shape (forecasts, quantiles)."""
    count = actual.size
    starts = tuple(MONDAY + timedelta(hours=number) for number in range(count))
    record = TrackRecord("web", starts, (horizon_s,), QUANTILES, peaks[:, None, :], {}, actual[:, None])
    (drift,) = drifts(record, np.full((count, 1), backtest_per_s))
    return drift


TRUE = np.exp(0.3 * np.array([0.0, 1.2815515655446, 1.6448536269515, 2.3263478740408]))
"""Quantiles of a log-normal distribution with a spread of 0.3."""


@cache
def mean_loss_per_s() -> float:
    """Of the true quantiles, at the mean level of 5."""
    many = np.exp(0.3 * np.random.default_rng(0).standard_normal(200_000))[:, None]
    return 5 * float(pinball(many, TRUE[1:], SCORED).mean())


def draws(seed: int, count: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Peaks, their true quantiles, and the mean loss of these: forecasts as good as they can be.

    Peaks are log-normal around a level that swings with the hour of the day.
    """
    rng = np.random.default_rng(seed)
    level = 5 + 4 * np.sin(2 * np.pi * np.arange(count) / 24)
    return level * np.exp(0.3 * rng.standard_normal(count)), level[:, None] * TRUE, mean_loss_per_s()


def exceeding(exceeded: int, windows: int) -> ForecastDrift:
    """Of so many windows the last ones exceeded the p95, by so little that it costs nothing much."""
    actual = np.ones(windows)
    actual[windows - exceeded :] = 1.0001
    return drift_of(actual, np.ones((windows, 4)), 1.0)


@pytest.mark.parametrize("windows", [4, 8, 20, 60])
def test_alarm__is_raised_at_the_first_number_of_exceedances_that_chance_does_not_explain(windows: int) -> None:
    # P(X >= k) of a binomial distribution with p = 0.05 falls below the level at:
    least = next(k for k in range(windows + 1) if binom.sf(k - 1, windows, 0.05) < LEVEL)
    assert not exceeding(least - 1, windows).alarmed
    told = exceeding(least, windows)
    assert told.alarmed
    assert f"the p95 was exceeded in {least} of the last {windows} separate spans" in told.reason


def test_alarm__is_not_raised_by_three_unlucky_windows() -> None:
    # P(X >= 3) of 8 is 0.0058: once in 170 looks, too often for an alarm.
    assert binom.sf(2, 8, 0.05) == pytest.approx(0.0058, abs=1e-4)
    assert not exceeding(3, 8).alarmed


def test_alarm__counts_windows_that_overlap_once() -> None:
    # Twelve windows of six hours, an hour apart, all exceeded by the same burst: two lie apart, and 0.05² > the level.
    burst = drift_of(np.full(12, 1.0001), np.ones((12, 4)), 1.0, horizon_s=6 * HOUR_S)
    assert burst.completed == 12
    assert burst.coverage == 0.0
    assert not burst.alarmed


def test_alarm__forgets_what_is_long_over() -> None:
    actual = np.ones(100 + MAX_WINDOWS)
    actual[:100] = 1.0001
    assert not drift_of(actual, np.ones((actual.size, 4)), 1.0).alarmed


def test_alarm__is_raised_when_losses_are_far_above_what_the_backtest_said() -> None:
    # Said ten times too much: the p95 holds always, but the loss is 9 × the mean of 0.1, 0.05 and 0.01 = 0.48, 4.8
    # times the 0.1 of the backtest, in all 48 windows.
    drift = drift_of(np.ones(48), np.full((48, 4), 10.0), 0.1)
    assert drift.coverage == 1.0
    assert drift.loss_ratio_to_backtest == pytest.approx(4.8)
    assert drift.alarmed
    assert drift.reason.startswith("48 of the last 48 separate spans cost more than 2 times")


def test_alarm__is_not_raised_by_a_few_windows_of_enormous_loss() -> None:
    # Three of 48 peaks are a thousand times what was said: the mean loss is 60 times the backtest's, but three
    # exceedances of 48 are due, more or less, and half of all windows may be dear.
    actual = np.ones(48)
    actual[[5, 20, 40]] = 1000.0
    drift = drift_of(actual, np.ones((48, 4)), 1.0)
    assert drift.loss_ratio_to_backtest > 50
    assert not drift.alarmed


def test_alarm__waits_for_a_day_before_it_compares_losses() -> None:
    # Busy hours alone cost more than the mean of day and night. 0.5^20 is far below the level, but 20 hours no day.
    assert not drift_of(np.ones(20), np.full((20, 4), 10.0), 0.1).alarmed
    assert drift_of(np.ones(24), np.full((24, 4), 10.0), 0.1).alarmed


def test_drift__of_a_source_that_never_sends_is_none() -> None:
    drift = drift_of(np.zeros(48), np.zeros((48, 4)), 0.0)
    assert (drift.alarmed, drift.coverage, drift.loss_ratio_to_backtest) == (False, 1.0, 1.0)
    assert drift.reason == "no worse than chance explains"


def test_drift__before_any_window_is_over_says_so() -> None:
    drift = drift_of(np.full(3, np.nan), np.ones((3, 4)), 0.1)
    assert (drift.alarmed, drift.completed, drift.reason) == (False, 0, "no span is over and known yet")
    assert np.isnan([drift.coverage, drift.ratio_to_naive, drift.loss_ratio_to_backtest]).all()


def test_drift__without_a_backtest_still_watches_the_coverage() -> None:
    drift = drift_of(np.full(8, 2.0), np.ones((8, 4)), float("nan"))
    assert drift.alarmed
    assert np.isnan(drift.loss_ratio_to_backtest)


@pytest.mark.slow
def test_false_alarms__of_calibrated_draws_are_no_more_than_the_level_allows() -> None:
    # Two tests at 0.001 each: of 3000 looks 6 are expected at most, and more than 16 come once in ten thousand.
    alarms = 0
    for seed in range(300):
        actual, peaks, loss = draws(seed, 600)
        alarms += sum(
            drift_of(actual[at : at + MAX_WINDOWS], peaks[at : at + MAX_WINDOWS], loss).alarmed
            for at in range(0, 600, MAX_WINDOWS)
        )
    assert binom.sf(16, 3000, 2 * LEVEL) < 1e-3
    assert alarms <= 16


def test_a_horizon__is_demoted_by_an_alarm_that_a_seasonal_naive_would_have_spared() -> None:
    quiet = ForecastDrift(900, False, "no worse than chance explains", 0.9, 1.5, 1.0, 40)
    spared = ForecastDrift(3600, True, "the p95 was exceeded", 0.6, 1.5, 3.0, 40)
    no_better = ForecastDrift(21600, True, "the p95 was exceeded", 0.6, 0.8, 3.0, 40)
    # Without a naive that tells of the same windows there is nothing to stand in.
    unknown = ForecastDrift(86400, True, "the p95 was exceeded", 0.6, float("nan"), 3.0, 40)
    assert horizons_to_demote((quiet, spared, no_better, unknown)) == {3600: "the p95 was exceeded"}


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(24, 200))
def test_alarm__is_raised_when_quantiles_are_halved(seed: int, count: int) -> None:
    # Half of the p95 of a log-normal peak with a spread of 0.3 lies below its p50: more than half exceed it.
    actual, peaks, loss = draws(seed, count)
    drift = drift_of(actual, peaks / 2, loss)
    assert drift.alarmed
    assert "the p95 was exceeded" in drift.reason


@settings(max_examples=30, deadline=None)
@given(scale=st.floats(1e-6, 1e6), seed=st.integers(0, 100))
def test_drift__does_not_depend_on_the_unit_of_the_load(scale: float, seed: int) -> None:
    actual, peaks, loss = draws(seed, 48)
    one, other = drift_of(actual, peaks, loss), drift_of(scale * actual, scale * peaks, scale * loss)
    assert (one.alarmed, one.coverage) == (other.alarmed, other.coverage)
    assert one.loss_ratio_to_backtest == pytest.approx(other.loss_ratio_to_backtest)


def test_drift__of_forecasts_and_their_history_takes_each_ones_own_backtest() -> None:
    series = web_requests(days=16)
    forecasts = hourly(series, 48, backtest_per_s=0.05)
    record = track_record(forecasts, series)
    good = drifts(record, backtest_losses_per_s(forecasts, record.horizons_s))
    assert [(drift.horizon_s, drift.completed, drift.alarmed) for drift in good] == [
        (900, 48, False),
        (3600, 48, False),
    ]
    bad = hourly(series, 48, factor=0.5)
    record = track_record(bad, series)
    assert all(drift.alarmed for drift in drifts(record, backtest_losses_per_s(bad, record.horizons_s)))


def test_backtest_loss__is_of_what_was_deployed_in_the_order_of_the_record() -> None:
    peaks = {HOUR_S: np.ones(4)}
    late, early = said(MONDAY + timedelta(hours=1), peaks, backtest_per_s=2.0), said(MONDAY, peaks, backtest_per_s=None)
    losses = backtest_losses_per_s([late, early], (HOUR_S, 2 * HOUR_S))
    assert np.isnan(losses[0]).all()
    assert losses[1, 0] == 2.0
    assert np.isnan(losses[1, 1])


def test_deployed_score__is_of_the_naive_where_the_best_together_were_held_back() -> None:
    held_back = (
        BacktestScore("deployed", HOUR_S, 3.0, 1.2, 0.7, 12, False, "ratio 1.2 >= 1"),
        BacktestScore("week_naive", HOUR_S, 2.0, 1.0, 0.9, 12, True, ""),
    )
    made = replace(said(MONDAY, {HOUR_S: np.ones(4)}), scores=held_back)
    naive = deployed_score(replace(made, forecaster={HOUR_S: "week_naive"}), HOUR_S)
    assert naive is not None
    assert naive.pinball_per_s == 2.0
    # Several together have no other score than that of the procedure.
    mixed = deployed_score(replace(made, forecaster={HOUR_S: "prophet + week_naive"}), HOUR_S)
    assert mixed is not None
    assert mixed.pinball_per_s == 3.0
    assert deployed_score(replace(made, scores=()), HOUR_S) is None


def test_levels__are_what_their_reasons_say() -> None:
    # A p95 that holds four times in five is seen in most looks at sixty windows, one that holds in 93 % hardly ever.
    least = next(k for k in range(MAX_WINDOWS) if binom.sf(k - 1, MAX_WINDOWS, 0.05) < LEVEL)
    assert binom.sf(least - 1, MAX_WINDOWS, 0.2) > 0.6
    assert binom.sf(least - 1, MAX_WINDOWS, 0.07) < 0.02
    assert 1 / LOSS_FACTOR == 0.5


@pytest.mark.parametrize(("least_per_s", "alarmed"), [(10.0, True), (1.9, False)])
def test_a_lower_bound_above_the_p99__is_an_alarm(least_per_s: float, alarmed: bool) -> None:
    """The peak of the only span is unknown, as its windows are known in part; the p99 is 2/s."""
    peaks = np.full((1, 1, len(QUANTILES)), 2.0)
    unknown = np.full((1, 1), np.nan)
    record = TrackRecord("web", (MONDAY,), (24 * HOUR_S,), QUANTILES, peaks, {}, unknown, np.full((1, 1), least_per_s))
    (drift,) = drifts(record, np.full((1, 1), np.nan))
    assert drift.alarmed is alarmed
    if alarmed:
        assert "at least 10/s came where the p99 was 2/s" in drift.reason


def test_a_constant_load__is_no_alarm_where_rounding_puts_it_above_its_forecast() -> None:
    # A hundred events in 300 s, forecast by logarithms: 5.6e-17 lower. Its backtest has no loss either.
    load = np.full(60, 100 / 300)
    constant = drift_of(load, np.full((60, 4), np.nextafter(100 / 300, 0)), 0.0)
    assert (constant.alarmed, constant.coverage, constant.loss_ratio_to_backtest) == (False, 1.0, 1.0)
    # A thousandth more than forecast is more.
    assert drift_of(load * 1.001, np.full((60, 4), 100 / 300), 0.0).alarmed
