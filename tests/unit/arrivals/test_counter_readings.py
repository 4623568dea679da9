"""Counts from readings of counters. Times are in minutes from the epoch: 60 s make a window unless said otherwise."""

import numpy as np
import pytest

from forecasting.arrivals.arrival_source import SourceArrivals
from forecasting.arrivals.coverage import Int64s, status_codes
from forecasting.arrivals.history import STATUSES
from forecasting.arrivals.sources.counter_readings import (
    CounterReadings,
    ReadingGaps,
    total_of,
)
from forecasting.errors import HistoryError

MINUTE_US = 60_000_000
GAPS = ReadingGaps(max_gap_s=120, ended_after_s=300)


def minutes(*at: float) -> Int64s:
    return np.array([round(minute * MINUTE_US) for minute in at], dtype=np.int64)


def counter(*readings: tuple[float, float]) -> CounterReadings:
    """A counter from (minute, value)."""
    return CounterReadings(
        minutes(*(at for at, _ in readings)), np.array([value for _, value in readings], dtype=float)
    )


def every_minute(first: int, last: int, value: float = 0, rise: float = 10) -> list[tuple[float, float]]:
    """Readings of a counter that stands at `value` in the first minute and rises by `rise` a minute."""
    return [(minute, value + rise * (minute - first)) for minute in range(first, last + 1)]


def told(counters: list[CounterReadings], first: int, last: int) -> SourceArrivals:
    return total_of(counters, minutes(*range(first, last + 1)), GAPS)


def status(arrivals: SourceArrivals, first: int) -> str:
    """One letter a window: o(bserved), p(artial), m(issing)."""
    edges_us = minutes(*range(first, first + arrivals.counts.size + 1))
    return "".join(one[0] for one in np.array(STATUSES)[status_codes(arrivals.alive, edges_us, arrivals.counts)])


def test_counts__are_the_increase_between_readings_at_the_edges() -> None:
    arrivals = told([counter((0, 100), (1, 130), (2, 130), (3, 135))], 0, 3)
    assert arrivals.counts.tolist() == [30, 0, 5]
    assert status(arrivals, 0) == "ooo"
    assert arrivals.tallies["rows_read"].tolist() == [1, 1, 1]  # the reading at minute 3 lies in the next window


def test_counts__of_an_increase_across_an_edge_are_shared_by_time() -> None:
    # 90 events in 1.5 minutes from 0:30: half a minute's 30 before the edge, 60 after it.
    arrivals = told([counter((0.5, 0), (2, 90))], 0, 2)
    assert arrivals.counts.tolist() == [30, 60]
    assert status(arrivals, 0) == "po"


def test_counts__round_the_counter_and_not_the_counts() -> None:
    # One event in two minutes: at the edge the counter stands at 0.5, which is rounded up, and stays there.
    assert told([counter((0, 0), (2, 1), (4, 2))], 0, 4).counts.tolist() == [1, 0, 1, 0]


def test_counts__of_a_counter_beyond_what_32_bits_hold_are_exact() -> None:
    huge = float(2**52)
    assert told([counter((0, huge), (1, huge + 3), (2, huge + 4))], 0, 2).counts.tolist() == [3, 1]


def test_counts__after_a_restart_are_what_came_since_and_the_span_is_not_alive() -> None:
    # 50 at minute 1, 8 at minute 2: at least 8 came in between, and what came before the restart is lost.
    arrivals = told([counter((0, 40), (1, 50), (2, 8), (3, 20))], 0, 3)
    assert arrivals.counts.tolist() == [10, 8, 12]
    assert status(arrivals, 0) == "opo"


def test_counts__across_a_long_gap_are_nowhere_and_the_gap_is_missing() -> None:
    # Three minutes without a reading, when two are the most: nobody knows in which of them the 900 came.
    arrivals = told([counter((0, 0), (1, 10), (4, 910), (5, 920))], 0, 5)
    assert arrivals.counts.tolist() == [10, 0, 0, 0, 10]
    assert status(arrivals, 0) == "ommmo"


def test_counts__across_the_longest_gap_that_is_known_are_spread() -> None:
    arrivals = told([counter((0, 0), (1, 10), (3, 110), (4, 120))], 0, 4)
    assert arrivals.counts.tolist() == [10, 50, 50, 10]
    assert status(arrivals, 0) == "oooo"


def test_counts__of_the_value_at_the_first_reading_are_nowhere() -> None:
    arrivals = told([counter((2, 1000), (3, 1010))], 0, 4)
    assert arrivals.counts.tolist() == [0, 0, 10, 0]
    assert status(arrivals, 0) == "mmom"


