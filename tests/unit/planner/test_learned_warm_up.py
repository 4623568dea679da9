"""Warm-up learnt from deployments: what is seen of a speed, how it is kept, and the curve that it gives."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.rescaling.warm_up import NEW_JVM, WARM, WarmUp
from planner.catch_up import CatchUpWatch
from planner.clock import TraceClock
from planner.clusters.cluster import Accepted
from planner.clusters.simulator import SimulatedCluster
from planner.learned_warm_up import SpeedSample, learned_warm_up
from planner.ledger.ledger import Ledger

START = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
TWO, THREE = (PhysicalPlan("pair", {"source": 1, "work": count}) for count in (2, 3))


def _seen(curve: WarmUp, until_s: float, capacity_per_s: float = 100.0, predicted: float = 1.0) -> list[SpeedSample]:
    """Spans of 10 s of a job that was saturated until until_s. predicted: over the true capacity."""
    edges_s = np.arange(0.0, until_s + 1, 10.0)
    worked_s = edges_s - curve.lost_s(edges_s)
    return [
        SpeedSample(begin, end, capacity_per_s * worked / (end - begin), capacity_per_s * predicted)
        for begin, end, worked in zip(
            edges_s[:-1].tolist(), edges_s[1:].tolist(), np.diff(worked_s).tolist(), strict=True
        )
    ]


def test_learned__with_one_deployment_is_the_declared_curve() -> None:
    learned = learned_warm_up([_seen(WARM, 100.0)], NEW_JVM)
    assert (learned.warm_up, learned.deployments, learned.known) == (NEW_JVM, 0, 1)


@pytest.mark.parametrize("true", [WARM, WarmUp(0.5, 60.0), WarmUp(0.15, 300.0), WarmUp(0.1, 600.0)])
def test_learned__from_several_deployments_is_their_curve(true: WarmUp) -> None:
    learned = learned_warm_up([_seen(true, 120.0 if true is WARM else 200.0)] * 5, NEW_JVM)
    at_s = np.array([0.0, 10.0, 30.0, 60.0, 120.0, 200.0])
    assert np.abs(learned.warm_up.share(at_s) - true.share(at_s)).max() <= 0.04
    assert learned.deployments == 5


def test_learned__does_not_take_a_model_that_promises_too_much_for_a_slow_start() -> None:
    true = WarmUp(0.5, 60.0)
    learned = learned_warm_up([_seen(true, 300.0, predicted=1.25)] * 5, NEW_JVM)
    assert float(learned.warm_up.share(200.0)) >= 0.98


def test_learned__is_hardly_moved_by_one_odd_deployment() -> None:
    true = WarmUp(0.5, 120.0)
    odd = [SpeedSample(0.0, 100.0, 1.0, 100.0)]
    learned = learned_warm_up([*[_seen(true, 150.0)] * 6, odd], NEW_JVM)
    at_s = np.array([0.0, 30.0, 60.0, 120.0])
    assert np.abs(learned.warm_up.share(at_s) - true.share(at_s)).max() <= 0.08


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 300), st.floats(1, 60), st.floats(0, 1e6)), min_size=2, max_size=6))
def test_learned__from_whatever_was_seen_is_a_curve(spans: list[tuple[float, float, float]]) -> None:
    samples = [[SpeedSample(begin, begin + wide, speed, 1000.0)] for begin, wide, speed in spans]
    assert 0 < learned_warm_up(samples, NEW_JVM).warm_up.start_share <= 1


def _watched(
    folder: Path, topology: Topology, profiles: dict[str, OperatorProfile], warm_up: WarmUp, per_minute: float
) -> CatchUpWatch:
    """Looked at every 5 s for 5 min after a change from 2 to 3 instances, which manage 3/s."""
    clock = TraceClock(folder / "clock")
    clock.start_at(START)
    truth = ArrivalHistory("pair", {"source": ArrivalSeries("pair", "source", START, 60, np.full(600, per_minute))})
    cluster = SimulatedCluster(topology, profiles, TWO, 8, 25, truth, clock, folder, warm_up)
    cluster.state()
    clock.advance_to(START + timedelta(minutes=10))
    assert isinstance(cluster.apply(THREE, expected=TWO), Accepted)
    watch = CatchUpWatch(cluster, cluster.backlogs, capacity_per_s=3.0)
    clock.wait(25)
    for _ in range(60):
        since = cluster.state().running_since
        assert since is not None
        watch.look(since)
        clock.wait(5)
    return watch


def test_watch__sees_the_speed_of_a_job_that_warms_up(
    tmp_path: Path, pair: Topology, pair_profiles: dict[str, OperatorProfile]
) -> None:
    true = WarmUp(0.3, 100.0)
    watch = _watched(tmp_path, pair, pair_profiles, true, per_minute=110.0)
    assert len(watch.speeds) > 10
    for each in watch.speeds:
        worked_s = each.until_s - each.from_s - float(true.lost_s(each.until_s) - true.lost_s(each.from_s))
        assert each.taken_per_s == pytest.approx(3.0 * worked_s / (each.until_s - each.from_s), rel=0.02)
    learned = learned_warm_up([watch.speeds] * 4, NEW_JVM)
    at_s = np.array([0.0, 20.0, 50.0, 100.0])
    assert np.abs(learned.warm_up.share(at_s) - true.share(at_s)).max() <= 0.05


def test_watch__sees_no_speed_once_nothing_waits(
    tmp_path: Path, pair: Topology, pair_profiles: dict[str, OperatorProfile]
) -> None:
    # 25 s without processing leave 12.5 tuples, which 2.5/s drain in 5 s.
    watch = _watched(tmp_path, pair, pair_profiles, WARM, per_minute=30.0)
    assert watch.caught_up
    assert all(each.until_s <= 10 for each in watch.speeds)


def test_ledger__keeps_the_speeds_of_a_step(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    when = {"deploy_at": START, "expires_at": START + timedelta(hours=1), "at": START}
    ids = [
        ledger.record_hand_made_step(f"{number}", THREE, replaces=TWO, by="test", why="a test", **when)
        for number in range(3)
    ]
    first, again = _seen(NEW_JVM, 60.0), _seen(WARM, 40.0)
    ledger.speeds.record(ids[0], first)
    ledger.speeds.record(ids[1], first)
    ledger.speeds.record(ids[1], again)
    assert sorted(ledger.speeds.of_steps(ids), key=len) == [again, first]
    assert ledger.speeds.of_steps([ids[2]]) == []
