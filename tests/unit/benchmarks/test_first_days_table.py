"""The table of the first days: which naive it compares with, at which moments, and what it leaves out."""

import importlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
NAN = float("nan")


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """The scripts lie outside the packages; one that is imported takes its own folder off the path."""
    before = list(sys.path)
    sys.path.insert(0, str(BENCHMARKS))
    sys.modules.pop("cold_start", None)
    yield importlib.import_module("first_days")
    sys.path[:] = before


def test_cell__compares_with_the_better_naive_where_all_could_forecast(script: ModuleType) -> None:
    came = np.array([10.0, 20.0, 30.0, NAN])
    said = {
        "deployed": np.array([12.0, 18.0, 31.0, 40.0]),
        "persistence": np.array([10.0, 30.0, NAN, 40.0]),
        "day_naive": np.array([20.0, 22.0, 30.0, 40.0]),
    }
    # Two moments count. Deployed: (.05 * 2 + .95 * 2) / 2 = 1; persistence: .05 * 10 / 2 = .25;
    # day_naive: (.05 * 10 + .05 * 2) / 2 = .3.
    (cell,) = script.cell_of("cars", 72, 900, came, said)
    assert (cell.naive, cell.moments) == ("persistence", 2)
    assert cell.ratio == pytest.approx(1 / 0.25)
    assert cell.coverage == 0.5, "10 lies below 12, 20 above 18"


def test_cell__is_left_out_without_a_naive_or_a_known_peak(script: ModuleType) -> None:
    said = {"deployed": np.array([1.0]), "persistence": np.array([1.0])}
    assert list(script.cell_of("cars", 36, 900, np.array([NAN]), said)) == []
    assert list(script.cell_of("cars", 36, 900, np.array([1.0]), {"deployed": np.array([1.0])})) == []


def test_measured__has_day_naive_from_two_days_on(script: ModuleType) -> None:
    hour = np.arange(24 * 12)
    counts = np.random.default_rng(1).poisson(300 + 200 * np.sin(2 * np.pi * hour / 24)).astype(float)
    series = ArrivalSeries("trace", "swing", datetime(2003, 3, 3, tzinfo=UTC), 3600, counts)
    cells = list(script.measured(series, [36, 72], 3))
    assert {(cell.hours, cell.horizon_s) for cell in cells} == {(h, s) for h in (36, 72) for s in (3600, 21600, 86400)}
    assert {cell.naive for cell in cells if cell.hours == 36} == {"persistence"}
    assert {cell.naive for cell in cells if cell.hours == 72} == {"persistence", "day_naive"}
    assert all(cell.moments == 3 for cell in cells)
    assert (
        script.table([cell for cell in cells if cell.hours == 36]).splitlines()[0].startswith("| 36 h | moments | 1 h")
    )
