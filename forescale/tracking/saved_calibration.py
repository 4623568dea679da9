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
NEEDED = ("mlflow", "networkx", "numpy", "pandas", "pydantic", "scipy")
OURS = (
    "__init__.py",
    "files/__init__.py",
    "files/atomic.py",
    "files/file_error.py",
    "files/profile.py",
    "files/shown.py",
    "tracking/__init__.py",
    "tracking/calibration_files.py",
)
"""Files of this package that the model needs, beside all of the package modeling."""


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
        here = Path(forescale.__file__).parent
        for name in OURS:
            copied = Path(scratch) / "forescale" / name
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(here / name, copied)
        mlflow.pyfunc.save_model(
            str(folder),
            python_model=str(CODE),
            artifacts={"calibration": str(calibration)},
            code_paths=[str(Path(modeling.__file__).parent), str(Path(scratch) / "forescale")],
            pip_requirements=[f"{name}=={importlib.metadata.version(name)}" for name in NEEDED],
            signature=ModelSignature(inputs=Schema(columns)),
        )
