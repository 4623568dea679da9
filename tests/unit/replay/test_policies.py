"""Policies against their published rules, fed with metrics by hand."""

import math
from collections.abc import Mapping

import pytest
from measured_minutes import measured_minutes, seen_at_the_end
from replay_cases import PROFILES, START_S, TOPOLOGY, contest, days_of, load_of, plan, reality

from forecasting.forecast import Forecast
from planner.guard.terms import GuardTerms
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.replay.need import Need
from planner.replay.policies.cron import CronByLastWeek
from planner.replay.policies.daedalus import Daedalus
from planner.replay.policies.dhalion import Dhalion
from planner.replay.policies.guard import Guard
from planner.replay.policies.hpa import HorizontalPodAutoscaler
from planner.replay.policy import Seen
from planner.replay.run import replay

NEED = Need(PlanModel(TOPOLOGY, PROFILES), Limits(max_utilisation=1.0, max_instances=50))
MOST = {"ingest": 1, "work": 50}
GUARD = GuardTerms(limits=Limits(max_instances=50))


def _seen(
    at_s: float,
    work: int,
    *,
    busy: float = 0.5,
    suspended: float = 0.0,
    arrivals_per_s: float = 15.0,
    backlog: float = 0.0,
    running_since_s: float = -1e9,
) -> Seen:
    """The last ten minutes all alike."""
    measured = measured_minutes(
        TOPOLOGY,
        10,
        {"ingest": arrivals_per_s, "work": arrivals_per_s},
        {"ingest": 0.01, "work": busy},
        {"ingest->work": arrivals_per_s},
        suspended={"ingest": suspended},
        backlog=[backlog] * 10,
        start_s=at_s - 600,
    )
    return seen_at_the_end(measured, plan(work), running_since_s)


def test_hpa__wants_its_instances_as_busy_as_the_target() -> None:
    hpa = HorizontalPodAutoscaler(TOPOLOGY, 0.5, MOST)
    decision = hpa.decide(_seen(0.0, 4, busy=0.9))
    # ⌈4 · .9 / .5⌉ = 8.
    assert decision is not None
    assert decision.plan == plan(8)
    assert decision.why == "busy: work 90%; the target is 50%"


@pytest.mark.parametrize("busy", [0.451, 0.5, 0.549])
def test_hpa__leaves_a_tenth_beside_its_target_alone(busy: float) -> None:
    assert HorizontalPodAutoscaler(TOPOLOGY, 0.5, MOST).decide(_seen(0.0, 4, busy=busy)) is None


def test_hpa__scales_down_to_the_most_it_wanted_in_five_minutes() -> None:
    hpa = HorizontalPodAutoscaler(TOPOLOGY, 0.5, MOST)
    wanted = []
    for minute, busy in enumerate([0.5, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1]):
        decision = hpa.decide(_seen(60.0 * minute, 10, busy=busy))
        wanted.append(None if decision is None else decision.plan["work"])
    # 10 is wanted at minute 0 and leaves the window of 300 s at minute 6; then ⌈10 · .2 / .5⌉ = 4 of minute 3 is most.
    assert wanted == [None, None, None, None, None, None, 4, 4, 4]


def test_hpa__takes_no_pod_seriously_in_its_first_five_minutes() -> None:
    hpa = HorizontalPodAutoscaler(TOPOLOGY, 0.5, MOST)
    assert hpa.decide(_seen(1000.0, 4, busy=1.0, running_since_s=760.0)) is None
    assert hpa.decide(_seen(1000.0, 4, busy=1.0, running_since_s=640.0)) is not None


def test_dhalion__adds_what_the_load_lacks_by_the_share_of_backpressure() -> None:
    decision = Dhalion(TOPOLOGY, MOST).decide(_seen(0.0, 4, busy=1.0, suspended=0.5))
    # b = .5: u = .5 / .5 = 1, so 4 · (1 + 1).
    assert decision is not None
    assert decision.plan == plan(8)


def test_dhalion__grows_fivefold_at_most() -> None:
    decision = Dhalion(TOPOLOGY, MOST).decide(_seen(0.0, 4, busy=1.0, suspended=1.0))
    assert decision is not None
    assert decision.plan == plan(20)


