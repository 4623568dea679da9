"""A spike that stands alone must not rule every later peak."""

import numpy as np
import pytest
from arrival_series import web_requests

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.error_trajectories import drawn_by_weight, lone_event, spread_over_the_day
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.peaks import peak_quantiles_per_s

DAY = 96
QUANTILES = (0.95, 0.99)


def with_spikes(series: ArrivalSeries, *hours_ago: float) -> ArrivalSeries:
    """Two hours of 20 times the load, so many hours before the end."""
    counts = series.counts.copy()
    for hours in hours_ago:
        first = counts.size - int(hours * 4)
        counts[first : first + 8] *= 20
    return ArrivalSeries(series.topology, series.source, series.start, series.window_s, counts)


def peaks(series: ArrivalSeries) -> np.ndarray:
    """Quantiles of the peak within 1 h and within a day, shape (2, 2)."""
    paths = TimeOfWeekForecaster().fit(series).paths_per_s(series, DAY, 400, np.random.default_rng(1))
    return peak_quantiles_per_s(paths, (4, DAY), QUANTILES)


@pytest.mark.parametrize(("days", "bound"), [(7.5, 1.8), (14.5, 1.4), (28.5, 1.2)])
def test_the_peak_of_an_hour__is_not_ruled_by_one_spike_two_days_ago_at_this_time(days: float, bound: float) -> None:
    # After a week: of the origins within 2.5 h of this time of day, 21 a day, 11 of 126 have it in their first hour,
    # which is more than one in twenty: drawn alike they make it five times as high. It lies in three hours of the week.
    # What is left comes from the usual size of errors at this time of day, which it raises.
    usual = web_requests(days=days)
    assert peaks(with_spikes(usual, 48))[0, 0] < bound * peaks(usual)[0, 0]


def test_the_largest_peaks_of_a_day__know_of_it() -> None:
    usual = web_requests(days=14.5)
    assert peaks(with_spikes(usual, 48))[1, 1] > 3 * peaks(usual)[1, 1]


def test_what_happened_twice__does_not_stand_alone() -> None:
    errors = np.zeros(10 * DAY)
    errors[300] = 50.0
    assert np.flatnonzero(lone_event(errors, 900)).tolist() == [300]
    errors[700] = 20.0
    assert not lone_event(errors, 900).any()


def test_a_lone_event__is_as_long_as_it_exceeds_all_else() -> None:
    errors = np.random.default_rng(1).uniform(-1, 1, 10 * DAY)
    errors[300:304] = [3.0, 50.0, np.nan, 40.0]
    assert np.flatnonzero(lone_event(errors, 900)).tolist() == [300, 301, 303]


@pytest.mark.parametrize("errors", [np.full(10 * DAY, np.nan), np.zeros(10 * DAY), np.ones(10)])
def test_where_nothing_happened__nothing_stands_alone(errors: np.ndarray) -> None:
    assert not lone_event(errors, 900).any()


def test_an_event_at_this_time__comes_at_any_time_with_the_weight_of_its_day() -> None:
    errors = np.zeros(10 * DAY)
    event = errors.copy().astype(bool)
    event[5 * DAY + 2] = True
    # At this time of every day; the fifth of eight has the event two steps later.
    origins = np.arange(1, 9) * DAY
    origins, weights = spread_over_the_day(origins, errors, event, np.ones(DAY, dtype=bool), 900)
    assert weights is not None
    assert weights.sum() == pytest.approx(1)
    holds = (origins <= 5 * DAY + 2) & (origins + DAY > 5 * DAY + 2)
    # One of eight origins held it; now each of a day's origins does, with a share of that eighth.
    assert holds.sum() == DAY
    assert weights[holds].sum() == pytest.approx(1 / 8)
    # Within the first hour, four of a day's 96 origins have it.
    assert weights[holds & (origins + 4 > 5 * DAY + 2)].sum() == pytest.approx(1 / 8 * 4 / 96)


def test_an_event_at_another_time__is_drawn_as_it_was() -> None:
    event = np.zeros(10 * DAY, dtype=bool)
    event[5 * DAY + 60] = True
    origins = np.arange(1, 9) * DAY
    kept, weights = spread_over_the_day(origins, np.zeros(10 * DAY), event, np.ones(DAY, dtype=bool), 900)
    assert weights is None
    assert kept is origins


def test_drawing_by_weight__gives_each_its_share_and_is_the_same_for_the_same_seed() -> None:
    weights = np.array([0.5, 0.25, 0.2, 0.05])
    taken, again = (drawn_by_weight(weights, 400, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(taken, again)
    assert np.bincount(taken, minlength=4) == pytest.approx(400 * weights, abs=1)
