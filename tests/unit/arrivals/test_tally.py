"""Rows by what becomes of them, and the windows that they tell of."""

import numpy as np
from counted_rows import Row, by_window, counted, rules, table_of

from forecasting.arrivals.counting.event_batch import event_batch
from forecasting.arrivals.counting.source_tally import SourceTally
from forecasting.arrivals.counting.tally import Bins, Rules, TallyKind, merged_tally, tally, triaged
from forecasting.arrivals.coverage import status_codes
from forecasting.arrivals.history import STATUSES


def told_of(rows: list[Row], given: Rules, *columns: str) -> dict[str, dict[int, int]]:
    """Numbers of the source web by kind and start of window."""
    told = counted(table_of(rows, *columns), given)["web"]
    found = {of.name.lower(): by_window(told, given.bins, of) for of in TallyKind if of < TallyKind.FIRST}
    return {name: numbers for name, numbers in found.items() if numbers}


def status(rows: list[Row], given: Rules, *columns: str) -> list[str]:
    told = counted(table_of(rows, *columns), given)["web"]
    edges_us = np.arange(given.bins.begin_us, given.bins.end_us + 1, given.bins.window_us)
    return np.array(STATUSES)[status_codes(told.alive(given.bins, 0), edges_us, told.dense(TallyKind.COUNT))].tolist()


def test_event__lies_in_the_window_that_begins_at_or_before_it() -> None:
    rows = [Row(at) for at in (99, 100, 109, 110, 119, 120)]
    assert told_of(rows, rules(100, 120, window_us=10))["count"] == {100: 2, 110: 2}


def test_windows_of_the_year_2003__begin_at_exact_multiples_though_divided_as_floats() -> None:
    # 1.0467e15 microseconds: a microsecond is well above the last bit of a float, but not of its quotient by 3.
    begin = 1_046_649_600_000_000
    bins = Bins(begin, begin + 30_000, 3, 3, 3)
    edges = np.arange(begin, begin + 30_000, 3)
    numbers = np.arange(edges.size)
    for shift in range(3):
        assert (bins.windows(bins.of(edges + shift)) == numbers).all()


def test_bins__of_a_silence_that_does_not_divide_the_window_end_with_it() -> None:
    # Windows of 10, silences of 4: bins of 4, 4 and 2.
    bins = Bins(100, 120, 10, 4, 4)
    assert (bins.low_us, bins.high_us, bins.per_window) == (90, 130, 3)
    assert bins.starts_us(bins.of(np.array([90, 93, 94, 98, 99, 100, 119]))).tolist() == [90, 90, 94, 98, 98, 100, 118]


LATE = rules(100, 200, window_us=10, lateness_us=5, ahead_us=3, not_before_us=50, arrivals=True)


def test_row__is_late_once_its_window_is_closed() -> None:
    # The window from 100 ends at 110 and is closed at 115.
    rows = [Row(101, arrived_us=114), Row(102, arrived_us=115)]
    assert told_of(rows, LATE, "arrived") == {"count": {100: 1}, "late": {100: 1}}


def test_row__is_in_the_future_where_it_is_stamped_well_after_it_came_and_told_of_when_it_came() -> None:
    rows = [Row(113, arrived_us=110), Row(124, arrived_us=120), Row(5000, arrived_us=131)]
    assert told_of(rows, LATE, "arrived") == {"count": {110: 1}, "future": {120: 1, 130: 1}}


def test_row_of_a_clock_that_was_not_set__is_told_of_when_it_came() -> None:
    rows = [Row(50, arrived_us=52), Row(49, arrived_us=101), Row(0, arrived_us=199), Row(0, arrived_us=200)]
    # The one at 50 lies before the interval, and the last one came after it.
    assert told_of(rows, LATE, "arrived") == {"unset_clock": {100: 1, 190: 1}}


def test_row__is_set_aside_for_one_reason() -> None:
    # In the skipped hour, but of the future; and in the skipped hour, and late.
    rows = [Row(150, arrived_us=120, skipped=True), Row(101, arrived_us=190, skipped=True)]
    assert told_of(rows, LATE, "arrived", "skipped") == {"future": {120: 1}, "skipped_hour": {100: 1}}


def test_tallies_of_intervals__add_up_to_that_of_the_whole_and_stay_as_they_are() -> None:
    rows = [Row(int(at), arrived_us=int(came)) for at, came in np.random.default_rng(1).integers(0, 200, (300, 2))]
    whole = told_of(
        rows, rules(0, 200, window_us=10, lateness_us=30, ahead_us=3, not_before_us=50, arrivals=True), "arrived"
    )
    assert set(whole) == {"count", "late", "future", "unset_clock"}
    for _ in range(2):
        parts: dict[str, dict[int, int]] = {}
        for begin in range(0, 200, 20):
            given = rules(begin, begin + 20, window_us=10, lateness_us=30, ahead_us=3, not_before_us=50, arrivals=True)
            for name, numbers in told_of(rows, given, "arrived").items():
                parts.setdefault(name, {}).update(numbers)
        assert parts == whole


