"""Rivals that forecast peaks alone: their series of peaks, their conformal quantiles, nothing of the future."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.prequential import Origins, Predicted

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "rivals"
RIVALS_PYTHON = FOLDER.parents[1] / ".cache" / "forecasting-rivals" / "bin" / "python"
START = datetime(2003, 3, 3, tzinfo=UTC)
LEVELS = np.array([0.5, 0.9, 0.95, 0.99])


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """The scripts lie outside the packages."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


@pytest.fixture
def peaks() -> ModuleType:
    return __import__("conformal_peaks")


@pytest.fixture
def boosted() -> ModuleType:
    return __import__("boosted_peaks")


def test_series_of_peaks__counts_its_blocks_back_from_the_origin(peaks: ModuleType) -> None:
    # 1 | 2 5 3 | 4 0 7: the oldest count has no whole block.
    assert peaks.peaks_of_series(np.array([1.0, 2, 5, 3, 4, 0, 7]), 3).tolist() == [5, 7]
    with pytest.raises(ValueError, match="less history than the horizon"):
        peaks.peaks_of_series(np.ones(2), 3)


def test_seasons__are_the_day_and_the_week_that_were_seen_twice(peaks: ModuleType) -> None:
    # Quarters of an hour: 96 a day, 672 a week. Blocks of a day have a week alone.
    assert peaks.seasons_of(2 * 672, 3, 300) == [96, 672]
    assert peaks.seasons_of(2 * 672 - 1, 3, 300) == [96]
    assert peaks.seasons_of(14, 288, 300) == [7]
    assert peaks.seasons_of(13, 288, 300) == []


def test_quantile_of_errors__is_a_rank_of_one_more_than_there_are(peaks: ModuleType) -> None:
    errors = np.append(np.arange(1.0, 20), np.nan)
    # Of 19 errors: (19 + 1) · .5 = 10, · .9 = 18, · .95 = 19; 20 · .99 is beyond the largest.
    assert peaks.error_quantiles(errors, LEVELS).tolist() == [10, 18, 19, 19]
    assert np.isnan(peaks.error_quantiles(np.array([np.nan]), LEVELS)).all()


def test_conformal_peak__is_the_point_times_what_peaks_that_are_over_were_of_theirs(peaks: ModuleType) -> None:
    # Windows of one count; the horizon is two. At origin 0 came 19 where 9 were said: 20 / 10 = 2 in counts plus one.
    counts = np.array([19.0, 3, 4, 4, 7, 7])
    points = np.array([[9.0], [9.0], [4.0]])
    made = peaks.conformal_peaks(points, counts, [0, 1, 2], [2], [0.5])
    assert np.isnan(made[:2]).all(), "at origin 1 the first horizon is not over"
    # At origin 2 only that of origin 0 is over: (4 + 1) · 2 - 1.
    assert made[2, 0, 0] == pytest.approx(9)


def test_conformal_peaks__know_nothing_of_what_comes(peaks: ModuleType) -> None:
    rng = np.random.default_rng(3)
    counts, points = rng.uniform(1, 50, 60), rng.uniform(1, 50, (12, 2))
    origins = list(range(4, 52, 4))
    before = peaks.conformal_peaks(points, counts, origins, [2, 8], LEVELS)
    other = np.where(np.arange(60) < origins[8], counts, 9e3)
    after = peaks.conformal_peaks(points, other, origins, [2, 8], LEVELS)
    np.testing.assert_array_equal(before[:9], after[:9])
    assert (after[9:] != before[9:]).any()
    assert (np.diff(before[4:], axis=1) >= 0).all(), "a longer horizon holds the shorter one"


def test_coming_peak__is_known_where_four_fifths_of_its_windows_are(boosted: ModuleType) -> None:
    nan = np.nan
    ahead = boosted.coming_peaks(np.array([1.0, 9, 2, nan, 4, 3, nan, nan]), 5)
    # Of the windows 0 to 4 and 1 to 5 one is missing; from 2 on two are, and after 3 the horizon is not over.
    assert ahead.tolist() == pytest.approx([9, 9, *[nan] * 7], nan_ok=True)


def test_taught_rows__have_all_of_their_horizon_before_the_origin(boosted: ModuleType) -> None:
    counts = np.arange(100.0)
    target = boosted.coming_peaks(counts, 4)
    rows = boosted.Rows(None, np.zeros(101), target)
    at = boosted.taught(rows, {"window_s": 900}, 10, 50, 3600)
    assert (at[0], at[-1]) == (10, 46)
    assert target[at].max() == 49, "the last window before the origin"


def test_quantiles_of_a_rival__move_by_what_they_were_off_by_where_it_is_over() -> None:
    conformal = __import__("conformal_run").conformal
    # Peaks of 100 were said to lie at 10 to 40 a second: every quantile of the first is exceeded.
    series = ArrivalSeries("trace", "level", START, 3600, np.full(60, 360000.0))
    said = [Predicted(origin, {"as it comes": np.array([[10.0, 20, 30, 40]])}, {}, ()) for origin in (30, 31, 32)]
    made = conformal(said, "moved", series, 31, [7200])
    assert [one.origin for one in made] == [31, 32]
    # The first horizon of two hours is over at 32, not at 31.
    assert made[0].peak_per_s["moved"].tolist() == [[10, 20, 30, 40]]
    # Up by .05 · p spreads, which are log(p95 / p50) but for the floor of a hundredth of the peaks, 1 a second.
    spread = np.log((30 + 1) / (10 + 1))
    expected = np.array([10, 20, 30, 40]) * np.exp(0.05 * LEVELS * spread)
    np.testing.assert_allclose(made[1].peak_per_s["moved"][0], expected)


@pytest.mark.slow
def test_boosted_model__says_the_same_whatever_comes_after_the_origin(tmp_path: Path) -> None:
    if not RIVALS_PYTHON.exists():
        pytest.skip("the rivals are not installed; benchmarks/forecasting.py --rivals boosted does it")
    asking = __import__("boosted_run")
    hour = np.arange(24 * 30)
    counts = np.random.default_rng(1).poisson(300 + 200 * np.sin(2 * np.pi * hour / 24)).astype(float)
    at = Origins((500, 530, 560, 590, 600), told_from=560)
    answers = []
    for later in (counts, np.where(hour < 600, counts, 5000.0)):
        series = ArrivalSeries("trace", "swing", START, 3600, later)
        asked = [(series, at, [3600, 86400])]
        run = asking.boosted_runs(asked, cache=tmp_path, python=RIVALS_PYTHON)["swing"]
        assert [one.origin for one in run.predicted] == list(at.at)
        assert [fit.origin for fit in run.fits] == [560, 590, 600], "what teaches is paid for by what is told of"
        assert run.versions.keys() == {"mlforecast", "lightgbm"}
        answers.append(np.stack([one.peak_per_s[run.candidate] for one in run.predicted]) * 3600)
        again = asking.boosted_runs(asked, cache=tmp_path, python=Path("/nowhere"))["swing"]
        assert again.fits == run.fits, "asked once"
    np.testing.assert_array_equal(*answers)
    # The largest hour of a day of a swing between 100 and 500, ± three standard deviations of such a count.
    assert 430 < answers[0][:, 1, 2].mean() < 600
    assert (np.diff(answers[0], axis=1) >= 0).all()
