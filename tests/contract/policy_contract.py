"""What every policy of a replay keeps to. A test module subclasses PolicyContract and gives the fixture `name`."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from replay_cases import START_S, TOPOLOGY, contest, days_of, load_of

from planner.replay.contest import POLICIES, Contest
from planner.replay.load import Load
from planner.replay.policy import Decision, Seen
from planner.replay.run import Replayed, replay

DAY_S = 86400


class PolicyContract:
    def test_a_policy__has_the_name_that_it_is_asked_for_by(self, name: str) -> None:
        assert POLICIES[name](_after_a_week(_morning()), 0).name == name

    def test_a_policy__is_asked_with_whole_minutes_or_parts_of_one(self, name: str) -> None:
        every_s = POLICIES[name](_after_a_week(_morning()), 0).every_s
        assert every_s > 0
        assert every_s % 60 == 0 or 60 % every_s == 0

    def test_a_plan__has_every_operator_and_a_decision_its_reason(self, name: str) -> None:
        one = _after_a_week(_morning())
        noted = _Noted(one, name)
        _run(one, noted)
        plans = [decision.plan for decision in noted.decisions]
        for plan in (*plans, *([noted.first] if noted.first is not None else [])):
            assert plan.keys() == set(TOPOLOGY.order)
            assert all(isinstance(count, int) and count >= 1 for count in plan.values()), plan
        assert all(decision.why.strip() for decision in noted.decisions)

    def test_the_same_metrics__are_decided_on_alike(self, name: str) -> None:
        one = _after_a_week(_morning())
        first, second = (_run(one, _Noted(one, name)) for _ in range(2))
        assert first.decisions == second.decisions
        assert np.array_equal(first.parallelism, second.parallelism)

    @pytest.mark.parametrize("rate_per_s", [0.0, 1e-3, 1e4], ids=["nothing", "next to nothing", "a flood"])
    def test_any_load__is_answered_by_plans_within_the_limits(self, name: str, rate_per_s: float) -> None:
        one = _after_a_week(np.full(180, rate_per_s))
        done = _run(one, _Noted(one, name))
        assert (done.parallelism >= 1).all()
        assert (done.parallelism.sum(axis=1) <= one.limits.max_instances).all()
        assert np.isfinite(done.lag_s).all()

    def test_no_metrics_yet__are_no_reason_to_fail(self, name: str) -> None:
        one = replace(_after_a_week(_morning()), metrics_delay_s=3600.0)
        assert _run(one, _Noted(one, name)).lag_s.size == one.load.minutes

    def test_a_load_that_never_changes__ends_in_one_plan(self, name: str) -> None:
        # 40 a second; an instance carries 10, and plans count on 8 of these.
        one = _after_a_week(np.full(360, 40.0), level=40.0)
        done = _run(one, _Noted(one, name))
        last_hour = done.parallelism[-60:]
        # DS2, autoscalers and HPAs may move once more by their hysteresis; nobody goes on and on.
        assert (np.diff(last_hour, axis=0) != 0).any(axis=1).sum() <= 1


class _Noted:
    """A policy, and what it decided."""

    def __init__(self, one: Contest, name: str) -> None:
        self._policy = POLICIES[name](one, 0)
        self.name, self.every_s = self._policy.name, self._policy.every_s
        self.first: Mapping[str, int] | None = self._policy.first
        self.decisions = list[Decision]()

    def decide(self, seen: Seen) -> Decision | None:
        decision = self._policy.decide(seen)
        if decision is not None:
            self.decisions.append(decision)
        return decision


def _run(one: Contest, policy: _Noted) -> Replayed:
    reality = one.reality(0, ahead=policy.name == "hindsight")
    return replay(
        policy,
        one.load,
        reality,
        one.first(),
        past=one.past,
        metrics_delay_s=one.metrics_delay_s,
        most=one.most,
        max_instances=one.limits.max_instances,
    )


def _morning() -> np.ndarray:
    """Six hours in which the load grows eightfold."""
    return np.asarray(days_of(1).rate_per_s["ingest"][:360])


def _after_a_week(rates_per_s: np.ndarray, level: float | None = None) -> Contest:
    """Of a load after eight days of another, with what truly comes for a forecast. level: of these days; otherwise each
    has its wave.
    """
    before_s = START_S - 8 * DAY_S
    past = days_of(8, start_s=before_s) if level is None else load_of([level] * 8 * 1440, before_s)
    load = Load(START_S, {"ingest": rates_per_s})
    one = contest(load, past)
    return replace(one, forecasts=one.perfect(), horizon_s=6 * 3600)
