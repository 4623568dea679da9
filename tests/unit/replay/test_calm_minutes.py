"""Minutes that are taken many at a time are what the simulator makes of them one by one."""

from collections.abc import Mapping

import numpy as np
import pytest
from replay_cases import START_S, TOPOLOGY, load_of, reality

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.engine_terms import EngineTerms
from planner.clusters.simulator_course import started
from planner.guard.terms import GuardTerms
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.replay.calm_minutes import SPAN, CalmMinutes
from planner.replay.load import Load
from planner.replay.policies.fixed_plans import AtMoments
from planner.replay.policies.guard import Guard
from planner.replay.policy import Decision, Policy, Seen
from planner.replay.reality import Differences, Reality
from planner.replay.run import Replayed, replay

TWO_SOURCES = Topology(
    "two", (Operator("a"), Operator("b"), Operator("join")), (Stream("a", "join"), Stream("b", "join"))
)
PROFILES = {"a": OperatorProfile("a", 0.01), "b": OperatorProfile("b", 0.02), "join": OperatorProfile("join", 0.1)}


class _Following:
    """Grows where anything waits, and shrinks where little is done: what it does depends on all that it sees."""

    name, every_s = "following", 60.0
    first: Mapping[str, int] | None = None

    def decide(self, seen: Seen) -> Decision | None:
        known = seen.measured
        if seen.changing or not known.minutes:
            return None
        waits, busy = float(known.backlog[-1].sum()), float(known.busiest[-1].max())
        more = int(waits > 0) - int(busy < 0.5 and seen.plan["join"] > 1)
        return Decision({**seen.plan, "join": seen.plan["join"] + more}, f"{waits} wait, {busy} busy") if more else None


def _replayed(policy: Policy, seed: int = 3, delay_s: float = 60.0) -> Replayed:
    rng = np.random.default_rng(seed)
    minutes = 2 * SPAN + 100
    wave = 30 - 25 * np.cos(2 * np.pi * np.arange(minutes) / 400)
    load = Load(START_S, {"a": wave * rng.uniform(0.8, 1.2, minutes), "b": 0.3 * wave})
    wrong = Differences(
        seed=1, service_error=0.1, metric_noise=0.1, slow_every_s=7200.0, slow_for_s=1234.0, failure_every_s=14400.0
    )
    truth = Reality(PlanModel(TWO_SOURCES, PROFILES), EngineTerms(45.0, lead_s=100.0), wrong, load.start_s, load.end_s)
    return replay(policy, load, truth, {"a": 1, "b": 1, "join": 3}, metrics_delay_s=delay_s)


def test_calm_minutes__are_as_the_simulator_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    many = _replayed(_Following())
    monkeypatch.setattr(CalmMinutes, "until", lambda *_: None)
    one_by_one = _replayed(_Following())
    assert [(each.decided_s, each.plan) for each in many.decisions] == [
        (each.decided_s, each.plan) for each in one_by_one.decisions
    ]
    assert len(many.decisions) > 5
    assert many.down_s.sum() > 0
    for column in ("arrivals_per_s", "capacity_per_s", "parallelism", "backlog", "lag_s", "down_s", "utilisation"):
        assert getattr(many, column) == pytest.approx(getattr(one_by_one, column), rel=1e-12, abs=1e-12), column


@pytest.mark.parametrize(("seed", "delay_s"), [(3, 60.0), (4, 0.0), (5, 150.0)])
@pytest.mark.parametrize("min_dwell_s", [0.0, 1200.0])
def test_a_guard_that_rests__decides_what_it_decides_if_asked_each_minute(
    seed: int, delay_s: float, min_dwell_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = GuardTerms(limits=Limits(max_utilisation=0.8), min_dwell_s=min_dwell_s)
    resting = _replayed(Guard(TWO_SOURCES, terms), seed, delay_s)
    monkeypatch.setattr(Guard, "rests", lambda *_: 0)
    asked = _replayed(Guard(TWO_SOURCES, terms), seed, delay_s)
    assert resting.decisions == asked.decisions
    assert len(asked.decisions) > 5
    for column in ("arrivals_per_s", "capacity_per_s", "parallelism", "backlog", "lag_s", "down_s", "utilisation"):
        assert getattr(resting, column).tolist() == getattr(asked, column).tolist(), column


def test_plans_at_moments__come_at_these_and_between_minutes_at_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    moments_s = [0.0, 3600.0, 3660.0, 7201.0, 86_400.0]
    changes = [(START_S + at_s, {"a": 1, "b": 1, "join": 3 + number}) for number, at_s in enumerate(moments_s)]
    resting = _replayed(AtMoments("planned", changes, "as planned"))
    assert [each.decided_s - START_S for each in resting.decisions] == [3600.0, 3660.0, 7260.0]
    monkeypatch.setattr(AtMoments, "rests", lambda *_: 0)
    asked = _replayed(AtMoments("planned", changes, "as planned"))
    assert resting.decisions == asked.decisions
    assert resting.lag_s.tolist() == asked.lag_s.tolist()


def test_a_guard_without_anything_to_do__is_asked_only_where_it_looks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """15/s keep two instances of 10/s 75 % busy for two days: it is asked once a span at most."""
    load = load_of([15.0] * 2 * 1440)
    asked = []
    monkeypatch.setattr(Guard, "decide", lambda _, seen: asked.append(seen.at_s))
    guard = Guard(TOPOLOGY, GuardTerms(limits=Limits(max_utilisation=0.8)))
    replayed = replay(guard, load, reality(load), {"ingest": 1, "work": 2})
    assert replayed.instances.tolist() == [3] * 2 * 1440
    assert len(asked) <= 2 * 1440 / SPAN


def test_a_calm_span__ends_where_the_plan_carries_no_more() -> None:
    # Two instances carry 20 tuples a second: not those of minutes 4 and 5.
    load = load_of([15.0] * 4 + [25.0] * 2 + [15.0] * 4)
    world = reality(load)
    calm = CalmMinutes(load, world)
    state = started(world.network({"ingest": 1, "work": 2}, START_S), {"ingest": 1, "work": 2}, START_S)
    found = calm.until(state, START_S, load.end_s)
    assert found is not None
    assert found[:2] == (0, 4)
