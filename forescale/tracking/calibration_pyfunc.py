"""A calibration as an MLflow model. MLflow runs this file to save or load it.

Input: one row for each plan and load, with the columns `parallelism.OPERATOR` (whole numbers) and `load_per_s.SOURCE`.
Output: one row each, with stable, headroom_factor (factor by which the load could grow), bottleneck,
`mst_per_s.SOURCE`, `throughput_per_s.SOURCE`, and `utilisation.OPERATOR` of its busiest instance under the offered
load.
"""

from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.pyfunc import PythonModelContext

from forescale.tracking.calibration_files import read_calibration
from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology


class CalibratedModel(mlflow.pyfunc.PythonModel):
    """Reads its numbers from JSON files beside it; nothing is unpickled."""

    topology: Topology
    profiles: dict[str, OperatorProfile]

    def load_context(self, context: PythonModelContext) -> None:
        self.topology, self.profiles = read_calibration(Path(context.artifacts["calibration"]))

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        return pd.DataFrame([_fields(self._estimate(row)) for row in model_input.to_dict("records")])

    def _estimate(self, row: dict[Any, Any]) -> Estimate:
        counts = {name: int(row[f"parallelism.{name}"]) for name in self.topology.order}
        loads = {source: float(row[f"load_per_s.{source}"]) for source in self.topology.sources}
        return evaluate(self.topology, self.profiles, PhysicalPlan(self.topology.name, counts), loads)


def _fields(estimate: Estimate) -> dict[str, Any]:
    return {
        "stable": estimate.stable,
        "headroom_factor": estimate.headroom_factor,
        "bottleneck": str(estimate.bottleneck),
        **{f"mst_per_s.{source}": rate for source, rate in estimate.mst_per_s.items()},
        **{f"throughput_per_s.{source}": rate for source, rate in estimate.throughput_per_s.items()},
        **{f"utilisation.{name}": operator.utilisation for name, operator in estimate.operators.items()},
    }


mlflow.models.set_model(CalibratedModel())
