"""Other ways to weigh and calibrate: what they change, which is chosen on one half, and which wins on the other."""

import importlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.calibration import calibration

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
QUANTILES = (0.5, 0.9, 0.95, 0.99)


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """The scripts lie outside the packages; the one that is run takes its own folder off the path."""
    before = list(sys.path)
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module("following")
    sys.path[:] = before


@pytest.fixture(scope="module")
def ways(script: ModuleType) -> ModuleType:
    return importlib.import_module("ways_to_follow")


def test_offsets_that_never_fade__are_those_of_the_product(ways: ModuleType) -> None:
    rng = np.random.default_rng(2)
    peaks = np.sort(rng.lognormal(size=(40, 3, 4)), axis=2)
    actual = rng.lognormal(size=(40, 3))
    actual[5:9, 1], peaks[11, 2], actual[11, 2] = np.nan, 0.0, 0.0
    learnt = calibration(peaks, actual, QUANTILES)
    faded = ways.faded_offsets(peaks, actual, learnt, ways.Fading(np.inf))
    np.testing.assert_allclose(faded, learnt.offsets, atol=1e-12)


def test_offsets_that_fade__halve_between_peaks_above(ways: ModuleType) -> None:
    # 30 is above every quantile of the forecast, 1 below all. An offset halves at a peak below it.
    peaks = np.tile([[[10.0, 20.0, 10.0 * np.e, 28.0]]], (3, 1, 1))
    actual = np.array([[30.0], [1.0], [1.0]])
    levels = np.array(QUANTILES)
    learnt = calibration(peaks, actual, QUANTILES)
    first, down = 0.05 * levels, 0.05 * (levels - 1)
    halved = ways.faded_offsets(peaks[:2], actual[:2], learnt, ways.Fading(1))
    np.testing.assert_allclose(halved[0], (first + down) / 2)
    # The peak after one above still counts as part of the same excess.
    paused = ways.faded_offsets(peaks, actual, learnt, ways.Fading(1, pause=2))
    np.testing.assert_allclose(paused[0], (first + 2 * down) / 2)
    # The p50 is at 0 after the second peak and below it after the third: it stays.
    raised = ways.faded_offsets(peaks, actual, learnt, ways.Fading(1, raised_alone=True))[0]
    assert raised[0] == pytest.approx(-0.025)
    assert raised[2] == pytest.approx(((0.0475 - 0.0025) / 2 - 0.0025) / 2)


def test_every_way__changes_what_is_deployed_but_the_deployed_one(
    script: ModuleType, ways: ModuleType, tmp_path: Path
) -> None:
    hour = np.arange(24 * 24)
    counts = np.random.default_rng(1).poisson(300 + 200 * np.sin(2 * np.pi * hour / 24)).astype(float)
    counts[-100:] *= 2
    series = ArrivalSeries("trace", "swing", datetime(2003, 3, 3, tzinfo=UTC), 3600, counts)
    kept = importlib.import_module("kept_peaks").kept_peaks(series, 6, tmp_path)
    deployed = kept.deployed({})
    known = np.isfinite(deployed)
    for name, way in ways.every_way().items():
        other = kept.deployed(way.constants, way.ensembles)
        assert np.isfinite(other[known]).all()
        assert (other[known] == deployed[known]).all() == (name == "deployed"), name


def test_choice__is_the_least_loss_that_covers_and_wins_if_it_loses_nowhere(script: ModuleType) -> None:
    def followed(p95: float, below: float, last: float | None = None) -> object:
        losses = np.array([p95] * 3 + [p95 if last is None else last])
        return script.Followed(losses, losses, np.full(4, below), np.full(4, 100.0))

    half = [{"deployed": followed(1, 95), "low": followed(0.8, 92), "good": followed(0.9, 96)}]
    assert script.best_on(half, ["deployed", "low", "good"]) == "good", "`low` covers .92"
    half[0]["good"] = followed(0.9, 92)
    half[0]["deployed"] = followed(1, 92)
    assert script.best_on(half, ["deployed", "low", "good"]) == "low", "none covers .93"
    other = [{"deployed": followed(1, 95), "good": followed(0.9, 96), "mixed": followed(0.9, 96, last=1.01)}]
    assert script.wins(script.over_deployed(other, "good"))
    assert not script.wins(script.over_deployed(other, "mixed"))
    assert not script.wins(script.over_deployed(other, "deployed"))


def test_long_run__keeps_the_coverage_of_a_narrow_forecast_only_without_fading(
    script: ModuleType, ways: ModuleType
) -> None:
    assert script.long_run(0.75, None)[1] == pytest.approx(0.95, abs=0.01)
    assert script.long_run(0.75, ways.Fading(10))[1] < 0.92
