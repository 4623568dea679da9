"""A forecast as files: `paths.parquet` with the paths, `forecast.json` with the rest. An exact round trip."""

import hashlib
from datetime import UTC
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, PlainSerializer, ValidationError

from forecasting.arrivals.grid import in_calendar
from forecasting.arrow_columns import floats
from forecasting.bounded_file import bounded_bytes, check_regular
from forecasting.errors import ForecastError
from forecasting.folder import whole_folder
from forecasting.forecast import BacktestScore, Forecast

JSON_FILE, PATHS_FILE = "forecast.json", "paths.parquet"


MAX_PATHS = 1_000_000
SIBLING_NOTES = 4
"""First version with notes on siblings in a field of their own."""


def _tolist(array: np.ndarray) -> object:
    return array.tolist()


_Moment = Annotated[AwareDatetime, AfterValidator(in_calendar)]
_Quantiles = Annotated[list[float], AfterValidator(np.array), PlainSerializer(_tolist)]
_Steps = Annotated[list[list[float]], AfterValidator(np.array), PlainSerializer(_tolist)]


class _Body(BaseModel):
    """The fields of a Forecast, with the number of paths in place of the paths."""

    # JSON has no infinity, so a ratio to a perfect rival, and values that could not be scored, are written as text.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    # Version 1 had no snapshot; up to version 2 every path had its own column; up to version 3 the notes on siblings
    # were among the others.
    schema_version: Literal[1, 2, 3, 4] = 4
    issued_at: _Moment
    topology: str
    source: str
    start: _Moment
    step_s: int
    quantiles: tuple[float, ...]
    rate_per_s: _Steps
    peak_per_s: Annotated[dict[int, _Quantiles], Field(min_length=1)]
    paths: Annotated[int, Field(ge=0, le=MAX_PATHS)]
    forecaster: dict[int, str]
    trained_from: _Moment
    trained_to: _Moment
    history_digest: str
    seed: int
    scores: tuple[BacktestScore, ...]
    run_id: str
    model_version: str
    history_snapshot: str = ""
    notes: tuple[str, ...]
    sibling_notes: tuple[str, ...] = ()


_FIELDS = tuple(name for name in _Body.model_fields if name not in ("schema_version", "paths"))


def write_forecast(forecast: Forecast, folder: Path) -> None:
    """Write the forecast as a folder, atomically, replacing an existing forecast.

    Raises ForecastError naming the folder if it cannot be written.
    """
    try:
        with whole_folder(folder) as aside:
            (aside / JSON_FILE).write_text(forecast_json(forecast), encoding="utf-8")
            # No dictionary encoding: with hardly any equal rates it costs nine tenths of the time.
            pq.write_table(_paths_table(forecast), aside / PATHS_FILE, use_dictionary=False)
    except OSError as error:
        raise ForecastError(f"forecast cannot be written to {folder}: {error}; check the path and the space") from None


def read_forecast(folder: Path, *, with_paths: bool = True, of: tuple[str, str] | None = None) -> Forecast:
    """The forecast of a folder. Raises ForecastError naming the file, the field and the remedy.

    with_paths: False leaves them out, which is much faster when reading the peaks of hundreds of past forecasts. of:
    expected topology and source.
    """
    remedy = "make the forecast again"
    for name in (JSON_FILE, PATHS_FILE) if with_paths else (JSON_FILE,):
        if not (folder / name).exists():
            raise ForecastError(f"{folder / name}: there is no such file; {remedy}")
    try:
        body = _Body.model_validate_json(bounded_bytes(folder / JSON_FILE))
        table = _paths_file(folder / PATHS_FILE) if with_paths else None
    except ValidationError as error:
        problem = error.errors()[0]
        at = ".".join(str(part) for part in problem["loc"]) or "(file)"
        raise ForecastError(f"{folder / JSON_FILE}: {at}: {problem['msg']}; {remedy}") from None
    except (OSError, pa.ArrowException) as error:
        raise ForecastError(f"{folder} cannot be read: {error}; {remedy}") from None
    if of is not None and (body.topology, body.source) != of:
        raise ForecastError(
            f"{folder / JSON_FILE} is of source {body.source!r} of topology {body.topology!r}, not of {of[1]!r} of "
            f"{of[0]!r}; {remedy}"
        )
    paths = np.empty((0, len(body.rate_per_s))) if table is None else _paths(table, body, folder / PATHS_FILE)
    try:
        return _forecast(body, paths)
    except ForecastError as error:
        raise ForecastError(f"{folder / JSON_FILE}: {error}; {remedy}") from None


