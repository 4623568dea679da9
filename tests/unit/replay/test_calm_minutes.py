"""Minutes that are taken many at a time are what the simulator makes of them one by one."""

from collections.abc import Mapping

import numpy as np
import pytest
from replay_cases import START_S, load_of, reality

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.engine_terms import EngineTerms
from planner.clusters.simulator_course import started
from planner.plan_model import PlanModel
from planner.replay.calm_minutes import SPAN, CalmMinutes
from planner.replay.load import Load
from planner.replay.policy import Decision, Seen
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


def _replayed() -> Replayed:
    rng = np.random.default_rng(3)
    minutes = 2 * SPAN + 100
    wave = 30 - 25 * np.cos(2 * np.pi * np.arange(minutes) / 400)
    load = Load(START_S, {"a": wave * rng.uniform(0.8, 1.2, minutes), "b": 0.3 * wave})
    wrong = Differences(
        seed=1, service_error=0.1, metric_noise=0.1, slow_every_s=7200.0, slow_for_s=1234.0, failure_every_s=14400.0
    )
    truth = Reality(PlanModel(TWO_SOURCES, PROFILES), EngineTerms(45.0, lead_s=100.0), wrong, load.start_s, load.end_s)
    return replay(_Following(), load, truth, {"a": 1, "b": 1, "join": 3})


def test_calm_minutes__are_as_the_simulator_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    many = _replayed()
    monkeypatch.setattr(CalmMinutes, "until", lambda *_: None)
    one_by_one = _replayed()
    assert [(each.decided_s, each.plan) for each in many.decisions] == [
        (each.decided_s, each.plan) for each in one_by_one.decisions
    ]
    assert len(many.decisions) > 5
    assert many.down_s.sum() > 0
    for column in ("arrivals_per_s", "capacity_per_s", "parallelism", "backlog", "lag_s", "down_s", "utilisation"):
        assert getattr(many, column) == pytest.approx(getattr(one_by_one, column), rel=1e-12, abs=1e-12), column


def test_a_calm_span__ends_where_the_plan_carries_no_more() -> None:
    # Two instances carry 20 tuples a second: not those of minutes 4 and 5.
    load = load_of([15.0] * 4 + [25.0] * 2 + [15.0] * 4)
    world = reality(load)
    calm = CalmMinutes(load, world)
    state = started(world.network({"ingest": 1, "work": 2}, START_S), {"ingest": 1, "work": 2}, START_S)
    found = calm.until(state, START_S, load.end_s)
    assert found is not None
    assert found[:2] == (0, 4)
