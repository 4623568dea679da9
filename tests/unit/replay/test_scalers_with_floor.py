"""Scalers of others with our schedule as a lower bound: in place before a step up, and their own above it."""

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
import pytest
from replay_cases import TOPOLOGY, contest, load_of, plan

from planner.replay.contest import POLICIES, Contest
from planner.replay.policies.flink_autoscaler import FlinkAutoscaler
from planner.replay.policies.hpa import HorizontalPodAutoscaler
from planner.replay.policies.planned import Offered
from planner.replay.policies.with_floor import HOLD_S, FlinkAutoscalerWithFloor, PodAutoscalerWithFloor
from planner.replay.policy import Decision, Seen
from planner.replay.run import Replayed, replay


def replayed(of: Contest, name: str) -> Replayed:
    return replay(POLICIES[name](of, 0), of.load, of.reality(0), of.first(), past=of.past)


def known(of: Contest) -> Contest:
    """Everything that will come is forecast."""
    return Contest(**{**vars(of), "forecasts": of.perfect()})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hpa-70", "flink-autoscaler-tuned"])
def test_a_step_up__is_met_before_it_comes(name: str) -> None:
    # Two hours of 20/s, then 90/s: the scaler alone sees it a minute later, and asks 120 s ahead of what it gets.
    of = known(contest(load_of([20.0] * 120 + [90.0] * 120), load_of([20.0] * 300, 1_700_006_400 - 300 * 60)))
    alone, with_floor = replayed(of, name), replayed(of, f"{name}-planned")
    assert np.count_nonzero(alone.lag_s > of.max_lag_s) > 0
    if name == "hpa-70":
        assert np.count_nonzero(with_floor.lag_s > of.max_lag_s) == 0
        assert with_floor.instances[121] >= 10
    # It is a bound, not a plan: what the scaler decides for itself stays.
    assert with_floor.instances[235] >= alone.instances[235] - 1


class Fixed:
    """Decides one plan at each moment, or nothing."""

    def __init__(self, work: int | None) -> None:
        self.work = work

    def decide(self, _: Seen) -> Decision | None:
        return None if self.work is None else Decision(plan(self.work), "as told")


class Schedule:
    def __init__(self, now: int | None, *coming: tuple[float, int]) -> None:
        self.offer = Offered({} if now is None else plan(now), tuple((at_s, plan(work)) for at_s, work in coming))

    def offered(self, _: Seen) -> Offered:
        return self.offer


def seen(work: int, at_s: float = 1000.0) -> Seen:
    measured = SimpleNamespace(last=lambda *_: SimpleNamespace(minutes=0))
    return Seen(at_s, plan(work), 0.0, changing=False, measured=measured)  # type: ignore[arg-type]


def asked(scaler: object, schedule: Schedule, work: int) -> Mapping[str, int] | None:
    policy = FlinkAutoscalerWithFloor("of flink", scaler, schedule)  # type: ignore[arg-type]
    decision = policy.decide(seen(work))
    return None if decision is None else decision.plan


def test_flinks_autoscaler__is_raised_to_the_plan_and_held_before_a_larger_one() -> None:
    assert asked(Fixed(3), Schedule(5), 4) == plan(5)
    assert asked(Fixed(7), Schedule(5), 4) == plan(7)
    # It would go from 8 to 3: while 6 come within the hold it goes to 6, and while 12 come it stays.
    assert asked(Fixed(3), Schedule(2, (1000 + HOLD_S, 6)), 8) == plan(6)
    assert asked(Fixed(3), Schedule(2, (1000 + HOLD_S, 12)), 8) is None
    assert asked(Fixed(3), Schedule(2, (1001 + HOLD_S, 12)), 8) == plan(3)
    # Without a plan, and before its first decision, it is as it was.
    assert asked(Fixed(3), Schedule(None), 8) == plan(3)
    assert asked(Fixed(None), Schedule(9), 8) is None


def test_an_autoscaler_of_pods__takes_the_plan_for_one_more_metric() -> None:
    scaler = HorizontalPodAutoscaler(TOPOLOGY, 0.7, plan(30))
    policy = PodAutoscalerWithFloor("of pods", scaler, Schedule(5))  # type: ignore[arg-type]
    # Its pods are too young for their CPU use to count: it scales up to the plan, and not down to it.
    up = policy.decide(seen(3))
    assert up is not None
    assert up.plan == plan(5)
    assert policy.decide(seen(9)) is None


def test_what_a_scaler_is_offered__takes_effect_by_its_time() -> None:
    offered = Offered(plan(2), ((100.0, plan(6)), (200.0, plan(4))))
    assert [offered.until(at_s)["work"] for at_s in (99.0, 100.0, 300.0)] == [2, 6, 6]
    assert Offered({}, ()).until(1.0) == {}
    assert isinstance(POLICIES["flink-autoscaler"](contest(load_of([1.0])), 0), FlinkAutoscaler)
