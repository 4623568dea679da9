"""Replays, simulator and guard know that threads of services wait for calls, and have the planner's capacity."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from guard_bench import TERMS
from guard_windows import spread
from service_cases import MODEL, MST_PER_S, PROFILES, RUNNING, SERVICES, SHOP

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.services.pools import ServiceTerms, pool_of, service_saturation
from planner.clock import TraceClock
from planner.clusters.engine_terms import EngineTerms
from planner.clusters.simulator import SimulatedCluster
from planner.guard.sizing import Sizing
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.replay.contest import Contest, run_one
from planner.replay.load import Load
from planner.replay.need import Need
from planner.replay.policies.fixed_plans import StaticPlan
from planner.replay.reality import Differences, Reality
from planner.replay.run import Replayed, replay

LOAD_PER_S = 4.5
"""90 % busy under the running plan, and 15 % beyond what its threads let through."""
PLAN = PhysicalPlan("pair", RUNNING)
MINUTES = 120


def _contest(services: ServiceTerms | None, rate_per_s: float = LOAD_PER_S) -> Contest:
    return Contest(
        topology=SHOP,
        believed=PROFILES,
        load=Load(1_700_006_400, {"gate": np.full(MINUTES, rate_per_s)}),
        past=None,
        limits=Limits(max_utilisation=0.999, max_instances=20),
        engine=EngineTerms(30.0),
        max_lag_s=60.0,
        slot_s=900,
        quantile=0.95,
        step_s=300,
        horizon_s=3600,
        services=services,
    )


def _held(services: ServiceTerms | None) -> Replayed:
    """What the plan does that would carry the load if no thread waited."""
    contest = _contest(services)
    return replay(StaticPlan("held", RUNNING), contest.load, contest.reality(0), RUNNING)


def test_replay__of_services_takes_in_no_more_than_their_threads_let_through() -> None:
    held = _held(SERVICES)
    assert held.capacity_per_s == pytest.approx(np.full(MINUTES, MST_PER_S))
    assert np.diff(held.backlog) == pytest.approx(np.full(MINUTES - 1, 60 * (LOAD_PER_S - MST_PER_S)))
    assert _held(None).backlog == pytest.approx(np.zeros(MINUTES))


@pytest.mark.parametrize("policy", ["static-peak", "guard", "hindsight"])
def test_policies_of_a_replay__plan_for_what_threads_let_through(policy: str) -> None:
    done = run_one(_contest(SERVICES), policy, 0)
    assert done.capacity_per_s[-1] >= LOAD_PER_S
    assert done.backlog[-1] == pytest.approx(0.0, abs=1e-6)


def test_need__of_services_is_the_fewest_instances_whose_threads_let_the_load_through() -> None:
    need = Need(MODEL, Limits(max_utilisation=0.999, max_instances=20))
    counts = dict(need.plan({"gate": LOAD_PER_S}))
    assert MODEL.capacity_per_s(PhysicalPlan("pair", counts), {"gate": 1.0}) >= LOAD_PER_S
    # The strongest plan of all, where none carries it.
    few = Need(MODEL, Limits(max_utilisation=0.999, max_instances=3))
    assert sum(few.plan({"gate": LOAD_PER_S}).values()) == 3


def test_guard__of_services_adds_what_their_threads_lack() -> None:
    sizing = Sizing(spread(SHOP, MODEL, PLAN, {"gate": LOAD_PER_S}), replace(TERMS, model=MODEL))
    assert sizing.sustained_per_s(RUNNING) == pytest.approx(MST_PER_S)
    grown = sizing.grown()
    need_per_s = sum(sizing.need_per_s.values())
    assert MODEL.capacity_per_s(PhysicalPlan("pair", grown), {"gate": 1.0}) >= need_per_s
    # By busyness alone fewer would do.
    of_a_stream = Sizing(sizing.window, replace(TERMS, model=PlanModel(SHOP, PROFILES))).grown()
    assert sum(of_a_stream.values()) < sum(grown.values())


def test_simulator__of_services_takes_in_what_their_threads_let_through(tmp_path: Path) -> None:
    start = datetime(2024, 3, 4, 8, 0, tzinfo=UTC)
    clock = TraceClock(tmp_path / "clock")
    clock.start_at(start)
    truth = ArrivalHistory("pair", {"gate": ArrivalSeries("pair", "gate", start, 60, np.full(60, 60 * LOAD_PER_S))})
    shop = SimulatedCluster(SHOP, PROFILES, PLAN, 8, 30.0, truth, clock, tmp_path / "simulator", services=SERVICES)
    shop.state()
    clock.wait(1800)
    record = shop.record(start + timedelta(minutes=10), start + timedelta(minutes=20))
    assert record.processed["gate"] == pytest.approx(np.full(10, 60 * MST_PER_S))
    # Its instances are as busy as their work makes them, though nothing more gets through.
    assert record.utilisation["gate"] == pytest.approx(np.full(10, MST_PER_S / 5))


def test_reality_that_is_slower_than_believed__saturates_by_its_own_threads() -> None:
    reality = Reality(MODEL, EngineTerms(30.0), Differences(seed=4, service_error=0.02), 0.0, 3600.0)
    pools = {name: pool_of(reality.profiles[name], SERVICES.pools[name].threads) for name in SHOP.order}
    assert reality.profiles["gate"].service_s != PROFILES["gate"].service_s
    found = service_saturation(SHOP, reality.profiles, pools, RUNNING, {"gate": 1.0}, SERVICES.routing)
    (used,) = reality.network(RUNNING, 0.0).linear.rows[0].max(axis=0)
    assert 1 / used == pytest.approx(found.mst_per_s["gate"])


def test_two_entries__saturate_in_the_mix_of_the_replayed_load() -> None:
    shop = Topology("two", (Operator("a"), Operator("b"), Operator("back")), (Stream("a", "back"), Stream("b", "back")))
    profiles = {name: OperatorProfile(name, 0.2 if name != "back" else 0.1) for name in shop.order}
    pools = ServiceTerms({name: pool_of(profiles[name], 2) for name in shop.order}, SERVICES.routing)
    model, plan = PlanModel(shop, profiles, services=pools), {"a": 2, "b": 1, "back": 1}
    mix = {"a": 3.0, "b": 1.0}
    reality = Reality(model, EngineTerms(30.0), Differences(), 0.0, 3600.0, mix)
    network = reality.network(plan, 0.0)
    most = sum(network.linear.let_in_one((0.0, 0.0), (300.0, 100.0))[0])
    assert most == pytest.approx(model.capacity_per_s(PhysicalPlan("two", plan), mix))
    assert most < PlanModel(shop, profiles).capacity_per_s(PhysicalPlan("two", plan), mix)
