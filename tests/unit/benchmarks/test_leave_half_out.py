"""Constants chosen on one half of the traces and held to the other: what is kept, put in and compared."""

import importlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecast import QUANTILES
from forecasting.forecasters import all_forecasters
from forecasting.prequential import prequential
from forecasting.prequential_scores import PrequentialScore
from forecasting.selection import DEPLOYED

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
DAY_S = 86400


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """The scripts lie outside the packages; the one that is run takes its own folder off the path."""
    before = list(sys.path)
    sys.path.insert(0, str(BENCHMARKS))
    importlib.import_module("leave_half_out")
    yield
    sys.path[:] = before


@pytest.fixture
def script() -> ModuleType:
    return importlib.import_module("leave_half_out")


@pytest.fixture
def kept() -> ModuleType:
    return importlib.import_module("kept_peaks")


def swing(days: int = 9) -> ArrivalSeries:
    """Hours of a daily swing."""
    hour = np.arange(24 * days)
    counts = np.random.default_rng(1).poisson(300 + 200 * np.sin(2 * np.pi * hour / 24)).astype(float)
    return ArrivalSeries("trace", "swing", datetime(2003, 3, 3, tzinfo=UTC), 3600, counts)


def test_kept_peaks__give_what_would_have_been_deployed(kept: ModuleType, tmp_path: Path) -> None:
    series = swing()
    peaks = kept.kept_peaks(series, 6, tmp_path)
    forecasters = all_forecasters(prophet=False)
    horizons_s = peaks.table.horizons_s
    expected = list(
        prequential(series, forecasters, peaks.origins, horizons_s=horizons_s, quantiles=QUANTILES, paths=400, seed=7)
    )
    said = peaks.predicted(peaks.deployed({}))
    assert [one.origin for one in said] == [one.origin for one in expected]
    assert len(said) == 6
    for one, other in zip(said, expected, strict=True):
        np.testing.assert_array_equal(one.peak_per_s[DEPLOYED], other.peak_per_s[DEPLOYED])
    again = kept.kept_peaks(series, 6, tmp_path)
    np.testing.assert_array_equal(again.deployed({}), peaks.deployed({}))
    assert len(list(tmp_path.iterdir())) == 1, "asked once, and nothing half-written"


def test_constants__are_put_in_and_taken_out_again(kept: ModuleType, tmp_path: Path) -> None:
    peaks = kept.kept_peaks(swing(), 6, tmp_path)
    before, said = kept.deployed_constants(), peaks.deployed({})
    assert set(before) == {"SHARPNESS", "HALF_LIFE_S", "STEADYING_ORIGINS", "EXPECTED_RATIO", "STEP"}
    for name, value in before.items():
        other = peaks.deployed({name: value / 2})
        assert (other[np.isfinite(other)] != said[np.isfinite(said)]).any(), f"{name} matters"
        assert kept.deployed_constants() == before
    with pytest.raises(ForecastError), kept.put_in({"STEP": 9.0}):
        raise ForecastError("within")
    assert kept.deployed_constants() == before


def test_grid__holds_what_is_deployed(script: ModuleType, kept: ModuleType) -> None:
    assert script.SETTINGS.count(kept.deployed_constants()) == 1


def test_choice__of_one_half_is_held_to_the_other(script: ModuleType) -> None:
    # Two settings; the first is e^.2 better on one trace, the second e^.1 on the other. Each half of one trace chooses
    # its own, which the other pays for: e^.2 and e^.1 against the deployed second one.
    loss = {"a": [0.0, 0.2], "b": [0.1, 0.0]}
    traces = [script.Weighed(name, np.array(losses)) for name, losses in loss.items()]
    assert [script.best_on([trace]) for trace in traces] == [0, 1]
    assert script.best_on(traces) == 0, "(.0 + .1) / 2 < (.2 + .0) / 2"
    ways, mean, worst = script.every_halving(traces, 1)
    # a chooses 0 for b, which loses .1; b chooses 1 for a, which is what is deployed.
    assert ways == 2
    assert mean == pytest.approx(np.exp(0.05))
    assert worst == pytest.approx(np.exp(0.1))


def test_ratio_to_the_naives_with_errors__needs_the_same_origins() -> None:
    tables = importlib.import_module("score_tables")

    def score(name: str, ratio: float, origins: int = 60) -> PrequentialScore:
        return PrequentialScore(name, 900, origins, ratio, ratio, 0.95, 0.2)

    scores = [score(DEPLOYED, 0.3), score("day_naive", 0.6), score("week_naive", 0.4)]
    assert tables.over_seasonal_naive(scores, DEPLOYED, 900) == pytest.approx(0.75)
    scores[2] = score("week_naive", 0.4, origins=51)
    assert tables.over_seasonal_naive(scores, DEPLOYED, 900) == pytest.approx(0.5)
    assert np.isnan(tables.over_seasonal_naive(scores, DEPLOYED, 3600))
    assert tables.naive_table([scores], [DEPLOYED]).splitlines()[-1] == "| deployed | 0.50 (0.50) / 0.95 |  |  |  |"


def test_earlier_stretches__end_whole_stretches_before_the_end() -> None:
    other = importlib.import_module("other_series")
    series = swing(days=5 * 70 + 3)
    early = list(other.earlier_stretches(series))
    # Four whole stretches are left beside the last: three of them, evenly, the first of them with a stretch to learn.
    assert [(series.span_s - one.span_s) / DAY_S for one in early] == [70, 210, 280]
    for one in early:
        np.testing.assert_array_equal(one.counts, series.counts[: one.counts.size])
    assert list(other.earlier_stretches(swing(days=139))) == []


def test_grid__has_every_four_constants_in_every_combination_once(script: ModuleType) -> None:
    assert len(script.SETTINGS) == 3**4
    for left_out in script.GRID:
        four = {tuple(value for name, value in s.items() if name != left_out) for s in script.SETTINGS}
        assert len(four) == 3**4


def test_better_rivals__are_told_with_both_losses() -> None:
    tables = importlib.import_module("score_tables")
    runs = importlib.import_module("rival_runs")

    def score(name: str, horizon_s: int, ratio: float) -> PrequentialScore:
        return PrequentialScore(name, horizon_s, 60, ratio, ratio, 0.95, 0.2)

    scores = [score(DEPLOYED, 900, 0.3), score(DEPLOYED, 3600, 0.4), score("MSTL", 900, 0.31), score("MSTL", 3600, 0.2)]
    replay = tables.Replayed("tweets", 300, 60, 1.0, scores, {}, [runs.RivalRun("MSTL", [], [], {})])
    assert tables.better_rivals([replay]) == ["MSTL is better than deployed on tweets: 1 h (0.20 against 0.40)"]
