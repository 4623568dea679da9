"""The simulator against hand arithmetic: downtime, backlog, catch-up, counters, violations, and what it refuses."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from modeling.inputs.calls import Calls
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.clock import TraceClock
from planner.clusters.cluster import Accepted, Failed, Pending, Refusal, SourceBacklog, Status, Verified
from planner.clusters.simulator import SimulatedCluster
from planner.errors import ClusterError

START = datetime(2024, 3, 4, 8, 0, tzinfo=UTC)
CALLS = Topology("calls", (Operator("ingest"), Operator("transcribe")), (Stream("ingest", "transcribe"),))
PROFILES = {"ingest": OperatorProfile("ingest", 0.001), "transcribe": OperatorProfile("transcribe", 0.2)}


def _plan(transcribe: int) -> PhysicalPlan:
    """transcribe instances manage 5 calls a second each."""
    return PhysicalPlan("calls", {"ingest": 1, "transcribe": transcribe})


def _calls_per_s(*rates_per_s: float) -> ArrivalHistory:
    """A constant rate per hour; NaN for an hour that is missing."""
    counts = np.repeat(np.array(rates_per_s) * 60, 60)
    return ArrivalHistory("calls", {"ingest": ArrivalSeries("calls", "ingest", START, 60, counts)})


def _simulator(
    folder: Path,
    truth: ArrivalHistory,
    *,
    transcribe: int = 3,
    downtime_s: float = 30.0,
    topology: Topology = CALLS,
) -> tuple[SimulatedCluster, TraceClock]:
    """Started at START, with 3 instances that manage 15 calls a second."""
    clock = TraceClock(folder / "clock")
    clock.start_at(START)
    plan = _plan(transcribe)
    simulator = SimulatedCluster(topology, PROFILES, plan, 8, downtime_s, truth, clock, folder / "simulator")
    simulator.state()
    return simulator, clock


def _minute(number: int) -> datetime:
    return START + timedelta(minutes=number)


def test_record__has_no_backlog_and_the_utilisation_of_theory_below_capacity(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0))
    clock.wait(600)
    record = simulator.record(_minute(1), _minute(10))
    assert record.minute.size == 9
    assert record.offered["ingest"] == pytest.approx(np.full(9, 600.0))
    assert record.processed["ingest"] == pytest.approx(np.full(9, 600.0))
    assert record.backlog["ingest"] == pytest.approx(np.zeros(9))
    assert record.lag_s == pytest.approx(np.zeros(9))
    # 10 calls/s · 0.2 s / 3 instances = 2/3 busy; ingest 10 · 0.001.
    assert record.utilisation["transcribe"] == pytest.approx(np.full(9, 2 / 3))
    assert record.utilisation["ingest"] == pytest.approx(np.full(9, 0.01))
    assert record.instance_hours == pytest.approx(4 * 9 / 60)


def test_apply__leaves_the_backlog_of_the_downtime_that_drains_at_the_spare_rate(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0), transcribe=3, downtime_s=60.0)
    clock.advance_to(_minute(10))
    simulator.apply(_plan(4), expected=_plan(3))
    clock.advance_to(_minute(20))
    record = simulator.record(_minute(10), _minute(20))
    # Down from minute 10 to 11 at λ = 10/s: 600 wait. Then μ = 20/s leaves 10/s to spare, so they are gone after 60 s.
    # What the transcribers' buffer holds counts as taken: 100 calls then, 50 before, so half of that earlier.
    assert record.backlog["ingest"][0] == pytest.approx(600.0)
    assert record.backlog["ingest"][1] == pytest.approx(0.0, abs=1e-6)
    assert record.lag_s[0] == pytest.approx(60.0)
    assert record.processed["ingest"][:3] == pytest.approx([0.0, 1200.0, 600.0])
    assert record.down_s[:2] == pytest.approx([60.0, 0.0])
    assert list(record.parallelism["transcribe"][:2]) == [4, 4]
    # Downtime reaches the lag bound of 30 s within minute 10; in minute 11 the backlog is still being worked off.
    violated = simulator.record(_minute(10), _minute(20)).violations(30.0)
    assert list(violated) == [np.datetime64("2024-03-04T08:10:00"), np.datetime64("2024-03-04T08:11:00")]


def test_record__backlog_grows_by_what_is_beyond_capacity(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(25.0))
    clock.advance_to(_minute(30))
    record = simulator.record(_minute(10), _minute(30))
    # 25/s offered, 15/s managed: 10 · 60 more wait every minute, and the busiest instance never rests.
    assert np.diff(record.backlog["ingest"]) == pytest.approx(np.full(19, 600.0))
    assert record.utilisation["transcribe"] == pytest.approx(np.ones(20))
    # First come, first served: after t seconds 15 · t of 25 · t calls are taken, so the next one came 0.4 · t ago.
    assert record.lag_s[-1] == pytest.approx(0.4 * 1800)


def test_backlogs__are_of_now_and_unknown_where_the_truth_is(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(25.0, np.nan))
    clock.advance_to(_minute(30) + timedelta(seconds=30))
    # 10/s more than are managed wait after 1830 s, and the oldest came 0.4 · t ago.
    assert simulator.backlogs() == {"ingest": SourceBacklog(pytest.approx(18_300.0), pytest.approx(0.4 * 1830))}
    clock.advance_to(_minute(61))
    unknown = simulator.backlogs()["ingest"]
    assert (unknown.tuples, unknown.lag_s) == (None, None)
    assert unknown.unmeasured == "the simulator has no arrivals of source 'ingest' for this minute"


def test_operator_samples__tell_busy_and_backpressured_time_of_every_instance(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(25.0))
    clock.advance_to(_minute(20))
    samples = {(s.operator, s.index): s for s in simulator.operator_samples(120)}
    assert set(samples) == {("ingest", 0), ("transcribe", 0), ("transcribe", 1), ("transcribe", 2)}
    # Saturated at 15/s: each transcriber takes 5/s and is busy all the time; ingest works 15 · 0.001 of a second per
    # second, and waits for room for the rest.
    ingest, transcribe = samples["ingest", 0], samples["transcribe", 1]
    assert transcribe.span_s == pytest.approx(120)
    assert transcribe.busy_s == pytest.approx(120)
    assert transcribe.backpressured_s == 0
    assert transcribe.records_in == pytest.approx(600)
    assert transcribe.records_out == {}
    assert ingest.busy_s == pytest.approx(1.8)
    assert ingest.backpressured_s == pytest.approx(118.2)
    assert ingest.records_in == pytest.approx(1800)
    assert ingest.records_out == pytest.approx({"ingest->transcribe": 1800})


def test_operator_samples__reach_back_no_further_than_the_running_plan(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0))
    clock.advance_to(_minute(10))
    simulator.apply(_plan(2), expected=_plan(3))
    with pytest.raises(ClusterError, match=r"has measured nothing since the plan began to run .* ask again"):
        simulator.operator_samples(60)
    clock.advance_to(_minute(12))
    samples = simulator.operator_samples(3600)
    assert {sample.span_s for sample in samples} == {90.0}  # two minutes less 30 s of downtime
    # The 300 calls of the downtime still wait: 2 instances are busy all the time.
    assert [s.busy_s for s in samples if s.operator == "transcribe"] == pytest.approx([90.0, 90.0])


def test_record__counts_missing_time_as_unknown_and_without_arrivals(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0, np.nan))
    clock.advance_to(_minute(180))  # an hour after the truth has ended
    record = simulator.record(_minute(0), _minute(180))
    assert record.known.tolist() == [True] * 60 + [False] * 120
    assert record.offered["ingest"][60:].sum() == 0


@pytest.mark.slow
def test_state__does_not_depend_on_how_often_it_was_asked(tmp_path: Path) -> None:
    truth = _calls_per_s(14.0, 17.0)
    records = []
    for name, polls_s in {"seldom": [5400.0], "often": [36.7] * 147 + [5.1]}.items():
        simulator, clock = _simulator(tmp_path / name, truth)
        clock.wait(1801.7)
        simulator.apply(_plan(4), expected=_plan(3))
        for seconds in polls_s:
            clock.wait(seconds)
            simulator.state()
        records.append(simulator.record(_minute(0), _minute(120)))
    seldom, often = records
    assert np.array_equal(seldom.minute, often.minute)
    assert np.array_equal(seldom.backlog["ingest"], often.backlog["ingest"])
    assert np.array_equal(seldom.lag_s, often.lag_s)


def test_state__is_shared_by_all_who_use_the_folder(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0))
    clock.wait(60)
    simulator.apply(_plan(4), expected=_plan(3))
    other = SimulatedCluster(CALLS, PROFILES, _plan(1), 8, 30.0, _calls_per_s(10.0), clock, tmp_path / "simulator")
    state = other.state()
    assert state.plan == _plan(4)
    assert state.status is Status.RESCALING
    assert state.running_since is None
    assert state.free_slots == 3
    clock.wait(30)
    assert other.state().running_since == START + timedelta(seconds=90)


def test_state__is_read_from_files_that_tell_what_was_under_way_between_operators(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(25.0))
    clock.advance_to(_minute(10))
    simulator.state()
    # Until then the state had a number for every channel, the sources first: 50 calls were before the transcribers.
    with closing(sqlite3.connect(tmp_path / "simulator" / "simulator.db")) as connection:
        body = json.loads(connection.execute("SELECT body FROM simulator").fetchone()[0])
        body["content"].append(50.0)
        connection.execute("UPDATE simulator SET body = ?", (json.dumps(body),))
        connection.commit()
    clock.advance_to(_minute(20))
    record = simulator.record(_minute(0), _minute(20))
    assert record.backlog["ingest"] == pytest.approx(600.0 * np.arange(1, 21))
    taken = [s.records_in for s in simulator.operator_samples(600) if s.operator == "transcribe"]
    assert taken == pytest.approx([3000.0] * 3)


def test_progress__is_pending_while_down_then_tells_the_downtime(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0))
    accepted = simulator.apply(_plan(4), expected=_plan(3))
    assert isinstance(accepted, Accepted)
    clock.wait(29)
    assert isinstance(simulator.progress(accepted), Pending)
    clock.wait(1)
    assert simulator.progress(accepted) == Verified(_plan(4), START + timedelta(seconds=30), 30.0)


def test_progress__fails_when_somebody_put_another_plan_in_its_place(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0))
    accepted = simulator.apply(_plan(4), expected=_plan(3))
    assert isinstance(accepted, Accepted)
    clock.wait(60)
    simulator.apply(_plan(5), expected=_plan(4))
    progress = simulator.progress(accepted)
    assert isinstance(progress, Failed)
    assert "runs ingest 1 · transcribe 5, not ingest 1 · transcribe 4" in progress.reason
    undone = simulator.undo(accepted)
    assert isinstance(undone, Refusal)
    assert "not the plan to undo" in undone.reason


def test_apply__refuses_a_second_change_until_the_first_is_through(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0))
    simulator.apply(_plan(4), expected=_plan(3))
    clock.wait(10)
    refusal = simulator.apply(_plan(5), expected=_plan(4))
    assert isinstance(refusal, Refusal)
    assert refusal.reason.startswith("the simulator is rescaling until 2024-03-04 08:00:30+00:00")


def test_apply__refuses_more_instances_than_slots_with_the_numbers(tmp_path: Path) -> None:
    simulator, _ = _simulator(tmp_path, _calls_per_s(10.0))
    refusal = simulator.apply(_plan(9), expected=_plan(3))
    assert isinstance(refusal, Refusal)
    assert refusal.reason.startswith("the plan needs 10 instances > 8 slots; lower a parallelism by 2")


def test_apply__refuses_a_parallelism_beyond_the_operators_bound(tmp_path: Path) -> None:
    simulator, _ = _simulator(tmp_path, _calls_per_s(10.0))
    refusal = simulator.apply(_plan(129), expected=_plan(3))
    assert isinstance(refusal, Refusal)
    assert "129 of operator 'transcribe' > its max_parallelism 128" in refusal.reason


def test_apply__refuses_a_parallelism_that_custom_shares_do_not_fit(tmp_path: Path) -> None:
    calls = replace(CALLS, streams=(Stream("ingest", "transcribe", Grouping.CUSTOM, shares=(0.5, 0.3, 0.2)),))
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0), topology=calls)
    refusal = simulator.apply(_plan(4), expected=_plan(3))
    assert isinstance(refusal, Refusal)
    assert "4 of operator 'transcribe', to whose instances stream ingest->transcribe gives 3 shares" in refusal.reason
    clock.wait(60)
    assert simulator.state().plan == _plan(3)


def test_undo__of_a_change_under_way_starts_the_downtime_anew(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0))
    accepted = simulator.apply(_plan(4), expected=_plan(3))
    assert isinstance(accepted, Accepted)
    clock.wait(20)
    undone = simulator.undo(accepted)
    assert isinstance(undone, Accepted)
    clock.wait(30)
    # Down from 0 s to 20 + 30 s.
    assert simulator.progress(undone) == Verified(_plan(3), START + timedelta(seconds=50), 50.0)
    assert simulator.undo(accepted) == Accepted(_plan(3), _plan(4), clock.now())


def test_state__refuses_a_clock_that_went_back(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0))
    clock.wait(600)
    simulator.state()
    clock.start_at(START)
    with pytest.raises(ClusterError, match=r"is at 2024-03-04 08:10:00.* the clock shows 2024-03-04 08:00:00.* delete"):
        simulator.state()


def test_state__refuses_a_clock_that_is_a_century_ahead_at_once(tmp_path: Path) -> None:
    simulator, clock = _simulator(tmp_path, _calls_per_s(10.0))
    clock.start_at(START + timedelta(days=36_525))
    with pytest.raises(ClusterError, match=r"the clock shows 2124-.*, more than 31 days later; set the clock back"):
        simulator.state()
    clock.start_at(START + timedelta(minutes=1))
    assert simulator.state().status is Status.RUNNING


def test_state__refuses_a_folder_of_another_topology(tmp_path: Path) -> None:
    _, clock = _simulator(tmp_path, _calls_per_s(10.0))
    mails = Topology("mails", (Operator("ingest"),), ())
    truth = ArrivalHistory("mails", _calls_per_s(1.0).series)
    plan = PhysicalPlan("mails", {"ingest": 1})
    other = SimulatedCluster(mails, PROFILES, plan, 8, 30.0, truth, clock, tmp_path / "simulator")
    with pytest.raises(ClusterError, match="was started for topology 'calls'"):
        other.state()


def test_state__names_a_file_that_is_no_simulator(tmp_path: Path) -> None:
    simulator, _ = _simulator(tmp_path, _calls_per_s(10.0))
    (tmp_path / "simulator" / "simulator.db").write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(ClusterError, match=r"simulator\.db cannot be used: file is not a database"):
        simulator.state()


def test_samples__count_the_work_of_an_operator_and_not_its_wait_for_calls(tmp_path: Path) -> None:
    """Of 20 calls of 400 ms one ends every 20 ms; each of 15 tuples a second takes 4 ms of work beside its call."""
    clock = TraceClock(tmp_path / "clock")
    clock.start_at(START)
    profiles = PROFILES | {"transcribe": OperatorProfile("transcribe", 0.004, calls=Calls(20, 0.4))}
    simulator = SimulatedCluster(CALLS, profiles, _plan(1), 8, 30.0, _calls_per_s(15.0), clock, tmp_path / "simulator")
    simulator.state()
    clock.wait(600)
    (transcribe,) = (each for each in simulator.operator_samples(60) if each.operator == "transcribe")
    assert transcribe.busy_s == pytest.approx(60 * 15 * 0.004)
