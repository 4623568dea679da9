"""What a race measures, by hand: the age of the oldest waiting event, events lost and doubled, and the load."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest
from measured_minutes import measured_minutes, seen_at_the_end

from planner.replay.policies.flink_autoscaler import FlinkAutoscaler, FlinkAutoscalerSettings
from planner.replay.run import Replayed

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "race_job"


@pytest.fixture(scope="module")
def outcome() -> Iterator[ModuleType]:
    """The scripts lie outside the packages."""
    sys.path.insert(0, str(FOLDER))
    yield import_module("outcome")
    sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def load(outcome: ModuleType) -> ModuleType:
    return import_module("load")


def test_the_lag__is_the_age_of_the_oldest_event_that_is_not_done(outcome: ModuleType) -> None:
    # Due at 0, 1 and 2 s, done at .5, 4 and 3 s: at 3.5 s the second has waited since 1 s.
    due, done = np.array([0, 1, 2]) * 10**6, np.array([500_000, 4_000_000, 3_000_000])
    assert outcome.lags_s(due, done, np.array([0.25, 0.75, 3.5, 4.5])).tolist() == [0.25, 0.0, 2.5, 0.0]


def test_the_lag_of_an_event_that_is_never_done__grows(outcome: ModuleType) -> None:
    due, done = np.array([0, 10**6]), np.array([0, 1_500_000])
    assert outcome.lags_s(due, done, np.array([2.0, 9.0])).tolist() == [2.0, 9.0]


def test_a_minute__has_the_longest_wait_in_it_in_the_time_of_the_trace(outcome: ModuleType) -> None:
    # 60 times as fast, a minute is a second. The event waits from .2 to 1.5 s of the race.
    due, done = np.array([10**9 + 200_000]), np.array([10**9 + 1_500_000])
    lags = outcome.minute_lags_s(due, done, 1000.0, 3, 60.0)
    assert lags == pytest.approx([0.8 * 60, 1.2 * 60, 0.0])


@pytest.mark.parametrize(
    ("done", "sums", "lost", "doubled"),
    [
        ((2, 3, 4, 5), (4, 6, 14), 0, 0),
        ((2, 3, 4, 5), (5, 8, 18), 0, 1),  # number 2 twice
        ((2, 3, 0, 5), (3, 4, 10), 1, 0),  # number 2 never
        ((2, 3, 0, 5), (4, 7, 19), 1, 1),  # number 3 twice for number 2
        ((2, 3, 4, 5), (4, 5, 13), 1, 1),  # as many, but not the same
    ],
)
def test_an_event__counts_once_or_is_lost_or_doubled(
    outcome: ModuleType, done: tuple[int, ...], sums: tuple[int, ...], lost: int, doubled: int
) -> None:
    totals = outcome.totals(np.array([1, 2, 3, 4]), np.array(done), sums)
    assert (totals.sent, totals.counted, totals.lost, totals.doubled) == (4, sums[0], lost, doubled)


def trace_of(folder: Path) -> Path:
    """Three days in windows of five minutes, 30 events each, and 60 at noon of the last."""
    times = np.arange(3 * 288)
    rows = [
        f"2026-03-{1 + at // 288:02d}T{at % 288 // 12:02d}:{at % 12 * 5:02d}:00Z,{60 if at == 2 * 288 + 144 else 30}"
        for at in times
    ]
    file = folder / "trace.csv"
    file.write_text("\n".join(["timestamp,count", *rows]))
    return file


def test_the_largest_minute__has_the_peak_at_the_speed_of_the_race(load: ModuleType, tmp_path: Path) -> None:
    raced = load.race_load(trace_of(tmp_path), "read", None, 40.0, 48.0, 2.0)
    # A day in 48 minutes is 30 times as fast: a minute takes 2 s, with 80 events at the peak and about half of it else.
    assert (raced.speed, raced.raced.size, raced.past.size) == (30.0, 1440, 2880)
    assert raced.raced.max() == pytest.approx(80, abs=1)
    assert np.median(raced.raced) == pytest.approx(40, abs=8)
    assert raced.load.start_s == 1772496000  # 2026-03-03 00:00 UTC


def test_every_event__is_due_within_its_minute_and_has_a_moment_of_its_own(load: ModuleType, tmp_path: Path) -> None:
    raced = load.race_load(trace_of(tmp_path), "read", None, 40.0, 48.0, 2.0)
    due_us = raced.due_us(1000.0)
    assert due_us.size == raced.raced.sum() == raced.stamps_ms.size
    assert (np.diff(due_us) > 0).all()
    minute = np.floor((due_us / 1e6 - 1000.0) / 2.0).astype(int)
    assert np.bincount(minute, minlength=1440).tolist() == raced.raced.tolist()


def test_flinks_autoscaler__sees_the_rates_of_the_engine_and_the_times_of_the_trace(outcome: ModuleType) -> None:
    contest = import_module("contest")
    # .15/s of the trace come, .1/s are taken, and the rest has waited for 20 minutes. 120 times as fast: 18/s and 12/s.
    measured = measured_minutes(
        contest.TOPOLOGY,
        20,
        {"read": 0.1, "work": 0.1},
        {"read": 0.1, "work": 1.0},
        {"read->work": 0.1},
        arrivals_per_s={"read": 0.15},
        backlog=[3.0 * (1 + at) for at in range(20)],
    )
    seen = seen_at_the_end(measured, {"read": 1, "work": 1})
    # 18/0.7 + 18 × 5/30 + 120 × 60/1800 = 25.7 + 3 + 4 → 33/s of 12/s: 3 instances.
    decision = contest.RacedAutoscaler(FlinkAutoscalerSettings(), "raced", 120.0).decide(seen)
    assert decision is not None
    assert decision.plan["work"] == 3
    # Of the trace's own rates the library makes 0/s, and asks for nothing.
    assert FlinkAutoscaler(FlinkAutoscalerSettings(), "plain").decide(seen) is None


def test_the_picture__shows_the_raced_minutes_in_rates_and_lags_of_the_race(outcome: ModuleType) -> None:
    contest, picture = import_module("contest"), import_module("race_picture")
    minutes = np.full((240, 2), [0.1, 0.2])  # arrivals and capacity, per second of the trace
    raced = Replayed(
        "planner",
        0,
        contest.TOPOLOGY,
        start_s=1772496000.0 + 60.0 * np.arange(240),
        arrivals_per_s=minutes[:, 0],
        capacity_per_s=minutes[:, 1],
        parallelism=np.ones((240, 2), dtype=np.int64),
        backlog=np.zeros(240),
        lag_s=np.full(240, 600.0),
        down_s=np.zeros(240),
        utilisation=np.full(240, 0.5),
        decisions=(),
    )
    one = outcome.Raced(raced, np.zeros(2), 1.0, 1.0, 1.0, 1.0, outcome.Totals(1, 1, 0, 0))
    drawn = ElementTree.fromstring(picture.race_picture({"planner": one, "guard": one}, 120.0))
    texts = [each.text for each in drawn.iter() if each.text and each.text.strip()]
    assert "capacity with forescale" in texts
    assert not any("guard" in text or "autoscaler" in text for text in texts)
    # 120 times as fast .2/s are 24/s, and 600 s of the trace are 5 s: the axes reach just beyond.
    assert {"20", "4"} <= set(texts)
