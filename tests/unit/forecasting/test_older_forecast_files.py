"""Forecasts that were written in the forms of before: still read, number for number, and refused in words."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sample_forecast import small_forecast

from forecasting.errors import ForecastError
from forecasting.forecast import Forecast
from forecasting.forecast_file import JSON_FILE, PATHS_FILE, forecast_digest, read_forecast, write_forecast

STEPS = 4


@pytest.fixture(scope="module")
def forecast() -> Forecast:
    return replace(small_forecast(horizon_s=900 * STEPS), history_snapshot="0123456789abcdef")


def write_in_columns(forecast: Forecast, folder: Path, version: int = 2) -> None:
    """As it was written up to version 2: a column a path, a row a step, and in version 1 no snapshot."""
    write_forecast(forecast, folder)
    file = folder / JSON_FILE
    body = json.loads(file.read_text()) | {"schema_version": version}
    del body["sibling_notes"]
    if version == 1:
        del body["history_snapshot"]
    file.write_text(json.dumps(body))
    starts = pa.array(forecast.step_starts(), type=pa.timestamp("us", tz="UTC"))
    columns = {f"path_{number:04d}": path for number, path in enumerate(forecast.paths_per_s)}
    pq.write_table(pa.table({"step_start": starts, **columns}), folder / PATHS_FILE)


@pytest.mark.parametrize("version", [1, 2])
def test_a_column_a_path__is_read_bit_for_bit(forecast: Forecast, tmp_path: Path, version: int) -> None:
    write_in_columns(forecast, tmp_path / "f", version)
    read = read_forecast(tmp_path / "f")
    assert read.paths_per_s.shape == (60, STEPS)
    assert np.array_equal(read.paths_per_s, forecast.paths_per_s)
    assert forecast_digest(read) == forecast_digest(forecast)
    assert read.history_snapshot == ("" if version == 1 else "0123456789abcdef")
    assert (read.notes, read.scores, read.start) == (forecast.notes, forecast.scores, forecast.start)


def test_a_column_a_path__written_again_is_the_form_of_today(forecast: Forecast, tmp_path: Path) -> None:
    write_in_columns(forecast, tmp_path / "old")
    write_forecast(read_forecast(tmp_path / "old"), tmp_path / "new")
    assert json.loads((tmp_path / "new" / JSON_FILE).read_text())["schema_version"] == 4
    table = pq.read_table(tmp_path / "new" / PATHS_FILE)
    assert table.column_names == ["step_start", "paths_per_s"]
    assert table["step_start"].to_pylist() == forecast.step_starts()
    # A row a step: the first holds what every path has in the first step.
    assert table["paths_per_s"][0].as_py() == forecast.paths_per_s[:, 0].tolist()
    assert forecast_digest(read_forecast(tmp_path / "new")) == forecast_digest(forecast)


def test_a_column_too_few_or_misnamed__is_refused_with_how_many_are_expected(
    forecast: Forecast, tmp_path: Path
) -> None:
    write_in_columns(forecast, tmp_path / "f")
    table = pq.read_table(tmp_path / "f" / PATHS_FILE)
    for wrong in (table.drop_columns(["path_0007"]), table.rename_columns({"path_0007": "path_7"})):
        pq.write_table(wrong, tmp_path / "f" / PATHS_FILE)
        with pytest.raises(ForecastError, match=r"paths\.parquet holds .* 60 are expected; make the forecast again"):
            read_forecast(tmp_path / "f")


def test_a_step_too_few__is_refused_in_either_form(forecast: Forecast, tmp_path: Path) -> None:
    write_in_columns(forecast, tmp_path / "old")
    write_forecast(forecast, tmp_path / "new")
    for name in ("old", "new"):
        file = tmp_path / name / PATHS_FILE
        pq.write_table(pq.read_table(file).slice(1), file)
        with pytest.raises(ForecastError, match="holds 3 steps, 4 are expected"):
            read_forecast(tmp_path / name)


def test_notes_on_siblings__had_their_word_in_front_and_have_their_field_now(
    forecast: Forecast, tmp_path: Path
) -> None:
    borrowed, missing = "siblings: shape borrowed from old/clicks", "3 of 96 windows (3.1%) were missing"
    write_in_columns(replace(forecast, notes=(missing, borrowed)), tmp_path / "f")
    read = read_forecast(tmp_path / "f")
    assert (read.notes, read.sibling_notes) == ((missing,), (borrowed,))
    write_forecast(read, tmp_path / "again")
    again = read_forecast(tmp_path / "again")
    assert (again.notes, again.sibling_notes) == ((missing,), (borrowed,))


def test_a_form_of_the_days_to_come__is_refused_by_the_name_of_the_field(forecast: Forecast, tmp_path: Path) -> None:
    write_forecast(forecast, tmp_path / "f")
    file = tmp_path / "f" / JSON_FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema_version": 5}))
    with pytest.raises(ForecastError, match=r"forecast\.json: schema_version"):
        read_forecast(tmp_path / "f")
