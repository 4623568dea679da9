"""Demand: quantiles of each slot's peak, from joint paths that have the calibrated peaks."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from arrival_series import web_requests
from sample_forecast import made_forecast

from forecasting.forecast import QUANTILES, Forecast
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.terms import ForecastTerms
from planner.demand import demand, demand_paths
from planner.errors import PlanError

START = datetime(2026, 3, 2, 20, 0, tzinfo=UTC)


def forecast(paths: np.ndarray, peaks: dict[int, float], source: str = "s") -> Forecast:
    """A forecast with the given paths (paths, steps of 300 s) and, per horizon, a p95 of the peak."""
    return Forecast(
        issued_at=START,
        topology="t",
        source=source,
        start=START,
        step_s=300,
        quantiles=QUANTILES,
        rate_per_s=np.quantile(paths, QUANTILES, axis=0).T,
        peak_per_s={h: np.array([p * 0.5, p * 0.9, p, p * 1.1]) for h, p in peaks.items()},
        paths_per_s=paths,
        forecaster={},
        trained_from=START - timedelta(days=7),
        trained_to=START,
        history_digest="",
        seed=0,
    )


def test_slot_demand__is_the_quantile_of_the_peak_not_the_peak_of_quantiles() -> None:
    # on each path one of three steps is 3, the others 1: every slot's peak is 3, each step's median is 1
    paths = np.tile(np.array([[3.0, 1, 1], [1, 3, 1], [1, 1, 3]]), (40, 1))
    wanted = demand({"s": forecast(paths, {})}, slot_s=900, quantile=0.5)
    assert wanted.rate_per_s["s"].tolist() == [3.0]


@pytest.mark.parametrize("quantile", QUANTILES)
def test_demand__of_a_forecast_that_was_made_has_its_calibrated_peaks(quantile: float) -> None:
    horizon_s = 6 * 3600
    history = web_requests()
    terms = ForecastTerms(900, horizon_s, (900, horizon_s), paths=400, origins=6, seed=3)
    made = made_forecast(history, (TimeOfWeekForecaster(), PersistenceForecaster()), terms)
    # Slots as long as a horizon have the peaks of that horizon.
    for slot_s in (900, horizon_s):
        wanted = demand({"s": made}, slot_s=slot_s, quantile=quantile).rate_per_s["s"]
        assert wanted[0] == pytest.approx(made.peak_quantile_per_s(slot_s, quantile), rel=0.01)


def test_forecasts_on_different_grids__are_refused() -> None:
    one, other = forecast(np.ones((9, 6)), {}), forecast(np.ones((9, 3)), {}, "r")
    with pytest.raises(PlanError, match="different grids"):
        demand({"s": one, "r": other}, slot_s=900, quantile=0.95)


def test_a_slot_that_is_no_multiple_of_the_step__is_refused() -> None:
    with pytest.raises(PlanError, match="multiple of the forecast's step of 300 s"):
        demand({"s": forecast(np.ones((9, 6)), {})}, slot_s=400, quantile=0.95)


def test_a_slot__is_that_in_which_a_moment_lies() -> None:
    wanted = demand({"s": forecast(np.ones((9, 12)), {})}, slot_s=900, quantile=0.95)
    minutes = {-1: -1, 0: 0, 14: 0, 15: 1, 20: 1, 60: 4}
    assert {at: wanted.slot_at((START + timedelta(minutes=at)).timestamp()) for at in minutes} == minutes


def test_paths__have_the_calibrated_peaks_of_the_longest_horizon() -> None:
    # falling, so that the peak of every horizon is in its first step
    falling = np.linspace(10, 20, 201)[:, None] * np.linspace(1, 0.2, 12)
    paths = demand_paths({"s": forecast(falling, {900: 24.0, 3600: 60.0})})["s"]
    assert paths.shape == (201, 12)
    peaks = np.quantile(paths.max(axis=1), QUANTILES)
    assert peaks == pytest.approx([30.0, 54.0, 60.0, 66.0])


def test_paths__within_less_than_a_step_are_refused() -> None:
    with pytest.raises(PlanError, match="no sample paths of a step within 200 s"):
        demand_paths({"s": forecast(np.ones((9, 6)), {200: 1.0})})
