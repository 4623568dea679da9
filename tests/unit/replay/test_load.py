"""A load by the minute of any trace, with a stated reason for what is filled in, and for what is refused."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalSeries
from planner.errors import PlanError
from planner.replay.load import minute_load

NOON = datetime(2024, 3, 4, 12, 0, tzinfo=UTC)


def _series(counts: list[float], window_s: int, start: datetime = NOON, source: str = "calls") -> ArrivalSeries:
    return ArrivalSeries("orders", source, start, window_s, np.array(counts))


def test_minutes__are_as_they_came() -> None:
    load = minute_load({"calls": _series([60.0, 120.0, 0.0], 60)})
    assert load.rate_per_s["calls"].tolist() == [1.0, 2.0, 0.0]
    assert (load.start, load.minutes, load.notes) == (NOON, 3, ())


def test_shorter_windows__are_added_up() -> None:
    load = minute_load({"calls": _series([1.0] * 60 + [3.0] * 60 + [9.0] * 30, 1)})
    assert load.rate_per_s["calls"].tolist() == pytest.approx([1.0, 3.0])


def test_windows_that_begin_within_a_minute__lose_its_part() -> None:
    load = minute_load({"calls": _series([60.0, 120.0, 180.0], 60, NOON + timedelta(seconds=15))})
    # Three quarters of one window and a quarter of the next.
    assert load.start == NOON + timedelta(minutes=1)
    assert load.rate_per_s["calls"].tolist() == pytest.approx([0.25 * 1 + 0.75 * 2, 0.25 * 2 + 0.75 * 3])


def test_wide_windows__are_joined_by_straight_lines_between_their_middles() -> None:
    load = minute_load({"calls": _series([600.0, 1200.0, 600.0], 600)})
    rates = load.rate_per_s["calls"]
    # 1/s in the middle of the first, 2/s in that of the second, 10 minutes later: .1/s a minute.
    assert rates[4:16] == pytest.approx([1.0, *(1.05 + 0.1 * np.arange(10)), 1.95])
    assert "windows of 600 s" in load.notes[0]


def test_missing_windows__are_bridged_and_told() -> None:
    counts = [60.0] * 20
    counts[10] = float("nan")
    load = minute_load({"calls": _series(counts, 60)})
    assert load.rate_per_s["calls"] == pytest.approx(np.ones(20))
    assert load.notes == ("calls: 1 of 20 windows of 60 s are missing, and bridged in straight lines",)


def test_missing_windows_before_the_replay__are_told_apart_and_refuse_nothing() -> None:
    lost = float("nan")
    # Of the first ten minutes half are missing, of the twenty that are replayed two.
    counts = [60.0, 120.0, lost, lost, lost, lost, lost, 180.0, 180.0, 180.0] + [60.0] * 18 + [lost] * 2
    load = minute_load({"calls": _series(counts, 60)}, (NOON + timedelta(minutes=10)).timestamp())
    assert load.notes == (
        "calls: 2 of 20 windows of 60 s are missing, and bridged in straight lines",
        "calls: 5 of 10 windows of 60 s before the replay are missing, and bridged in straight lines",
    )
    # From the eighth minute on: 3 of 21.
    with pytest.raises(PlanError, match="14% of the windows are missing"):
        minute_load({"calls": _series(counts[:25] + [lost] * 3, 60)}, (NOON + timedelta(minutes=7)).timestamp())


def test_what_is_missing_before_the_replay__is_bridged_from_what_was_known_then() -> None:
    counts = [60.0, 60.0, float("nan"), 600.0, 600.0]
    load = minute_load({"calls": _series(counts, 60)}, (NOON + timedelta(minutes=3)).timestamp())
    assert load.rate_per_s["calls"].tolist() == [1.0, 1.0, 1.0, 10.0, 10.0]


def test_several_sources__are_replayed_over_what_they_have_in_common() -> None:
    load = minute_load(
        {
            "calls": _series([60.0] * 10, 60),
            "orders": _series([120.0] * 10, 60, NOON + timedelta(minutes=4), "orders"),
        }
    )
    assert (load.start, load.minutes) == (NOON + timedelta(minutes=4), 6)


@pytest.mark.parametrize(
    ("counts", "window_s", "reason"),
    [
        ([1.0] * 6 + [float("nan")] * 2, 60, "25% of the windows are missing, at most 10%"),
        ([60.0], 60, "1 whole minutes in common; a replay needs at least two"),
        ([0.0] * 60, 60, "nothing arrives at calls"),
        ([1.0] * 87_600, 3600, "the trace spans 3650 days"),
    ],
)
def test_what_is_no_load__is_refused_with_the_remedy(counts: list[float], window_s: int, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        minute_load({"calls": _series(counts, window_s)})


def test_no_source__is_refused() -> None:
    with pytest.raises(PlanError, match="at least one source"):
        minute_load({})
