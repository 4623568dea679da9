"""A calibration as an MLflow model folder: the numbers as JSON, the code that reads them beside them."""

import importlib.metadata
import shutil
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import forescale
import modeling
from modeling.inputs.topology import Topology

CODE = Path(__file__).with_name("calibration_pyfunc.py")
NEEDED = ("mlflow", "networkx", "numpy", "pandas", "pyarrow", "pydantic", "scipy")
OURS = {
    "engines": ("__init__", "address", "redaction", "regular_file"),
    "forecasting": ("__init__", "bounded_file"),
    "forescale": (
        "__init__",
        "files/__init__",
        "files/atomic",
        "files/file_error",
        "files/json_keys",
        "files/profile",
        "files/shown",
        "plain_numbers",
        "tracking/__init__",
        "tracking/calibration_files",
    ),
}
"""Modules that the model needs, by package, beside all of the package modeling."""


def save_calibration(topology: Topology, calibration: Path, folder: Path) -> None:
    """Save the files of write_calibration as a model that includes its code.

    It loads with mlflow.pyfunc.load_model wherever the requirements are installed; the project need not be.
    """
    import mlflow.pyfunc
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema

    columns = [ColSpec(DataType.long, f"parallelism.{name}") for name in topology.order]
    columns += [ColSpec(DataType.double, f"load_per_s.{source}") for source in topology.sources]
    with TemporaryDirectory(prefix="forescale-") as scratch, warnings.catch_warnings():
        # No input example: the signature already defines the columns.
        warnings.filterwarnings("ignore", message=".*input example", category=UserWarning)
        project = Path(forescale.__file__).parents[1]
        for name in (f"{package}/{module}.py" for package, modules in OURS.items() for module in modules):
            copied = Path(scratch) / name
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(project / name, copied)
        mlflow.pyfunc.save_model(
            str(folder),
            python_model=str(CODE),
            artifacts={"calibration": str(calibration)},
            code_paths=[str(Path(modeling.__file__).parent), *(str(Path(scratch) / package) for package in OURS)],
            pip_requirements=[f"{name}=={importlib.metadata.version(name)}" for name in NEEDED],
            signature=ModelSignature(inputs=Schema(columns)),
        )
