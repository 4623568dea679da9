"""The parts that forecasters are made of, by hand."""

from datetime import timedelta

import numpy as np
import pytest
from arrival_series import MONDAY, busy_offices, web_requests

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.models.error_trajectories import alike_origins, drawn, fill_along, run_round
from forecasting.models.harmonic_arima_forecaster import ArmaMemory
from forecasting.models.naive_paths import without_gaps
from forecasting.models.open_hours import learn_open_hours
from forecasting.models.prophet_forecaster import ProphetForecaster
from forecasting.models.residual_correction import ErrorRecord, correction_weights
from forecasting.models.seasonal_naive_forecaster import SeasonAgo
from forecasting.models.slow_level import GridLevel
from forecasting.models.time_grid import week_slots, windows_per_day
from forecasting.models.transform import LOG, SQRT
from forecasting.models.transform_choice import chosen_transform
from forecasting.models.weekly_profile import weekly_profile

NAN = float("nan")


def test_week_slots__start_on_monday_midnight_utc() -> None:
    assert week_slots(MONDAY, 3600, 3).tolist() == [0, 1, 2]
    assert week_slots(MONDAY - timedelta(hours=1), 3600, 2).tolist() == [167, 0]


def test_a_step_that_does_not_divide_a_day__is_refused() -> None:
    with pytest.raises(ForecastError, match="does not divide a day"):
        windows_per_day(7000)


@pytest.mark.parametrize("transform", [LOG, SQRT], ids=lambda t: t.name)
def test_transforms__come_back(transform: object) -> None:
    counts = np.array([0.0, 1.0, 250.0, 1e6])
    assert transform.inverse(transform.forward(counts)) == pytest.approx(counts)  # type: ignore[attr-defined]


def test_open_hours__are_learnt_from_structural_zeros() -> None:
    series = busy_offices(days=21, window_s=900)
    is_open = learn_open_hours(series).open_mask(MONDAY, 7 * 96).reshape(7, 96)
    # Weekdays 7:00 to 21:00 are windows 28 to 83.
    assert is_open[:5, 28:84].all()
    assert not is_open[:5, :28].any()
    assert not is_open[:5, 84:].any()
    assert not is_open[5:].any()


def test_open_hours__of_a_sparse_stream_are_never_closed() -> None:
    # One event in ten windows: an hour without any in all three weeks is chance (e^-3.6), not a rule.
    counts = np.random.default_rng(4).poisson(0.1, 21 * 288).astype(float)
    assert not learn_open_hours(ArrivalSeries("t", "s", MONDAY, 300, counts)).closed.any()


def test_a_single_event_in_the_night__does_not_open_it() -> None:
    series = busy_offices(days=56)
    counts = series.counts.copy()
    counts[8] = 1.0
    hours = learn_open_hours(ArrivalSeries("t", "s", MONDAY, 900, counts))
    assert hours.closed[8]


def test_weekly_profile__draws_in_a_holiday() -> None:
    series = busy_offices(days=56)
    holiday = series.counts.copy()
    holiday[2 * 672 : 2 * 672 + 96] = 0.0
    noon = 48
    usual, with_holiday = (
        weekly_profile(s, SQRT, learn_open_hours(s)).level.slots[noon]
        for s in (series, ArrivalSeries("t", "s", MONDAY, 900, holiday))
    )
    # Taken as it is, one zero among eight Mondays, at less than half of their weight, lowers the root by about 8 %.
    assert with_holiday == pytest.approx(usual, rel=0.03)


def test_self_influence__is_the_share_of_a_window_in_its_own_level() -> None:
    series = busy_offices(days=14)
    hours = learn_open_hours(series)
    profile = weekly_profile(series, SQRT, hours)
    at = 7 * 96 + 48
    raised = SQRT.forward(series.counts)
    raised[at] += 0.1
    moved = weekly_profile(ArrivalSeries("t", "s", MONDAY, 900, SQRT.inverse(raised)), SQRT, hours).level.slots[48]
    # The weekdays that the slot leans on saw the window too, which leverage leaves out.
    assert (moved - profile.level.slots[48]) / 0.1 == pytest.approx(profile.leverage[at], abs=0.08)


def test_current_errors__are_means_over_three_spans_and_fall_back_to_the_longer_one() -> None:
    # Hourly windows: 15 min is the last window, 2 h the last two, 24 h the last 24.
    errors = np.array([1.0] * 22 + [3.0, NAN])
    # Last window unknown: it takes the 2 h mean, 3. The day: (22 × 1 + 3) / 23.
    assert ErrorRecord(errors, 3600, None).current(np.array([24]))[0] == pytest.approx([3.0, 3.0, 25 / 23])
    assert ErrorRecord(np.full(24, NAN), 3600, None).current(np.array([24]))[0].tolist() == [0.0, 0.0, 0.0]


