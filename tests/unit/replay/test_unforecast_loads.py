"""Loads that nobody forecast, a flash and a doubling that stays: what the planner holds and how soon, with real
forecasts.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from replay_cases import START_S, contest, load_of

from forecasting.arrivals.history import ArrivalSeries
from forecasting.terms import ForecastTerms
from planner.limits import Limits
from planner.replay.contest import Contest, run_one
from planner.replay.pipeline_forecasts import PipelineForecasts
from planner.replay.run import Replayed

pytestmark = pytest.mark.slow

DAYS, LAST_HOURS = 8, 21
SLOTS, STEP_S = 288, 300
TERMS = ForecastTerms(STEP_S, 86400, paths=200, origins=8)
BEGIN = 6 * 60 + 35
"""Minute of the last day in which the load jumps. In none with a planned step: its downtime would come first, and the
guard would look two minutes later.
"""
FLASH_MINUTES = 120


def case(factor: float, minutes: int, folder: Path) -> Contest:
    """A week of 50 to 150/s with noise; from BEGIN of the last day on, for so many minutes, a multiple of that."""
    slots = np.arange(DAYS * SLOTS)
    noise = np.exp(0.04 * np.random.default_rng(7).standard_normal(slots.size))
    rates_per_s = 100.0 * (1 - 0.5 * np.cos(2 * np.pi * slots / SLOTS)) * noise
    jump = (DAYS - 1) * SLOTS + BEGIN // 5
    rates_per_s[jump : jump + minutes // 5] *= factor
    series = ArrivalSeries("calls", "ingest", load_of([1.0]).start, STEP_S, (STEP_S * rates_per_s).round())
    first_s = START_S + (DAYS - 1) * 86400
    load = load_of(np.repeat(rates_per_s[(DAYS - 1) * SLOTS :], 5)[: 60 * LAST_HOURS].tolist(), first_s)
    forecasts = PipelineForecasts({"ingest": series}, TERMS, 56, 86400, folder)
    with ThreadPoolExecutor(1) as executor:
        forecasts.prepare(load.start_s, load.end_s, executor, lambda done, of: None)
    return contest(
        load,
        limits=Limits(max_utilisation=0.8, max_instances=140),
        forecasts=forecasts,
        allowed_share=0.005,
    )


def held_h(replayed: Replayed, first: int, last: int) -> float:
    return float(replayed.instances[first:last].sum()) / 60.0


def test_a_flash__is_neither_left_while_it_lasts_nor_held_through_the_night(tmp_path: Path) -> None:
    of = case(5.0, FLASH_MINUTES, tmp_path)
    planner, tuned = run_one(of, "planner", 0), run_one(of, "flink-autoscaler-tuned", 0)
    over = BEGIN + FLASH_MINUTES
    # Once the guard has repaired it, the job keeps up until the flash is over.
    assert not (planner.lag_s[BEGIN + 30 : over] > of.max_lag_s).any()
    assert held_h(planner, over, over + 720) <= 1.1 * held_h(tuned, over, over + 720)


def test_a_doubling_that_stays__is_held_after_two_rescales_as_soon_as_by_the_guard_alone(tmp_path: Path) -> None:
    of = case(2.0, 24 * 60, tmp_path)
    planner, guard = run_one(of, "planner", 0), run_one(of, "guard", 0)
    until = _caught_up(planner)
    rescales = np.count_nonzero(np.diff(planner.instances[BEGIN : BEGIN + until + 1]))
    assert 1 <= rescales <= 2
    # It stays held: in the hours after, no minute is late.
    assert not (planner.lag_s[BEGIN + until + 1 :] > of.max_lag_s).any()
    # It asks for as many instances as soon as the guard alone. That one begins with more of them, at 70 % of what is
    # full, so that less waits by then: it has drained sooner by what its 5 more carry until then.
    repaired, alone = (_first_change(each) for each in (planner, guard))
    assert repaired <= alone
    assert planner.instances[repaired] >= guard.instances[alone]


def _first_change(replayed: Replayed) -> int:
    """The minute after the jump in which another plan runs for the first time."""
    return BEGIN + 1 + int(np.diff(replayed.instances[BEGIN:]).astype(bool).argmax())


def _caught_up(replayed: Replayed) -> int:
    """Minutes from the jump to the first one at whose end nothing waits any more."""
    waits = replayed.backlog[BEGIN:] > 0
    begins = int(waits.argmax())
    return begins + int((~waits[begins:]).argmax()) + 1
