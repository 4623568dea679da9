"""The counting of rows against a naive one over dictionaries, however rows, batches, buckets and intervals are cut."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from counted_rows import Row, by_window, counted, rules, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasting.arrivals.counting.event_batch import event_batch
from forecasting.arrivals.counting.key_counts import key_counts, key_histograms, merged_keys
from forecasting.arrivals.counting.tally import Rules, TallyKind, triaged
from forecasting.arrivals.coverage import status_codes
from forecasting.arrivals.grid import EPOCH
from forecasting.arrivals.history import STATUSES

END = 400
"""Rows come in the first 400 microseconds; a window is a few of them."""
NOW = 390
TEXTS = ["", "a", "ab", "ä", "漢字", "x" * 7, "x" * 8, "x" * 9, "y" * 100, "0"]
KINDS = [
    (pa.string(), st.sampled_from(TEXTS)),
    (pa.large_string(), st.sampled_from(TEXTS)),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(TEXTS)),
    (pa.int64(), st.sampled_from([0, -1, 1, 2**63 - 1, -(2**63), 7])),
    (pa.uint64(), st.sampled_from([0, 1, 2**63, 2**64 - 1, 7])),
    (pa.int16(), st.sampled_from([0, -1, 1, 2**15 - 1])),
]
COUNTED, ASIDE = (
    (TallyKind.COUNT, TallyKind.ROWS, TallyKind.DUPLICATES),
    (TallyKind.LATE, TallyKind.FUTURE, TallyKind.UNSET_CLOCK),
)
HOUR_US, DAY_US = 3_600_000_000, 86_400_000_000
Cell = tuple[str, TallyKind, int]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Row], pa.DataType]:
    """Rows with few sources, ids, and times, so that they meet; some of a clock that is not set, or set ahead."""
    kind, every = draw(st.sampled_from(KINDS))
    ids = draw(st.lists(every, min_size=1, max_size=3))
    # Some are as far apart as half a window, so that silences are about as long as is allowed.
    near = st.integers(0, END // 20).map(lambda at: 20 * at)
    wild = st.one_of(st.integers(-50, END + 500), st.sampled_from([-(2**62), 2**62]))
    row = st.builds(
        Row,
        time_us=st.one_of(st.integers(0, END - 1), near, near.map(lambda at: at + 19), wild),
        source=st.sampled_from(["web", "ämter"]),
        id=st.sampled_from([None, *ids]),
        weight=st.integers(0, 5),
        arrived_us=st.integers(0, END - 1),
    )
    # Left to itself, a list holds five rows or so, which seldom meet.
    size = draw(st.sampled_from([30, 20, 5, 1, 0]))
    return draw(st.lists(row, min_size=size, max_size=size)), kind


def naive(rows: Sequence[Row], given: Rules, gap_us: int | None, *, weighted: bool) -> Counter[Cell]:
    """By source, kind and window (its number since the epoch), over all of time."""
    width, numbers = given.bins.window_us, Counter[Cell]()
    by_id = defaultdict(list)
    for row in rows:
        came_us = row.arrived_us if given.arrivals else given.now_us
        home_us = row.arrived_us if given.arrivals else (given.now_us // width) * width - 1
        if row.time_us < given.not_before_us:
            numbers[row.source, TallyKind.UNSET_CLOCK, home_us // width] += 1
        elif row.time_us > came_us + given.ahead_us:
            numbers[row.source, TallyKind.FUTURE, home_us // width] += 1
        elif given.arrivals and row.arrived_us >= (row.time_us // width + 1) * width + given.lateness_us:
            numbers[row.source, TallyKind.LATE, row.time_us // width] += 1
        else:
            numbers[row.source, TallyKind.COUNT, row.time_us // width] += row.weight if weighted else 1
            numbers[row.source, TallyKind.ROWS, row.time_us // width] += weighted
            if gap_us is not None and row.id is not None:
                by_id[row.source, row.id].append(row)
    for same in by_id.values():
        for before, row in pairwise(sorted(same, key=lambda row: (row.time_us, -row.weight))):
            if gap_us is not None and row.time_us - before.time_us <= gap_us:
                numbers[row.source, TallyKind.COUNT, row.time_us // width] -= row.weight if weighted else 1
                numbers[row.source, TallyKind.DUPLICATES, row.time_us // width] += 1
    return Counter({cell: number for cell, number in numbers.items() if number})


def counts_alone(row: Row, given: Rules) -> bool:
    return {of for _, of, _ in naive([row], given, None, weighted=True)} <= {TallyKind.COUNT, TallyKind.ROWS}


def naive_status(counts: dict[int, int], times: Sequence[int], silence_us: int, edges_us: Sequence[int]) -> list[str]:
    """Of the windows of one source, microsecond by microsecond: alive from one row to the next, if that comes soon.

    counts: by start of a window. times: of all rows that are not set aside.
    """
    alive = {us for a, b in pairwise(sorted(times)) if b - a <= silence_us for us in range(a, b)}
    status = []
    for begin, end in pairwise(edges_us):
        window = set(range(begin, end))
        held = bool(window & alive or counts.get(begin))
        status.append("observed" if window <= alive else "partial" if held else "missing")
    return status


@st.composite
def readings(draw: st.DrawFn) -> tuple[list[Row], pa.DataType, dict[str, int], dict[str, bool], int | None, list[int]]:
    """Rows, type of their ids, times of the rules, columns, the gap of copies, and edges of intervals."""
    rows, ids = draw(tables())
    window_us = draw(st.sampled_from([1, 7, 10, 40]))
    times = {
        "window_us": window_us,
        "silence_us": draw(st.integers(1, 60)),
        "ahead_us": draw(st.sampled_from([0, 20])),
        "not_before_us": draw(st.sampled_from([0, 30])),
        "lateness_us": draw(st.sampled_from([0, 25])),
        "now_us": NOW,
    }
    has = {"weighted": draw(st.booleans()), "arrivals": draw(st.booleans())}
    gap_us = draw(st.sampled_from([1000, 60, 15, 0, None]))
    windows = -(-END // window_us)
    cuts = draw(st.sets(st.integers(1, windows - 1), max_size=3))
    return rows, ids, times, has, gap_us, [cut * window_us for cut in (0, *sorted(cuts), windows)]


# What is imported late may take long in the first example.
@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(readings(), st.data())
def test_counts_and_statuses__are_those_of_a_naive_counting_however_rows_and_intervals_are_cut(
    drawn: tuple[list[Row], pa.DataType, dict[str, int], dict[str, bool], int | None, list[int]], data: st.DataObject
) -> None:
    rows, ids, times, has, gap_us, edges = drawn
    columns = ["id"] * (gap_us is not None) + ["weight"] * has["weighted"] + ["arrived"] * has["arrivals"]

    def read(begin: int, end: int) -> tuple[Counter[Cell], dict[str, list[str]]]:
        one = rules(begin, end, arrivals=has["arrivals"], **times)
        told = counted(
            table_of(data.draw(st.permutations(rows), "order"), *columns, ids=ids),
            one,
            gap_us=gap_us,
            batch_rows=data.draw(st.sampled_from([1, 7, None]), "batch"),
            buckets=data.draw(st.sampled_from([1, 3, 64]), "buckets"),
        )
        numbers, statuses = Counter[Cell](), {}
        for source in sorted({row.source for row in rows}):
            edges_us = begin + np.arange((end - begin) // times["window_us"] + 1) * times["window_us"]
            if source not in told:
                statuses[source] = ["missing"] * (edges_us.size - 1)
                continue
            one_source = told[source]
            spans = one_source.alive(one.bins, 0)
            statuses[source] = np.array(STATUSES)[
                status_codes(spans, edges_us, one_source.dense(TallyKind.COUNT))
            ].tolist()
            for kind in (*COUNTED, *ASIDE):
                for start, number in by_window(one_source, one.bins, kind).items():
                    numbers[source, kind, start // times["window_us"]] += number
            # Every row is one that counts, a copy of one, late, or in quarantine.
            parts = (TallyKind.ROWS,) if has["weighted"] else (TallyKind.COUNT, TallyKind.DUPLICATES)
            assert one_source.tallies()["rows_read"].tolist() == one_source.dense(*parts, *ASIDE).tolist()
        return numbers, statuses

    whole, statuses = read(edges[0], edges[-1])
    given = rules(edges[0], edges[-1], arrivals=has["arrivals"], **times)
    expected = naive(rows, given, gap_us, weighted=has["weighted"])
    assert whole == {cell: n for cell, n in expected.items() if 0 <= cell[2] * times["window_us"] < edges[-1]}
    every = range(0, edges[-1] + 1, times["window_us"])
    for source, status in statuses.items():
        counts = {
            at * times["window_us"]: n
            for (name, of, at), n in expected.items()
            if (name, of) == (source, TallyKind.COUNT)
        }
        plain = [row.time_us for row in rows if row.source == source and counts_alone(row, given)]
        assert status == naive_status(counts, plain, times["silence_us"], every)
    parts = [read(begin, end) for begin, end in pairwise(edges)]
    assert sum((numbers for numbers, _ in parts), Counter()) == whole
    for source, status in statuses.items():
        assert [word for _, told in parts for word in told[source]] == status


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["web", "mail"]),
            st.integers(0, 2),
            st.one_of(st.none(), st.integers(0, 30).map(str)),
            st.integers(0, 9),
        ),
        max_size=60,
    ),
    st.integers(1, 12),
    st.integers(1, 6),
    st.integers(1, 20),
    st.booleans(),
)
def test_keys__add_up_exactly_and_none_lacks_more_than_is_said(
    rows: list[tuple[str, int, str | None, int]], kept: int, heavy: int, batch_rows: int, weighted: bool
) -> None:
    exact = defaultdict(Counter)
    for source, day, key, weight in rows:
        exact[source, day][key] += weight if weighted else 1
    given = rules(0, 3 * DAY_US, window_us=HOUR_US)
    table = pa.table(
        {
            "time": pa.array([day * DAY_US + 7 for _, day, _, _ in rows], pa.int64()),
            "source": pa.array([source for source, _, _, _ in rows], pa.string()),
            "key": pa.array([key for _, _, key, _ in rows], pa.string()),
            **({"weight": pa.array([weight for *_, weight in rows], pa.int64())} if weighted else {}),
        }
    )
    counts = []
    for at in range(0, len(rows), batch_rows):
        batch = event_batch(table.slice(at, batch_rows))
        # As a task does: what it has so far is cut down again and again.
        counts = [merged_keys([*counts, key_counts(batch, triaged(batch, given), given.bins)], kept)]
    found = key_histograms(counts, heavy)
    assert {(one.source, (one.day - EPOCH.date()).days) for one in found} == set(exact)
    for one in found:
        truth = exact[one.source, (one.day - EPOCH.date()).days]
        assert sum(one.heavy.values()) + one.residual == sum(truth.values())
        assert len(one.heavy) <= min(heavy, kept)
        assert all(0 <= truth[key] - number <= one.max_error for key, number in one.heavy.items())
        assert list(one.heavy.values()) == sorted(one.heavy.values(), reverse=True)
        assert one.distinct_keys in (None, sum(n > 0 for key, n in truth.items() if key is not None))
        # What is left out is lighter than what is in, but for what may be lacking.
        if one.heavy and len(one.heavy) == heavy:
            left = [n for key, n in truth.items() if key is not None and key not in one.heavy]
            assert max(left, default=0) <= min(one.heavy.values()) + one.max_error
        if len([key for key in truth if key is not None]) <= min(heavy, kept):
            assert (dict(one.heavy), one.residual, one.max_error) == (
                {key: n for key, n in truth.items() if key is not None},
                truth[None],
                0,
            )
