"""What would have been deployed at each origin, from what was known then."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecast import QUANTILES
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.seasonal_naive_forecaster import SeasonalNaiveForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.prediction_file import write_predictions
from forecasting.prequential import Origins, Predicted, prequential, prequential_origins
from forecasting.prequential_scores import prequential_scores

START = datetime(2003, 3, 3, tzinfo=UTC)
HORIZONS_S = (3600, 21600)
FORECASTERS = (TimeOfWeekForecaster(), PersistenceForecaster(), SeasonalNaiveForecaster(days=1))
NAMES = ["time_of_week", "persistence", "day_naive", "deployed"]


def daily(days: int, *, seed: int = 1) -> ArrivalSeries:
    """A load that swings over the day, in half hours."""
    hour = np.arange(48 * days) / 2
    rate = 300 + 200 * np.sin(2 * np.pi * hour / 24)
    counts = np.random.default_rng(seed).poisson(rate).astype(float)
    return ArrivalSeries("trace", "swing", START, 1800, counts)


def replay(series: ArrivalSeries, origins: Origins) -> list[Predicted]:
    return list(prequential(series, FORECASTERS, origins, horizons_s=HORIZONS_S, quantiles=QUANTILES, paths=60, seed=3))


def test_origins__fill_the_last_half_of_a_short_series_and_leave_room_for_the_longest_horizon() -> None:
    origins = prequential_origins(daily(10), 5, 21600)
    # Ten days are 480 windows; the last origin has 12 windows (6 h) after it, the first lies 240 before that.
    told = [at for at in origins.at if at >= origins.told_from]
    assert told == [228, 288, 348, 408, 468]
    # Those that teach lie 14 h (28 windows) apart, back to the first whole day.
    assert [at for at in origins.at if at < 228] == [60, 88, 116, 144, 172, 200]


def test_origins__of_a_long_series_lie_in_its_last_two_weeks() -> None:
    origins = prequential_origins(daily(40), 15, 86400)
    told = [at for at in origins.at if at >= origins.told_from]
    assert (told[0], told[-1], len(told)) == ((39 - 14) * 48, 39 * 48, 15)


def test_series__too_short_for_a_day_of_history_is_refused() -> None:
    with pytest.raises(ForecastError, match=r"spans 1\.00 days; a day to learn from and 6 h to forecast are needed"):
        prequential_origins(daily(1), 5, 21600)


def test_prediction__is_the_same_whatever_comes_after_its_origin() -> None:
    series = daily(12)
    origins = prequential_origins(series, 4, 21600)
    cut = origins.at[-2]
    changed = series.counts.copy()
    changed[cut:] = changed[cut:] * 50 + 7
    other = ArrivalSeries(series.topology, series.source, series.start, series.window_s, changed)
    seen = [one for one in replay(series, origins) if one.origin <= cut]
    again = [one for one in replay(other, origins) if one.origin <= cut]
    assert len(seen) == len(again) == 3
    for one, two in zip(seen, again, strict=True):
        assert one.chosen == two.chosen
        for name in one.peak_per_s:
            np.testing.assert_array_equal(one.peak_per_s[name], two.peak_per_s[name])
            np.testing.assert_array_equal(one.rate_per_s[name], two.rate_per_s[name])


def test_deployed__is_told_at_every_origin_with_quantiles_in_order() -> None:
    series = daily(12)
    told = replay(series, prequential_origins(series, 6, 21600))
    assert len(told) == 6
    for one in told:
        peaks = one.peak_per_s["deployed"]
        assert peaks.shape == (2, len(QUANTILES))
        assert (np.diff(peaks, axis=1) >= 0).all()
        assert (np.diff(peaks, axis=0) >= 0).all()
        assert one.rate_per_s["deployed"].shape == (12, len(QUANTILES))
        assert all(set(names) <= set(NAMES) for names in one.chosen)


def test_one_day_of_history__is_forecast_by_those_that_can() -> None:
    series = daily(3)
    told = replay(series, Origins((60, 120), 60))
    # At window 60, a day and a quarter: only persistence needs no more than a day.
    assert set(told[0].peak_per_s) == {"persistence", "deployed"}
    assert told[0].chosen == ({"persistence": 1.0}, {"persistence": 1.0})
    assert set(told[1].peak_per_s) == set(NAMES)


def test_predictions__are_written_with_every_number_and_its_place(tmp_path: Path) -> None:
    series = daily(12)
    told = replay(series, prequential_origins(series, 3, 21600))
    write_predictions(told, tmp_path / "p.parquet", series, HORIZONS_S, QUANTILES, NAMES)
    rows = pq.read_table(tmp_path / "p.parquet").to_pandas()
    # Per origin and candidate: a peak per horizon, and 2 and 12 windows of path, each with four quantiles.
    assert len(rows) == 3 * 4 * (2 + 2 + 12) * 4
    one = told[1]
    origin = START + timedelta(seconds=1800 * one.origin)
    peak = rows.query("kind == 'peak' and candidate == 'deployed' and horizon_s == 21600 and quantile == 0.95")
    peak = peak[peak["origin"] == origin]
    assert peak["value"].tolist() == [one.peak_per_s["deployed"][1, QUANTILES.index(0.95)]]
    assert peak["target_time"].tolist() == [origin + timedelta(hours=6)]
    path = rows.query("kind == 'path' and candidate == 'persistence' and horizon_s == 3600 and quantile == 0.5")
    path = path[path["origin"] == origin]
    assert path["target_time"].tolist() == [origin, origin + timedelta(minutes=30)]
    assert path["value"].tolist() == one.rate_per_s["persistence"][:2, 0].tolist()


def test_predictions__that_fail_leave_no_file(tmp_path: Path) -> None:
    series = daily(12)

    def failing():  # type: ignore[no-untyped-def]
        yield from replay(series, prequential_origins(series, 1, 21600))
        raise ForecastError("no more")

    with pytest.raises(ForecastError, match="no more"):
        write_predictions(failing(), tmp_path / "p.parquet", series, HORIZONS_S, QUANTILES, NAMES)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ForecastError, match=r"cannot be written to .*nowhere.*check the path"):
        write_predictions([], tmp_path / "nowhere" / "p.parquet", series, HORIZONS_S, QUANTILES, NAMES)


def test_scores__are_losses_against_the_better_season_before() -> None:
    # Hourly, 1 a second throughout but for 3 a second in the hour after the origin.
    counts = np.full(24 * 9, 3600.0)
    origin = 24 * 8
    counts[origin] = 3 * 3600
    counts[origin - 24 : origin - 18] = 2 * 3600  # a day ago it was 2 a second
    series = ArrivalSeries("trace", "steps", START, 3600, counts)
    said = np.array([[1.0, 2.0, 2.0, 4.0], [1.0, 2.0, 4.0, 5.0]])
    path = np.full((6, 4), 1.0)
    one = Predicted(origin, {"mine": said}, {"mine": path}, ())
    scores = {(s.candidate, s.horizon_s): s for s in prequential_scores([one], series, HORIZONS_S, QUANTILES)}
    # The peak is 3 in both horizons. A day ago said 2 (short by 1: 0.95 and 0.99), a week ago 1 (short by 2).
    hour = scores["mine", 3600]
    # p95 2: 0.95 × 1 over 0.95. p99 4: over by 1, 0.01 over 0.99.
    assert (hour.ratio_p95, hour.ratio_p99) == pytest.approx((1.0, 0.01 / 0.99))
    assert (hour.coverage, hour.origins) == (0.0, 1)
    # The median path says 1 where 3 came.
    assert hour.wape == pytest.approx(2 / 3)
    six = scores["mine", 21600]
    # p95 4: over by 1, 0.05 over 0.95.
    assert six.ratio_p95 == pytest.approx(0.05 / 0.95)
    assert six.coverage == 1.0
    # Of 3 + 5 × 1 that came, the path missed 2.
    assert six.wape == pytest.approx(2 / 8)
    assert scores["a week ago", 3600].ratio_p95 == pytest.approx(2.0)


def test_scores__of_a_trace_without_a_season_before_have_no_ratio() -> None:
    series = daily(2)
    one = Predicted(40, {"mine": np.ones((2, 4))}, {"mine": np.ones((12, 4))}, ())
    mine = [s for s in prequential_scores([one], series, HORIZONS_S, QUANTILES) if s.candidate == "mine"]
    assert all(np.isnan(score.ratio_p95) and score.origins == 1 for score in mine)