def test_correction_weights__find_errors_that_persist_and_ignore_those_that_do_not() -> None:
    rng = np.random.default_rng(2)
    lasting = np.repeat(rng.normal(size=60), 24)
    weights = correction_weights(ErrorRecord(lasting, 3600, None), np.arange(24, 1400, 3), 4)
    # The next hour is like the last one except at midnight: all but 1/24 of it, less the penalty for few origins.
    assert 0.7 < weights[0].sum() < 1.0
    noise = correction_weights(ErrorRecord(rng.normal(size=1440), 3600, None), np.arange(24, 1400, 3), 4)
    assert np.abs(noise).max() < 0.25


def test_arma_memory__goes_on_as_its_equation_says() -> None:
    memory = ArmaMemory(0.5, 0.2, 0.3)
    # shock[0] = 1; expected[1] = 0.5 × 1 + 0.3 × 1 = 0.8, so shock[1] = 2 - 0.8 = 1.2;
    # next: 0.5 × 2 + 0.2 × 1 + 0.3 × 1.2 = 1.56, then 0.5 × 1.56 + 0.2 × 2 = 1.18.
    assert memory.anticipated(memory.states(np.array([1.0, 2.0]))[[2]], 2)[0] == pytest.approx([1.56, 1.18])


def test_arma_memory__takes_what_it_expected_for_what_is_missing() -> None:
    # After 1: expected 0.8, which counts as seen, without a shock: 0.5 × 0.8 + 0.2 × 1 = 0.6.
    memory = ArmaMemory(0.5, 0.2, 0.3)
    assert memory.anticipated(memory.states(np.array([1.0, NAN]))[[2]], 1)[0] == pytest.approx([0.6])


def test_alike_origins__lie_within_two_and_a_half_hours_of_the_time_of_day() -> None:
    origins, length = alike_origins(30 * 96 + 40, 96, 900)
    assert length == 30 * 96 + 40
    assert (np.abs((origins - 40 + 48) % 96 - 48) <= 10).all()
    assert origins.max() + 96 <= length


def test_alike_origins__of_a_short_history_run_round_by_whole_days() -> None:
    origins, length = alike_origins(2 * 96, 96, 900, earliest=90)
    # Only windows 90 to 96 have a whole day after them: too few.
    assert origins.size > 0
    assert length == 3 * 96
    values = run_round(np.arange(192.0), length, 900)
    assert values[192:].tolist() == np.arange(0.0, 96.0).tolist()


def test_fill_along__takes_the_error_before_and_at_the_head_the_one_after() -> None:
    filled = fill_along(np.array([[NAN, 2.0, NAN], [NAN, NAN, NAN]]))
    assert filled.tolist() == [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]


def test_drawn__takes_every_trajectory_equally_often() -> None:
    counts = np.bincount(drawn(3, 8, np.random.default_rng(0)), minlength=3)
    assert sorted(counts.tolist()) == [2, 3, 3]


def test_without_gaps__a_missing_count_takes_the_one_a_season_before() -> None:
    assert without_gaps(np.array([1.0, 2.0, 3.0, NAN]), 2).tolist() == [1.0, 2.0, 3.0, 2.0]
    assert without_gaps(np.array([NAN, 2.0, 3.0, 4.0]), 2).tolist() == [3.0, 2.0, 3.0, 4.0]


def test_season_ago__repeats_the_last_season() -> None:
    assert SeasonAgo(3)(np.arange(6.0), np.array([6]), 5).tolist() == [[3.0, 4.0, 5.0, 3.0, 4.0]]


def test_a_grid_level__goes_on_with_its_last_week() -> None:
    level = GridLevel(MONDAY, 86400, np.arange(10.0))
    # Days 3 to 9 are the last week; day 10 is like day 3, day 17 as well.
    assert level.transformed(MONDAY + timedelta(days=9), 3).tolist() == [9.0, 3.0, 4.0]
    assert level.transformed(MONDAY + timedelta(days=17), 1).tolist() == [3.0]
    assert level.transformed(MONDAY - timedelta(days=1), 2).tolist() == [6.0, 0.0]


def test_the_transform__is_the_same_for_the_same_series() -> None:
    # Level errors of a factor e^±0.5 from day to day.
    series = web_requests(days=21)
    factor = np.exp(np.repeat(np.random.default_rng(8).normal(0, 0.5, 21), 96))
    swinging = ArrivalSeries("t", "s", MONDAY, 900, np.round(series.counts * factor))
    assert chosen_transform(swinging) == chosen_transform(swinging)


@pytest.mark.slow
def test_prophet__names_a_series_on_which_its_optimiser_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from prophet import Prophet

    def stops(*_: object, **__: object) -> None:
        raise RuntimeError("Error during optimization! Command '/somewhere/prophet_model.bin …'")

    monkeypatch.setattr(Prophet, "fit", stops)
    with pytest.raises(ForecastError, match=r"^forecaster prophet: its optimiser stops at once on this series"):
        ProphetForecaster().fit(web_requests())
