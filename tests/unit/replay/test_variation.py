"""How arrivals vary is read off what was known, and our planner plans with it."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from replay_cases import contest, load_of

from forecasting.arrivals.history import ArrivalSeries
from modeling.queueing.bursts import Arrivals
from modeling.queueing.dispersion import dispersion_of_history
from planner.limits import Limits
from planner.replay.run import replay
from planner.replay.variation import POISSON, Variation

START = datetime(2024, 3, 4, tzinfo=UTC)
DAY, WEEK = timedelta(days=1), timedelta(days=7)


def _bursty(days: int) -> ArrivalSeries:
    """Three times the rate in every tenth minute or so."""
    rng = np.random.default_rng(1)
    rates = np.where(rng.random(1440 * days) < 0.1, 3.0, 1.0)
    return ArrivalSeries("calls", "ingest", START, 60, rng.poisson(600 * rates).astype(float))


def test_variation__is_read_off_the_days_before_and_nothing_else() -> None:
    series = _bursty(10)
    found = Variation({"ingest": series}, WEEK).at(START + 9 * DAY)
    week = dispersion_of_history(series.counts[2 * 1440 : 9 * 1440], 60)
    assert week is not None
    assert found == Arrivals(by_source={"ingest": week})
    assert week.bursts is not None
    # Quiet days that are yet to come, and days of long ago, change nothing.
    counts = series.counts.copy()
    counts[9 * 1440 :], counts[: 2 * 1440] = 600.0, 0.0
    other = ArrivalSeries("calls", "ingest", START, 60, counts)
    assert Variation({"ingest": other}, WEEK).at(START + 9 * DAY) == found


def test_variation__is_poisson_where_nothing_is_known_and_as_declared_where_it_is() -> None:
    assert Variation({"ingest": _bursty(1)}, WEEK).at(START) == Arrivals()
    assert Variation({"ingest": _bursty(1)}, WEEK, 2.5).at(START + DAY) == 2.5
    assert POISSON.at(START) == 1.0


@pytest.mark.slow
def test_our_planner__takes_more_instances_where_arrivals_vary_and_latency_is_bounded() -> None:
    load = load_of([40.0] * 240)

    def most(variation: Variation, max_latency_s: float | None) -> int:
        limits = Limits(max_utilisation=0.95, max_latency_s=max_latency_s, max_instances=30)
        one = contest(load, limits=limits, variation=variation)
        policy = one.planned("planner-perfect", one.perfect())
        return int(replay(policy, load, one.reality(0), {"ingest": 1, "work": 4}).instances.max())

    assert most(Variation({}, WEEK, 30.0), 0.3) > most(POISSON, 0.3)
    assert most(Variation({}, WEEK, 30.0), None) == most(POISSON, None)