def test_dhalion__waits_after_an_action_and_undoes_a_scale_down_that_backpressure_follows() -> None:
    dhalion = Dhalion(TOPOLOGY, MOST)
    first = dhalion.decide(_seen(0.0, 10, busy=0.4))
    assert first is not None
    assert first.plan == plan(9)
    assert dhalion.decide(_seen(120.0, 9, busy=1.0, suspended=0.5)) is None
    second = dhalion.decide(_seen(600.0, 9, busy=1.0, suspended=0.5))
    assert second is not None
    assert second.plan == plan(10)
    assert "undone" in second.why
    # work is on the blacklist now, and ingest has one instance.
    assert dhalion.decide(_seen(2000.0, 10, busy=0.4)) is None


def test_cron__gives_each_hour_what_the_same_hour_of_last_week_needed() -> None:
    week = [8.5 + hour % 24 for hour in range(7 * 24) for _ in range(60)]
    load, past = load_of([1.0] * 180), load_of(week, START_S - 7 * 86400)
    done = replay(CronByLastWeek(NEED, 600.0), load, reality(load), plan(1), past=past)
    # The hours brought 8.5, 9.5 and 10.5/s: the third needs two instances, asked for ten minutes before it.
    assert [(each.decided_s - START_S, each.plan["work"]) for each in done.decisions] == [(6600.0, 2)]


class _NoForecast:
    """No forecast at all."""

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        return {}


def test_daedalus__carries_what_waits_within_ten_minutes() -> None:
    decision = Daedalus(NEED, _NoForecast(), 120.0).decide(_seen(0.0, 2, arrivals_per_s=20.0, backlog=9600.0))
    # 9,600 wait and 20/s · 120 s come in the downtime: 12,000 within 480 s are 25/s beside the 20/s that come.
    assert decision is not None
    assert decision.plan == plan(5)


def test_need__rounds_a_load_up_by_less_than_a_hundredth() -> None:
    assert NEED.plan({"ingest": 39.8}) == plan(4)
    assert NEED.plan({"ingest": 40.2}) == plan(5)
    assert NEED.plan({"ingest": 0.0}) == plan(1)


def test_first_plan__is_for_the_last_hour_before_the_start() -> None:
    whole = days_of(1)
    past, load = whole.between(START_S, START_S + 43200), whole.between(START_S + 43200, whole.end_s)
    # 80/s at noon, of which an instance carries 8/s at a utilisation of .8.
    assert contest(load, past).first() == plan(10)


def test_guard__follows_the_rules_that_guard_a_real_job() -> None:
    full = _seen(0.0, 4, busy=1.0, suspended=0.5, backlog=1200.0)
    decision = Guard(TOPOLOGY, GUARD).decide(full)
    # 15/s / .7, and (1,200 + 15 · 30) / 600 s: 24.2/s, where four instances manage 15/s.
    assert decision is not None
    assert decision.plan == plan(7)
    assert Guard(TOPOLOGY, GUARD).decide(_seen(0.0, 4)) is None
    settling = _seen(0.0, 4, busy=1.0, suspended=0.5, backlog=1200.0, running_since_s=-299.0)
    assert Guard(TOPOLOGY, GUARD).decide(settling) is None


def test_guard__gives_a_pair_up_that_keeps_failing() -> None:
    guard, plans = Guard(TOPOLOGY, GUARD), []
    for number in range(5):
        # Whatever it does, instances are full and take in no more.
        work = plans[-1] if plans else 4
        at_s = 1200.0 * number
        decision = guard.decide(
            _seen(at_s, work, busy=1.0, suspended=0.5, backlog=1200.0, running_since_s=at_s - 400.0 if plans else -1e9)
        )
        plans.append(work if decision is None else decision.plan["work"])
    assert plans[0] < plans[1] == plans[2] == plans[3] == plans[4]


@pytest.mark.slow
def test_guard__carries_a_day_alone() -> None:
    day = [20.0 + 15.0 * math.sin(2 * math.pi * minute / 1440) for minute in range(2880)]
    load = load_of(day)
    done = replay(Guard(TOPOLOGY, GUARD), load, reality(load), plan(2), most=MOST, max_instances=50)
    # A minute of .25/s more at most: never more than a window and a rescale behind.
    assert (done.lag_s > 180).sum() == 0
    assert len(done.decisions) < 24
