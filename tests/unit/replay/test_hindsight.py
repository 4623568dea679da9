"""The best in hindsight against every way there is, on small cases, and against what the simulator makes of it."""

from itertools import product

import numpy as np
import pytest
from replay_cases import days_of, load_of, plan, reality

from modeling.arrays import Floats
from planner.clusters.engine_terms import EngineTerms
from planner.replay.hindsight import hindsight, hindsight_within
from planner.replay.load import Load
from planner.replay.policies.fixed_plans import AtMoments
from planner.replay.run import replay

LADDER = [plan(work) for work in (1, 2, 4)]


def _by_hand(load: Load, plans: tuple[int, ...], max_lag_s: float) -> tuple[float, int]:
    """Instance-hours and violation minutes of one plan a minute, with a minute of downtime at each change.

    Fluid, first come first served, in steps of a second.
    """
    rates = np.repeat(load.rate_per_s["ingest"], 60)
    came = np.concatenate([[0.0], np.cumsum(rates)])
    taken, hours, late = 0.0, 0.0, 0
    for minute, work in enumerate(plans):
        hours += (work + 1) / 60
        down = minute > 0 and plans[minute - 1] != work
        too_late = _waits_too_long(came, taken, minute * 60, max_lag_s)
        for second in range(minute * 60, minute * 60 + 60):
            if not down:
                taken = min(came[second + 1], taken + 10.0 * work)
            too_late |= _waits_too_long(came, taken, second + 1, max_lag_s)
        late += too_late
    return hours, late


def _waits_too_long(came: Floats, taken: float, second: int, max_lag_s: float) -> bool:
    return bool(taken < came[max(0, second - round(max_lag_s))] - 1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_optimum__is_that_of_all_plans_tried_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    load, max_lag_s = load_of(rng.uniform(2, 32, size=6).tolist()), float(rng.uniform(50, 130))
    real = reality(load, EngineTerms(60.0))
    found = hindsight(load, real, LADDER, max_lag_s, price_instance_hours=1.0, fine=128)
    every = (_by_hand(load, plans, max_lag_s) for plans in product((1, 2, 4), repeat=load.minutes))
    least = min(hours + late for hours, late in every)
    assert found.cost_h + found.violation_minutes == pytest.approx(least)


def test_where_all_instances_read_at_once__the_downtime_is_that_of_the_plan_that_is_changed_to() -> None:
    """4 GiB at 30 s each: 120 s for one instance, 60 s for two, 30 s for four. With 90 s of lag, a change to four at
    the rise of the load is in time, where 120 s would leave nothing but four instances from the beginning on.
    """
    terms = EngineTerms(0.0, restore_s_per_gib=30.0, state_gib={"work": 4.0}, parallel_restore=True)
    load = load_of([12.0] * 10 + [38.0] * 10)
    real = reality(load, terms)
    found = hindsight(load, real, LADDER, 90.0)
    assert found.violation_minutes == 0
    # Two instances for ten minutes and four for ten more, or better; four all the time take 1.67 instance-hours.
    assert found.cost_h <= (3 * 10 + 5 * 10) / 60 + 1e-9
    done = replay(AtMoments("hindsight", found.changes, "it proved best"), load, real, {})
    assert not (done.lag_s > 90.0).any()


@pytest.mark.slow
def test_what_it_finds__is_what_the_simulator_shows() -> None:
    load, terms = days_of(0.7), EngineTerms(30.0)
    real = reality(load, terms)
    ladder = [plan(work) for work in range(1, 13)]
    found = hindsight(load, real, ladder, 90.0)
    done = replay(AtMoments("hindsight", found.changes, "it proved best"), load, real, {})
    assert found.violation_minutes == 0
    assert not (done.lag_s > 90.0).any()
    assert done.instances.sum() / 60 == pytest.approx(found.cost_h)
    # No plan that carries each minute by itself could do with less than the load asks, rounded up nowhere.
    assert found.cost_h > (load.rate_per_s["ingest"].sum() / 10.0 + load.minutes) / 60


def test_a_downtime_beyond_the_lag__leaves_the_plan_of_the_peak() -> None:
    load = days_of(1)
    found = hindsight(load, reality(load, EngineTerms(180.0)), [plan(work) for work in range(1, 13)], 60.0)
    # Every change would be late, but one so close to the end that nobody sees it.
    assert all(at_s > load.end_s - 300 for at_s, _ in found.changes[1:])
    assert found.changes[0][1] == plan(8)
    assert found.violation_minutes == 0


@pytest.mark.slow
def test_a_price_of_violations__buys_fewer_instances() -> None:
    load = days_of(1)
    real, ladder = reality(load, EngineTerms(180.0)), [plan(work) for work in range(1, 13)]
    costs = [hindsight(load, real, ladder, 60.0, price) for price in (1e6, 1.0, 0.05)]
    hours, late = [each.cost_h for each in costs], [each.violation_minutes for each in costs]
    assert hours == sorted(hours, reverse=True)
    assert late == sorted(late)
    assert hours[-1] < 0.8 * hours[0]


@pytest.mark.slow
def test_violations_that_are_allowed__save_instances_and_are_no_more_than_that() -> None:
    load = days_of(1)
    real, ladder = reality(load, EngineTerms(120.0)), [plan(work) for work in range(1, 13)]
    found = [hindsight_within(load, real, ladder, 60.0, share) for share in (0.0, 0.005, 0.02)]
    hours = [each.cost_h for each in found]
    assert hours[2] < hours[1] < hours[0]
    for each, share in zip(found, (0.0, 0.005, 0.02), strict=True):
        assert each.violation_minutes <= share * load.minutes
        done = replay(AtMoments("hindsight", each.changes, "the best"), load, real, {})
        # The simulator looks every 5 s: a minute that is late for less is not seen.
        seen = np.count_nonzero(done.lag_s > 60.0)
        assert each.violation_minutes - len(each.changes) <= seen <= each.violation_minutes
