"""Coverage of windows against counting by hand, microsecond by microsecond."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forecasting.arrivals.coverage import covered_us, merged_spans, spans_between_events, status_codes
from forecasting.arrivals.history import STATUSES

Spans = list[tuple[int, int]]
SPANS = st.lists(st.tuples(st.integers(-5, 60), st.integers(0, 20)).map(lambda s: (s[0], s[0] + s[1])), max_size=6)


@given(SPANS)
def test_merging__keeps_the_union_and_leaves_gaps_between(spans: Spans) -> None:
    merged = merged_spans(spans)
    union = {us for begin, end in spans for us in range(begin, end)}
    assert {us for begin, end in merged.tolist() for us in range(begin, end)} == union
    assert (merged[1:, 0] > merged[:-1, 1]).all()


@given(SPANS, st.lists(st.integers(-10, 90), min_size=2, max_size=8, unique=True).map(sorted))
def test_coverage__counts_every_microsecond_that_a_span_holds(spans: Spans, edges: list[int]) -> None:
    alive = {us for begin, end in spans for us in range(begin, end)}
    by_hand = [len(alive & set(range(a, b))) for a, b in pairwise(edges)]
    assert covered_us(merged_spans(spans), np.array(edges)).tolist() == by_hand


@given(SPANS, st.lists(st.integers(0, 2), min_size=1, max_size=8))
def test_window__that_is_missing_holds_no_event_and_no_alive_moment(spans: Spans, counts: list[int]) -> None:
    edges = np.arange(len(counts) + 1) * 10
    alive = {us for begin, end in spans for us in range(begin, end)}
    for number, status in enumerate(np.array(STATUSES)[status_codes(merged_spans(spans), edges, np.array(counts))]):
        window = set(range(number * 10, number * 10 + 10))
        assert (status == "observed") == (window <= alive)
        assert (status == "missing") == (not window & alive and counts[number] == 0)


@given(st.lists(st.integers(0, 200), min_size=1, max_size=30).map(sorted), st.integers(1, 40))
def test_silences_within_spans__are_as_short_as_allowed_and_between_them_longer(times: list[int], allowed: int) -> None:
    # Bins of one event each are never longer than any silence.
    spans = spans_between_events(np.array(times), np.array(times), allowed)
    for begin, end in spans.tolist():
        inside = [time for time in times if begin <= time <= end]
        assert (inside[0], inside[-1]) == (begin, end)
        assert all(b - a <= allowed for a, b in pairwise(inside))
    assert (spans[1:, 0] - spans[:-1, 1] > allowed).all()
