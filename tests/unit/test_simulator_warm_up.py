"""The simulator's jobs warm up: less is processed after a change or a failure, and nothing is lost."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.rescaling.recovery import recovery
from modeling.rescaling.warm_up import WARM, WarmUp
from planner.clock import TraceClock
from planner.clusters.cluster import Accepted
from planner.clusters.cluster_record import ClusterRecord
from planner.clusters.simulator import SimulatedCluster

START = datetime(2024, 3, 4, 8, 0, tzinfo=UTC)
CALLS = Topology("calls", (Operator("ingest"), Operator("work")), (Stream("ingest", "work"),))
PROFILES = {"ingest": OperatorProfile("ingest", 0.001), "work": OperatorProfile("work", 0.2)}
CURVE = WarmUp(0.25, 120.0)
TEN = timedelta(minutes=10)


def _plan(work: int) -> PhysicalPlan:
    """An instance of work manages 5 calls a second."""
    return PhysicalPlan("calls", {"ingest": 1, "work": work})


def _record(folder: Path, warm_up: WarmUp) -> ClusterRecord:
    """Half an hour with 10 calls a second; after ten minutes, and 30 s of downtime, 4 instances instead of 3."""
    counts = np.full(60, 600.0)
    truth = ArrivalHistory("calls", {"ingest": ArrivalSeries("calls", "ingest", START, 60, counts)})
    clock = TraceClock(folder / "clock")
    clock.start_at(START)
    simulator = SimulatedCluster(CALLS, PROFILES, _plan(3), 8, 30.0, truth, clock, folder, warm_up)
    simulator.state()
    clock.advance_to(START + TEN)
    assert isinstance(simulator.apply(_plan(4), expected=_plan(3)), Accepted)
    clock.advance_to(START + 3 * TEN)
    return simulator.record(START, START + 3 * TEN)


def test_simulator__is_warm_before_its_first_change_and_cold_after_it(tmp_path: Path) -> None:
    record = _record(tmp_path, CURVE)
    assert record.utilisation["work"][:10] == pytest.approx([10 / 15] * 10, rel=1e-3)
    # Full for the half minute after the downtime, though 10/s are half of what it carries warm.
    assert record.utilisation["work"][10] == pytest.approx(0.5, rel=1e-3)
    assert record.utilisation["work"][-1] == pytest.approx(0.5, rel=1e-3)


def test_simulator__catches_up_as_the_model_says(tmp_path: Path) -> None:
    record = _record(tmp_path, CURVE)
    told = recovery(10.0, 20.0, 30.0, warm_up=CURVE)
    behind = np.flatnonzero(np.asarray(record.backlog["ingest"]) > 0)
    # The minute in which the backlog ends: the change is at minute 10, the downtime ends half a minute later.
    assert behind[-1] + 1 == 10 + int((30.0 + float(told.catch_up_s)) // 60)
    assert max(record.lag_s) == pytest.approx(float(told.peak_lag_s), abs=5.0)


def test_simulator__loses_nothing_while_it_warms_up(tmp_path: Path) -> None:
    cold, warm = (_record(tmp_path / name, curve) for name, curve in (("cold", CURVE), ("warm", WARM)))
    assert sum(cold.processed["ingest"]) == pytest.approx(30 * 600.0)
    assert sum(warm.processed["ingest"]) == pytest.approx(30 * 600.0)


def test_simulator__at_full_speed_from_the_start_is_exactly_what_it_was(tmp_path: Path) -> None:
    plain, same = (_record(tmp_path / name, curve) for name, curve in (("a", WARM), ("b", WarmUp(1.0, 300.0))))
    assert all(np.array_equal(getattr(plain, name), getattr(same, name)) for name in ("lag_s", "down_s"))
    assert np.array_equal(plain.utilisation["work"], same.utilisation["work"])


def test_simulator__counts_a_cold_instance_as_busy_for_longer(tmp_path: Path) -> None:
    counts = np.full(60, 900.0)
    truth = ArrivalHistory("calls", {"ingest": ArrivalSeries("calls", "ingest", START, 60, counts)})
    clock = TraceClock(tmp_path / "clock")
    clock.start_at(START)
    simulator = SimulatedCluster(CALLS, PROFILES, _plan(3), 8, 30.0, truth, clock, tmp_path, CURVE)
    simulator.state()
    clock.advance_to(START + TEN)
    assert isinstance(simulator.apply(_plan(4), expected=_plan(3)), Accepted)
    clock.wait(30.0 + 60.0)
    # 15/s come and 20/s are carried warm, so all four are full through the first minute.
    samples = [each for each in simulator.operator_samples(60.0) if each.operator == "work"]
    worked_s = 60.0 - float(CURVE.lost_s(60.0))
    assert [each.busy_s for each in samples] == pytest.approx([60.0] * 4, rel=1e-3)
    assert sum(each.records_in for each in samples) == pytest.approx(20.0 * worked_s, rel=1e-3)
