"""Copies of events: which rows are, and that they count once."""

import pyarrow as pa
from counted_rows import Row, by_window, counted, rules, table_of

from forecasting.arrivals.counting.tally import TallyKind

# Windows of 10 µs, from 100 to 200 µs.
GIVEN = rules(100, 200, window_us=10)


def kept(*rows: Row, gap_us: int = 15, columns: tuple[str, ...] = ("id",)) -> tuple[dict[int, int], dict[int, int]]:
    """Events and copies by start of window, of the source web."""
    told = counted(table_of(rows, *columns), GIVEN, gap_us=gap_us, buckets=3)
    return by_window(told["web"], GIVEN.bins, TallyKind.COUNT), by_window(told["web"], GIVEN.bins, TallyKind.DUPLICATES)


def test_row_within_the_gap__is_a_copy_and_one_beyond_it_an_event_of_its_own() -> None:
    assert kept(Row(105, id="a"), Row(120, id="a")) == ({100: 1}, {120: 1})
    assert kept(Row(105, id="a"), Row(121, id="a")) == ({100: 1, 120: 1}, {})


def test_chain_of_rows_each_within_the_gap_of_the_one_before__is_one_event() -> None:
    # 105, 115, 125, 135: the last is 30 after the first, but 10 after the one before.
    assert kept(*(Row(105 + 10 * n, id="a") for n in range(4))) == ({100: 1}, {110: 1, 120: 1, 130: 1})


def test_original_before_the_interval__makes_a_copy_of_a_row_in_it() -> None:
    # The gap reaches from 100 back to 85, and so further than the window before: that at 84 is too far, at 85 is not.
    assert kept(Row(84, id="a"), Row(100, id="a"), Row(85, id="b"), Row(100, id="b")) == ({100: 1}, {100: 1})


def test_original_of_two_rows_at_one_time__is_the_heavier_in_whatever_order_they_lie() -> None:
    rows = [Row(105, id="a", weight=2), Row(105, id="a", weight=7), Row(106, id="a", weight=9)]
    for order in (rows, rows[::-1], [rows[1], rows[2], rows[0]]):
        assert kept(*order, columns=("id", "weight")) == ({100: 7}, {100: 2})


def test_rows_without_an_id__are_events_of_their_own() -> None:
    assert kept(Row(105), Row(105), Row(105, id="")) == ({100: 3}, {})


def test_empty_text__is_an_id_like_others() -> None:
    assert kept(Row(105, id=""), Row(106, id="")) == ({100: 1}, {100: 1})


def test_row_that_was_set_aside__is_no_original() -> None:
    # Stamped before 90: from a clock that was not set.
    given = rules(100, 200, window_us=10, not_before_us=90)
    told = counted(table_of([Row(89, id="a"), Row(101, id="a")], "id"), given, gap_us=15)["web"]
    assert by_window(told, given.bins, TallyKind.COUNT) == {100: 1}


def test_same_id_in_two_sources__is_two_events() -> None:
    table = table_of([Row(105, "web", "a"), Row(106, "mail", "a")], "id")
    told = counted(table, GIVEN, gap_us=15)
    assert [by_window(told[name], GIVEN.bins, TallyKind.COUNT) for name in ("web", "mail")] == [{100: 1}, {100: 1}]


def test_whole_numbers_as_ids__count_as_texts_do() -> None:
    rows = [Row(105, id=-1), Row(106, id=2**63 - 1), Row(107, id=-1)]
    told = counted(table_of(rows, "id", ids=pa.int64()), GIVEN, gap_us=15)["web"]
    assert by_window(told, GIVEN.bins, TallyKind.COUNT) == {100: 2}
