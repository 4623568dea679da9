"""A small forecast and a fresh MLflow store on SQLite."""

from pathlib import Path

import pytest
from sample_forecast import small_forecast

from forecasting.pipeline import MadeForecast
from forecasting.tracking.mlflow_tracker import MlflowTracker


@pytest.fixture(scope="session")
def made() -> MadeForecast:
    return small_forecast(horizon_s=86400)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlruns")


@pytest.fixture(scope="module")
def tracker(store: Path) -> MlflowTracker:
    return MlflowTracker(f"sqlite:///{store / 'mlflow.db'}", (store / "artifacts").as_uri(), "http://ui.example:5000/")
