"""What holds for counts from any readings of counters."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecasting.arrivals.coverage import Int64s, covered_us
from forecasting.arrivals.sources.counter_readings import CounterReadings, ReadingGaps, total_of

GAPS = ReadingGaps(max_gap_s=60, ended_after_s=150)
WINDOW_US = 60_000_000
WINDOWS = 20


@st.composite
def counters(draw: st.DrawFn) -> CounterReadings:
    """Readings some seconds to minutes apart, with restarts, from before the interval to after it."""
    steps_s = draw(st.lists(st.sampled_from([1, 7, 30, 60, 61, 149, 150, 151, 400]), min_size=0, max_size=40))
    rises = draw(st.lists(st.integers(-50, 50), min_size=len(steps_s), max_size=len(steps_s)))
    time_us, value = draw(st.integers(-900, 600)) * 1_000_000, float(draw(st.integers(0, 100)))
    times, values = [time_us], [value]
    for step_s, rise in zip(steps_s, rises, strict=True):
        time_us += step_s * 1_000_000
        value = value + rise if rise >= 0 else float(-rise) / 2
        times.append(time_us)
        values.append(value)
    return CounterReadings(np.array(times, dtype=np.int64), np.array(values))


several = st.lists(counters(), max_size=4)


def edges_us(first: int, last: int, width_us: int = WINDOW_US) -> Int64s:
    return np.arange(first, last + 1, dtype=np.int64) * width_us


def needed_only(given_counters: list[CounterReadings], edges: Int64s) -> list[CounterReadings]:
    """The readings that a source fetches for these windows, and no others."""
    begin_us, end_us = GAPS.needed_us(edges)
    cut = []
    for one in given_counters:
        inside = (one.times_us >= begin_us) & (one.times_us <= end_us)
        if inside.any():
            cut.append(CounterReadings(one.times_us[inside], one.values[inside]))
    return cut


@given(several)
def test_counts__are_never_negative(given_counters: list[CounterReadings]) -> None:
    assert (total_of(given_counters, edges_us(0, WINDOWS), GAPS).counts >= 0).all()


@given(st.lists(st.integers(0, 60), min_size=1, max_size=30), st.lists(st.integers(0, 40), min_size=31, max_size=31))
def test_counts__of_a_counter_that_is_always_read_add_up_to_its_increase(gaps_s: list[int], rises: list[int]) -> None:
    times_us = np.cumsum([0, *(gap + 1 for gap in gaps_s if gap < 60)]) * 1_000_000
    values = np.cumsum(rises[: times_us.size]).astype(float)
    edges = edges_us(-1, 40)  # 30 gaps of at most 60 s end within 30 windows
    total = total_of([CounterReadings(times_us, values)], edges, GAPS)
    # What its first reading counts is added if it rose as fast since zero in no more than max_gap_s.
    near = times_us <= times_us[0] + 150_000_000
    rise, long_us = values[near][-1] - values[0], int(times_us[near][-1] - times_us[0])
    from_zero = values[0] == 0 or (rise > 0 and values[0] / (rise / long_us) <= 60_000_000)
    assert total.counts.sum() == values[-1] - (0 if from_zero else values[0])


@given(several, st.integers(1, WINDOWS - 1))
def test_reading__in_two_parts_changes_nothing(given_counters: list[CounterReadings], cut: int) -> None:
    """Each part from only those readings that it says it needs."""
    parts = []
    for edges in (edges_us(0, WINDOWS), edges_us(0, cut), edges_us(cut, WINDOWS)):
        parts.append((edges, total_of(needed_only(given_counters, edges), edges, GAPS)))
    (edges, whole), (left_edges, left), (right_edges, right) = parts
    assert [*left.counts, *right.counts] == whole.counts.tolist()
    assert [*covered_us(left.alive, left_edges), *covered_us(right.alive, right_edges)] == covered_us(
        whole.alive, edges
    ).tolist()


@pytest.mark.slow
@given(several, st.sampled_from([2, 4, 5]))
def test_counts__of_finer_windows_add_up_to_those_of_the_coarser(
    given_counters: list[CounterReadings], parts: int
) -> None:
    coarse = total_of(given_counters, edges_us(0, WINDOWS), GAPS)
    fine = total_of(given_counters, edges_us(0, WINDOWS * parts, WINDOW_US // parts), GAPS)
    assert fine.counts.reshape(-1, parts).sum(axis=1).tolist() == coarse.counts.tolist()


@pytest.mark.slow
@given(several, st.randoms())
def test_total__does_not_depend_on_the_order_of_the_counters(
    given_counters: list[CounterReadings], random: Random
) -> None:
    shuffled = list(given_counters)
    random.shuffle(shuffled)
    one, other = (total_of(some, edges_us(0, WINDOWS), GAPS) for some in (given_counters, shuffled))
    assert one.counts.tolist() == other.counts.tolist()
    assert one.alive.tolist() == other.alive.tolist()
