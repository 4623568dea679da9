"""How long a target was missed, by the lag that was measured."""

from datetime import UTC, datetime, timedelta

import numpy as np

from planner.lag_record import LagRecord

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
# Windows of half a minute from noon on.
RECORD = LagRecord(NOON, 30, np.array([0.0, 61.0, 60.0, np.nan, 120.0, 90.0]))


def test_violation__is_a_window_with_more_lag_than_allowed() -> None:
    # 61, 120 and 90 s are more than 60 s, 60 s is not: three windows of half a minute.
    assert RECORD.violation_minutes(60) == 1.5
    assert RECORD.unmeasured_minutes == 0.5
    assert RECORD.largest_s == 120.0
    assert LagRecord(NOON, 30, np.array([np.nan])).largest_s is None


def test_part_of_a_record__begins_with_the_window_in_which_its_start_lies() -> None:
    # 12:00:40 lies in the second window; 12:02:30 begins the sixth, which is left out.
    part = RECORD.between(NOON + timedelta(seconds=40), NOON + timedelta(seconds=150))
    assert part.start == NOON + timedelta(seconds=30)
    assert part.violation_minutes(60) == 1.0
    assert RECORD.between(NOON - timedelta(hours=1), NOON + timedelta(hours=1)).violation_minutes(60) == 1.5
    assert RECORD.between(NOON - timedelta(hours=1), NOON).violation_minutes(60) == 0.0
