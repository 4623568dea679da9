"""Bursts shorter than a forecast's step are found, and nothing is found where there is none."""

from datetime import UTC, datetime

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from forecasting.within_steps import hidden_burst

START = datetime(2026, 3, 2, 0, 7, tzinfo=UTC)
"""Not at the beginning of an hour."""


def series(bursts: float, days: int = 5, events: float = 100.0) -> ArrivalSeries:
    """Minutes, three of which each hour, from :20 on, have so many times the load of the others."""
    minute = (7 + np.arange(days * 1440)) % 60
    rates = events * (1 + 0.5 * np.sin(np.arange(days * 1440) * 2 * np.pi / 1440))
    rates = np.where((minute >= 20) & (minute < 23), bursts * rates, rates)
    return ArrivalSeries("t", "s", START, 60, np.random.default_rng(1).poisson(rates).astype(float))


def test_a_burst_of_three_minutes__is_told_against_the_mean_of_its_step() -> None:
    found = hidden_burst(series(3.0), 300)
    assert found is not None
    # The mean of the step is 2.2 times the load beside the burst.
    assert found[0] == pytest.approx(3 / 2.2, rel=0.02)
    assert found[1] in (20, 21, 22)


def test_missing_windows__do_not_hide_it() -> None:
    holed = series(3.0)
    holed.counts[:2000] = np.nan
    assert hidden_burst(holed, 300) is not None


@pytest.mark.parametrize(
    ("arrivals", "step_s"),
    [
        (series(1.0), 300),
        (series(3.0), 60),
        (series(3.0), 420),
        (series(3.0, events=0.5), 300),
        (series(3.0, days=1), 7200),
    ],
    ids=["no burst", "steps of a window", "steps that are no part of an hour", "too few events", "steps of hours"],
)
def test_nothing__is_told_where_nothing_is_hidden_or_known(arrivals: ArrivalSeries, step_s: int) -> None:
    assert hidden_burst(arrivals, step_s) is None
