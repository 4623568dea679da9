"""The demo's calls, drawn from the real trace."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow.compute as pc
import pytest

from forecasting.errors import HistoryError
from forescale.local.demo.bank_calls import FEED, TOPICS, CallDay, bank_calls, span_of, unrecorded, unroll


@pytest.fixture(scope="module")
def week() -> list[CallDay]:
    return list(unroll(weeks=1))


def test_trace__holds_the_known_calls_of_164_weekdays() -> None:
    trace = bank_calls()
    # 164 weekdays of 169 bins (7:00 to 21:05): 27716.
    assert (trace.calls.size, trace.calls.sum()) == (164 * 169, 5_323_661)


def test_span__is_the_weeks_before_the_last_day_and_that_day() -> None:
    assert span_of(8, timedelta(0)) == (datetime(2003, 8, 29, tzinfo=UTC), datetime(2003, 10, 25, tzinfo=UTC))
    assert span_of(1, timedelta(weeks=2))[1] == datetime(2003, 11, 8, tzinfo=UTC)


@pytest.mark.parametrize("weeks", [0, 34])
def test_span__of_more_weeks_than_there_are__is_refused(weeks: int) -> None:
    # From Monday 3 March to Friday 24 October are 235 days, 33 weeks and 4 days.
    with pytest.raises(HistoryError, match=f"{weeks} weeks of calls; the trace has 1 to 33"):
        span_of(weeks, timedelta(0))


def test_shift__is_whole_days() -> None:
    with pytest.raises(HistoryError, match="shift of 1:00:00 is not whole days"):
        span_of(8, timedelta(hours=1))


def test_calls__fall_into_their_five_minutes(week: list[CallDay]) -> None:
    trace = bank_calls()
    for day in week:
        starts_us, calls = np.unique(day.calls_us // 300_000_000 * 300_000_000, return_counts=True)
        of_day = np.isin(trace.starts_us, starts_us)
        assert calls.tolist() == trace.calls[of_day].tolist()


def test_weekends__have_no_calls(week: list[CallDay]) -> None:
    busy = {day.day.isoweekday() for day in week if day.calls_us.size}
    assert busy == {1, 2, 3, 4, 5}


def test_copies__are_one_percent_and_the_same_in_every_field(week: list[CallDay]) -> None:
    day = week[-1]
    rows, calls = day.delivered, day.calls_us.size
    assert day.day == date(2003, 10, 24)
    assert rows.num_rows == calls + round(calls / 100)
    assert rows.group_by(rows.column_names).aggregate([]).num_rows == calls
    assert pc.count_distinct(rows["call_id"]).as_py() == calls
    assert set(rows["feed"].to_pylist()) == {FEED}


@pytest.mark.slow
def test_rows__come_in_no_order_of_time(week: list[CallDay]) -> None:
    delivered_us = week[-1].delivered["called_at"].cast("int64").to_numpy()
    # Of neighbours in random order, half are in order of time; 30 000 of them deviate by less than 2 %.
    assert np.mean(np.diff(delivered_us) > 0) == pytest.approx(0.5, abs=0.02)


def test_topics__follow_zipf(week: list[CallDay]) -> None:
    topics = [topic for day in week for topic in day.delivered["topic"].to_pylist()]
    # The first of n topics has the share 1 / H(n), and H(200) = 1 + 1/2 + … + 1/200 = 5.878; the second half of that.
    assert topics.count("topic-001") / len(topics) == pytest.approx(1 / 5.878, rel=0.03)
    assert topics.count("topic-002") / len(topics) == pytest.approx(0.5 / 5.878, rel=0.03)
    assert len(set(topics)) == TOPICS


@pytest.mark.slow
def test_day__is_drawn_the_same_whatever_the_weeks_and_moves_with_the_shift(week: list[CallDay]) -> None:
    shift = timedelta(weeks=1000)
    one, two, moved = (list(days)[-1] for days in (week, unroll(weeks=2), unroll(weeks=1, shift=shift)))
    assert one.delivered.equals(two.delivered)
    assert moved.day == one.day + shift
    assert (moved.calls_us - one.calls_us == shift // timedelta(microseconds=1)).all()
    assert moved.delivered["topic"].equals(one.delivered["topic"])


@pytest.mark.slow
def test_seed__changes_the_moments_but_not_the_counts(week: list[CallDay]) -> None:
    one, other = (list(days)[-1].calls_us for days in (week, unroll(weeks=1, seed=1)))
    assert one.size == other.size
    assert (one != other).any()


def test_weekdays_that_the_trace_leaves_out__are_not_recorded() -> None:
    # Labour Day, and the Tuesday after Columbus Day.
    days = [begin.date() for begin, _ in unrecorded(weeks=8)]
    assert days == [date(2003, 9, 1), date(2003, 10, 14)]
    begin, end = unrecorded(weeks=8, shift=timedelta(days=7))[0]
    assert (begin, end) == (datetime(2003, 9, 8, 7, tzinfo=UTC), datetime(2003, 9, 8, 21, 5, tzinfo=UTC))