def test_rows_that_nothing_tells_the_arrival_of__are_told_of_in_the_newest_window_that_is_over_and_no_other() -> None:
    rows = [Row(10), Row(115), Row(300)]
    # Now is 137: the window from 120 to 130 is over, that from 130 is not.
    for begin, end, quarantined in ((100, 200, {120: 1}), (100, 130, {120: 1}), (100, 120, {}), (130, 200, {})):
        given = rules(begin, end, window_us=10, now_us=137, ahead_us=100, not_before_us=50)
        told = counted(table_of(rows), given)["web"]
        for of in (TallyKind.UNSET_CLOCK, TallyKind.FUTURE):
            assert by_window(told, given.bins, of) == quarantined


def test_row_in_an_hour_that_repeats__leaves_both_windows_unsure_unless_they_are_one() -> None:
    given = rules(100, 200, window_us=10, silence_us=50)
    # 25 later than 105 is 130; 4 later than 151 lies in the same window.
    rows = [Row(105, later_us=25), Row(105, later_us=25), Row(151, later_us=4), Row(171)]
    told = counted(table_of(rows, "later"), given)["web"]
    # Of two at the same time by the clock one is taken for the second hour's.
    assert by_window(told, given.bins, TallyKind.COUNT) == {100: 1, 130: 1, 150: 1, 170: 1}
    assert told.unsure(given.bins).tolist() == [[100, 110], [130, 140]]


def test_bins_of_unsure_rows__do_not_reach_into_the_next_window() -> None:
    # Windows of 10 in bins of 4, 4 and 2: that from 118 ends with its window.
    given = rules(100, 140, window_us=10, silence_us=4)
    told = counted(table_of([Row(119, later_us=10)], "later"), given)["web"]
    assert told.unsure(given.bins).tolist() == [[118, 120], [128, 130]]


def test_weights__count_and_rows_of_weight_zero_keep_the_feed_alive() -> None:
    given = rules(100, 140, window_us=10, silence_us=15)
    rows = [Row(95, weight=3), Row(110, weight=0), Row(121, weight=5), Row(122, weight=6), Row(130, weight=0)]
    assert told_of(rows, given, "weight") == {"count": {120: 11}, "rows": {110: 1, 120: 2, 130: 1}}
    assert status(rows, given, "weight") == ["observed", "observed", "observed", "missing"]
    # Without the rows of weight zero, silence reigns from 95 to 121: longer than 15.
    assert status([row for row in rows if row.weight], given, "weight") == ["missing", "missing", "partial", "missing"]


def test_rows_read__are_those_that_count_copies_late_ones_and_those_in_quarantine() -> None:
    rows = [
        Row(101, id="a", weight=5, arrived_us=102),
        Row(103, id="a", weight=5, arrived_us=104),
        Row(104, id="b", weight=0, arrived_us=104),
        Row(105, id="c", weight=2, arrived_us=115),
        Row(900, id="d", weight=2, arrived_us=107),
        Row(3, id="e", weight=2, arrived_us=108),
        Row(106, id="f", weight=2, arrived_us=109, skipped=True),
    ]
    told = counted(table_of(rows, "id", "weight", "arrived", "skipped"), LATE, gap_us=15)["web"]
    tallies = {name: int(numbers.sum()) for name, numbers in told.tallies().items()}
    assert tallies == {"rows_read": 7, "duplicates": 1, "late": 1, "future": 1, "unset_clock": 1, "skipped_hour": 1}
    assert told.dense(TallyKind.COUNT).sum() == 5


def test_silences_across_a_window_without_events__are_measured_from_event_to_event() -> None:
    # 24 from each to the next, where 20 are allowed; the windows that hold them begin 20 apart.
    given = rules(100, 150, window_us=10, silence_us=20)
    told = counted(table_of([Row(101), Row(125), Row(149)]), given)["web"]
    assert told.alive(given.bins, 0).tolist() == [[101, 101], [125, 125], [149, 149]]


def test_tally_of_two_batches__tells_the_ends_of_a_silence_that_neither_holds_both_of() -> None:
    # Silences of 20 are allowed: from 105 to 125 it is as long, from 125 to 146 longer.
    given = rules(100, 150, window_us=10, silence_us=20)
    batches = [event_batch(table_of([Row(105), Row(146)])), event_batch(table_of([Row(125), Row(85)]))]
    merged = merged_tally(tally(batch, triaged(batch, given), given) for batch in batches)
    told = SourceTally(
        merged["bin"].to_numpy().astype(np.int64), given.bins.windows(merged["bin"].to_numpy()),
        merged["of"].to_numpy().astype(np.int64), merged["number"].to_numpy(), 5, weighted=False,
    )  # fmt: skip
    assert told.alive(given.bins, 0).tolist() == [[85, 125], [146, 146]]


def test_span_that_a_row_stands_for__is_alive_from_its_time_on() -> None:
    # A row a window of 10 from 90 on, each for 10: alive to the end of the last; a silence of 1 is enough.
    given = Rules(Bins(100, 140, 10, 11, 1), 10**9, 0, 0, 0)
    told = counted(table_of([Row(at, weight=1) for at in (90, 100, 110, 120)], "weight"), given)["web"]
    assert told.alive(given.bins, 10 / 1_000_000).tolist() == [[90, 130]]
