"""A small batch of forecasts and a fresh MLflow store on SQLite."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from arrival_series import busy_offices
from sample_orders import TERMS, order_of

from forecasting.drift import ForecastDrift
from forecasting.fleet import ForecastResult, ForecastTask, forecast_each
from forecasting.terms import ForecastTerms
from forecasting.tracking.batch import BatchContent, BatchHead, TrackedBatch
from forecasting.tracking.mlflow_tracker import MlflowTracker
from forecasting.tracking.seal import Seal

DRIFT = ForecastDrift(900, True, "the p95 held in 3 of 30 windows", 0.1, 1.5, 3.0, 30)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlruns")


@pytest.fixture(scope="module")
def tracker(store: Path) -> MlflowTracker:
    artifacts, seal = (store / "artifacts").as_uri(), Seal(store / "trained.key")
    return MlflowTracker(f"sqlite:///{store / 'mlflow.db'}", artifacts, "http://ui.example:5000/", seal)


def head(*, trains: bool = True, terms: ForecastTerms = TERMS) -> BatchHead:
    request = {"topology": "calls", "trains": trains}
    return BatchHead("calls", datetime(2026, 1, 26, tzinfo=UTC), terms, "0123456789abcdef", 2, trains, request)


Record = Callable[[bool], tuple[TrackedBatch, list[ForecastTask], list[ForecastResult]]]


@pytest.fixture(scope="module")
def record(tracker: MlflowTracker, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """A batch with a source that can be forecast and one that cannot, tracked: made(trains)."""
    home = tmp_path_factory.mktemp("home")
    desk = busy_offices(days=9)
    early = desk.between(desk.start, desk.start.replace(hour=3))

    def made(trains: bool) -> tuple[TrackedBatch, list[ForecastTask], list[ForecastResult]]:
        batch = tracker.begin(head(trains=trains))
        orders = [
            order_of(desk, home, run_id=batch.run_id, model_version=batch.model_version, train=trains),
            order_of(early, home, source="a/b?", trained=home / "trained" / "b"),
        ]
        outcomes = list(forecast_each(orders))
        content = BatchContent(
            outcomes,
            trained={"desk": orders[0].trained},
            forecasts={"desk": home / "forecasts" / "desk"},
            histories={"desk": desk, "a/b?": desk},
            drifts={"a/b?": (DRIFT,)},
        )
        tracker.finish(batch, content)
        tracker.close(batch)
        return batch, orders, outcomes

    return made
