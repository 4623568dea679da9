"""A trained model as a folder: the deployed forecaster (see deployed_file), and `trained.json` for its provenance.

An exact round trip: read back, it gives the same forecasts for the same counts.
"""

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from forecasting.bounded_file import bounded_bytes
from forecasting.deployed_file import read_deployed, write_deployed
from forecasting.errors import ForecastError
from forecasting.folder import whole_folder
from forecasting.forecast import BacktestScore
from forecasting.forecast_file import notes_by_field
from forecasting.siblings import LentShape
from forecasting.terms import ForecastTerms
from forecasting.trained import Trained

JSON_FILE = "trained.json"
SIBLING_NOTES = 3
"""First version with notes on siblings in a field of their own."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    # Version 1 had no siblings; up to version 2 the notes on them were among the others.
    schema_version: Literal[1, 2, 3] = 3
    topology: str
    source: str
    terms: ForecastTerms
    scores: tuple[BacktestScore, ...]
    notes: tuple[str, ...]
    trained_from: datetime
    trained_to: datetime
    history_digest: str
    history_snapshot: str
    model_version: str
    siblings: tuple[LentShape, ...] = ()
    sibling_notes: tuple[str, ...] = ()


_FIELDS = tuple(name for name in _Body.model_fields if name != "schema_version")


def write_trained(trained: Trained, folder: Path) -> None:
    """Write the folder atomically, replacing an existing one. Raises ForecastError."""
    try:
        with whole_folder(folder) as aside:
            write_deployed(trained.deployed, aside)
            body = _Body.model_construct(**{name: getattr(trained, name) for name in _FIELDS})
            (aside / JSON_FILE).write_text(body.model_dump_json(indent=1), encoding="utf-8")
    except OSError as error:
        raise ForecastError(f"the trained model cannot be written to {folder}: {error}; check the path") from None


def read_trained(folder: Path) -> Trained:
    """Read a trained model. Raises ForecastError naming the folder and the problem."""
    try:
        body = _Body.model_validate_json(bounded_bytes(folder / JSON_FILE))
    except (OSError, ValidationError) as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise ForecastError(f"{folder / JSON_FILE} cannot be read: {problem}; train it again") from None
    fields = {name: getattr(body, name) for name in _FIELDS}
    if body.schema_version < SIBLING_NOTES:
        fields |= notes_by_field(body.notes)
    return Trained(deployed=read_deployed(folder), **fields)
