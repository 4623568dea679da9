"""A replay against hand arithmetic: what a policy sees, when its plans come to run, what waits meanwhile."""

import numpy as np
import pytest
from replay_cases import START_S, Scripted, days_of, load_of, plan, reality

from modeling.errors import ModelError
from modeling.rescaling.checkpoints import Checkpoints
from planner.clusters.engine_terms import EngineTerms
from planner.errors import PlanError
from planner.replay.policies.fixed_plans import AtMoments
from planner.replay.reality import Differences
from planner.replay.run import replay


def test_a_plan__runs_after_lead_and_downtime_and_its_backlog_drains_at_what_is_spare() -> None:
    load = load_of([15.0] * 30)
    # Asked for at minute 5, stopped at minute 7, running from minute 8 on.
    done = replay(Scripted({300: 3}, first=2), load, reality(load, EngineTerms(60.0, lead_s=120.0)), {})
    assert [each.in_effect_s for each in done.decisions] == [START_S + 480]
    assert done.down_s.tolist() == [0] * 7 + [60] + [0] * 22
    assert done.instances.tolist() == [3] * 7 + [4] * 23
    # 60 s of 15/s wait; three instances carry 30/s and leave 15/s to spare, which takes 60 s.
    assert done.backlog[7:10] == pytest.approx([900.0, 0.0, 0.0], abs=1e-6)
    assert done.lag_s[7] == pytest.approx(60.0)
    assert done.capacity_per_s[[0, 10]] == pytest.approx([20.0, 30.0])
    assert done.utilisation[[0, 20]] == pytest.approx([0.75, 0.5])


def test_fewer_instances__need_no_lead() -> None:
    load = load_of([5.0] * 10)
    done = replay(Scripted({120: 1}, first=3), load, reality(load, EngineTerms(30.0, lead_s=600.0)), {})
    assert [each.in_effect_s for each in done.decisions] == [START_S + 150]


def test_a_change__waits_until_the_engine_has_cooled_down() -> None:
    load = load_of([5.0] * 20)
    terms = EngineTerms(30.0, cooldown_s=300.0)
    done = replay(Scripted({120: 2, 180: 3}, first=1), load, reality(load, terms), {})
    # The first ends at 150 s; the second may begin 300 s later.
    assert [each.in_effect_s for each in done.decisions] == [START_S + 150, START_S + 150 + 300 + 30]


def test_a_swap__waits_for_the_operator_that_grows() -> None:
    # An instance from ingest to work: as many in all, and the new one of work is there after 600 s, up after 630.
    load = load_of([5.0] * 20)
    policy = AtMoments(
        "swap", [(load.start_s, {"ingest": 2, "work": 2}), (load.start_s + 120, {"ingest": 1, "work": 3})], "a swap"
    )
    done = replay(policy, load, reality(load, EngineTerms(30.0, lead_s=600.0)), {})
    assert done.decisions[0].in_effect_s == load.start_s + 120 + 630


def test_a_plan_that_is_overtaken_in_its_lead__never_takes_effect() -> None:
    load = load_of([5.0] * 20)
    terms = EngineTerms(30.0, lead_s=300.0)
    done = replay(Scripted({60: 3, 120: 4}, first=1), load, reality(load, terms), {})
    assert [each.in_effect_s for each in done.decisions] == [None, START_S + 120 + 300 + 30]
    assert done.instances.max() == 5


def test_a_restart__processes_again_what_came_after_the_last_whole_checkpoint() -> None:
    load = load_of([15.0] * 20)
    # Checkpoints begin each minute and take 10 s.
    terms = EngineTerms(30.0, checkpoints=Checkpoints(60.0, 10.0))
    done = replay(Scripted({300: 3}, first=2), load, reality(load, terms), {})
    # Stopped at 300 s: the checkpoint of 300 s has just begun, that of 240 s is whole. 60 s of 15/s come again, 30 s of
    # 15/s come meanwhile; then 15/s to spare for 30 s.
    assert done.backlog[5] == pytest.approx(60 * 15 + 30 * 15 - 30 * 15)
    assert done.lag_s[5] == pytest.approx(90.0)


def test_an_engine_that_rescales_on_completion__goes_back_to_the_checkpoint_it_waited_for() -> None:
    load = load_of([15.0] * 20)
    terms = EngineTerms(60.0, checkpoints=Checkpoints(60.0, 15.0, rescales_on_completion=True))
    done = replay(Scripted({300: 3}, first=2), load, reality(load, terms), {})
    assert [each.in_effect_s for each in done.decisions] == [START_S + 315 + 60]
    # 15 s of arrivals are processed again and 60 s come meanwhile: the oldest is 75 s old when it goes on.
    assert done.lag_s.max() == pytest.approx(75.0)


def test_state__lengthens_the_downtime() -> None:
    load = load_of([5.0] * 20)
    terms = EngineTerms(30.0, restore_s_per_gib=10.0, state_gib={"work": 3.0})
    done = replay(Scripted({120: 2}, first=1), load, reality(load, terms), {})
    assert done.decisions[0].in_effect_s == START_S + 120 + 30 + 30


def test_failures__stop_the_job_under_the_same_plan() -> None:
    load = days_of(1)
    done = replay(
        Scripted({}, first=12), load, reality(load, EngineTerms(40.0), Differences(failure_every_s=7200.0)), {}
    )
    assert set(done.instances.tolist()) == {13}
    stops = done.down_s.sum() / 40.0
    # Poisson with 12 expected: within 4 standard deviations.
    assert stops == pytest.approx(12, abs=14)
    assert stops > 0
    assert done.decisions == ()


