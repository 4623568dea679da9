"""What past forecasts said beside what came, by hand."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from past_forecasts import said

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.track_record import TrackRecord, track_record
from forecasting.track_scores import apart_windows, track_scores

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
HOUR_S, DAY_S = 3600, 86400


def history(*rates_per_s: float, start: datetime = MONDAY) -> ArrivalSeries:
    """Windows of an hour with these rates."""
    return ArrivalSeries("shop", "web", start, HOUR_S, HOUR_S * np.array(rates_per_s, dtype=float))


def quantiles(p50: float, p90: float, p95: float, p99: float) -> np.ndarray:
    return np.array([p50, p90, p95, p99])


def record_of(
    actual: list[float], p95: list[float], *, day: list[float] | None = None, every_h: int = 1
) -> TrackRecord:
    """One horizon of an hour: the other quantiles are as the p95 is."""
    count = len(actual)
    return TrackRecord(
        "web",
        tuple(MONDAY + timedelta(hours=every_h * number) for number in range(count)),
        (HOUR_S,),
        (0.5, 0.9, 0.95, 0.99),
        np.repeat(np.array(p95)[:, None, None], 4, axis=2),
        {
            "a day ago": np.array(day or [np.nan] * count)[:, None],
            "a week ago": np.full((count, 1), np.nan),
        },
        np.array(actual)[:, None],
    )


def test_record__holds_the_peak_that_came_and_those_of_a_day_and_a_week_before() -> None:
    # Hour n of the history came at rate n. From hour 170 on: hours 170 and 171 within two hours; a day before, 146 and
    # 147; a week before, 2 and 3.
    whole = history(*range(173))
    forecast = said(MONDAY + timedelta(hours=170), {2 * HOUR_S: quantiles(1, 2, 3, 4)}, step_s=HOUR_S)
    record = track_record([forecast], whole)
    assert record.horizons_s == (2 * HOUR_S,)
    assert record.actual_per_s.tolist() == [[171.0]]
    assert record.naive_per_s["a day ago"].tolist() == [[147.0]]
    assert record.naive_per_s["a week ago"].tolist() == [[3.0]]
    assert record.peak_per_s.tolist() == [[[1.0, 2.0, 3.0, 4.0]]]


def test_record__knows_nothing_of_a_horizon_that_is_not_over() -> None:
    forecast = said(MONDAY + timedelta(hours=30), {h * HOUR_S: quantiles(1, 1, 1, 1) for h in (1, 2, 3)}, step_s=HOUR_S)
    record = track_record([forecast], history(*range(32)))
    assert record.actual_per_s[0, :2].tolist() == [30.0, 31.0]
    assert np.isnan(record.actual_per_s[0, 2])
    # The day before is known all the same.
    assert record.naive_per_s["a day ago"].tolist() == [[6.0, 7.0, 8.0]]


def test_record__of_a_day_ahead_repeats_the_day_that_was_known() -> None:
    forecast = said(MONDAY + timedelta(hours=24), {DAY_S: quantiles(1, 1, 1, 1)}, step_s=HOUR_S)
    record = track_record([forecast], history(*range(48)))
    assert record.naive_per_s["a day ago"].tolist() == [[23.0]]
    assert record.actual_per_s.tolist() == [[47.0]]


def test_record__does_not_tell_where_more_than_a_fifth_is_missing() -> None:
    rates = [1.0] * 24 + [5.0, np.nan, 2.0, 3.0, 4.0] + [5.0, np.nan, np.nan, 3.0, 4.0]
    starts = (24, 29)
    made = [said(MONDAY + timedelta(hours=at), {5 * HOUR_S: quantiles(1, 1, 1, 1)}, step_s=HOUR_S) for at in starts]
    record = track_record(made, history(*rates))
    assert record.actual_per_s[0, 0] == 5.0
    assert np.isnan(record.actual_per_s[1, 0])


def test_record__takes_peaks_on_the_step_grid_of_the_forecast() -> None:
    # Two half-hours at 2/s and 6/s are an hour at 4/s.
    half_hours = ArrivalSeries("shop", "web", MONDAY, 1800, 1800 * np.array([1.0, 1.0, 2.0, 6.0]))
    forecast = said(MONDAY + timedelta(hours=1), {HOUR_S: quantiles(1, 1, 1, 1)}, step_s=HOUR_S)
    assert track_record([forecast], half_hours).actual_per_s.tolist() == [[4.0]]


def test_record__is_in_order_of_time_and_bears_forecasts_of_other_horizons_and_none_that_are_over() -> None:
    late = said(MONDAY + timedelta(hours=5), {HOUR_S: quantiles(1, 2, 3, 4)}, step_s=HOUR_S)
    early = said(MONDAY + timedelta(hours=2), {2 * HOUR_S: quantiles(5, 6, 7, 8)}, step_s=HOUR_S)
    record = track_record([late, early], None)
    assert record.issued == (early.start, late.start)
    assert np.isnan(record.peak_per_s[0, 0]).all()
    assert record.peak_per_s[0, 1].tolist() == [5.0, 6.0, 7.0, 8.0]
    assert np.isnan(record.actual_per_s).all()
    assert [score.completed for score in track_scores(record)] == [0, 0]


def test_record__of_a_history_that_cannot_be_put_on_its_grid_knows_nothing() -> None:
    forecast = said(MONDAY + timedelta(hours=1), {900: quantiles(1, 1, 1, 1)}, step_s=900)
    assert np.isnan(track_record([forecast], history(1, 2, 3)).actual_per_s).all()


def test_record__is_of_one_source_and_of_something() -> None:
    one, other = (said(MONDAY, {HOUR_S: quantiles(1, 1, 1, 1)}, source=name) for name in ("web", "mail"))
    with pytest.raises(ForecastError, match="of one source"):
        track_record([one, other], history(1))
    with pytest.raises(ForecastError, match="at least one forecast"):
        track_record([], history(1))


def test_score__gives_coverage_and_its_interval() -> None:
    # Nine of ten held. Clopper and Pearson: the lower bound solves P(X >= 9 | p) = 0.025, p = 0.5550; the upper one
    # P(X <= 9 | p) = 1 - p^10 = 0.025, p = 0.975^(1/10) = 0.99747.
    (score,) = track_scores(record_of([1.0] * 9 + [3.0], [2.0] * 10))
    assert (score.completed, score.held, score.apart) == (10, 9, 10)
    assert score.coverage == 0.9
    low = score.coverage_low
    assert 10 * low**9 * (1 - low) + low**10 == pytest.approx(0.025)
    assert score.coverage_high == pytest.approx(0.975**0.1)


def test_score__that_held_always_does_not_promise_always() -> None:
    # Five of five: the lower bound solves p^5 = 0.025.
    (score,) = track_scores(record_of([1.0] * 5, [2.0] * 5))
    assert score.coverage_low == pytest.approx(0.025**0.2)
    assert score.coverage_high == 1.0


def test_score__counts_windows_that_overlap_once_in_what_chance_may_do() -> None:
    record = record_of([1.0] * 8, [2.0] * 8)
    four_hours = TrackRecord(
        record.source,
        record.issued,
        (4 * HOUR_S,),
        record.quantiles,
        record.peak_per_s,
        record.naive_per_s,
        record.actual_per_s,
    )
    # Eight starts an hour apart: of windows of four hours, those from hour 7 and hour 3 lie apart.
    (score,) = track_scores(four_hours)
    assert (score.completed, score.apart) == (8, 2)
    assert score.coverage_low == pytest.approx(0.025**0.5)
    assert apart_windows(record.issued, np.arange(8), 4 * HOUR_S).tolist() == [3, 7]


def test_score__sets_the_loss_against_the_better_naive_in_the_same_windows() -> None:
    # Said 12 at every quantile, 10 came: the loss is 2 × the mean of 0.1, 0.05 and 0.01 = 2 × 0.16 / 3. A day before it
    # was 8: 2 × the mean of 0.9, 0.95 and 0.99 = 2 × 2.84 / 3. The ratio is 0.16 / 2.84.
    (score,) = track_scores(record_of([10.0] * 4, [12.0] * 4, day=[8.0, 8.0, 8.0, np.nan]))
    assert score.loss_per_s == pytest.approx(2 * 0.16 / 3)
    assert score.naive == "a day ago"
    assert score.ratio_to_naive == pytest.approx(0.16 / 2.84)


def test_score__without_a_naive_that_tells_of_most_windows_has_no_ratio() -> None:
    (score,) = track_scores(record_of([10.0] * 4, [12.0] * 4, day=[8.0, np.nan, np.nan, np.nan]))
    assert score.naive == ""
    assert np.isnan(score.ratio_to_naive)


def test_score__of_nothing_at_all_is_a_draw() -> None:
    (score,) = track_scores(record_of([0.0] * 4, [0.0] * 4, day=[0.0] * 4))
    assert (score.coverage, score.loss_per_s, score.ratio_to_naive) == (1.0, 0.0, 1.0)


def test_record__of_windows_known_in_part_holds_their_lower_bound() -> None:
    nan = float("nan")
    forecast = said(MONDAY + timedelta(hours=2), {2 * HOUR_S: quantiles(1, 2, 3, 4)}, step_s=HOUR_S)
    record = track_record([forecast], history(2, 2, nan, 2), history(2, 2, 10, 2))
    assert np.isnan(record.actual_per_s).all()
    assert record.least_per_s is not None
    assert record.least_per_s.tolist() == [[10.0]]
