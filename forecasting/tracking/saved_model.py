"""A deployed forecaster as an MLflow model folder: numbers as files, with the code that reads them."""

import importlib.metadata
import warnings
from pathlib import Path

import forecasting

CODE = Path(__file__).with_name("pyfunc_model.py")
NEEDED = ("mlflow", "numpy", "pandas", "pyarrow", "pydantic", "scipy")


def save_model(trained: Path, folder: Path) -> None:
    """Save trained folders, one per source (see trained_file), as a model that includes its own code.

    It loads with mlflow.pyfunc.load_model wherever the requirements are installed, without this project.
    """
    import mlflow.pyfunc
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    signature = ModelSignature(
        inputs=Schema([ColSpec(DataType.datetime, "window_start"), ColSpec(DataType.double, "count")]),
        params=ParamSchema(
            [
                ParamSpec("source", DataType.string, ""),
                ParamSpec("paths", DataType.long, 400),
                ParamSpec("seed", DataType.long, 7),
            ]
        ),
    )
    with warnings.catch_warnings():
        # MLflow wants an input example; a history of two weeks would be larger than the model.
        warnings.filterwarnings("ignore", message=".*input example", category=UserWarning)
        mlflow.pyfunc.save_model(
            str(folder),
            python_model=str(CODE),
            artifacts={"trained": str(trained)},
            code_paths=[str(Path(forecasting.__file__).parent)],
            pip_requirements=[f"{name}=={importlib.metadata.version(name)}" for name in NEEDED],
            signature=signature,
        )
