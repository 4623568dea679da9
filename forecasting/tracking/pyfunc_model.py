"""The deployed forecaster as an MLflow model. MLflow runs this file to save or load it (models from code).

Input: the arrival history as a frame with the columns window_start (UTC) and count (missing: NaN), oldest first, on
the grid of steps that the model learnt from; two weeks of it do for every forecaster. Parameters: paths, seed.
Output: one row per horizon with horizon_s and the quantiles of the peak in events per second, p50 and on.
"""

from datetime import UTC
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
from mlflow.pyfunc import PythonModelContext

from forecasting.arrivals.history import ArrivalSeries
from forecasting.deployed import DeployedForecaster
from forecasting.deployed_file import read_deployed
from forecasting.errors import ForecastError


class DeployedModel(mlflow.pyfunc.PythonModel):
    """Reads its numbers from JSON and NumPy files beside it; nothing is unpickled."""

    deployed: DeployedForecaster

    def load_context(self, context: PythonModelContext) -> None:
        self.deployed = read_deployed(Path(context.artifacts["deployed"]))

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, int] | None = None
    ) -> pd.DataFrame:
        asked = {"paths": 400, "seed": 7} | (params or {})
        history = _series(model_input, self.deployed.window_s)
        _, peaks = self.deployed.ask(history, int(asked["paths"]), int(asked["seed"]))
        columns = {f"p{quantile * 100:g}": peaks[:, at] for at, quantile in enumerate(self.deployed.quantiles)}
        return pd.DataFrame({"horizon_s": list(self.deployed.horizons_s), **columns})


def _series(frame: pd.DataFrame, window_s: int) -> ArrivalSeries:
    starts = pd.DatetimeIndex(frame["window_start"])
    starts = starts.tz_localize("UTC") if starts.tz is None else starts.tz_convert("UTC")
    if len(starts) > 1 and not (np.diff(starts.to_numpy()) == np.timedelta64(window_s, "s")).all():
        raise ForecastError(f"window_start must rise by {window_s} s from row to row; fill gaps with NaN counts")
    return ArrivalSeries("", "", starts[0].to_pydatetime().astimezone(UTC), window_s, frame["count"].to_numpy(float))


mlflow.models.set_model(DeployedModel())
