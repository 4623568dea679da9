"""Predictions read back from a file, whoever wrote it."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecast import QUANTILES
from forecasting.prediction_file import read_predictions, write_predictions
from forecasting.prequential import Predicted

START = datetime(2003, 3, 3, tzinfo=UTC)
HORIZONS_S = (3600, 21600)
SERIES = ArrivalSeries("trace", "steady", START, 1800, np.ones(480))


def said(origin: int, *names: str) -> Predicted:
    rng = np.random.default_rng(origin)
    return Predicted(
        origin,
        {name: rng.random((2, len(QUANTILES))) for name in names},
        {name: rng.random((12, len(QUANTILES))) for name in names},
        (),
    )


def written(folder: Path) -> tuple[Path, list[Predicted]]:
    path, told = folder / "p.parquet", [said(50, "a", "deployed"), said(60, "deployed")]
    write_predictions(told, path, SERIES, HORIZONS_S, QUANTILES, ["a", "deployed"])
    return path, told


def test_predictions__come_back_as_they_were_said(tmp_path: Path) -> None:
    path, told = written(tmp_path)
    read = read_predictions(path, SERIES, HORIZONS_S, QUANTILES)
    assert [one.origin for one in read] == [50, 60]
    for one, other in zip(read, told, strict=True):
        assert list(one.peak_per_s) == list(one.rate_per_s) == list(other.peak_per_s)
        for name in one.peak_per_s:
            np.testing.assert_array_equal(one.peak_per_s[name], other.peak_per_s[name])
            np.testing.assert_array_equal(one.rate_per_s[name], other.rate_per_s[name])


def test_predictions__of_others_may_lack_peaks_and_windows_and_say_more_than_is_asked(tmp_path: Path) -> None:
    path, told = written(tmp_path)
    rows = pd.read_parquet(path)
    peak = (rows["kind"] == "peak") & (rows["horizon_s"] == 3600) & (rows["candidate"] == "a")
    window = (rows["candidate"] == "a") & (rows["kind"] == "path") & (rows["quantile"] == 0.9)
    more = rows.assign(quantile=rows["quantile"] + 0.003)
    pd.concat([rows[~peak & ~window], more]).sample(frac=1, random_state=1).to_parquet(tmp_path / "other.parquet")
    first = read_predictions(tmp_path / "other.parquet", SERIES, HORIZONS_S, QUANTILES)[0]
    assert np.isnan(first.peak_per_s["a"][0]).all()
    np.testing.assert_array_equal(first.peak_per_s["a"][1], told[0].peak_per_s["a"][1])
    assert list(first.rate_per_s) == ["deployed"]


def test_predictions__that_cannot_be_read_or_lie_off_the_windows_are_refused(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    with pytest.raises(ForecastError, match=r"cannot be read from .*nowhere.*its columns are origin, horizon_s, kind"):
        read_predictions(tmp_path / "nowhere.parquet", SERIES, HORIZONS_S, QUANTILES)
    pd.read_parquet(path).drop(columns="kind").to_parquet(tmp_path / "lacking.parquet")
    with pytest.raises(ForecastError, match=r"kind.*its columns are"):
        read_predictions(tmp_path / "lacking.parquet", SERIES, HORIZONS_S, QUANTILES)
    other = ArrivalSeries("trace", "steady", START.replace(minute=7), 1800, np.ones(480))
    with pytest.raises(ForecastError, match="is not the start of a window of steady, which has 1800 s from"):
        read_predictions(path, other, HORIZONS_S, QUANTILES)
