"""What holds of every forecast, from the history to the quantiles, whatever the history is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_forecast import made_forecast

from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import ForecastError, HistoryError
from forecasting.forecast import Forecast
from forecasting.forecast_file import forecast_digest
from forecasting.forecasters import all_forecasters
from forecasting.pipeline import issue, train
from forecasting.terms import ForecastTerms
from forecasting.trained_file import read_trained, write_trained

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
TERMS = ForecastTerms(3600, 21600, (3600, 21600), paths=60, origins=4, seed=3)
# Prophet takes seconds a fit; its contract is held elsewhere.
FORECASTERS = tuple(each for each in all_forecasters() if each.name != "prophet")
WINDOW_S = 900
WINDOWS = {"a window": 1, "an hour": 4, "a day": 96}
KINDS = ("zeros", "missing", "bursts", "constant", "as usual")

quick = settings(deadline=None, max_examples=15, derandomize=True)
few = settings(quick, max_examples=8)


def counts_of(kind: str, windows: int, seed: int = 0, per_window: float = 400.0) -> np.ndarray:
    """Windows from a midnight on: Poisson counts with a daily wave, or what becomes of them."""
    rng = np.random.default_rng(seed)
    match kind:
        case "zeros":
            return np.zeros(windows)
        case "missing":
            return np.full(windows, np.nan)
        case "constant":
            return np.full(windows, np.round(per_window))
        case "bursts":
            return np.where(rng.random(windows) < 0.5, 1e12, 0.0)
    wave = 1 - 0.8 * np.cos(2 * np.pi * np.arange(windows) / 96)
    return rng.poisson(per_window * wave).astype(float)


def series_of(counts: np.ndarray, start: datetime = MONDAY) -> ArrivalSeries:
    return ArrivalSeries("shop", "web", start, WINDOW_S, counts)


def forecast_of(series: ArrivalSeries, terms: ForecastTerms = TERMS) -> Forecast:
    return made_forecast(series, FORECASTERS, terms)


def forecast_or_refusal(series: ArrivalSeries, terms: ForecastTerms = TERMS) -> Forecast | str:
    """Any other error is a defect."""
    try:
        return forecast_of(series, terms)
    except (ForecastError, HistoryError) as error:
        return str(error)


@st.composite
def histories(draw: st.DrawFn) -> ArrivalSeries:
    """One to nine days, some closed at night, some with gaps, from a few events to many, whatever comes last."""
    days = draw(st.sampled_from([1.0, 1.6, 2.5, 4.0, 9.0]))
    per_window = draw(st.sampled_from([0.05, 3.0, 400.0, 1e7]))
    seed = draw(st.integers(0, 99))
    counts = counts_of("as usual", round(days * 96), seed, per_window)
    rng = np.random.default_rng(seed + 100)
    if draw(st.booleans()):
        counts[np.arange(counts.size) % 96 < 32] = 0.0
    counts[rng.random(counts.size) < draw(st.sampled_from([0.0, 0.02]))] = np.nan
    more = draw(st.sampled_from(sorted(WINDOWS.values())))
    last = counts_of(draw(st.sampled_from(KINDS)), more, seed)
    return series_of(np.concatenate([counts, last]))


def assert_is_sound(forecast: Forecast) -> None:
    steps, levels = TERMS.steps, len(forecast.quantiles)
    assert forecast.paths_per_s.shape == (TERMS.paths, steps)
    assert forecast.rate_per_s.shape == (steps, levels)
    peaks = np.stack([forecast.peak_per_s[horizon_s] for horizon_s in TERMS.horizons_s])
    assert peaks.shape == (len(TERMS.horizons_s), levels)
    for values in (forecast.paths_per_s, forecast.rate_per_s, peaks):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert (np.diff(forecast.rate_per_s, axis=1) >= 0).all()
    assert (np.diff(peaks, axis=1) >= 0).all()
    # The hour lies within the six hours: what it reaches at most, they reach.
    assert (np.diff(peaks, axis=0) >= 0).all()


@pytest.mark.slow
@quick
@given(histories())
def test_any_history__is_forecast_soundly_or_refused_in_words(history: ArrivalSeries) -> None:
    made = forecast_or_refusal(history)
    if isinstance(made, str):
        assert "source 'web'" in made
    else:
        assert_is_sound(made)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", WINDOWS)
@pytest.mark.slow
def test_more_history_of_any_kind__changes_no_shape(more: str, kind: str) -> None:
    known = counts_of("as usual", 5 * 96)
    assert_is_sound(forecast_of(series_of(known)))
    longer = series_of(np.concatenate([known, counts_of(kind, WINDOWS[more], seed=1)]))
    if (more, kind) == ("a day", "missing"):
        with pytest.raises(ForecastError, match=r"nothing was observed in the last 24\.0 h"):
            forecast_of(longer)
        return
    assert_is_sound(forecast_of(longer))


@pytest.mark.slow
@quick
@given(histories(), st.integers(0, 2**31))
def test_the_same_seed__gives_the_same_forecast_bit_for_bit(history: ArrivalSeries, seed: int) -> None:
    terms = replace(TERMS, seed=seed)
    first, again = (forecast_or_refusal(series_of(history.counts.copy()), terms) for _ in range(2))
    if isinstance(first, str) or isinstance(again, str):
        assert again == first
        return
    assert forecast_digest(again) == forecast_digest(first)
    # NaN is not equal to itself, its name is.
    assert repr(again.scores) == repr(first.scores)


def same_numbers(first: Forecast, second: Forecast) -> bool:
    return (
        np.array_equal(first.paths_per_s, second.paths_per_s)
        and np.array_equal(first.rate_per_s, second.rate_per_s)
        and all(np.array_equal(first.peak_per_s[h], second.peak_per_s[h]) for h in first.peak_per_s)
        and first.forecaster == second.forecaster
        and first.notes == second.notes
    )


@pytest.mark.slow
@few
@given(st.integers(0, 99), st.integers(-400, 400), st.sampled_from([2.0, 5.25, 9.0]))
def test_the_same_counts_whole_weeks_later__give_the_same_numbers(seed: int, weeks: int, days: float) -> None:
    counts = counts_of("as usual", round(days * 96), seed)
    first = forecast_of(series_of(counts))
    second = forecast_of(series_of(counts, MONDAY + timedelta(weeks=weeks)))
    assert second.start - first.start == timedelta(weeks=weeks)
    assert same_numbers(first, second)


@pytest.mark.slow
@few
@given(st.integers(0, 99), st.integers(-12 * 4, 14 * 4), st.sampled_from([2.0, 5.25, 9.0]))
def test_the_same_instant_with_another_offset__gives_the_same_forecast(seed: int, quarters: int, days: float) -> None:
    elsewhere = timezone(timedelta(minutes=15 * quarters))
    here = series_of(counts_of("as usual", round(days * 96), seed))
    there = series_of(here.counts, here.start.astimezone(elsewhere))
    assert there.digest() == here.digest()
    assert forecast_digest(forecast_of(there)) == forecast_digest(forecast_of(here))
    issued_there = made_forecast(here, FORECASTERS, TERMS, issued_at=here.end.astimezone(elsewhere))
    assert same_numbers(issued_there, forecast_of(here))


@pytest.mark.slow
@few
@given(st.integers(0, 99), st.integers(1, 10))
def test_twice_the_load__has_about_twice_the_peak(seed: int, doublings: int) -> None:
    # Only about: errors are measured on the scales log(1 + x) and sqrt(x + 3/8), whose 1 and 3/8 do not scale with the
    # load, and where the two serve nearly as well the choice may fall the other way. Hours hold 320 events or more: a
    # part of 1/320 for the first reason. For the second: their errors are at most 1/sqrt(320), so that the p99 lies
    # some 13 % above the middle, and two scales disagree about a part of that.
    factor = 2.0**doublings
    counts = counts_of("as usual", 5 * 96, seed)
    once, more = forecast_of(series_of(counts)), forecast_of(series_of(factor * counts))
    for horizon_s in TERMS.horizons_s:
        assert more.peak_per_s[horizon_s] == pytest.approx(factor * once.peak_per_s[horizon_s], rel=0.05)


@settings(quick, max_examples=4)
@given(st.integers(0, 99))
@pytest.mark.slow
def test_a_stored_snapshot_and_what_was_trained_on_it__say_the_same_each_time_they_are_asked(seed: int) -> None:
    counts = counts_of("as usual", 4 * 96, seed).astype(np.int64)
    rows = history_rows("shop", "web", counts, np.array([[0, 2**62]]), start=MONDAY, window_s=WINDOW_S)
    end = MONDAY + timedelta(days=4)
    with TemporaryDirectory() as folder:
        write_history(rows, Path(folder, "history"), "shop", MONDAY, end)
        histories = [read_history(Path(folder, "history"), "shop") for _ in range(2)]
        assert histories[0].snapshot == histories[1].snapshot
        learnt = train(histories[0].source("web"), issued_at=end, terms=TERMS, forecasters=FORECASTERS)
        write_trained(learnt, Path(folder, "trained"))
        kept = read_trained(Path(folder, "trained"))
        digests = {
            forecast_digest(issue(trained, history.source("web"), issued_at=end))
            for trained in (learnt, kept)
            for history in histories
        }
    assert digests == {forecast_digest(forecast_of(series_of(counts.astype(float))))}


NEEDED_DAYS = {
    "persistence": 1,
    "day_naive": 2,
    "time_of_week": 2,
    "ridge_fourier": 2,
    "recent_days": 2,
    "harmonic_arima": 3,
    "week_naive": 14,
}


@pytest.mark.parametrize("days", [1, 1.5, 2, 3, 7, 14, 15])
def test_a_history_of_any_length__is_forecast_and_says_who_takes_no_part_and_why(days: float) -> None:
    forecast = forecast_of(series_of(counts_of("as usual", round(days * 96))))
    assert_is_sound(forecast)
    told = {note.split(" takes no part: ")[0]: note for note in forecast.notes if " takes no part: " in note}
    assert told.keys() == {name for name, needed in NEEDED_DAYS.items() if days < needed}
    for name, note in told.items():
        assert f"{days:.2f} days of history, {NEEDED_DAYS[name]} are needed" in note
    deployed = {name for names in forecast.forecaster.values() for name in names.split(" + ")}
    assert deployed
    assert not deployed & told.keys()


def test_less_than_a_day__is_refused_whatever_comes() -> None:
    with pytest.raises(ForecastError, match=r"0\.96 days of history, 1 are needed"):
        forecast_of(series_of(counts_of("as usual", 92)))
