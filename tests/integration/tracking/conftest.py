"""A small forecast and a fresh MLflow store on SQLite."""

from pathlib import Path

import pytest
from arrival_series import busy_offices

from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.pipeline import MadeForecast, make_forecast
from forecasting.tracking.mlflow_tracker import MlflowTracker


@pytest.fixture(scope="session")
def made() -> MadeForecast:
    series = busy_offices()
    return make_forecast(
        series,
        issued_at=series.end,
        step_s=900,
        horizon_s=86400,
        horizons_s=(900, 86400),
        paths=60,
        origins=6,
        seed=3,
        forecasters=(TimeOfWeekForecaster(), PersistenceForecaster()),
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlruns")


@pytest.fixture(scope="module")
def tracker(store: Path) -> MlflowTracker:
    return MlflowTracker(f"sqlite:///{store / 'mlflow.db'}", (store / "artifacts").as_uri(), "http://ui.example:5000/")
