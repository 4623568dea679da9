"""Which stretch of a history is meant by what was asked."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from shop_history import NAME, hour, write_shop

from forecasting.arrivals.grid import typed_moment
from forecasting.errors import HistoryError
from forescale.history.span import HistorySpan, history_span


def span(home: Path, **asked: object) -> HistorySpan:
    given = {"start": None, "end": None, "days": None, "snapshot": None} | asked
    return history_span(home / "history", NAME, **given)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Ten days, from Monday 06:00 on."""
    write_shop(tmp_path, {"orders": [1] * 240}, start=hour(6))
    return tmp_path


def test_span__is_the_last_week_of_the_history_unless_something_is_asked(home: Path) -> None:
    found = span(home)
    assert (found.start, found.end) == (hour(246 - 168), hour(246))
    assert (found.history_start, found.history_end) == (hour(6), hour(246))
    assert found.window_s == 3600


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"days": 2}, (198, 246)),
        ({"start": "2024-03-05"}, (24, 246)),
        ({"end": "2024-03-05T12:00"}, (6, 36)),  # a week back would begin before the history
        ({"start": "2024-03-05", "days": 0.5}, (24, 36)),
        ({"end": "2024-03-06", "days": 1}, (24, 48)),
        ({"start": "2024-03-05T01:00+01:00", "end": "2024-03-05T12:00Z"}, (24, 36)),
        ({"start": "2024-03-01", "end": "2024-03-05"}, (-72, 24)),  # what was never written is missing
    ],
)
def test_span__is_told_by_two_of_from_to_and_days(
    home: Path, asked: dict[str, object], expected: tuple[float, float]
) -> None:
    found = span(home, **asked)
    assert (found.start, found.end) == (hour(expected[0]), hour(expected[1]))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"start": "2024-03-06", "end": "2024-03-05"}, r"--from 2024-03-06 00:00 is not before --to 2024-03-05 00:00"),
        ({"start": "2024-03-05", "end": "2024-03-05"}, r"not before"),
        (
            {"start": "2024-03-05", "end": "2024-03-06", "days": 1},
            r"--from 2024-03-05, .* and --days 1 are given; use at most two",
        ),
        ({"start": "yesterday"}, r"--from 'yesterday' is no ISO time; give it like"),
        ({"end": "2024-02-30"}, r"--to '2024-02-30' is no ISO time"),
        ({"days": 0}, r"--days 0; give more than 0"),
        ({"days": float("nan")}, r"--days nan; give more than 0"),
        ({"days": 1e9}, r"at most 36,525"),
        ({"end": "0001-01-02", "days": 5}, r"not between 1970 and 2200"),
        (
            {"start": "2025-01-01"},
            r"no arrival history from 2025-01-01 00:00; it covers 2024-03-04 06:00 to 2024-03-14",
        ),
        ({"end": "2024-03-01"}, r"no arrival history before 2024-03-01 00:00; it covers"),
        ({"snapshot": "feed"}, r"no snapshot 'feed'; the newest are "),
    ],
)
def test_span__that_cannot_be_is_refused_with_what_can(home: Path, asked: dict[str, object], message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        span(home, **asked)


def test_span__of_a_past_snapshot_ends_where_that_ended(home: Path) -> None:
    before = span(home).snapshot
    write_shop(home, {"orders": [1] * 24}, start=hour(246))
    assert span(home).end == hour(270)
    assert span(home, snapshot=before).end == hour(246)


def test_span__within_the_history_is_cut_to_it_or_refused(home: Path) -> None:
    cut = span(home, start="2024-01-01", end="2024-12-01").within_history()
    assert (cut.start, cut.end) == (hour(6), hour(246))
    with pytest.raises(HistoryError, match=r"from 2023-01-01 00:00 to 2023-01-02 00:00; it covers 2024-03-04 06:00"):
        span(home, start="2023-01-01", days=1).within_history()


def test_moment__at_the_edge_of_the_calendar_is_refused() -> None:
    assert typed_moment("2024-03-04T05:00:00+05:00", "start") == datetime(2024, 3, 4, tzinfo=UTC)
    assert typed_moment("2024-03-04", "start").utcoffset() == timedelta(0)
    with pytest.raises(HistoryError, match="start '0001-01-01T00:00:00\\+05:00' is no ISO time"):
        typed_moment("0001-01-01T00:00:00+05:00", "start")
