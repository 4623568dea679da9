"""Forecasts of a replay are those that the pipeline would have made, made once, and know nothing of what came later."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from replay_cases import START_S, contest, days_of

from forecasting.arrivals.history import ArrivalSeries
from forecasting.terms import ForecastTerms
from planner.replay.pipeline_forecasts import PipelineForecasts
from planner.replay.run import replay

TERMS = ForecastTerms(3600, 6 * 3600, paths=100, origins=4)
FROM_S, UNTIL_S = START_S + 3 * 86400.0, START_S + 3 * 86400 + 3 * 3600.0


def _series(tail: float = 1.0) -> ArrivalSeries:
    """Four days by the hour; `tail`: factor on what comes after FROM_S + an hour."""
    load = days_of(4)
    counts = load.rate_per_s["ingest"].reshape(-1, 60).sum(axis=1) * 60
    counts[3 * 24 + 1 :] *= tail
    return ArrivalSeries("calls", "ingest", load.start, 3600, counts.round())


def _forecasts(series: ArrivalSeries, folder: Path) -> PipelineForecasts:
    return PipelineForecasts({"ingest": series}, TERMS, 56, 6 * 3600, folder)


def _prepared(series: ArrivalSeries, folder: Path) -> tuple[PipelineForecasts, list[tuple[int, int]]]:
    made = list[tuple[int, int]]()
    forecasts = _forecasts(series, folder)
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


@pytest.mark.slow
def test_a_forecast__knows_nothing_of_what_came_after_it(tmp_path: Path) -> None:
    one, _ = _prepared(_series(), tmp_path)
    other, made = _prepared(_series(tail=5.0), tmp_path)
    # Other counts are another history, even if most of it is the same.
    assert made[-1][0] > 0
    for seconds, same in ((0, True), (300, True), (2 * 3600 + 300, False)):
        first, second = (each.at(FROM_S + seconds)["ingest"].rate_per_s for each in (one, other))
        assert np.array_equal(first, second) == same


@pytest.mark.slow
def test_our_planner__is_in_place_before_the_load_where_it_knows_it() -> None:
    load = days_of(1)
    one = contest(load)
    policy = one.planned("planner-perfect", one.perfect())
    done = replay(policy, load, one.reality(0), one.first())
    assert not (done.lag_s > 120).any()
    # At noon ten instances carry 80/s at a utilisation of .8; by night fewer do.
    assert done.parallelism[720, 1] >= 10
    assert done.parallelism[:, 1].min() < 6
    assert all(" is " in each.why for each in done.decisions)
