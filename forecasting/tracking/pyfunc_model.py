"""The deployed forecasters of a topology as an MLflow model. MLflow runs this file to save or load it.

Input: the arrival history of a source as a frame with the columns window_start (UTC) and count (missing: NaN), oldest
first, on the grid of the model's training steps; two weeks suffice for every forecaster. Parameters: source, which may
be empty if there is only one; paths; seed. Output: one row per horizon with horizon_s and the quantiles of the peak in
events per second, p50 upwards.
"""

from datetime import UTC
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
from mlflow.pyfunc import PythonModelContext

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.trained import Trained
from forecasting.trained_file import read_trained


class DeployedModel(mlflow.pyfunc.PythonModel):
    """Reads its numbers from JSON and NumPy files; nothing is unpickled."""

    trained: dict[str, Trained]

    def load_context(self, context: PythonModelContext) -> None:
        every = [read_trained(path) for path in sorted(Path(context.artifacts["trained"]).iterdir())]
        self.trained = {trained.source: trained for trained in every}

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        parameters: dict[str, Any] = {"source": "", "paths": 400, "seed": 7} | (params or {})
        deployed = self._of(str(parameters["source"])).deployed
        history = _series(model_input, deployed.window_s)
        _, peaks = deployed.sample_paths(history, int(parameters["paths"]), int(parameters["seed"]))
        columns = {f"p{quantile * 100:g}": peaks[:, at] for at, quantile in enumerate(deployed.quantiles)}
        return pd.DataFrame({"horizon_s": list(deployed.horizons_s), **columns})

    def _of(self, source: str) -> Trained:
        if source in self.trained:
            return self.trained[source]
        if not source and len(self.trained) == 1:
            return next(iter(self.trained.values()))
        known = ", ".join(sorted(self.trained)[:20])
        raise ForecastError(f"source {source!r} is not one of this model's; give the parameter source: {known}")


def _series(frame: pd.DataFrame, window_s: int) -> ArrivalSeries:
    starts = pd.DatetimeIndex(frame["window_start"])
    starts = starts.tz_localize("UTC") if starts.tz is None else starts.tz_convert("UTC")
    if len(starts) > 1 and not (np.diff(starts.to_numpy()) == np.timedelta64(window_s, "s")).all():
        raise ForecastError(f"window_start must rise by {window_s} s from row to row; fill gaps with NaN counts")
    return ArrivalSeries("", "", starts[0].to_pydatetime().astimezone(UTC), window_s, frame["count"].to_numpy(float))


mlflow.models.set_model(DeployedModel())