def test_total__of_no_counter_is_missing() -> None:
    arrivals = told([], 0, 2)
    assert arrivals.counts.tolist() == [0, 0]
    assert status(arrivals, 0) == "mm"


def test_total__adds_counters_up() -> None:
    arrivals = told([counter(*every_minute(0, 3)), counter(*every_minute(0, 3, 500, 3))], 0, 3)
    assert arrivals.counts.tolist() == [13, 13, 13]
    assert status(arrivals, 0) == "ooo"


def test_total__is_in_doubt_while_one_counter_is_not_read_and_another_is() -> None:
    # Silent from 2 to 6: four minutes, longer than the two that are bridged, shorter than the five that end a counter.
    broken = counter(*every_minute(0, 2), *every_minute(6, 20, 60))
    arrivals = told([counter(*every_minute(0, 20)), broken], 0, 9)
    assert arrivals.counts.tolist() == [20, 20, 10, 10, 10, 10, 20, 20, 20]
    assert status(arrivals, 0) == "ooppppooo"


def test_total__without_a_counter_that_ended_is_alive_again() -> None:
    # The last reading is at 3; up to 5 it may have counted on, unread.
    arrivals = told([counter(*every_minute(0, 20)), counter(*every_minute(0, 3))], 0, 10)
    assert arrivals.counts.tolist() == [20, 20, 20, *[10] * 7]
    assert status(arrivals, 0) == "oooppooooo"


def test_total__with_a_counter_that_began_is_in_doubt_just_before_it() -> None:
    # First read at 8 with 70 counted: since when is unknown, two minutes are doubted.
    arrivals = told([counter(*every_minute(0, 20)), counter(*every_minute(8, 20, 70))], 4, 12)
    assert arrivals.counts.tolist() == [10, 10, 10, 10, 20, 20, 20, 20]
    assert status(arrivals, 4) == "ooppoooo"


def test_total__of_a_pod_that_another_takes_over_from_is_whole_but_for_the_change() -> None:
    arrivals = told([counter(*every_minute(0, 10)), counter(*every_minute(11, 30))], 0, 20)
    # Two minutes after the last reading at 10 are in doubt; the first at 11 is 0, so nothing came before it. Between 10
    # and 11 nothing is known at all.
    assert status(arrivals, 0) == "o" * 10 + "mp" + "o" * 8


