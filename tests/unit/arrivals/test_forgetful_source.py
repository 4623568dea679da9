"""A source that forgets takes nothing from the history that it told of before."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.grid import to_us
from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.pipeline import build_history
from forecasting.arrivals.store import read_history

NOON = datetime(2003, 3, 3, 12, tzinfo=UTC)
KEPT = timedelta(hours=3)


class ThreeHours:
    """Tells of five events a minute in the last three hours, as a tracker does, and of nothing before."""

    place = "a tracker that keeps three hours"
    measures = Measures.OFFERED

    def __init__(self, now: datetime, *, forgets: bool = True) -> None:
        self.now, self.forgets, self.unsettled_s = now, forgets, 0.0

    def first_moment(self) -> datetime:
        return self.now - KEPT

    def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
        alive = np.array([[to_us(self.now - KEPT), to_us(self.now)]])
        starts_us = np.arange(to_us(start), to_us(end), window_s * 1_000_000)
        counts = np.where(starts_us >= alive[0, 0], 5, 0)
        return Arrivals(start, end, window_s, self.measures, {"feed": SourceArrivals(counts, alive)})


def built(folder: Path, source: ThreeHours, start: datetime | None = None) -> ArrivalSeries:
    build_history(source, topology="calls", window_s=60, start=start, end=source.now, out_dir=folder, reopen_s=3600)
    return read_history(folder, "calls").series["feed"]


def known(series: ArrivalSeries) -> int:
    return int((~np.isnan(series.counts)).sum())


def test_history_of_a_source_that_forgets__grows_with_every_build(tmp_path: Path) -> None:
    # Every two hours three are told of, so each build but the first adds 120 minutes to the day.
    hours = [0, 2, 4, 6]
    assert [known(built(tmp_path, ThreeHours(NOON + timedelta(hours=hour)))) for hour in hours] == [180, 300, 420, 540]


def test_window_that_is_only_half_remembered__stays_as_it_was_known(tmp_path: Path) -> None:
    built(tmp_path, ThreeHours(NOON))
    # Half a minute later the first minute of the three hours is known in part.
    series = built(tmp_path, ThreeHours(NOON + timedelta(seconds=90)))
    assert known(series) == 180 + 1


def test_building_an_interval_again_that_is_forgotten__leaves_it(tmp_path: Path) -> None:
    before = built(tmp_path, ThreeHours(NOON))
    again = built(tmp_path, ThreeHours(NOON + timedelta(days=1)), start=NOON - KEPT)
    assert (
        again.between(NOON - KEPT, NOON).counts.tolist()
        == before.between(NOON - KEPT, NOON).counts.tolist()
        == [5.0] * 180
    )


def test_source_that_does_not_forget__is_right_when_it_takes_back_what_it_told(tmp_path: Path) -> None:
    built(tmp_path, ThreeHours(NOON))
    with_less = built(tmp_path, ThreeHours(NOON + timedelta(hours=2), forgets=False))
    assert known(with_less) == 180


@pytest.mark.parametrize("hours", [1, 5])
def test_counts_told_anew__win_over_those_known_as_well(tmp_path: Path, hours: int) -> None:
    class Six(ThreeHours):
        def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
            told = super().read(start, end, window_s)
            feed = told.sources["feed"]
            more = SourceArrivals(np.where(feed.counts > 0, 6, 0), feed.alive)
            return Arrivals(start, end, window_s, self.measures, {"feed": more})

    built(tmp_path, ThreeHours(NOON))
    series = built(tmp_path, Six(NOON + timedelta(hours=hours)))
    # Of the three hours until noon, those that are still remembered are told anew.
    anew = max(0, 3 - hours)
    assert (series.between(NOON - KEPT, NOON).counts == 6).sum() == anew * 60
