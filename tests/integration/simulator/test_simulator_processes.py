"""Several processes share one simulator, and one that is killed leaves the state before its change or after it."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clock import TraceClock
from planner.clusters.cluster import Accepted, Refusal
from planner.clusters.simulator import SimulatedCluster

PROJECT = Path(__file__).resolve().parents[3]
START = datetime(2024, 3, 4, tzinfo=UTC)
WORK = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("shared", sys.argv[1])
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)
shared.work(shared.Path(sys.argv[2]), int(sys.argv[3]))
"""


def _shared_simulator(folder: Path) -> tuple[SimulatedCluster, TraceClock]:
    clock = TraceClock(folder / "clock")
    if not clock.path.exists():
        clock.start_at(START)
    topology = Topology("calls", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    profiles = {"a": OperatorProfile("a", 0.001), "b": OperatorProfile("b", 0.2)}
    counts = np.tile(np.repeat([300.0, 1200.0], 240), 3)  # four hours at 5/s, four at 20/s, for a day
    truth = ArrivalHistory("calls", {"a": ArrivalSeries("calls", "a", START, 60, counts)})
    plan = PhysicalPlan("calls", {"a": 1, "b": 3})
    return SimulatedCluster(topology, profiles, plan, 8, 25.0, truth, clock, folder / "simulator"), clock


def work(folder: Path, rounds: int) -> None:
    """What each process does: let two hours pass, look, and change between 3 and 4 instances, by compare-and-set."""
    simulator, clock = _shared_simulator(folder)
    for _ in range(rounds):
        clock.wait(2 * 3600)
        running = simulator.state().plan
        plan = PhysicalPlan("calls", {"a": 1, "b": 7 - running.parallelism["b"]})
        assert isinstance(simulator.apply(plan, expected=running), Accepted | Refusal)


def _process(folder: Path, rounds: int) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", WORK, __file__, str(folder), str(rounds)]
    return subprocess.Popen(arguments, cwd=PROJECT, env={**os.environ, "PYTHONPATH": str(PROJECT)})


def _nothing_is_lost(simulator: SimulatedCluster, clock: TraceClock) -> None:
    record = simulator.record(START, clock.now() + timedelta(days=1))
    assert record.minute.size > 0
    # Every minute once, none left out …
    assert (np.diff(record.minute) == np.timedelta64(60, "s")).all()
    # … and what waits at the end of each is what waited before, and came, and was not taken.
    waited_before = np.concatenate([[0.0], record.backlog["a"][:-1]])
    expected = waited_before + record.offered["a"] - record.processed["a"]
    assert record.backlog["a"] == pytest.approx(expected, abs=1e-6)


def test_simulator__survives_being_killed_at_any_moment(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    simulator, clock = _shared_simulator(tmp_path)
    simulator.state()
    for _ in range(2):
        before = clock.now()
        process = _process(tmp_path, rounds=10_000)
        deadline = time.monotonic() + 60
        while clock.now() == before and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.3))
        process.send_signal(signal.SIGKILL)
        assert process.wait(120) == -signal.SIGKILL
        _nothing_is_lost(simulator, clock)


def test_simulator__serves_several_processes_at_once(tmp_path: Path) -> None:
    simulator, clock = _shared_simulator(tmp_path)
    simulator.state()
    processes = [_process(tmp_path, rounds=5) for _ in range(3)]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    assert clock.now() == START + timedelta(hours=3 * 5 * 2)
    _nothing_is_lost(simulator, clock)
