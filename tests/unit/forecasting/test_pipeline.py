"""From a history to a forecast: what it holds, what it refuses, and that it can be repeated."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from arrival_series import MONDAY, busy_offices, web_requests, with_gaps
from sample_forecast import made_forecast

from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import ForecastError
from forecasting.forecast import Forecast
from forecasting.forecaster import Forecaster
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.seasonal_naive_forecaster import SeasonalNaiveForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.peaks import peak_quantiles_per_s
from forecasting.pipeline import issue, train
from forecasting.terms import ForecastTerms
from forecasting.trained import Trained

QUICK: Sequence[Forecaster] = (
    TimeOfWeekForecaster(),
    PersistenceForecaster(),
    SeasonalNaiveForecaster(days=1),
    SeasonalNaiveForecaster(days=7),
)


def made(series: ArrivalSeries, *, seed: int = 7, **more: object) -> Forecast:
    terms = {"step_s": 900, "horizon_s": 86400, "paths": 200, "origins": 8, "seed": seed}
    terms |= {name: more.pop(name) for name in list(more) if name in {*terms, "horizons_s"}}
    forecasters = more.pop("forecasters", QUICK)
    return made_forecast(series, forecasters, ForecastTerms(**terms), **more)  # type: ignore[arg-type]


def trained(series: ArrivalSeries) -> Trained:
    terms = ForecastTerms(900, 86400, paths=200, origins=8)
    return train(series, issued_at=series.end, terms=terms, forecasters=QUICK)


def test_a_forecast__says_what_it_was_made_from() -> None:
    series = busy_offices()
    forecast = made(series)
    assert (forecast.topology, forecast.source, forecast.seed) == ("calls", "desk", 7)
    assert (forecast.trained_from, forecast.trained_to) == (series.start, series.end)
    assert (forecast.start, forecast.end) == (series.end, series.end + timedelta(days=1))
    assert forecast.history_digest == series.digest()
    assert forecast.rate_per_s.shape == (96, 4)
    assert forecast.paths_per_s.shape == (200, 96)
    assert set(forecast.peak_per_s) == set(forecast.forecaster) == {900, 3600, 21600, 86400}
    assert {score.forecaster for score in forecast.scores} == {f.name for f in QUICK} | {"deployed"}


def test_the_recorded_snapshot__gives_the_very_series_again_after_the_history_has_moved_on(tmp_path: Path) -> None:
    series = busy_offices()
    alive = np.array([[0, 2**62]])
    counts = series.counts.astype(np.int64)
    rows = history_rows("calls", "desk", counts, alive, start=series.start, window_s=series.window_s)
    write_history(rows, tmp_path, "calls", series.start, series.end)
    history = read_history(tmp_path, "calls")
    forecast = made(history.source("desk"), history_snapshot=history.snapshot)
    assert forecast.history_snapshot == history.snapshot != ""

    # What was counted is counted anew, and a day goes by.
    moved = history_rows("calls", "desk", counts + 1, alive, start=series.start, window_s=series.window_s)
    write_history(moved, tmp_path, "calls", series.start, series.end)
    write_history(
        history_rows("calls", "desk", counts[:96], alive, start=series.end, window_s=series.window_s),
        tmp_path,
        "calls",
        series.end,
        series.end + timedelta(seconds=96 * series.window_s),
    )
    assert read_history(tmp_path, "calls").source("desk").digest() != forecast.history_digest
    again = read_history(tmp_path, "calls", snapshot=forecast.history_snapshot).source("desk")
    assert again.digest() == forecast.history_digest
    assert np.array_equal(made(again).paths_per_s, forecast.paths_per_s)


def test_the_same_arguments__give_the_identical_forecast() -> None:
    first, second = made(web_requests()), made(web_requests())
    assert np.array_equal(first.paths_per_s, second.paths_per_s)
    assert np.array_equal(first.rate_per_s, second.rate_per_s)
    assert all(np.array_equal(first.peak_per_s[h], second.peak_per_s[h]) for h in first.peak_per_s)
    assert first.scores == second.scores


def test_another_seed__gives_other_paths() -> None:
    first, second = made(web_requests()), made(web_requests(), seed=8)
    assert not np.array_equal(first.paths_per_s, second.paths_per_s)


def test_what_comes_after_issued_at__is_not_looked_at() -> None:
    series = web_requests(days=15)
    at = MONDAY + timedelta(days=14, minutes=7)
    cut = series.between(series.start, at)
    early, late = made(series, issued_at=at), made(cut, issued_at=at)
    assert early.start == MONDAY + timedelta(days=14)
    assert np.array_equal(early.paths_per_s, late.paths_per_s)
    assert early.history_digest == late.history_digest


def test_the_paths__have_the_calibrated_peaks() -> None:
    forecast = made(web_requests())
    read_off = peak_quantiles_per_s(forecast.paths_per_s, (1, 4, 24, 96), forecast.quantiles)
    for row, horizon_s in enumerate((900, 3600, 21600, 86400)):
        assert read_off[row] == pytest.approx(forecast.peak_per_s[horizon_s], rel=0.1)


def test_the_usual_day__is_forecast_as_it_comes() -> None:
    # Monday follows 21 days from a Monday on. Its mean at 14:00 is 1/s; 900 s of Poisson arrivals stray by 1/30.
    forecast = made(busy_offices())
    assert forecast.rate_per_s[14 * 4, 0] == pytest.approx(1.0, abs=0.07)
    assert forecast.rate_per_s[3 * 4].tolist() == [0.0, 0.0, 0.0, 0.0]
    # The largest of about 40 near-noon windows: 1 + 2.2/30 at the median, and no more than 1 + 4.5/30 at p99.
    assert 1.0 < forecast.peak_quantile_per_s(86400, 0.5) < 1.15
    assert forecast.peak_quantile_per_s(86400, 0.99) < 1.3


def test_minutes__are_summed_to_steps() -> None:
    series = web_requests(days=7, window_s=300)
    forecast = made(series, step_s=900)
    assert forecast.step_s == 900
    assert forecast.history_digest == series.resampled(900).digest()


def test_gaps__are_told() -> None:
    notes = made(with_gaps(web_requests())).notes
    assert any("windows" in note and "have no whole count" in note for note in notes)


def test_one_day__is_forecast_by_persistence_and_says_why_the_others_take_no_part() -> None:
    forecast = made(web_requests(days=1))
    assert set(forecast.forecaster.values()) == {"persistence"}
    assert any(note.startswith("time_of_week takes no part: 1.00 days of history, 2 are") for note in forecast.notes)
    assert any(note.startswith("week_naive takes no part: 1.00 days of history, 14 are") for note in forecast.notes)


def test_less_than_a_day__is_refused_with_how_much_there_is() -> None:
    with pytest.raises(ForecastError, match=r"source 'web'.*0\.50 days of history, 1 are needed"):
        made(web_requests(days=0.5))


def test_newer_counts__are_answered_from_what_was_learnt_before() -> None:
    series = web_requests()
    learnt = trained(series.between(series.start, series.end - timedelta(hours=5)))
    fresh = issue(learnt, series, issued_at=series.end)
    assert fresh.start == series.end
    assert fresh.trained_to == series.end - timedelta(hours=5)
    assert fresh.history_digest == series.digest()
    # Nearly what training anew gives: five hours change little of what three weeks have taught.
    anew = made(series)
    assert fresh.peak_quantile_per_s(86400, 0.5) == pytest.approx(anew.peak_quantile_per_s(86400, 0.5), rel=0.1)


def test_a_demoted_horizon__is_forecast_by_the_naive_and_says_so() -> None:
    series = web_requests()
    learnt = trained(series)
    demoted = issue(learnt.demoted({3600: "lost to persistence"}), series, issued_at=series.end)
    naive = dict(zip(learnt.deployed.horizons_s, learnt.deployed.ensemble.naive, strict=True))
    assert demoted.forecaster[3600] == naive[3600]
    assert demoted.forecaster[900] == learnt.deployed.names()[900]
    assert "3600 s: demoted, lost to persistence" in demoted.notes


def test_a_history_without_an_observed_window__is_refused_with_where_to_read_why() -> None:
    series = web_requests(days=7)
    missing = ArrivalSeries("t", "s", series.start, 900, np.full(series.counts.size, np.nan))
    with pytest.raises(
        ForecastError, match=r"no window of the history was observed; `forescale history check t`.*hold the plan"
    ):
        made(missing)


def test_a_feed_that_fell_silent__is_refused_with_since_when() -> None:
    series = web_requests(days=7)
    with pytest.raises(ForecastError, match=r"nothing was observed in the last 30\.0 h"):
        made(series, issued_at=series.end + timedelta(hours=30))


def test_a_late_feed__is_bridged() -> None:
    series = web_requests(days=14)
    forecast = made(series, issued_at=series.end + timedelta(hours=2))
    assert forecast.start == series.end + timedelta(hours=2)


def test_an_all_zero_history__gives_a_forecast_of_nothing() -> None:
    forecast = made(ArrivalSeries("t", "s", MONDAY, 900, np.zeros(14 * 96)))
    assert not forecast.paths_per_s.any()
    assert not forecast.peak_per_s[86400].any()


def test_a_constant_history__goes_on() -> None:
    forecast = made(ArrivalSeries("t", "s", MONDAY, 900, np.full(14 * 96, 450.0)))
    assert forecast.rate_per_s == pytest.approx(np.full((96, 4), 0.5), rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"step_s": 7000}, "does not divide a day"),
        ({"horizon_s": 60}, "shorter than a step"),
        ({"horizons_s": (60, 1000)}, "none of the horizons"),
        ({"issued_at": MONDAY}, "nothing is known"),
        ({"issued_at": (MONDAY + timedelta(days=9)).replace(tzinfo=None)}, "no time zone"),
    ],
)
def test_wrong_arguments__are_named(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ForecastError, match=words):
        made(web_requests(days=7), **wrong)
