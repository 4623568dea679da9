"""Forecasts of a replay are those that the pipeline would have made, made once, and know nothing of what came later."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from replay_cases import START_S, contest, days_of

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.forecast_file import read_forecast, write_forecast
from forecasting.terms import ForecastTerms
from planner.replay.known_history import known_events
from planner.replay.pipeline_forecasts import PipelineForecasts
from planner.replay.run import replay as replayed

TERMS = ForecastTerms(3600, 6 * 3600, paths=100, origins=4)
FROM_S, UNTIL_S = START_S + 3 * 86400.0, START_S + 3 * 86400 + 3 * 3600.0


def _series(tail: float = 1.0) -> ArrivalSeries:
    """Four days by the hour; `tail`: factor on what comes after FROM_S + an hour."""
    load = days_of(4)
    counts = load.rate_per_s["ingest"].reshape(-1, 60).sum(axis=1) * 60
    counts[3 * 24 + 1 :] *= tail
    return ArrivalSeries("calls", "ingest", load.start, 3600, counts.round())


def _forecasts(series: ArrivalSeries, folder: Path, *events: Event) -> PipelineForecasts:
    return PipelineForecasts({"ingest": series}, TERMS, 56, 6 * 3600, folder, EventCalendar(events))


def _prepared(series: ArrivalSeries, folder: Path, *events: Event) -> tuple[PipelineForecasts, list[tuple[int, int]]]:
    made = list[tuple[int, int]]()
    forecasts = _forecasts(series, folder, *events)
    with ThreadPoolExecutor(1) as executor:
        assert forecasts.prepare(FROM_S, UNTIL_S, executor, lambda done, of: made.append((done, of))) == ()
    return forecasts, made


@pytest.mark.slow
def test_forecasts__are_made_once_each_hour_and_kept(tmp_path: Path) -> None:
    forecasts, made = _prepared(_series(), tmp_path)
    # Of the hour before the start, which is the newest one then, and of three more.
    assert made[-1] == (4, 4)
    # Made on the hour and known five minutes later.
    hours = [forecasts.at(FROM_S + seconds)["ingest"].issued_at.timestamp() for seconds in (0, 299, 300, 3900)]
    assert hours == [FROM_S - 3600, FROM_S - 3600, FROM_S, FROM_S + 3600]
    _, again = _prepared(_series(), tmp_path)
    assert again == [(0, 0)]
    assert _forecasts(_series(), tmp_path / "elsewhere").at(FROM_S) == {}


def test_forecasts_without_paths__say_the_same_quantiles(tmp_path: Path) -> None:
    whole, _ = _prepared(_series(), tmp_path)
    one, other = (each.at(FROM_S + 3900)["ingest"] for each in (whole, whole.without_paths()))
    assert np.array_equal(one.rate_per_s, other.rate_per_s)
    assert one.paths_per_s.size
    assert not other.paths_per_s.size


@pytest.mark.slow
def test_forecasts_of_every_half_hour__are_those_of_the_hour_and_as_many_between_them(tmp_path: Path) -> None:
    hourly, _ = _prepared(_series(), tmp_path)
    often = PipelineForecasts({"ingest": _series()}, TERMS, 56, 6 * 3600, tmp_path, every_s=1800)
    made = list[tuple[int, int]]()
    with ThreadPoolExecutor(1) as executor:
        often.prepare(FROM_S, UNTIL_S, executor, lambda done, of: made.append((done, of)))
    # Of the half hour before the start, and of six more.
    assert made[-1] == (7, 7)
    moments = [often.at(FROM_S + seconds)["ingest"].issued_at.timestamp() for seconds in (0, 300, 2099, 2100, 3900)]
    assert moments == [FROM_S - 1800, FROM_S, FROM_S, FROM_S + 1800, FROM_S + 3600]
    # What was asked on the hour says the same, and one more often is another thing to replay.
    at_s = FROM_S + 3600 + 300
    assert np.array_equal(often.at(at_s)["ingest"].paths_per_s, hourly.at(at_s)["ingest"].paths_per_s)
    assert often.digest != hourly.digest


@pytest.mark.slow
def test_a_forecast__knows_nothing_of_what_came_after_it(tmp_path: Path) -> None:
    one, _ = _prepared(_series(), tmp_path)
    other, made = _prepared(_series(tail=5.0), tmp_path)
    # Other counts are another history, even if most of it is the same.
    assert made[-1][0] > 0
    for seconds, same in ((0, True), (300, True), (2 * 3600 + 300, False)):
        first, second = (each.at(FROM_S + seconds)["ingest"].rate_per_s for each in (one, other))
        assert np.array_equal(first, second) == same


def _event(kind: EventKind, from_h: float, until_h: float, ratio: float | None = None) -> Event:
    """Hours from the beginning of the replay."""
    start, end = (datetime.fromtimestamp(FROM_S + 3600 * hour, UTC) for hour in (from_h, until_h))
    return Event(kind, "sale", start, end, None, ratio)


@pytest.mark.slow
def test_an_event_that_is_declared__is_in_the_forecasts_before_it(tmp_path: Path) -> None:
    usual, _ = _prepared(_series(), tmp_path)
    sale, made = _prepared(_series(), tmp_path, _event(EventKind.LAUNCH, 2, 4, ratio=3.0))
    # Another calendar, other forecasts.
    assert made[-1] == (4, 4)
    at_s = FROM_S + 300
    change = sale.at(at_s)["ingest"].rate_per_s[:, 0] / usual.at(at_s)["ingest"].rate_per_s[:, 0]
    # It was never seen, so that its declared ratio stands, in the third hour and in the fourth.
    assert change == pytest.approx([1, 1, 3, 3, 1, 1], rel=0.02)


@pytest.mark.slow
def test_an_outage__is_left_out_once_it_is_over_and_unknown_before(tmp_path: Path) -> None:
    series = _series()
    counts = series.counts.copy()
    counts[3 * 24 - 2 : 3 * 24 + 1] = 0.0
    lost = replace(series, counts=counts)
    # From two hours before the replay to its first hour's end.
    outage = _event(EventKind.OUTAGE, -2, 1)
    silent, _ = _prepared(lost, tmp_path)
    told, _ = _prepared(lost, tmp_path, outage)
    during, after = ([each.at(FROM_S + seconds)["ingest"] for each in (silent, told)] for seconds in (300, 3600 + 300))
    assert np.array_equal(during[0].rate_per_s, during[1].rate_per_s)
    # Of three days and an hour, three hours say nothing.
    missing = "3 of 73 windows (4.1%) have no whole count: missing, partial or throttled"
    assert [missing in each.notes for each in (*during, *after)] == [False, False, False, True]
    assert [known_events(EventCalendar((outage,)), each[1].issued_at).events for each in (during, after)] == [
        (), (outage,)
    ]  # fmt: skip


@pytest.mark.slow
def test_horizons_that_have_been_lost__are_forecast_naively_from_the_next_training_on(tmp_path: Path) -> None:
    notes = list[str]()

    def prepared() -> PipelineForecasts:
        forecasts = _forecasts(_series(), tmp_path)
        with ThreadPoolExecutor(1) as executor:
            notes[:] = forecasts.prepare(FROM_S, FROM_S + 8 * 3600, executor, lambda done, of: None)
        return forecasts

    def demoted(forecasts: PipelineForecasts, hour: int) -> bool:
        (one,) = forecasts.at(FROM_S + 3600 * hour + 300).values()
        return any(note.startswith("3600 s: demoted, the p95 was exceeded in") for note in one.notes)

    assert not any(demoted(prepared(), hour) for hour in range(8))
    # As if it had said a fifth of what comes, hour by hour.
    for folder in tmp_path.glob("*/[0-9]*"):
        said = read_forecast(folder)
        shutil.rmtree(folder)
        write_forecast(replace(said, peak_per_s={h: peak / 5 for h, peak in said.peak_per_s.items()}), folder)
    for judged in tmp_path.glob("demoted-*"):
        judged.unlink()
    # All peaks of six hours exceeded the p95, of which the next training knows, six hours after the beginning.
    lost = prepared()
    assert [demoted(lost, hour) for hour in range(8)] == [False] * 6 + [True] * 2
    assert notes == ["ingest: trained 1 times with the naive forecaster in place of what had been losing"]
    # What was found is kept, too.
    assert [demoted(prepared(), hour) for hour in (5, 6)] == [False, True]


@pytest.mark.slow
def test_our_planner__is_in_place_before_the_load_where_it_knows_it() -> None:
    load = days_of(1)
    one = contest(load)
    policy = one.planned("planner-perfect", one.perfect())
    done = replayed(policy, load, one.reality(0), one.first())
    assert not (done.lag_s > 120).any()
    # At noon eight instances are just busy with 80/s, which 120 s of lag allow; by night fewer do.
    assert done.parallelism[720, 1] >= 8
    assert done.parallelism[:, 1].min() < 6
    assert all("in violation are expected" in each.why for each in done.decisions)


def test_a_day_of_the_month_that_stood_out_before__is_in_the_forecasts_before_it(tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    days = [start + timedelta(days=number) for number in range(150)]
    ratios = np.array([3.0 if day.day == 1 else 1.0 for day in days])
    series = ArrivalSeries("calls", "ingest", start, 3600, 100 * np.repeat(ratios, 24))
    forecasts = PipelineForecasts({"ingest": series}, TERMS, 28, 6 * 3600, tmp_path)
    at_s = datetime(2026, 4, 30, 18, tzinfo=UTC).timestamp()
    with ThreadPoolExecutor(1) as executor:
        forecasts.prepare(at_s, at_s + 3600, executor, lambda done, of: None)
    (made,) = forecasts.at(at_s + 300).values()
    # The six hours from 18:00 are usual ones; the training reaches into the first of May.
    assert made.rate_per_s[:, 0] == pytest.approx(100 / 3600, rel=0.05)
    with ThreadPoolExecutor(1) as executor:
        forecasts.prepare(at_s + 5 * 3600, at_s + 6 * 3600, executor, lambda done, of: None)
    (made,) = forecasts.at(at_s + 5 * 3600 + 300).values()
    assert made.rate_per_s[:, 0] * 36 == pytest.approx([1, 3, 3, 3, 3, 3], rel=0.05)
