"""The replayed truth against hand arithmetic."""

from datetime import UTC, datetime

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from planner.clusters.arrival_trace import ArrivalTrace, arrival_traces
from planner.errors import ClusterError

START = datetime(2024, 1, 1, tzinfo=UTC)
T0 = START.timestamp()
# Rates: 1/s, 2/s, missing, 0/s, 4/s, a minute each.
SERIES = ArrivalSeries("t", "calls", START, 60, np.array([60.0, 120.0, np.nan, 0.0, 240.0]))
TRACE = ArrivalTrace(SERIES)


@pytest.mark.parametrize(
    ("from_s", "to_s", "tuples"),
    [
        (0, 60, 60.0),
        (50, 70, 10 * 1 + 10 * 2),
        (100, 250, 20 * 2 + 0 + 0 + 10 * 4),
        (-100, 5, 5.0),  # nothing comes before the trace
        (290, 1000, 40.0),  # nor after it
    ],
)
def test_arrived__sums_the_windows_it_overlaps(from_s: float, to_s: float, tuples: float) -> None:
    assert TRACE.arrived(T0 + from_s, T0 + to_s) == pytest.approx(tuples)


def test_known__is_false_in_missing_windows_and_outside() -> None:
    assert TRACE.known(T0, T0 + 120)
    assert TRACE.known(T0 + 180, T0 + 300)
    assert not TRACE.known(T0 + 115, T0 + 125)
    assert not TRACE.known(T0 + 295, T0 + 305)
    assert not TRACE.known(T0 - 5, T0)


@pytest.mark.parametrize(
    ("at_s", "backlog", "age_s"),
    [
        (60, 30, 30.0),  # the last 30 at 1/s came in the last 30 s
        (120, 150, 90.0),  # 120 in the second minute, 30 in the last 30 s of the first
        (240, 20, 130.0),  # nothing came from 120 s to 240 s; the last 20 came in the 10 s before
        (250, 40, 10.0),  # exactly what came since 240 s
        (400, 240, 160.0),  # after the trace has ended the backlog goes on ageing
        (60, 0, 0.0),
        (60, 1e-9, 0.0),  # rounding is not waiting
    ],
)
def test_age_s__is_the_wait_of_the_oldest_tuple(at_s: float, backlog: float, age_s: float) -> None:
    assert TRACE.age_s(T0 + at_s, backlog) == pytest.approx(age_s)


def test_arrival_traces__names_the_source_that_the_truth_lacks() -> None:
    with pytest.raises(ClusterError, match="no arrivals of source 'mails', only of calls"):
        arrival_traces(ArrivalHistory("t", {"calls": SERIES}), ("calls", "mails"))