def _paths_file(file: Path) -> pa.Table:
    check_regular(file)
    # For a single small file, threads and a data set cost more than they gain.
    with pq.ParquetFile(file, pre_buffer=False) as opened:
        return opened.read(use_threads=False)


def forecast_json(forecast: Forecast) -> str:
    """The content of `forecast.json`: all but the paths."""
    fields = {name: getattr(forecast, name) for name in _FIELDS}
    return _Body.model_construct(paths=forecast.paths_per_s.shape[0], **fields).model_dump_json(indent=1)


def forecast_digest(forecast: Forecast) -> str:
    """SHA-256 over all forecast numbers: equal digests mean bitwise equal forecasts."""
    hashed = hashlib.sha256(f"{forecast.start.timestamp():.0f}|{forecast.step_s}|".encode())
    for values in (forecast.rate_per_s, forecast.paths_per_s, *forecast.peak_per_s.values()):
        hashed.update(np.ascontiguousarray(values, dtype="<f8").data)
    return hashed.hexdigest()


def _forecast(body: _Body, paths_per_s: np.ndarray) -> Forecast:
    fields = {name: getattr(body, name) for name in _FIELDS}
    if body.schema_version < SIBLING_NOTES:
        fields |= notes_by_field(body.notes)
    return Forecast(**fields, paths_per_s=paths_per_s)


def notes_by_field(notes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The notes of an earlier version, by field: those on siblings began with this word."""
    own = tuple(each for each in notes if each.startswith("siblings: "))
    return {"notes": tuple(each for each in notes if each not in own), "sibling_notes": own}


def _paths_table(forecast: Forecast) -> pa.Table:
    """One row per step: its start, and the rates of all paths in it."""
    first = np.datetime64(forecast.start.astimezone(UTC).replace(tzinfo=None), "us")
    steps = np.arange(forecast.rate_per_s.shape[0]) * np.timedelta64(forecast.step_s, "s")
    starts = pa.array(first + steps, type=pa.timestamp("us", tz="UTC"))
    rates = np.ascontiguousarray(forecast.paths_per_s.T)
    single = rates.astype(np.float32)
    lossless = bool((single == rates).all())  # as forecasts are made: half the bytes
    listed = pa.FixedSizeListArray.from_arrays(pa.array((single if lossless else rates).reshape(-1)), rates.shape[1])
    return pa.table({"step_start": starts, "paths_per_s": listed})


def _paths(table: pa.Table, body: _Body, file: Path) -> np.ndarray:
    if table.num_rows != len(body.rate_per_s):
        raise ForecastError(
            f"{file} holds {table.num_rows} steps, {len(body.rate_per_s)} are expected; make the forecast again"
        )
    if "paths_per_s" not in table.column_names:
        return _paths_in_columns(table, body, file)
    held = table.schema.field("paths_per_s").type
    if not pa.types.is_fixed_size_list(held) or held.list_size != body.paths:
        raise ForecastError(f"{file} holds {held} as paths, {body.paths} are expected; make the forecast again")
    if not pa.types.is_floating(held.value_type) or table["paths_per_s"].null_count:
        raise ForecastError(f"{file} holds {held}, or lacks paths of a step; make the forecast again")
    rates = floats(pa.chunked_array([chunk.flatten() for chunk in table["paths_per_s"].chunks], held.value_type))
    if rates.size != table.num_rows * body.paths:
        raise ForecastError(f"{file} lacks rates; make the forecast again")
    return np.ascontiguousarray(rates.reshape(table.num_rows, body.paths).T, dtype=np.float64)


def _paths_in_columns(table: pa.Table, body: _Body, file: Path) -> np.ndarray:
    names = [f"path_{number:04d}" for number in range(body.paths)]
    if table.column_names != ["step_start", *names]:
        raise ForecastError(
            f"{file} holds {table.num_columns - 1} paths or columns of other names, {body.paths} are expected; "
            "make the forecast again"
        )
    if any(not pa.types.is_floating(table.schema.field(name).type) for name in names):
        raise ForecastError(f"{file} holds paths that are no numbers; make the forecast again")
    return np.array([floats(table[name]) for name in names]).reshape(body.paths, table.num_rows)
