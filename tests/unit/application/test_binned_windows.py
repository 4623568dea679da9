"""Windows in bins: nothing that came, and nothing that is missing, is hidden in one."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shop_history import NAME, Count, hour, write_shop

from forecasting.arrivals.history import MISSING, OBSERVED, PARTIAL, STATUSES, THROTTLED
from forecasting.errors import HistoryError
from forescale.history.binned_windows import BinnedWindows, binned_history, readable_width_s
from forescale.history.span import history_span


def binned(
    home: Path,
    *,
    width_s: int = 4 * 3600,
    sources: Collection[str] = (),
    only: Collection[str] = (),
    start: str | None = "2024-01-01",
    end: str | None = "2024-12-01",
) -> dict[str, BinnedWindows]:
    span = history_span(home / "history", NAME, start=start, end=end, days=None, snapshot=None)
    return dict(binned_history(home / "history", span.within_history(), sources, only, [width_s]).by_width[0])


def test_bins__keep_the_largest_of_each_status_and_count_what_is_missing(tmp_path: Path) -> None:
    write_shop(tmp_path, {"orders": [36, 7200, 0, None, "~18", "^3600", None, 72]})
    bins = binned(tmp_path)["orders"]
    assert bins.windows.tolist() == [[3, 1], [0, 1], [0, 1], [1, 1]]  # observed, partial, throttled, missing
    # Of windows of 3600 s: 7200 events are 2 a second.
    assert bins.peak_per_s(OBSERVED).tolist() == [2.0, 0.02]
    assert bins.peak_per_s(PARTIAL, THROTTLED).tolist()[1] == 1.0
    assert np.isnan(bins.peak_per_s(THROTTLED)[0])
    # 36 + 7200 + 0 in three hours
    assert bins.mean_per_s().tolist() == pytest.approx([7236 / 10800, 0.02])
    assert bins.arrivals() == 36 + 7200 + 18 + 3600 + 72


def test_bin__of_gaps_only_has_no_rate_and_one_of_zeros_has_zero(tmp_path: Path) -> None:
    write_shop(tmp_path, {"orders": [None] * 4 + [0] * 4})
    bins = binned(tmp_path)["orders"]
    assert np.isnan(bins.peak_per_s(*STATUSES)[0])
    assert bins.peak_per_s(*STATUSES)[1] == 0
    assert np.isnan(bins.mean_per_s()[0])


def test_source_without_a_row__is_missing_throughout(tmp_path: Path) -> None:
    write_shop(tmp_path, {"orders": [1] * 8})
    found = binned(tmp_path, sources=["orders", "clicks"])
    assert found["clicks"].count_of(MISSING).tolist() == [4, 4]
    assert found["clicks"].arrivals() == 0
    assert np.isnan(found["clicks"].peak_per_s(*STATUSES)).all()


def test_source_that_begins_late_and_days_never_built__are_missing_where_they_lack(tmp_path: Path) -> None:
    write_shop(tmp_path, {"orders": [5] * 24})
    write_shop(tmp_path, {"orders": [5] * 24, "clicks": [6] * 24}, start=hour(48))
    found = binned(tmp_path, width_s=86400)
    assert found["orders"].count_of(MISSING).tolist() == [0, 24, 0]
    assert found["clicks"].count_of(MISSING).tolist() == [24, 24, 0]
    assert found["clicks"].count_of(OBSERVED).tolist() == [0, 0, 24]


def test_bins__at_the_ends_hold_only_windows_of_the_span(tmp_path: Path) -> None:
    write_shop(tmp_path, {"orders": list(range(24))})
    # Windows that lie wholly within 02:30 to 09:30: those of 03:00 to 08:00.
    bins = binned(tmp_path, start="2024-03-04T02:30", end="2024-03-04T09:30")["orders"]
    assert bins.windows.sum(axis=0).tolist() == [1, 4, 1]
    assert bins.events[0].tolist() == [3, 4 + 5 + 6 + 7, 8]


def test_window_across_midnight__belongs_to_the_day_on_which_it_starts(tmp_path: Path) -> None:
    # 25 windows of 7000 s from 1970 on fall nowhere near midnight; each is counted once.
    first = hour(0).replace(year=1970, month=1, day=1)
    write_shop(tmp_path, {"orders": [1] * 25}, start=first, window_s=7000)
    bins = binned(tmp_path, width_s=86400, start="1970-01-01", end="1970-01-05")["orders"]
    # 86400 / 7000 = 12.3: the windows that start at 0, 7000, … 84000 on the first day are 13.
    assert bins.windows[0].tolist() == [13, 12]
    assert bins.count_of(MISSING).tolist() == [0, 0]


def test_only__takes_those_that_are_named_and_refuses_one_that_is_not_there(tmp_path: Path) -> None:
    write_shop(tmp_path, {"orders": [1] * 4, "clicks": [2] * 4})
    assert list(binned(tmp_path, only=["clicks"])) == ["clicks"]
    with pytest.raises(HistoryError, match=r"no source 'mail' from .*; known are clicks, orders"):
        binned(tmp_path, only=["clicks", "mail"])


def test_span__between_two_stretches_of_history_is_refused(tmp_path: Path) -> None:
    write_shop(tmp_path, {"orders": [1] * 24})
    write_shop(tmp_path, {"orders": [1] * 24}, start=hour(240))
    with pytest.raises(
        HistoryError, match=r"no window of 3600 s from 2024-03-07 .* to 2024-03-08 .*its history covers"
    ):
        binned(tmp_path, start="2024-03-07", end="2024-03-08")


@pytest.mark.parametrize(
    ("days", "window_s", "most", "expected"),
    [
        (1, 60, 3000, 60),  # 1440 windows: as they are
        (8, 60, 3000, 300),  # 11520 windows: 5760 of 2 min would be too many, 2304 of 5 min are not
        (365, 60, 3000, 10800),  # 2920 of 3 h
        (365, 7, 3000, 10521),  # no readable width near is made of 7 s: 31536000 / 2999 / 7 is 1502.2, so 1503 windows
    ],
)
def test_readable_width__is_the_smallest_that_leaves_few_enough_bins(
    tmp_path: Path, days: int, window_s: int, most: int, expected: int
) -> None:
    write_shop(tmp_path, {"orders": [1] * 24})
    span = history_span(tmp_path / "history", NAME, start=None, end=None, days=None, snapshot=None)
    asked = replace(span, start=hour(0), end=hour(24 * days), window_s=window_s)
    assert readable_width_s(asked, most) == expected


COUNTS = st.one_of(
    st.integers(0, 10**6), st.none(), st.integers(0, 99).map("~{}".format), st.integers(0, 99).map("^{}".format)
)


@given(counts=st.lists(COUNTS, min_size=1, max_size=60), width_h=st.sampled_from([1, 2, 3, 5, 24]))
@settings(max_examples=30, deadline=None)
@pytest.mark.slow
def test_bins__of_any_width_keep_every_event_window_and_peak(
    tmp_path_factory: pytest.TempPathFactory, counts: Sequence[Count], width_h: int
) -> None:
    home = tmp_path_factory.mktemp("shop")
    write_shop(home, {"orders": counts})
    bins = binned(home, width_s=width_h * 3600)["orders"]
    told = [int(str(count).lstrip("~^")) for count in counts if count is not None]
    assert bins.arrivals() == sum(told)
    assert bins.windows.sum() == len(counts)
    assert bins.count_of(MISSING).sum() == sum(count is None for count in counts)
    peak = bins.peak_per_s(OBSERVED, PARTIAL, THROTTLED)
    assert np.isnan(peak).all() if not told else np.nanmax(peak) == max(told) / 3600
