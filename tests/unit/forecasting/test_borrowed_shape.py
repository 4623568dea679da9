"""A young source at its own level in the shape of its siblings: exact where both are, and by the clock of each."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from sibling_series import DAY, MONDAY, NIGHT, WINDOW_S, day_and_night, noisy, old, young

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.models.borrowed_forecaster import BorrowedForecaster
from forecasting.models.residual_correction import CorrectedForecaster
from forecasting.models.shared_level import hourly_means, own_noise, shared_level
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster


def paths(series: ArrivalSeries, *siblings: ArrivalSeries, steps: int = 96, count: int = 60) -> np.ndarray:
    fitted = BorrowedForecaster(siblings).fit(series)
    return fitted.paths_per_s(series, steps, count, np.random.default_rng(1))


def shape_of(series: ArrivalSeries) -> CorrectedForecaster:
    fitted = TimeOfWeekForecaster().fit(hourly_means(series))
    assert isinstance(fitted, CorrectedForecaster)
    return fitted


def test_a_source_twice_as_large__gets_the_day_of_its_sibling_twice_as_high_before_it_has_seen_one() -> None:
    # Six hours of night: 200 a window. From step 8 (8:00) on it is day, of which the last hour's mean knows wholly from
    # 9:00 on; at 12:00, step 24, 2 × 300 come in 900 s.
    drawn = paths(young(6), old())
    assert drawn[:, 0] == pytest.approx(np.full(60, 2 * NIGHT / WINDOW_S), rel=1e-3)
    assert drawn[:, 24] == pytest.approx(np.full(60, 2 * DAY / WINDOW_S), rel=1e-3)
    assert drawn[:, 80] == pytest.approx(np.full(60, 2 * NIGHT / WINDOW_S), rel=1e-3)


def test_the_level__is_the_ratio_of_medians_and_sure_where_the_sibling_never_missed_it() -> None:
    # 200 over 100 in every hour; the sibling's own days are 100 over 100, so their logarithms have no spread.
    level = shared_level(young(6), hourly_means(young(6)), shape_of(old()))
    assert level is not None
    assert level.ratio == pytest.approx(2, rel=1e-3)
    assert level.log_error == pytest.approx(0, abs=1e-3)


def test_the_level__is_as_unsure_as_the_siblings_own_hours() -> None:
    # Days of the sibling are, in turn, e^.2 above and e^-.2 below its usual week: a spread of .2 to one side or other.
    sibling = old(56)
    turns = np.exp(np.where(np.arange(sibling.counts.size) // 96 % 2, 0.2, -0.2))
    level = shared_level(young(6), hourly_means(young(6)), shape_of(replace(sibling, counts=sibling.counts * turns)))
    assert level is not None
    assert level.log_error == pytest.approx(0.2, rel=0.15)


def test_the_band__widens_with_the_error_of_the_level_at_a_day_and_hardly_at_once() -> None:
    def spread(sibling: ArrivalSeries, step: int) -> float:
        drawn = paths(noisy(young(6), 3), sibling, count=400)
        low, high = np.quantile(np.log(drawn[:, step]), (0.1, 0.9))
        return float(high - low)

    sibling = old(56)
    turns = np.exp(np.where(np.arange(sibling.counts.size) // 96 % 2, 0.3, -0.3))
    calm, unsure = noisy(sibling, 4), noisy(replace(sibling, counts=sibling.counts * turns), 4)
    assert spread(unsure, 80) > 1.5 * spread(calm, 80)
    assert spread(unsure, 0) < spread(unsure, 80)


def test_a_sibling_elsewhere__lends_its_day_by_the_clock_of_each() -> None:
    # New York is 5 h behind UTC, Berlin one ahead. The young source knows 6:00 to 12:00 UTC, its night; at 16:00 UTC,
    # step 16, it is 11 o'clock there. At 22:00 UTC, step 40, it is 17 o'clock there, and 23 o'clock in Berlin.
    start = MONDAY + timedelta(hours=6)
    own = day_and_night(start, 6, factor=2, timezone="America/New_York", name="new/clicks")
    drawn = paths(own, old(timezone="Europe/Berlin"))
    assert drawn[:, 16] == pytest.approx(np.full(60, 2 * DAY / WINDOW_S), rel=1e-3)
    assert drawn[:, 40] == pytest.approx(np.full(60, 2 * DAY / WINDOW_S), rel=1e-3)
    # At 03:00 UTC, step 60, it is 22 o'clock in New York.
    assert drawn[:, 60] == pytest.approx(np.full(60, 2 * NIGHT / WINDOW_S), rel=1e-3)


def test_siblings__have_equal_parts_in_any_part_of_the_paths() -> None:
    # One sibling is busy by day, the other by night; at noon the paths of the one are three times those of the other.
    first = old()
    other = replace(first, source="orders", counts=NIGHT + DAY - first.counts)
    drawn = paths(young(6), first, other, count=300)[:, 24]
    high = drawn > np.sqrt(drawn.min() * drawn.max())
    assert high.mean() == pytest.approx(0.5, abs=0.01)
    assert high[:150].mean() == pytest.approx(0.5, abs=0.15)


def test_noise_within_the_hour__is_the_young_sources_own() -> None:
    # 50 and 150 in turn: the mean of each whole hour is 100, so that windows are .5 or 1.5 of it.
    series = replace(young(6), counts=np.resize([50.0, 150.0], 24))
    noise = own_noise(series, hourly_means(series), 8, 20, np.random.default_rng(1))
    assert np.unique(noise).tolist() == [0.5, 1.5]
    # 21 whole hours: the run goes round from a .5 to a .5, once at most in 8 windows.
    assert (np.count_nonzero(np.diff(noise, axis=1) == 0, axis=1) <= 1).all()
    # The sibling has none, and the forecast has it all the same: 1.5 × 100 in 900 s, and .5 × 100.
    drawn = paths(series, old(), steps=4)
    nearest = np.where(drawn * 900 < 100, 50.0, 150.0)
    assert drawn * 900 == pytest.approx(nearest, rel=0.02)
    assert set(np.unique(nearest)) == {50.0, 150.0}


def test_what_a_sibling_did_later__is_not_looked_at() -> None:
    series = noisy(young(12), 5)
    sibling = noisy(day_and_night(MONDAY - timedelta(days=28), 24 * 30), 6)
    later = sibling.counts.copy()
    later[28 * 96 + 48 :] *= 7
    assert np.array_equal(paths(series, sibling), paths(series, replace(sibling, counts=later)))


@pytest.mark.parametrize(
    ("series", "sibling", "why"),
    [
        (young(2), old(), "0.08 days of history, 0.125 are needed"),
        (young(6), old(5), "no sibling had 7 days of history by 2026-01-05 06:00 UTC; name others"),
        (replace(young(24), counts=np.full(96, 9.0)), old(), "every observed count is 9"),
    ],
)
def test_what_cannot_borrow__is_told_why(series: ArrivalSeries, sibling: ArrivalSeries, why: str) -> None:
    forecaster = BorrowedForecaster([sibling])
    assert why in (forecaster.unsuitable_because(series) or "")
    with pytest.raises(ForecastError, match=r"forecaster borrowed: "):
        forecaster.fit(series)


def test_a_sibling_that_is_closed_while_the_source_is_busy__lends_nothing() -> None:
    sibling = old()
    closed = replace(sibling, counts=np.where(sibling.counts == NIGHT, 0.0, sibling.counts))
    series = young(12)
    assert "keep other hours" in (BorrowedForecaster([closed]).unsuitable_because(series) or "")
    assert BorrowedForecaster([closed, sibling]).unsuitable_because(series) is None


def test_a_source_that_becomes_busy_while_its_sibling_is_closed__goes_on_as_it_is() -> None:
    # Fitted by day, asked at 23:00, when 600 a window have come since 20:00 as by day: 600 in 900 s.
    sibling = old()
    closed = replace(sibling, counts=np.where(sibling.counts == NIGHT, 0.0, sibling.counts))
    start = MONDAY + timedelta(hours=8)
    fitted = BorrowedForecaster([closed]).fit(day_and_night(start, 12, factor=2))
    busy = replace(day_and_night(start, 15, factor=2), counts=np.full(60, 600.0))
    drawn = fitted.paths_per_s(busy, 8, 20, np.random.default_rng(1))
    assert drawn == pytest.approx(np.full((20, 8), 600 / 900))


def test_a_sibling_of_other_windows__is_summed_to_the_steps_of_the_source() -> None:
    sibling = old()
    finer = replace(sibling, window_s=300, counts=np.repeat(sibling.counts / 3, 3))
    assert paths(young(6), finer) == pytest.approx(paths(young(6), sibling), rel=1e-9)
    assert "no sibling" in (BorrowedForecaster([sibling.resampled(3600)]).unsuitable_because(young(6)) or "")
