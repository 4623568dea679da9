"""The search over the whole horizon as a policy: what it asks for, and what comes of it."""

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from replay_cases import PROFILES, START_S, TOPOLOGY, contest, days_of, load_of, plan

from forescale.jobs.kept_replays import KeptReplays
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.rescaling.state import Restored
from planner.clusters.engine_terms import EngineTerms
from planner.horizon.horizon_plan import HorizonPlanner, Present
from planner.plan_model import PlanModel
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.plan_pricing import InstancePricing
from planner.replay.contest import POLICIES
from planner.replay.policies.planned import Planned
from planner.replay.reality import Differences, Reality
from planner.replay.run import Replayed, replay
from planner.replay.timeline import track_of


def _replayed(rates_per_s: list[float]) -> Replayed:
    one = contest(load_of(rates_per_s))
    policy = POLICIES["planner-perfect"](one, 0)
    return replay(policy, one.load, one.reality(0), one.first(), past=None)


@pytest.mark.slow
def test_a_day_that_is_known__costs_less_than_its_peak_and_is_hardly_late() -> None:
    """From 10 to 80 a second, 10 an instance: the peak needs 10 with headroom, the mean 4.5."""
    done = _replayed(days_of(1).rate_per_s["ingest"].tolist())
    assert done.instances.mean() < 0.7 * 11
    assert np.count_nonzero(done.lag_s > 120.0) <= 6
    assert 2 <= sum(each.in_effect_s is not None for each in done.decisions) <= 14


def test_a_level_load__is_left_alone() -> None:
    done = _replayed([33.0] * 180)
    assert len(done.decisions) <= 1
    assert not (done.lag_s > 120.0).any()


def test_a_step_up__is_met_by_a_plan_that_runs_before_it() -> None:
    """A lead of 120 s and a downtime of 60 s: what was asked for at 87 min runs at 90 min at the latest."""
    done = _replayed([20.0] * 90 + [60.0] * 150)
    grown = next(each for each in done.decisions if each.plan["work"] >= 6)
    assert grown.in_effect_s is not None
    assert grown.in_effect_s <= done.start_s[90] + 60.0
    assert np.count_nonzero(done.lag_s > 120.0) == 0


@pytest.mark.slow
def test_a_surprise__is_met_by_the_guard_and_kept_until_the_next_forecast() -> None:
    """Everybody believes in 20/s, as forecasts see the past alone, and at 95 min 60/s come: a plan for 20/s is late."""
    load = load_of([20.0] * 95 + [60.0] * 145)
    one = contest(load, allowed_share=0.01)
    believed = contest(load_of([20.0] * 240)).perfect()
    policy = one.planned("planner", believed)
    done = replay(policy, load, one.reality(0), one.first())
    grown = next(each for each in done.decisions if each.plan["work"] >= 6)
    # Three minutes of metrics that come a minute late.
    assert done.start_s[95] + 120.0 <= grown.decided_s <= done.start_s[95] + 480.0
    assert (done.lag_s > 120.0)[:90].sum() == 0


def test_service_times_that_are_believed_too_short__are_learnt() -> None:
    """45/s at truly .13 s keep 5.85 instances busy; by what is believed 5 would do."""
    load = load_of([45.0] * 240)
    one = contest(load, allowed_share=0.01)
    slow = one.reality(0).profiles["work"]
    truth = Reality(
        PlanModel(TOPOLOGY, {**PROFILES, "work": replace(slow, service_s=0.13)}),
        one.engine,
        Differences(),
        START_S,
        load.end_s,
    )
    done = replay(POLICIES["planner-perfect"](one, 0), load, truth, plan(5))
    assert done.parallelism[-60:, 1].min() >= 6
    assert not (done.lag_s[-60:] > 120.0).any()


@pytest.mark.slow
def test_a_forecast_of_before_the_surprise__takes_nothing_away_that_the_guard_has_added() -> None:
    """At 115 min 60/s come in place of 20/s. The forecast that is made at 120 min still believes in 20/s for good."""
    load = load_of([20.0] * 115 + [60.0] * 65)
    one = contest(load, allowed_share=0.01)
    policy = one.planned("planner", contest(load_of([20.0] * 180)).perfect())
    done = replay(policy, load, one.reality(0), one.first())
    counts = done.parallelism[:, 1]
    grown = int(np.flatnonzero(counts >= 6)[0])
    assert 115 < grown < 130
    assert counts[grown:].min() >= 6


