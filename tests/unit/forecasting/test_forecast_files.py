"""Forecasts and deployed forecasters as files: an exact round trip, nothing half-written, clear errors."""

import json
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arrival_series import web_requests
from sample_forecast import small_forecast, small_training

from forecasting.deployed_file import ARRAYS_FILE, read_deployed, write_deployed
from forecasting.deployed_file import JSON_FILE as DEPLOYED_FILE
from forecasting.errors import ForecastError
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.events.event_aware_forecaster import EventAware
from forecasting.forecast import Forecast
from forecasting.forecast_file import JSON_FILE, PATHS_FILE, read_forecast, write_forecast
from forecasting.forecasters import all_forecasters
from forecasting.models.harmonic_arima_forecaster import HarmonicArimaForecaster
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.prophet_forecaster import ProphetForecaster
from forecasting.models.seasonal_naive_forecaster import SeasonalNaiveForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.pipeline import train
from forecasting.terms import ForecastTerms
from forecasting.trained import Trained
from forecasting.trained_file import read_trained, write_trained


@pytest.fixture(scope="module")
def made() -> Forecast:
    return small_forecast(horizon_s=21600)


@pytest.fixture(scope="module")
def trained() -> Trained:
    return small_training(horizon_s=21600)[0]


def same(first: Forecast, second: Forecast) -> bool:
    for name in (field.name for field in fields(Forecast)):
        one, other = getattr(first, name), getattr(second, name)
        if name == "peak_per_s":
            if list(one) != list(other) or not all(np.array_equal(one[h], other[h]) for h in one):
                return False
        elif isinstance(one, np.ndarray):
            if not np.array_equal(one, other):
                return False
        elif one != other:
            return False
    return True


def test_a_forecast__comes_back_exactly(made: Forecast, tmp_path: Path) -> None:
    write_forecast(made, tmp_path / "a" / "forecast")
    assert same(read_forecast(tmp_path / "a" / "forecast"), made)


def test_paths__are_stored_in_half_the_bytes_and_none_that_would_lose_a_digit(made: Forecast, tmp_path: Path) -> None:
    thirds = np.full(made.paths_per_s.shape, 1 / 3)
    coarse, fine = (replace(made, paths_per_s=paths) for paths in (thirds.astype(np.float32).astype(float), thirds))
    stored = []
    for number, one in enumerate((coarse, fine)):
        write_forecast(one, tmp_path / str(number))
        assert same(read_forecast(tmp_path / str(number)), one)
        stored.append(pq.read_schema(tmp_path / str(number) / PATHS_FILE).field("paths_per_s").type.value_type)
    assert stored == [pa.float32(), pa.float64()]


def test_a_forecast__without_its_paths_is_otherwise_the_same(made: Forecast, tmp_path: Path) -> None:
    write_forecast(made, tmp_path / "f")
    (tmp_path / "f" / PATHS_FILE).unlink()
    read = read_forecast(tmp_path / "f", with_paths=False)
    assert read.paths_per_s.shape == (0, made.rate_per_s.shape[0])
    assert same(replace(read, paths_per_s=made.paths_per_s), made)


def test_the_snapshot_of_its_history__comes_back_and_files_of_before_have_none(made: Forecast, tmp_path: Path) -> None:
    write_forecast(replace(made, history_snapshot="0123456789abcdef"), tmp_path / "f")
    assert read_forecast(tmp_path / "f").history_snapshot == "0123456789abcdef"
    file = tmp_path / "f" / JSON_FILE
    body = json.loads(file.read_text())
    del body["history_snapshot"]
    file.write_text(json.dumps(body | {"schema_version": 1}))
    assert same(read_forecast(tmp_path / "f"), replace(made, history_snapshot=""))


def test_an_infinite_ratio__comes_back(made: Forecast, tmp_path: Path) -> None:
    scores = tuple(replace(score, ratio=float("inf")) for score in made.scores)
    write_forecast(replace(made, scores=scores), tmp_path / "f")
    assert {score.ratio for score in read_forecast(tmp_path / "f").scores} == {float("inf")}
    # Strict JSON: other readers would stumble over a bare Infinity.
    json.loads((tmp_path / "f" / JSON_FILE).read_text(), parse_constant=pytest.fail)


