"""What every source of arrivals must do. A subclass gives a source whose arrivals are known, and one out of reach.

What a test asks is always one interval of the known arrivals, in whole windows, so that nothing depends on how a source
gets at its counts.
"""

import socket
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pytest

from forecasting.arrivals.arrival_source import Arrivals, ArrivalSource, Measures, SourceArrivals
from forecasting.arrivals.coverage import Int64s, covered_us, status_codes
from forecasting.arrivals.grid import SECOND_US, from_us, to_us
from forecasting.arrivals.history import MISSING, OBSERVED, STATUSES
from forecasting.errors import HistoryError

SECRET = "xyzzy-never-to-be-shown"


@dataclass(frozen=True)
class KnownArrivals:
    """What a source must tell of consecutive windows in which its feed was alive.

    source: its name in the topology. start: a multiple of two windows. counts: one per window, an even number of them;
    exactly one window holds more than all others together (the burst), and at least one none (the silence).
    tolerance: by how much a source that reads samples may be off, in events per window.
    """

    source: str
    start: datetime
    window_s: int
    counts: tuple[int, ...]
    tolerance: int = 0

    def __post_init__(self) -> None:
        assert to_us(self.start) % (2 * self.window_s * SECOND_US) == 0, "start is no multiple of two windows"
        assert len(self.counts) % 2 == 0
        assert len(self.counts) >= 4
        assert 2 * max(self.counts) > sum(self.counts), "no burst"
        assert 0 in self.counts, "no silence"

    @property
    def end(self) -> datetime:
        return self.edge(len(self.counts))

    def edge(self, number: int) -> datetime:
        """The moment at which that many windows are over; negative: before the start."""
        return self.start + number * timedelta(seconds=self.window_s)


