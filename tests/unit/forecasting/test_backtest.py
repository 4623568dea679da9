"""The rolling-origin backtest: where its origins lie, and that nothing looks ahead."""

import numpy as np
import pytest
from arrival_series import web_requests

from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import backtest, backtest_origins
from forecasting.forecaster import FittedForecaster
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster


class Spy:
    """Says the largest rate it has seen, and remembers how much it was shown."""

    name = "spy"
    naive = False
    refit_after_s = 86400.0

    def __init__(self) -> None:
        self.fitted_on: list[int] = []
        self.asked_from: list[int] = []

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        return None

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        self.fitted_on.append(series.counts.size)
        return self

    def refreshed(self, series):
        return self

    def paths_per_s(self, recent: ArrivalSeries, steps: int, paths: int, rng: np.random.Generator) -> np.ndarray:
        self.asked_from.append(recent.counts.size)
        return np.full((paths, steps), recent.rate_per_s().max())


def run(series: ArrivalSeries, *forecasters: object, origins: int = 12) -> object:
    return backtest(
        series,
        forecasters,  # type: ignore[arg-type]
        horizons_s=(900, 86400),
        quantiles=(0.5, 0.95),
        origins=origins,
        paths=50,
        seed=1,
    )


def test_twelve_origins__meet_every_day_and_every_other_hour() -> None:
    at = backtest_origins(web_requests(days=21), 12, 86400)
    # 96 windows a day; the last origin leaves one day: 20 × 96 = 1920. 14 h apart: 56 windows.
    assert at[-1] == 1920
    assert set(np.diff(at).tolist()) == {56}
    assert len({origin % 96 for origin in at}) == 12
    assert len({origin // 96 % 7 for origin in at}) == 7


def test_many_origins__stay_within_two_weeks() -> None:
    at = backtest_origins(web_requests(days=40), 60, 86400)
    assert len(at) == 60
    assert at[0] == 39 * 96 - 14 * 96


def test_two_days_of_history__still_give_origins() -> None:
    at = backtest_origins(web_requests(days=2), 6, 86400)
    assert at[0] == 96
    assert at[-1] <= 2 * 96 - 1


def test_a_forecaster__never_sees_what_it_forecasts() -> None:
    series, spy = web_requests(days=10), Spy()
    table = run(series, spy)
    at = backtest_origins(series, 12, 86400)
    assert spy.asked_from == at
    assert all(fitted in at for fitted in spy.fitted_on)
    # Fourteen hours apart: two origins share the fit of a day, so twelve origins take six fits.
    assert len(spy.fitted_on) == 6
    seen = [series.rate_per_s()[:origin].max() for origin in at]
    assert table.peak_per_s["spy"][:, 0, 0] == pytest.approx(seen)  # type: ignore[attr-defined]


def test_what_came__is_the_largest_rate_within_the_horizon() -> None:
    series = web_requests(days=10)
    table = run(series, Spy())
    first = backtest_origins(series, 12, 86400)[0]
    rates = series.rate_per_s()
    assert table.actual_per_s[0].tolist() == [rates[first], rates[first : first + 96].max()]  # type: ignore[attr-defined]


def test_the_future__changes_nothing_that_was_said_before_it() -> None:
    series = web_requests(days=14)
    origin = backtest_origins(series, 6, 86400)[0]
    changed = series.counts.copy()
    changed[origin:] = 7.0
    other = ArrivalSeries(series.topology, series.source, series.start, series.window_s, changed)
    forecasters = (TimeOfWeekForecaster(), PersistenceForecaster())
    first, second = run(series, *forecasters, origins=6), run(other, *forecasters, origins=6)
    for name in ("time_of_week", "persistence"):
        assert np.array_equal(first.peak_per_s[name][0], second.peak_per_s[name][0])  # type: ignore[attr-defined]
