"""How events spread over keys: exact for few, bounded for many, and never more or less of them in all."""

from datetime import date

import numpy as np
import pyarrow as pa
from counted_rows import rules

from forecasting.arrivals.arrival_source import DailyKeyCounts
from forecasting.arrivals.counting.event_batch import event_batch
from forecasting.arrivals.counting.key_counts import CARRIED, HEAVY, key_counts, key_histograms, merged_keys
from forecasting.arrivals.counting.tally import Rules, triaged

HOUR_US, DAY_US = 3_600_000_000, 86_400_000_000
FIRST, SECOND = date(1970, 1, 1), date(1970, 1, 2)
GIVEN = rules(0, 2 * DAY_US, window_us=HOUR_US)


def counts(keys: list[str | None], time_us: int = 7, given: Rules = GIVEN, **columns: object) -> pa.Table:
    """Of one batch of rows from the source web, all at one time."""
    table = {"time": pa.array([time_us] * len(keys), pa.int64()), "source": pa.array(["web"] * len(keys))}
    batch = event_batch(pa.table({**table, "key": pa.array(keys, pa.string()), **columns}))
    return key_counts(batch, triaged(batch, given), given.bins)


def test_few_keys__are_counted_exactly_most_frequent_first_and_equal_ones_by_name() -> None:
    batches = [counts(["b", "a", None, "c"]), counts(["c", "c", None, "", "a", "b"])]
    assert key_histograms(batches) == (DailyKeyCounts("web", FIRST, {"c": 3, "a": 2, "b": 2, "": 1}, 2, 0, 4),)
    (histogram,) = key_histograms(batches)
    assert list(histogram.heavy) == ["c", "a", "b", ""]


def test_keys__are_counted_by_utc_day_and_source() -> None:
    on_both = [counts(["a"]), counts(["a", "b"], DAY_US), counts(["a"], DAY_US - 1)]
    assert key_histograms(on_both) == (
        DailyKeyCounts("web", FIRST, {"a": 2}, 0, 0, 1),
        DailyKeyCounts("web", SECOND, {"a": 1, "b": 1}, 0, 0, 2),
    )
    mail = counts(["a"], source=pa.array(["mail"]))
    assert [one.source for one in key_histograms([mail, *on_both])] == ["mail", "web", "web"]


def test_window_across_midnight__is_of_the_day_on_which_it_starts_with_all_its_keys() -> None:
    # Windows of 7 hours start at 21:00 of the first day.
    given = rules(0, 28 * HOUR_US, window_us=7 * HOUR_US)
    assert key_histograms([counts(["a"], DAY_US + 1, given)]) == (DailyKeyCounts("web", FIRST, {"a": 1}, 0, 0, 1),)


def test_weights__are_counted() -> None:
    weight = pa.array([5, 0, 7, 2])
    assert key_histograms([counts(["a", "b", None, "a"], weight=weight)]) == (
        # No event had the key b.
        DailyKeyCounts("web", FIRST, {"a": 7, "b": 0}, 7, 0, 1),
    )


def test_rows_that_do_not_count_or_lie_outside_the_interval__have_no_part() -> None:
    late = rules(0, DAY_US, window_us=HOUR_US, arrivals=True)
    # The window from 0:00 is closed at 1:00.
    assert key_histograms([counts(["a", "b"], given=late, arrived=pa.array([HOUR_US - 1, HOUR_US]))]) == (
        DailyKeyCounts("web", FIRST, {"a": 1}, 0, 0, 1),
    )
    assert key_histograms([counts(["a"], -1), counts(["a"], 2 * DAY_US)]) == ()


def test_keys_beyond_the_heaviest__are_in_the_residual_and_nothing_is_lacking() -> None:
    keys = [f"k{n:02}" for n in range(60) for _ in range(60 - n)]
    (histogram,) = key_histograms([counts(keys)])
    assert list(histogram.heavy.items()) == [(f"k{n:02}", 60 - n) for n in range(HEAVY)]
    # The ten lightest: 10 + 9 + … + 1.
    assert (histogram.residual, histogram.max_error, histogram.distinct_keys) == (55, 0, 60)


def test_what_is_dropped_between_tasks__is_bounded_by_the_heaviest_that_each_of_them_dropped() -> None:
    # Two are carried: the first task drops c (2) and d (1), the second a (3) and d (1).
    first = merged_keys([counts(["a"] * 5 + ["b"] * 4 + ["c"] * 2 + ["d"])], kept=2)
    second = merged_keys([counts(["c"] * 9 + ["b"] * 6 + ["a"] * 3 + ["d"])], kept=2)
    (histogram,) = key_histograms([first, second], heavy=3)
    assert histogram == DailyKeyCounts("web", FIRST, {"b": 10, "c": 9, "a": 5}, 2 + 1 + 3 + 1, 2 + 3)


def test_very_many_keys__stay_few_and_add_up() -> None:
    # Zipf-like: the key n comes 20,000 / n times, for 5,000 keys, in batches of a fifth each.
    numbers = np.repeat(np.arange(1, 5001), 20_000 // np.arange(1, 5001))
    rng = np.random.default_rng(3)
    rng.shuffle(numbers)
    held = merged_keys([])
    for part in np.array_split(numbers, 5):
        held = merged_keys([held, counts([f"k{n}" for n in part])])
        assert held.num_rows <= CARRIED + 1
    (histogram,) = key_histograms([held])
    assert sum(histogram.heavy.values()) + histogram.residual == numbers.size
    assert histogram.max_error < 100
    # More than are handed on: nobody counted them.
    assert histogram.distinct_keys is None
    for key, number in histogram.heavy.items():
        assert 0 <= 20_000 // int(key[1:]) - number <= histogram.max_error
    assert list(histogram.heavy)[:10] == [f"k{n}" for n in range(1, 11)]