def test_a_slow_instance__lowers_what_all_sustain_as_the_shuffle_gives_it_its_share() -> None:
    load = load_of([10.0] * 2880)
    wrong = Differences(slow_every_s=7200.0, slow_for_s=1800.0, slow_factor=2.0)
    done = replay(Scripted({}, first=4), load, reality(load, wrong=wrong), {})
    # Of four instances that get 1/4 each, one takes .2 s: full at 5/s · 4. Where ingest is slow nothing changes.
    assert set(done.capacity_per_s.round(6).tolist()) == {40.0, 20.0}


def test_service_times__differ_by_a_factor_of_the_seed() -> None:
    load = load_of([10.0] * 5)
    factors = [
        reality(load, wrong=Differences(seed, service_error=0.1)).profiles["work"].service_s for seed in range(200)
    ]
    assert len(set(factors)) == 200
    # The logarithm has a standard deviation of .1, estimated from 200 within 5 %.
    assert np.std(np.log(factors)) == pytest.approx(0.1, rel=0.2)
    same = reality(load, wrong=Differences(3, service_error=0.1, failure_every_s=3600.0)).profiles["work"].service_s
    assert same == factors[3]


def test_a_policy__sees_minutes_that_are_over_and_as_old_as_metrics_are_late() -> None:
    load, past = load_of([15.0] * 10), load_of([7.0] * 5, START_S - 300)
    policy = Scripted({}, first=2)
    replay(policy, load, reality(load), {}, past=past, metrics_delay_s=120.0)
    last = [each.measured.start_s[-1] - START_S for each in policy.seen]
    assert last == [-180, -120, -60, 0, 60, 120, 180, 240, 300, 360]
    known = policy.seen[-1].measured
    assert known.arrivals_per_s[:, 0].tolist() == [7.0] * 5 + [15.0] * 7
    # Before the start only arrivals are known.
    assert known.records_in_per_s[:5].tolist() == [[0.0, 0.0]] * 5
    assert known.records_in_per_s[-1].tolist() == pytest.approx([15.0, 15.0])
    assert known.streams_per_s[-1].tolist() == pytest.approx([15.0])
    assert known.busy[-1].tolist() == pytest.approx([0.0015, 0.75])


def test_backpressure__is_seen_before_the_operator_that_is_full() -> None:
    load = load_of([25.0] * 10)
    policy = Scripted({}, first=2)
    replay(policy, load, reality(load), {})
    known = policy.seen[-1].measured
    assert known.suspended[-1].tolist() == pytest.approx([0.998, 0.0], abs=1e-3)
    # 20/s get through, so 5/s more wait each second.
    assert known.backlog[-1].sum() == pytest.approx(5.0 * 60 * known.minutes)


def test_noise__is_in_what_is_seen_and_not_in_what_is_recorded() -> None:
    load = load_of([15.0] * 30)
    policy = Scripted({}, first=2)
    done = replay(policy, load, reality(load, wrong=Differences(metric_noise=0.05)), {})
    assert done.utilisation == pytest.approx(np.full(30, 0.75))
    assert len(set(policy.seen[-1].measured.busy[:, 1].tolist())) == policy.seen[-1].measured.minutes


@pytest.mark.slow
def test_how_often_a_policy_is_asked__does_not_change_what_happens() -> None:
    """A calm minute is one step where nobody asks, and several where somebody does."""
    load = days_of(1)
    often, seldom = Scripted({}, first=7), Scripted({}, first=7)
    often.every_s, seldom.every_s = 15.0, 86400.0
    one, other = (replay(each, load, reality(load), {}) for each in (often, seldom))
    assert one.lag_s == pytest.approx(other.lag_s, abs=1e-6)
    assert one.backlog == pytest.approx(other.backlog, rel=1e-9, abs=1e-6)
    assert one.lag_s.max() > 60


@pytest.mark.parametrize(
    ("work", "reason"),
    [(200, "max_parallelism"), (0, "whole number")],
)
def test_a_plan_that_cannot_run__is_refused(work: int, reason: str) -> None:
    load = load_of([15.0] * 10)
    with pytest.raises((PlanError, ModelError), match=reason):
        replay(Scripted({60: work}, first=2), load, reality(load), {})


def test_a_plan_of_too_many_instances__grows_as_far_as_it_may() -> None:
    load = load_of([15.0] * 10)
    done = replay(Scripted({60: 40}, first=2), load, reality(load), {}, max_instances=20)
    assert done.instances[-1] == 20
    done = replay(Scripted({60: 40}, first=2), load, reality(load), {}, most={"work": 7})
    assert done.instances[-1] == 8


def test_at_the_start__nothing_is_seen_where_nothing_is_known() -> None:
    load = load_of([15.0] * 3)
    policy = Scripted({}, first=2)
    replay(policy, load, reality(load), {})
    assert [each.measured.minutes for each in policy.seen] == [0, 0, 1]


def test_to_ask_for_the_plan_that_runs__gives_up_the_change_that_is_to_come() -> None:
    load = load_of([15.0] * 20)
    done = replay(Scripted({60: 3, 120: 2}, first=2), load, reality(load, EngineTerms(30.0, lead_s=300.0)), {})
    assert not done.down_s.any()
    assert set(done.instances.tolist()) == {3}


def test_what_runs_at_the_start__is_the_plan_that_was_given_unless_the_policy_has_its_own() -> None:
    load = load_of([15.0] * 3)
    policy = Scripted({}, first=2)
    assert replay(policy, load, reality(load), plan(5)).instances.tolist() == [3, 3, 3]
    policy.first = {}
    assert replay(policy, load, reality(load), plan(5)).instances.tolist() == [6, 6, 6]