def pod(begin_s: float, end_s: float, per_s: float, *, scrape_s: int = 15, phase_s: int = 0) -> CounterReadings:
    """A pod's counter, scraped while it lives."""
    first = -(-(begin_s - phase_s) // scrape_s) * scrape_s + phase_s
    at_s = np.arange(first, end_s + 1e-9, scrape_s)
    return CounterReadings((at_s * 1e6).astype(np.int64), np.floor((at_s - begin_s) * per_s))


def test_total__of_pods_that_come_and_go_is_observed_at_the_peak() -> None:
    """A pod carries 2/s; from minute 60 on, four more live for 20 minutes each and others follow: 10/s in all."""
    gaps, edges_us = ReadingGaps(60, 600), minutes(*range(60, 181, 5))
    pods = [pod(0, 15_000, 2)]
    for lane in range(4):
        starts_s = 3600 - 300 * lane + np.arange(-2, 9) * 1200
        pods += [pod(float(start_s) + 4, float(start_s) + 1204, 2, phase_s=lane) for start_s in starts_s]
    arrivals = total_of(pods, edges_us, gaps)
    codes = status_codes(arrivals.alive, edges_us, arrivals.counts)
    assert [STATUSES[code] for code in codes] == ["observed"] * 24
    # Lost: what a pod counts after its last scrape, 7.5 s of 1200 on average. Of 36,000 in an hour at 10/s 4 in 5 are
    # of such pods.
    assert arrivals.counts.sum() == pytest.approx(72_000, rel=0.8 * 15 / 1200)


@pytest.mark.parametrize(("width", "states"), [(10, {"observed"}), (1, {"observed", "partial"})])
def test_total__of_one_pod_at_a_time_is_observed_where_a_window_hardly_doubts_it(width: int, states: set[str]) -> None:
    """Each pod lives for 20 minutes at 2/s and the next begins 4 s after it: between two of them nobody is read."""
    pods = [pod(1204.0 * number, 1204.0 * number + 1200, 2, phase_s=number % 15) for number in range(12)]
    edges_us = minutes(*range(60, 181, width))
    arrivals = total_of(pods, edges_us, ReadingGaps(60, 600))
    codes = status_codes(arrivals.alive, edges_us, arrivals.counts)
    # At most a scrape interval of a pod is unread: 15 s of 600 are 2.5 %, and 15 s of 60 a quarter.
    assert {STATUSES[code] for code in codes} == states
    assert arrivals.counts.sum() == pytest.approx(14_400, rel=19 / 1204)


def test_total__counts_the_first_value_of_a_counter_that_began_near_zero() -> None:
    # At 10 a minute since 7:30, first read at 8 with 5: known from 7:30 on.
    arrivals = told([counter(*every_minute(0, 20)), counter(*every_minute(8, 20, 5))], 4, 12)
    assert arrivals.counts.tolist() == [10, 10, 10, 15, 20, 20, 20, 20]
    assert status(arrivals, 4) == "oooooooo"


def test_total__is_known_where_a_counter_of_a_few_events_ended_among_many() -> None:
    # It may have counted 1 more beside 100 a minute; beside 10, that is a tenth.
    for others, states in ((100, "oooooo"), (10, "ooopp" + "o")):
        arrivals = told([counter(*every_minute(0, 20, 0, others)), counter(*every_minute(0, 3, 0, 2))], 0, 6)
        assert status(arrivals, 0) == states


def test_total__that_nobody_knows_the_end_of_yet_is_in_doubt_for_as_long() -> None:
    """One of two counters was last read at 6, the other at 10: whether the first has ended, nobody can tell yet."""
    silent = counter(*every_minute(0, 6))
    assert status(told([counter(*every_minute(0, 10)), silent], 0, 10), 0) == "oooooopppp"
    # A reading five minutes after it tells.
    assert status(told([counter(*every_minute(0, 11)), silent], 0, 10), 0) == "ooooooppoo"


def test_total__after_a_silence_of_just_what_ends_a_counter_was_only_not_read() -> None:
    arrivals = told([counter(*every_minute(0, 20)), counter(*every_minute(0, 3), *every_minute(8, 20, 80))], 0, 10)
    assert status(arrivals, 0) == "ooopppppoo"


def test_total__is_the_same_from_no_more_readings_than_are_needed() -> None:
    """One counter ends at 0. The other tells so at 8:40, after a break from 4:50 that falls on 5 minutes after it."""
    going = counter(*((second / 60, second + 300) for second in (*range(-300, 291, 10), *range(520, 1200, 10))))
    ended = counter(*((second / 60, second + 300) for second in range(-300, 1, 10)))
    edges_us = minutes(-2, -1, 0, 1, 2, 3)
    begin_us, end_us = GAPS.needed_us(edges_us)
    needed = [
        CounterReadings(one.times_us[inside], one.values[inside])
        for one in (going, ended)
        for inside in [(one.times_us >= begin_us) & (one.times_us <= end_us)]
    ]
    for counters in ([going, ended], needed):
        assert status(total_of(counters, edges_us, GAPS), -2) == "ooppo"


def test_total__in_an_outage_of_the_server_is_missing() -> None:
    counters = [counter(*every_minute(0, 3), *every_minute(20, 30, 500)), counter(*every_minute(0, 3))]
    arrivals = told(counters, 0, 25)
    assert arrivals.counts.tolist() == [20] * 3 + [0] * 17 + [10] * 5
    assert status(arrivals, 0) == "ooo" + "m" * 17 + "ooooo"


@pytest.mark.parametrize(
    ("times", "values", "message"),
    [
        ([0, 0], [1.0, 2.0], "out of order"),
        ([1, 0], [1.0, 2.0], "out of order"),
        ([0, 1], [1.0], "one per reading"),
        ([0, 1], [1.0, -2.0], "-2"),
        ([0, 1], [1.0, float("nan")], "nan"),
        ([0, 1], [1.0, float("inf")], "inf"),
    ],
)
def test_readings__that_no_counter_gives_are_refused(times: list[int], values: list[float], message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        CounterReadings(np.array(times, dtype=np.int64), np.array(values))


@pytest.mark.parametrize(("max_gap_s", "ended_after_s"), [(0, 60), (-1, 60), (60, 30), (float("nan"), 60)])
def test_gaps__that_cannot_be_are_refused(max_gap_s: float, ended_after_s: float) -> None:
    with pytest.raises(HistoryError, match="seconds"):
        ReadingGaps(max_gap_s, ended_after_s)
