"""The rivals of the forecasting benchmark: asked with what ours had, scored as ours is."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import QUANTILES
from forecasting.prequential import Predicted
from forecasting.prequential_scores import prequential_scores

# Python 3.12 and later warn of every fork beside threads; what is forked here starts none and ends with _exit.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

START = datetime(2003, 3, 3, tzinfo=UTC)
FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "rivals"
HORIZONS_S = (3600, 21600)


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """The scripts lie outside the packages."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


@pytest.fixture
def theirs() -> ModuleType:
    return __import__("rival_forecasts")


@pytest.fixture
def ours() -> ModuleType:
    return __import__("rival_runs")


def swing(days: int = 6) -> ArrivalSeries:
    """Half hours of a daily swing, with a gap."""
    hour = np.arange(48 * days) / 2
    counts = np.random.default_rng(1).poisson(300 + 200 * np.sin(2 * np.pi * hour / 24)).astype(float)
    counts[60:70] = np.nan
    return ArrivalSeries("trace", "swing", START, 1800, counts)


def test_peaks__of_joint_paths_are_quantiles_of_their_maxima(theirs: ModuleType) -> None:
    # Two paths that peak in turn: each path's largest is 10, each window's median (0 + 10) / 2.
    said = theirs.Said(paths=np.array([[10.0, 0.0], [-4.0, 10.0]]))
    peaks, rates = theirs.quantiles_of(said, [1, 2], [0.5])
    assert peaks.tolist() == [[5.0], [10.0]]
    assert rates.tolist() == [[5.0], [5.0]]


def test_peaks__of_a_rival_without_paths_are_the_largest_of_its_quantiles(theirs: ModuleType) -> None:
    said = theirs.Said(pointwise=np.array([[1.0, 5.0], [3.0, 4.0], [-2.0, -1.0]]))
    peaks, rates = theirs.quantiles_of(said, [1, 3], [0.5, 0.95])
    assert peaks.tolist() == [[1.0, 5.0], [3.0, 5.0]]
    assert rates.tolist() == [[1.0, 5.0], [3.0, 4.0], [0.0, 0.0]]


def test_history__ends_before_the_origin_is_capped_and_begins_with_what_is_known(theirs: ModuleType) -> None:
    nan = np.nan
    counts = np.array([9.0, nan, 1.0, nan, 3.0, 7.0])
    before = theirs.history_before(counts, 5, 4)
    assert before.tolist() == pytest.approx([1, nan, 3], nan_ok=True)
    assert theirs.filled(before).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="nothing is known before the origin"):
        theirs.history_before(counts, 2, 1)


@pytest.mark.slow
def test_forecast__that_does_not_end_is_ended_and_one_that_fails_says_why(theirs: ModuleType) -> None:
    def endless() -> None:
        while True:
            pass

    value, why, cpu_s = theirs.apart(endless, 1)
    assert (value, why) == (None, "ran out of time")
    assert 0.5 < cpu_s < 5
    assert theirs.apart(lambda: 1 // 0, 5)[:2] == (None, "ZeroDivisionError: integer division or modulo by zero")
    assert theirs.apart(lambda: [1, 2], 5)[:2] == ([1, 2], "")


def test_rival__comes_back_from_its_file_and_is_scored_as_ours_would_be(
    theirs: ModuleType, ours: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = swing()
    origins = [144, 200]
    rng = np.random.default_rng(2)
    paths = rng.uniform(50, 600, (40, 12))
    monkeypatch.setitem(theirs.RIVALS, "same", (lambda asked: theirs.Said(paths=paths), ("numpy",)))
    job = {
        "rival": "same", "candidate": "the same", "start": START.isoformat(), "window_s": 1800, "origins": origins,
        "teaching": [], "horizons_s": list(HORIZONS_S), "quantiles": list(QUANTILES), "history_s": 86400, "paths": 40,
        "seed": 1, "limit_cpu_s": 60,
    }  # fmt: skip
    ours.write_job(tmp_path, {"counts": series.counts}, job)
    theirs.run(tmp_path)
    told = json.loads((tmp_path / "told.json").read_text())
    assert [(fit["origin"], fit["unsuitable_because"]) for fit in told["fits"]] == [(144, ""), (200, "")]

    read = ours.said(tmp_path / "said.npz", "the same")
    peaks = np.stack([np.quantile(paths[:, :steps].max(axis=1) / 1800, QUANTILES) for steps in (2, 12)])
    rates = np.quantile(paths / 1800, QUANTILES, axis=0).T
    expected = [Predicted(at, {"the same": peaks}, {"the same": rates}, ()) for at in origins]
    assert [one.origin for one in read] == origins
    for one in read:
        np.testing.assert_allclose(one.peak_per_s["the same"], peaks)
        np.testing.assert_allclose(one.rate_per_s["the same"], rates)
    scores, same = (prequential_scores(of, series, HORIZONS_S, QUANTILES) for of in (read, expected))
    for score, other in zip(scores, same, strict=True):
        assert vars(score) == pytest.approx(vars(other), nan_ok=True)


def test_rivals__join_ours_at_the_same_origins(ours: ModuleType) -> None:
    def said(name: str, origin: int) -> Predicted:
        return Predicted(origin, {name: np.full((2, 4), float(origin))}, {name: np.ones((12, 4))}, ())

    together = ours.joined([said("deployed", 5), said("deployed", 9)], [said("MSTL", 9), said("MSTL", 7)])
    assert [(one.origin, sorted(one.peak_per_s)) for one in together] == [(5, ["deployed"]), (9, ["MSTL", "deployed"])]


def test_shared_origins__are_spread_from_the_first_to_the_last(ours: ModuleType) -> None:
    assert ours.spread(list(range(0, 280, 10)), 4) == [0, 90, 180, 270]
    assert ours.spread([3, 4], 9) == [3, 4]


def test_answers__are_kept_until_the_trace_or_what_is_asked_changes(ours: ModuleType, tmp_path: Path) -> None:
    counts, job = swing().counts, {"rival": "mstl", "origins": [1]}
    own, other = {"counts": counts}, {"counts": np.nan_to_num(counts)}
    keys = {ours.job_key(own, job), ours.job_key(other, job), ours.job_key(own, job | {"origins": [2]})}
    assert len(keys) == 3
    assert ours.job_key({"counts": swing().counts}, dict(job)) in keys


@pytest.mark.slow
def test_rival__is_asked_once_by_its_own_interpreter(ours: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("statsmodels")
    series = swing()
    ask = {"limit_cpu_s": 60, "cache": tmp_path}
    run = ours.rival_run(ours.RIVALS["arima"], series, [144, 200], HORIZONS_S, **ask, python=Path(sys.executable))
    assert [fit.unsuitable_because for fit in run.fits] == ["", ""]
    assert all(fit.cpu_s > 0 for fit in run.fits)
    assert [one.origin for one in run.predicted] == [144, 200]
    peaks = run.predicted[0].peak_per_s["ARIMA(1,1,1)"]
    assert (np.diff(peaks, axis=1) >= 0).all()
    # A swing between 100 and 500 in half an hour; the median of the largest of six hours is of that size.
    assert 100 / 1800 < peaks[1, 0] < 700 / 1800
    again = ours.rival_run(ours.RIVALS["arima"], series, [144, 200], HORIZONS_S, **ask, python=Path("/nowhere"))
    assert again.fits == run.fits
