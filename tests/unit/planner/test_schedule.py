"""The schedule: in place before the load, no more rescales than they are worth, best among all."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.queueing.bursts import Arrivals, Bursts
from planner.demand import Demand
from planner.limits import Limits, RescaleTerms
from planner.scaling_schedule import ScalingSchedule
from planner.schedule import make_schedule

Profiles = dict[str, OperatorProfile]
START = datetime(2026, 3, 2, 20, 0, tzinfo=UTC)
TERMS = RescaleTerms(downtime_s=30, safety_s=300, min_dwell_s=3600, cost_instance_hours=1.0)


def schedule_for(
    topology: Topology,
    profiles: Profiles,
    rates: list[float],
    work: int,
    *,
    terms: RescaleTerms = TERMS,
    limits: Limits = Limits(),  # noqa: B008 (a frozen value)
    running_since: datetime | None = None,
) -> ScalingSchedule:
    demand = Demand(START, 900, 0.95, {"source": np.array(rates)})
    current = PhysicalPlan("pair", {"source": 1, "work": work})
    return make_schedule(
        topology,
        profiles,
        demand,
        current,
        made_at=START,
        limits=limits,
        rescale=terms,
        running_since=running_since,
    )


def test_a_ramp__is_met_before_it_comes(pair: Topology, pair_profiles: Profiles) -> None:
    schedule = schedule_for(pair, pair_profiles, [0.8] * 8 + [8.5] * 8, work=1)
    (step,) = schedule.steps
    assert step.plan.parallelism["work"] == 10
    assert step.needed_from == START + timedelta(hours=2)
    # 30 s down at 0.8/s leave 24, drained by 10 − 0.8 = 9.2/s in 2.6 s; 300 s of safety before the load
    assert step.in_place_at == step.needed_from - timedelta(seconds=300)
    assert step.deploy_at == step.in_place_at - timedelta(seconds=30 + 24 / 9.2)


def test_bursts__ask_for_more_instances_where_latency_is_bounded(pair: Topology, pair_profiles: Profiles) -> None:
    steady = Demand(START, 3600, 0.95, {"source": np.array([6.0, 6.0])})
    bursty = replace(steady, arrival_cv2=Arrivals(bursts=Bursts(0.5, 1.5, 60.0))).still_to_come(START)
    current, limits = PhysicalPlan("pair", {"source": 1, "work": 1}), Limits(max_latency_s=3.0)
    plans = [
        make_schedule(pair, pair_profiles, each, current, made_at=START, limits=limits, rescale=TERMS)
        for each in (steady, bursty)
    ]
    counts = [schedule.steps[0].plan.parallelism["work"] for schedule in plans]
    assert counts[0] < counts[1]
    # less than that is too few under bursts alone: half of the time 9/s come
    assert counts[1] > 9
    assert any("work" in str(excuse.remedy) for excuse in plans[1].excuses)


def test_scaling_down__waits_until_the_load_has_gone(pair: Topology, pair_profiles: Profiles) -> None:
    schedule = schedule_for(pair, pair_profiles, [8.5] * 8 + [0.4] * 16, work=10)
    (step,) = schedule.steps
    assert step.deploy_at == step.needed_from == START + timedelta(hours=2)
    assert step.plan.parallelism["work"] == 1
    assert schedule.why == "1 rescale follows the forecast over 6 h"  # 24 slots of a quarter


def test_a_plan_that_fits__is_held_and_says_so(pair: Topology, pair_profiles: Profiles) -> None:
    schedule = schedule_for(pair, pair_profiles, [8.0] * 16, work=10)
    assert schedule.steps == ()
    assert "hold" in schedule.why


def test_a_short_dip__is_not_worth_two_rescales(pair: Topology, pair_profiles: Profiles) -> None:
    # an hour with 2 instances less saves 2 instance-hours; two rescales cost 2.4
    terms = RescaleTerms(min_dwell_s=900, cost_instance_hours=1.2)
    rates = [8.5] * 4 + [6.8] * 4 + [8.5] * 4
    assert schedule_for(pair, pair_profiles, rates, work=10, terms=terms).steps == ()
    cheap = RescaleTerms(min_dwell_s=900, cost_instance_hours=0.4)
    assert len(schedule_for(pair, pair_profiles, rates, work=10, terms=cheap).steps) == 2


def test_every_plan__is_scheduled_for_at_least_the_minimum_dwell_time(pair: Topology, pair_profiles: Profiles) -> None:
    rates = [1.0, 8.0, 1.0, 8.0] * 6
    schedule = schedule_for(pair, pair_profiles, rates, work=1, terms=RescaleTerms(cost_instance_hours=0.0))
    for step in schedule.steps[:-1]:
        assert step.needed_until - step.needed_from >= timedelta(hours=1)


def test_a_plan_that_was_just_deployed__dwells_too_unless_it_is_too_small(
    pair: Topology, pair_profiles: Profiles
) -> None:
    rates = [0.4] * 16
    just = schedule_for(pair, pair_profiles, rates, work=10, running_since=START - timedelta(minutes=30))
    assert just.steps[0].deploy_at == START + timedelta(minutes=30)
    small = schedule_for(pair, pair_profiles, [5.0] * 16, work=1, running_since=START - timedelta(minutes=30))
    assert small.steps[0].deploy_at == START


def test_a_load_beyond_every_plan__gets_the_strongest_and_an_excuse(pair: Topology, pair_profiles: Profiles) -> None:
    schedule = schedule_for(pair, pair_profiles, [20.0] * 8, work=1, limits=Limits(max_instances=11))
    assert schedule.steps[0].plan.parallelism["work"] == 10
    assert "cannot be carried" in schedule.why
    assert any("max_instances" in excuse.remedy for excuse in schedule.excuses)


def test_alternatives__are_costed_over_the_same_demand(pair: Topology, pair_profiles: Profiles) -> None:
    schedule = schedule_for(pair, pair_profiles, [0.4] * 8 + [8.5] * 8, work=1)
    hold, static = schedule.alternatives
    # 2 instances for 4 h, short for the second 2 h; 11 instances for 4 h
    assert hold.cost_instance_hours == pytest.approx(8)
    assert hold.short_s == pytest.approx(7200)
    assert static.cost_instance_hours == pytest.approx(44)
    # 2 instances for 2 h and 11 for 2 h
    assert schedule.cost_instance_hours == pytest.approx(26)


@pytest.mark.slow
def test_search__finds_the_best_of_all_ways_to_cut_a_small_horizon(pair: Topology, pair_profiles: Profiles) -> None:
    """Against brute force: every sequence of plans over six slots, with the same prices."""
    rates = [0.8, 2.5, 6.0, 6.5, 1.5, 0.8]
    price = 0.7
    terms = RescaleTerms(downtime_s=0, safety_s=0, min_dwell_s=0, cost_instance_hours=price)
    found = schedule_for(pair, pair_profiles, rates, work=1, terms=terms)
    best = min(
        sum((1 + work) / 4 for work in works) + price * sum(a != b for a, b in itertools.pairwise((1, *works)))
        for works in itertools.product(range(1, 9), repeat=6)
        if all(rate / work <= 0.85 for rate, work in zip(rates, works, strict=True))
    )
    assert found.cost_instance_hours + price * len(found.steps) == pytest.approx(best)


def test_steps__are_deployed_in_order_even_where_the_lead_is_longer_than_a_segment(
    pair: Topology, pair_profiles: Profiles
) -> None:
    # 90 min of safety: growing at 02:00 would have to begin at 00:30, before the shrinking at 01:00 that it replaces
    terms = RescaleTerms(downtime_s=30, safety_s=5400, min_dwell_s=3600, cost_instance_hours=0.1)
    rates = [20.0] * 4 + [1.0] * 4 + [20.0] * 8
    schedule = schedule_for(pair, pair_profiles, rates, work=24, terms=terms)
    moments = [step.deploy_at for step in schedule.steps]
    assert moments == sorted(set(moments))
    assert all(step.replaces == before for before, step in zip(_plans(schedule), schedule.steps, strict=False))


def test_a_plan_that_comes_back__is_replaced_only_once_its_load_has_begun(
    pair: Topology, pair_profiles: Profiles
) -> None:
    # 24 instances run, go, and come back at 03:00; 90 min of safety would have 48 deployed before that.
    terms = RescaleTerms(downtime_s=30, safety_s=5400, min_dwell_s=3600, cost_instance_hours=0.1)
    rates = [20.0] * 4 + [1.0] * 8 + [20.0] * 4 + [40.0] * 8
    schedule = schedule_for(pair, pair_profiles, rates, work=24, terms=terms)
    assert len(schedule.steps) >= 2
    for before, step in itertools.pairwise(schedule.steps):
        assert step.deploy_at > max(before.needed_from, before.in_place_at)


def test_a_rescale__misses_no_time_that_is_missed_anyway(pair: Topology, pair_profiles: Profiles) -> None:
    # 400 s without processing are 220 s beyond the lag, but no plan within the limits carries those slots.
    terms = RescaleTerms(downtime_s=400, max_lag_s=180)
    schedule = schedule_for(pair, pair_profiles, [20.0] * 8, work=1, terms=terms, limits=Limits(max_instances=11))
    assert len(schedule.steps) == 1
    assert schedule.short_s == 8 * 900


@pytest.mark.slow
def test_a_latency_that_no_plan_holds__is_left_free_and_excused(pair: Topology, pair_profiles: Profiles) -> None:
    # The service alone takes a second.
    schedule = schedule_for(pair, pair_profiles, [8.5] * 8, work=1, limits=Limits(max_latency_s=0.5))
    assert schedule.steps[0].plan.parallelism["work"] == 10
    assert schedule.short_s == 8 * 900
    assert [excuse.target for excuse in schedule.excuses] == ["mean latency in s"]


def test_alternatives__are_told_as_they_are(pair: Topology, pair_profiles: Profiles) -> None:
    # For the first half hour the running plan still dwells; the static plan comes no earlier either.
    dwelling = schedule_for(pair, pair_profiles, [0.4] * 16, work=10, running_since=START - timedelta(minutes=30))
    hold, static = dwelling.alternatives
    # 11 instances for half an hour and 2 for 3.5; 11 for 4 h, less the price of a rescale
    assert static.cost_instance_hours == dwelling.cost_instance_hours == pytest.approx(12.5)
    assert "as good as what was chosen" in static.excuse
    assert "costs 30.5 instance-hours more" in hold.excuse
    # One instance of work misses the target all the time too, and costs less.
    beyond = schedule_for(pair, pair_profiles, [20.0] * 8, work=1, limits=Limits(max_instances=11))
    assert beyond.alternatives[0].excuse == "misses the target as long, and by more (source 1 · work 1)"


def _plans(schedule: ScalingSchedule) -> list[PhysicalPlan]:
    return [schedule.current, *(step.plan for step in schedule.steps)]


def joined(a: list[float], b: list[float]) -> ScalingSchedule:
    """Two sources into one operator of a second a tuple."""
    topology = Topology("two", tuple(Operator(n) for n in "abj"), (Stream("a", "j"), Stream("b", "j")))
    profiles = {"a": OperatorProfile("a", 0), "b": OperatorProfile("b", 0), "j": OperatorProfile("j", 1.0)}
    return make_schedule(
        topology,
        profiles,
        Demand(START, 900, 0.95, {"a": np.array(a), "b": np.array(b)}),
        PhysicalPlan("two", {"a": 1, "b": 1, "j": 1}),
        made_at=START,
        limits=Limits(),
        rescale=TERMS,
    )


def test_several_sources__are_planned_for_together() -> None:
    schedule = joined([0.2] * 4 + [4.0] * 4, [0.2] * 4 + [4.5] * 4)
    assert schedule.steps[-1].plan.parallelism == {"a": 1, "b": 1, "j": 10}


def test_peaks_that_do_not_come_together__are_not_told_as_one_load() -> None:
    (step,) = (schedule := joined([4.0] * 4 + [0.2] * 4, [0.2] * 4 + [4.0] * 4)).steps
    # 4.2 a second at any time: 5 at .84, while 4 would be beyond .85
    assert step.plan.parallelism["j"] == 5
    assert step.utilisation == pytest.approx(0.84)
    assert [str(excuse) for excuse in schedule.excuses] == ["utilisation 1.05 of j is beyond 0.85; give j 5 instances"]