class ArrivalSourceContract:
    """Subclass it as `Test…`, with the fixtures `source`, `known` and `unreachable`.

    measures: what the source says that its counts mean. within_s: time limit that `unreachable` is made with.
    """

    measures: Measures = Measures.OFFERED
    within_s: float = 3.0

    @pytest.fixture
    def known(self) -> KnownArrivals:
        """What is known to have come to a source of the topology."""
        raise NotImplementedError

    @pytest.fixture
    def source(self, known: KnownArrivals) -> ArrivalSource:
        """A source that holds the known arrivals. It may hold more before and after them."""
        raise NotImplementedError

    @pytest.fixture
    def unreachable(self) -> ArrivalSource:
        """A source at a place where nobody answers, with the time limit within_s.

        Where the source can log in, its password (or token, or the password in its URL) is SECRET.
        """
        raise NotImplementedError

    def test_place__names_it_without_secrets(self, source: ArrivalSource, unreachable: ArrivalSource) -> None:
        assert source.place
        assert unreachable.place
        assert source.place != unreachable.place
        assert SECRET not in unreachable.place + repr(unreachable) + str(unreachable)

    def test_measures__is_said(self, source: ArrivalSource, known: KnownArrivals) -> None:
        assert source.measures is self.measures
        assert source.read(known.start, known.end, known.window_s).measures is self.measures

    def test_unsettled__is_a_time_of_at_most_some_days(self, source: ArrivalSource) -> None:
        assert 0 <= source.unsettled_s <= 7 * 86400

    def test_read__gives_the_interval_that_was_asked_for_and_every_source(
        self, source: ArrivalSource, known: KnownArrivals
    ) -> None:
        arrivals = source.read(known.start, known.end, known.window_s)
        assert (arrivals.start, arrivals.end, arrivals.window_s) == (known.start, known.end, known.window_s)
        assert known.source in arrivals.sources
        for told in arrivals.sources.values():
            for numbers in (told.counts, *told.tallies.values()):
                assert numbers.shape == (len(known.counts),)
                assert numbers.dtype == np.int64
            assert told.alive.dtype == np.int64
            assert told.held_back.dtype == np.int64

    def test_read__counts_what_came_in_each_window(self, source: ArrivalSource, known: KnownArrivals) -> None:
        told = self._told(source, known)
        assert np.abs(told.counts - np.array(known.counts)).max() <= known.tolerance, told.counts

    def test_read__puts_a_burst_into_its_window(self, source: ArrivalSource, known: KnownArrivals) -> None:
        assert int(np.argmax(self._told(source, known).counts)) == int(np.argmax(known.counts))

    def test_read__of_a_silent_window_is_zero_and_alive(self, source: ArrivalSource, known: KnownArrivals) -> None:
        silent = known.counts.index(0)
        told = self._told(source, known, silent, silent + 1)
        assert told.counts.tolist() == [0]
        assert _status(told, known, silent, silent + 1) == [OBSERVED]

    def test_read__says_that_the_feed_was_alive_throughout(self, source: ArrivalSource, known: KnownArrivals) -> None:
        told = self._told(source, known)
        assert _status(told, known, 0, len(known.counts)) == [OBSERVED] * len(known.counts)

    def test_read__twice_gives_the_same(self, source: ArrivalSource, known: KnownArrivals) -> None:
        first, second = self._told(source, known), self._told(source, known)
        assert first.counts.tolist() == second.counts.tolist()
        assert _alive_us(first, known) == _alive_us(second, known)
        assert {name: tally.tolist() for name, tally in first.tallies.items()} == {
            name: tally.tolist() for name, tally in second.tallies.items()
        }

    def test_read__of_the_halves_adds_up_to_the_whole(self, source: ArrivalSource, known: KnownArrivals) -> None:
        windows = len(known.counts)
        # One window more than the half, too: the cut lies then within what a source may read in one go.
        for cut in (windows // 2, windows // 2 + 1):
            whole, left, right = (
                self._told(source, known, first, last) for first, last in ((0, windows), (0, cut), (cut, windows))
            )
            assert [*left.counts, *right.counts] == whole.counts.tolist()
            assert [*_status(left, known, 0, cut), *_status(right, known, cut, windows)] == _status(
                whole, known, 0, windows
            )

    def test_read__of_coarser_windows_is_the_sum_of_the_finer(
        self, source: ArrivalSource, known: KnownArrivals
    ) -> None:
        fine = self._told(source, known)
        coarse = source.read(known.start, known.end, 2 * known.window_s).sources[known.source]
        sums = fine.counts.reshape(-1, 2).sum(axis=1)
        assert np.abs(coarse.counts - sums).max() <= 2 * known.tolerance, coarse.counts

    def test_read__before_the_first_moment_is_missing_and_counts_nothing(
        self, source: ArrivalSource, known: KnownArrivals
    ) -> None:
        width_us = known.window_s * SECOND_US
        last_us = to_us(source.first_moment()) // width_us * width_us
        start, end = from_us(last_us - 5 * width_us), from_us(last_us)
        for told in source.read(start, end, known.window_s).sources.values():
            edges_us = last_us + width_us * np.arange(-5, 1, dtype=np.int64)
            assert told.counts.tolist() == [0] * 5
            assert np.array(STATUSES)[status_codes(told.alive, edges_us, told.counts)].tolist() == [MISSING] * 5

    def test_first_moment__is_not_after_what_is_known(self, source: ArrivalSource, known: KnownArrivals) -> None:
        first = source.first_moment()
        assert first.tzinfo is not None
        arrived = next(number for number, count in enumerate(known.counts) if count)
        assert first < known.edge(arrived + 1)

    def test_read__counts_nothing_where_the_feed_was_not_alive(
        self, source: ArrivalSource, known: KnownArrivals
    ) -> None:
        """From before the first moment to after the end, wherever the source says that it knows nothing."""
        width_us = known.window_s * SECOND_US
        first_us = min(to_us(known.start), to_us(source.first_moment()) // width_us * width_us) - 3 * width_us
        # A source may hold years; what lies near the known arrivals is enough.
        first_us = max(first_us, to_us(known.start) - 500 * width_us)
        arrivals = source.read(from_us(first_us), known.end, known.window_s)
        for told in arrivals.sources.values():
            assert told.counts[covered_us(told.alive, arrivals.edges_us()) == 0].sum() == 0

    def test_read__refuses_an_interval_off_the_grid_by_its_edge(
        self, source: ArrivalSource, known: KnownArrivals
    ) -> None:
        off = known.start + timedelta(milliseconds=1)
        for start, end in ((off, known.end), (known.start, off + timedelta(seconds=known.window_s))):
            with pytest.raises(HistoryError, match=str(known.window_s)) as refused:
                source.read(start, end, known.window_s)
            assert str(off.microsecond) in str(refused.value)

    def test_read__refuses_an_interval_without_a_window(self, source: ArrivalSource, known: KnownArrivals) -> None:
        for end in (known.start, known.edge(-1)):
            with pytest.raises(HistoryError):
                source.read(known.start, end, known.window_s)
        for window_s in (0, -known.window_s):
            with pytest.raises(HistoryError, match=str(window_s)):
                source.read(known.start, known.end, window_s)

    def test_unreachable__is_an_error_at_once_that_names_the_place_and_no_secret(
        self, unreachable: ArrivalSource, known: KnownArrivals, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connected, connect = [], socket.socket.connect
        monkeypatch.setattr(
            socket.socket, "connect", lambda self, address: connected.append(address) or connect(self, address)
        )
        for ask in (unreachable.first_moment, lambda: unreachable.read(known.start, known.end, known.window_s)):
            connected.clear()
            with pytest.raises(HistoryError) as failed:
                ask()
            # One try takes at most its limit: nothing waits for several in a row.
            assert len(connected) <= 1
            assert unreachable.place in str(failed.value)
            assert SECRET not in str(failed.value)
            assert "\n" not in str(failed.value)

    def _told(
        self, source: ArrivalSource, known: KnownArrivals, first: int = 0, last: int | None = None
    ) -> SourceArrivals:
        """What the source tells of those windows of the known arrivals: all, where none are given."""
        last = len(known.counts) if last is None else last
        arrivals: Arrivals = source.read(known.edge(first), known.edge(last), known.window_s)
        return arrivals.sources[known.source]


def _edges_us(known: KnownArrivals, first: int, last: int) -> Int64s:
    return to_us(known.start) + np.arange(first, last + 1, dtype=np.int64) * known.window_s * SECOND_US


def _status(told: SourceArrivals, known: KnownArrivals, first: int, last: int) -> list[str]:
    return np.array(STATUSES)[status_codes(told.alive, _edges_us(known, first, last), told.counts)].tolist()


def _alive_us(told: SourceArrivals, known: KnownArrivals) -> list[int]:
    """How long the feed was alive in each window; its spans may reach beyond the interval, now further than before."""
    return covered_us(told.alive, _edges_us(known, 0, len(known.counts))).tolist()