@pytest.mark.slow
def test_a_plan_that_begins_to_run_when_a_forecast_is_used__is_cold_and_the_first_one_warm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The guard's plan is asked for at 118 min, and runs after 120 s of lead and 60 s of downtime, at 121 min: then the
    forecast of 120 min is planned with.
    """
    asked, planned = list[Present](), HorizonPlanner.planned

    def recorded(planner: HorizonPlanner, forecasts: Any, present: Present, *rest: Any) -> Any:
        asked.append(present)
        return planned(planner, forecasts, present, *rest)

    monkeypatch.setattr(HorizonPlanner, "planned", recorded)
    load = load_of([20.0] * 115 + [60.0] * 65)
    one = contest(load, allowed_share=0.01)
    policy = one.planned("planner", contest(load_of([20.0] * 180)).perfect())
    done = replay(policy, load, one.reality(0), one.first())
    grown = next(each for each in done.decisions if each.plan["work"] >= 6)
    cold = next(each for each in asked if each.at_s == grown.in_effect_s)
    assert cold.running_since_s == grown.in_effect_s
    assert asked[0].running_since_s == -inf


def test_prices__are_weighed_as_the_deployed_planner_weighs_them() -> None:
    """From 60/s to 20/s five instances are free, which the forecast of a day goes on with: some 115 instance-hours, or
    1.15 where each costs a hundredth of what the mean one does. A rescale costs 3.
    """
    load = load_of([60.0] * 60 + [20.0] * 180)
    cheap = InstancePricing({"ingest": InstanceCost(price_per_hour=1.99), "work": InstanceCost(price_per_hour=0.01)})
    counts = []
    for one in (contest(load, rescale_h=3.0), contest(load, rescale_h=3.0, pricing=cheap)):
        done = replay(POLICIES["planner-perfect"](one, 0), load, one.reality(0), one.first())
        counts.append(done.parallelism[:, 1].tolist())
    assert counts[0][-1] < counts[0][0]
    assert counts[1][-1] == counts[1][0]


def test_replays_that_are_kept__are_made_anew_by_the_planner_alone_where_prices_are_others(tmp_path: Path) -> None:
    load = load_of([20.0] * 60)
    plain, priced = (KeptReplays(tmp_path, contest(load, priced_by=told)) for told in ("", "0.5 an hour"))
    done = replace(
        track_of(replay(POLICIES["hpa-50"](plain.contest, 0), load, plain.contest.reality(0), plan(3)), 120.0),
        policy="hpa-50",
    )
    plain.keep(done)
    plain.keep(replace(done, policy="planner-perfect"))
    assert [kept.track("hpa-50", 0) is not None for kept in (plain, priced)] == [True, True]
    assert [kept.track("planner-perfect", 0) is not None for kept in (plain, priced)] == [True, False]


def test_the_planner__knows_the_downtime_of_each_change_as_the_engine_takes_it() -> None:
    """8 GiB at 30 s each, of operators that change alone, by all instances at once: 43 of 128 key groups at 3
    instances, 16 at 8.
    """
    engine = EngineTerms(
        60.0,
        lead_s=120.0,
        restore_s_per_gib=30.0,
        state_gib={"work": 8.0},
        restored=Restored.CHANGED_OPERATORS,
        parallel_restore=True,
    )
    one = contest(load_of([80.0] * 60 + [30.0] * 240), engine=engine)
    policy = POLICIES["planner-perfect"](one, 0)
    assert isinstance(policy, Planned)
    few, many = (PhysicalPlan("calls", plan(work)) for work in (3, 8))
    assert policy.terms.down_s(TOPOLOGY, many, few) == pytest.approx(60 + 240 * 43 / 128)
    assert policy.terms.down_s(TOPOLOGY, few, many) == pytest.approx(60 + 240 * 16 / 128)
    assert one.engine.change_s(TOPOLOGY, plan(8), plan(3)) == policy.terms.down_s(TOPOLOGY, many, few)


@pytest.mark.parametrize(("parallel", "gib_read", "at_most_gib"), [(False, 8.5, 8.5), (True, 8.0 * 13 / 128, 8.0)])
def test_rivals__are_told_the_downtime_of_the_plan_that_runs_at_first(
    parallel: bool, gib_read: float, at_most_gib: float
) -> None:
    """78/s ask for ten instances of work, 13 of 128 key groups at most, of 8 GiB; 1 of ingest has 0.5 GiB."""
    state_gib = {"work": 8.0, "ingest": 0.5}
    engine = EngineTerms(60.0, restore_s_per_gib=30.0, state_gib=state_gib, parallel_restore=parallel)
    one = contest(load_of([78.0] * 60), engine=engine)
    assert one.guard_terms().downtime_s == pytest.approx(60 + 30 * gib_read)
    assert one.engine.whole_s == pytest.approx(60 + 30 * at_most_gib)
