"""Load scripts by hand: when tuples are due, what logs tell, and what a rescale cost."""

from pathlib import Path

import numpy as np
import pytest
from flink_beside import KnownJob, positions, simulated
from load_script import LoadScript, LoadTrack, Stop

from forescale.local.demo.arrival_schedule import ArrivalSchedule
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.rescaling.checkpoints import Checkpoints

# 10 a second from 100 s on, none from 102 s on, 5 a second from 104 s on.
SCHEDULE = ArrivalSchedule((100.0,), (10.0,)).then(102.0, 0.0).then(104.0, 5.0)


def test_schedule__tells_how_many_are_due_and_when() -> None:
    moments_s = np.array([99.0, 101.0, 102.0, 103.0, 106.0])
    assert SCHEDULE.due(moments_s).tolist() == [0.0, 10.0, 20.0, 20.0, 30.0]
    assert SCHEDULE.due_s(np.array([10.0, 20.0, 30.0])).tolist() == [101.0, 102.0, 106.0]


def test_schedule__is_written_in_microseconds(tmp_path: Path) -> None:
    SCHEDULE.write(tmp_path, "orders")
    assert (tmp_path / "orders.schedule").read_text() == "100000000 10\n102000000 0\n104000000 5\n"


def log(file: Path, *ended_s_by_number: tuple[int, float]) -> None:
    """As Java writes it: when the tuple of that number, from 1 on, was due, and how long after that it ended."""
    file.parent.mkdir(exist_ok=True)
    body = b""
    for number, ended_s in ended_s_by_number:
        due_us = round(1e6 * float(SCHEDULE.due_s(np.array([float(number)]))[0]))
        body += due_us.to_bytes(8, "big") + (round(1e6 * ended_s) - due_us).to_bytes(4, "big")
    file.write_bytes(body)


def test_positions__go_back_to_what_was_restored(tmp_path: Path) -> None:
    # Four are taken in and two finished when the job stops at 101 s; it runs again at 103 s, and takes in the third.
    log(tmp_path / "taken" / "a.latencies", (1, 100.1), (2, 100.2), (3, 100.3), (4, 100.5))
    log(tmp_path / "taken" / "b.latencies", (3, 103.0), (4, 103.1), (5, 103.2))
    log(tmp_path / "sink-0.latencies", (1, 100.2), (4, 103.3))
    log(tmp_path / "sink-1.latencies", (2, 100.4), (3, 103.2))
    moments_s = np.array([100.0, 100.25, 100.9, 101.5, 103.05, 103.25, 104.0])
    taken, finished = positions(tmp_path, SCHEDULE, moments_s, [101.0])
    assert taken.tolist() == [0, 2, 4, 2, 3, 5, 5]
    assert finished.tolist() == [0, 1, 2, 2, 2, 3, 4]


def test_outcome__tells_the_most_that_waited_and_when_nobody_was_late_again() -> None:
    schedule = ArrivalSchedule((0.0,), (10.0,))
    at_s = np.arange(0.0, 9.0)
    # Down from 2 s to 4 s; then 20 a second are finished, and two are in buffers from then on.
    finished = np.array([0, 10, 20, 20, 20, 40, 58, 70, 80.0])
    track = LoadTrack.of(schedule, at_s, np.minimum(10 * at_s, finished + 2.0), finished, (Stop(2.0, 4.0),))
    outcome = track.outcome(0)
    assert (outcome.waiting_before, outcome.downtime_s) == (0.0, 2.0)
    assert (outcome.max_waiting, outcome.max_backlog) == (20.0, 18.0)
    # At 4 s the 21st is the oldest: it was due at 2.1 s. At 6 s it is the 59th, due at 5.9 s.
    assert outcome.max_lag_s == pytest.approx(1.9)
    assert outcome.recovery_s == 4.0
    # What began at 0 has no difference in per cent.
    longer = LoadTrack.of(schedule, at_s, finished, finished, (Stop(2.0, 5.0),)).outcome(0)
    differences = outcome.differences(longer)
    assert differences["downtime_s"] == pytest.approx(0.5)
    assert "waiting_before" not in differences


def test_simulated__goes_through_a_script() -> None:
    topology = Topology("beside", (Operator("in"), Operator("work")), (Stream("in", "work"),))
    profiles = {"in": OperatorProfile("in", 0.0), "work": OperatorProfile("work", 0.1)}
    few, many = (PhysicalPlan("beside", {"in": 1, "work": count}) for count in (2, 4))
    script = LoadScript(ArrivalSchedule((0.0, 10.0), (10.0, 30.0)), few, ((21.0, many),), 60.0)
    given = KnownJob(profiles, 4.0, Checkpoints(2.0, 0.5, rescales_on_completion=True), 30.0)
    found = simulated(topology, script, given)
    (stop,) = found.stops
    # The first checkpoint that is complete after 21 s is so at 22.5 s. By then 12.5 s have brought 10 a second more
    # than the 20 that are worked off; 30 of these are in buffers. The 4 s of downtime bring 120 more, and nothing is
    # read twice.
    assert (stop.stopped_s, stop.running_s) == (22.5, 26.5)
    outcome = found.outcome(0)
    assert outcome.waiting_before == pytest.approx(125.0, abs=3.0)  # a sample before it
    assert outcome.backlog_before == pytest.approx(outcome.waiting_before - 30.0)
    assert outcome.max_waiting == outcome.max_backlog == pytest.approx(245.0)
    # 10 a second are worked off; who is half a second late has 15 before him.
    assert outcome.recovery_s == pytest.approx(4.0 + 23.0, abs=0.3)