def test_writing_again__replaces_and_leaves_nothing_beside(made: Forecast, tmp_path: Path) -> None:
    write_forecast(made, tmp_path / "f")
    write_forecast(replace(made, run_id="abc"), tmp_path / "f")
    assert read_forecast(tmp_path / "f").run_id == "abc"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_folder_that_cannot_be_written__is_named(made: Forecast, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ForecastError, match="file"):
        write_forecast(made, tmp_path / "file" / "f")


def test_a_missing_file__is_named(made: Forecast, tmp_path: Path) -> None:
    with pytest.raises(ForecastError, match=r"forecast\.json: there is no such file"):
        read_forecast(tmp_path)
    write_forecast(made, tmp_path / "f")
    (tmp_path / "f" / PATHS_FILE).unlink()
    with pytest.raises(ForecastError, match=r"paths\.parquet.*make the forecast again"):
        read_forecast(tmp_path / "f")


def test_a_damaged_field__is_named(made: Forecast, tmp_path: Path) -> None:
    write_forecast(made, tmp_path / "f")
    file = tmp_path / "f" / JSON_FILE
    body = json.loads(file.read_text())
    file.write_text(json.dumps(body | {"step_s": "soon"}))
    with pytest.raises(ForecastError, match=r"forecast\.json: step_s"):
        read_forecast(tmp_path / "f")
    file.write_text(json.dumps(body | {"scores": [body["scores"][0] | {"losss": 1.0}]}))
    with pytest.raises(ForecastError, match=r"forecast\.json: scores\.0\.losss"):
        read_forecast(tmp_path / "f")
    file.write_text(json.dumps(body | {"paths": 49}))
    with pytest.raises(ForecastError, match="49 are expected"):
        read_forecast(tmp_path / "f")
    (tmp_path / "f" / PATHS_FILE).write_bytes(b"no parquet")
    with pytest.raises(ForecastError, match="cannot be read"):
        read_forecast(tmp_path / "f")


@pytest.mark.slow
def test_a_deployed_forecaster__comes_back_and_says_the_same(tmp_path: Path) -> None:
    series = web_requests()
    forecasters = (
        TimeOfWeekForecaster(),
        ProphetForecaster(),
        HarmonicArimaForecaster(),
        PersistenceForecaster(),
        SeasonalNaiveForecaster(days=7),
    )
    trained = train(
        series,
        issued_at=series.end,
        terms=ForecastTerms(900, 3600, (900, 3600), paths=50, origins=4, seed=3),
        forecasters=(PersistenceForecaster(),),
    )
    every = {forecaster.name: forecaster.fit(series) for forecaster in forecasters}
    deployed = trained.deployed
    shares = dict.fromkeys(every, 1 / len(every))
    deployed = replace(
        deployed, fitted=every, ensemble=replace(deployed.ensemble, weights=({"persistence": 1.0}, shares))
    )
    write_deployed(deployed, tmp_path)
    paths, peaks = read_deployed(tmp_path).sample_paths(series, 50, 9)
    assert np.array_equal(paths, deployed.sample_paths(series, 50, 9)[0])
    assert np.array_equal(peaks, deployed.sample_paths(series, 50, 9)[1])


def test_a_deployed_forecaster_that_knows_events__comes_back_and_says_the_same(tmp_path: Path) -> None:
    series = web_requests()
    start = series.end
    events = (
        Event(EventKind.HOLIDAY, "Epiphany", start - timedelta(days=20), start - timedelta(days=19)),
        Event(EventKind.OUTAGE, "Feed lost", start - timedelta(days=9), start - timedelta(days=8.9)),
        Event(EventKind.HOLIDAY, "Epiphany", start + timedelta(minutes=20), start + timedelta(days=1)),
        Event(EventKind.LAUNCH, "Sale", start, start + timedelta(minutes=30), ratio=1.7),
    )
    trained = train(
        series,
        issued_at=start,
        terms=ForecastTerms(900, 3600, (900, 3600), paths=50, origins=4, seed=3),
        forecasters=all_forecasters(EventCalendar(events))[:1] + all_forecasters(EventCalendar(events))[-2:],
    )
    deployed = trained.deployed
    assert all(isinstance(fitted, EventAware) for fitted in deployed.fitted.values())
    write_deployed(deployed, tmp_path)
    read = read_deployed(tmp_path)
    for name, fitted in read.fitted.items():
        assert isinstance(fitted, EventAware)
        assert fitted.effects == cast(EventAware, deployed.fitted[name]).effects
    paths, peaks = read.sample_paths(series, 50, 9)
    assert np.array_equal(paths, deployed.sample_paths(series, 50, 9)[0])
    assert np.array_equal(peaks, deployed.sample_paths(series, 50, 9)[1])


def test_a_deployed_forecaster_in_local_time__comes_back_and_says_the_same(tmp_path: Path) -> None:
    series = replace(web_requests(), timezone="America/New_York")
    trained = train(
        series,
        issued_at=series.end,
        terms=ForecastTerms(900, 3600, (900, 3600), paths=50, origins=4, seed=3),
        forecasters=all_forecasters()[:1] + all_forecasters()[-2:],
    )
    write_trained(trained, tmp_path)
    read = read_trained(tmp_path).deployed
    paths, peaks = read.sample_paths(series, 50, 9)
    assert np.array_equal(paths, trained.deployed.sample_paths(series, 50, 9)[0])
    assert np.array_equal(peaks, trained.deployed.sample_paths(series, 50, 9)[1])
    # MLflow gives it counts alone: it knows its own clock.
    assert np.array_equal(paths, read.sample_paths(replace(series, timezone="UTC"), 50, 9)[0])
    file = tmp_path / DEPLOYED_FILE
    file.write_text(file.read_text().replace("America/New_York", "America/Springfield"))
    with pytest.raises(ForecastError, match=r"America/Springfield.*train it again"):
        read_deployed(tmp_path)


def test_numbers_that_are_too_few__are_refused(trained: Trained, tmp_path: Path) -> None:
    write_deployed(trained.deployed, tmp_path)
    np.save(tmp_path / ARRAYS_FILE, np.load(tmp_path / ARRAYS_FILE)[:-1])
    with pytest.raises(ForecastError, match=r"arrays\.npy holds .* numbers are expected; train it again"):
        read_deployed(tmp_path)


def test_an_empty_or_a_damaged_file_of_numbers__is_refused(trained: Trained, tmp_path: Path) -> None:
    write_deployed(trained.deployed, tmp_path)
    numbers = np.load(tmp_path / ARRAYS_FILE)
    numbers[5] += 1
    np.save(tmp_path / ARRAYS_FILE, numbers)
    with pytest.raises(ForecastError, match="other numbers than were written; train it again"):
        read_deployed(tmp_path)
    (tmp_path / ARRAYS_FILE).write_bytes(b"")
    with pytest.raises(ForecastError, match=r"cannot be read.*train it again"):
        read_deployed(tmp_path)


def test_an_unknown_field_of_what_errors_remember__is_refused(tmp_path: Path) -> None:
    series = web_requests()
    terms = ForecastTerms(900, 900, (900,), paths=20, origins=4, seed=3)
    deployed = train(series, issued_at=series.end, terms=terms, forecasters=(PersistenceForecaster(),)).deployed
    fitted = {**deployed.fitted, "harmonic_arima": HarmonicArimaForecaster().fit(series)}
    write_deployed(replace(deployed, fitted=fitted), tmp_path)
    file = tmp_path / DEPLOYED_FILE
    body = json.loads(file.read_text())
    body["fitted"]["harmonic_arima"]["memory"]["ar3"] = 0.1
    file.write_text(json.dumps(body))
    with pytest.raises(ForecastError, match=r"ar3.*train it again"):
        read_deployed(tmp_path)


def test_pickled_numbers__are_refused(trained: Trained, tmp_path: Path) -> None:
    write_deployed(trained.deployed, tmp_path)
    np.save(tmp_path / ARRAYS_FILE, np.array([{"an": "object"}], dtype=object), allow_pickle=True)
    with pytest.raises(ForecastError, match="cannot be read"):
        read_deployed(tmp_path)
