"""Samples from accumulated counters: spans, sources, several outputs, restarts, and waiting for fresh numbers."""

import math
from copy import deepcopy
from datetime import UTC, datetime
from itertools import cycle
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.flink.recorded_flink import COUNT, JOB, SOURCE, SPLIT, TASK_MANAGER, RecordedFlink

from engines.flink.answers import Counters
from modeling.inputs.operator_profile import Feature
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.clusters.flink import FlinkCluster
from planner.clusters.flink_counters import operator_samples, shortest_span_s
from planner.errors import ClusterError

CHAIN = Topology(
    "word-count",
    (Operator("sentences"), Operator("split"), Operator("count")),
    (Stream("sentences", "split"), Stream("split", "count", Grouping.FIELDS)),
)
FORK = Topology(
    "fork",
    tuple(Operator(name) for name in ("source", "parse", "count", "alarm", "join")),
    (
        Stream("source", "parse"),
        Stream("parse", "count"),
        Stream("parse", "alarm", Grouping.ALL),
        Stream("parse", "join"),
        Stream("count", "join"),
        Stream("alarm", "join"),
    ),
)


def counters(read: float = 0, written: float = 0, busy: float = 0, idle: float = 0, waiting: float = 0) -> Counters:
    return Counters(records_read=read, records_written=written, busy_ms=busy, idle_ms=idle, backpressured_ms=waiting)


def test_samples__take_the_span_from_busy_idle_and_backpressured_time() -> None:
    before = {("split", 0): counters(read=100, written=500, busy=1000, idle=9000, waiting=0)}
    after = {("split", 0): counters(read=350, written=1750, busy=2000, idle=12000, waiting=1000)}
    (sample,) = operator_samples(CHAIN, before, after)
    assert sample.span_s == 5.0  # 1 s busy + 3 s idle + 1 s backpressured
    assert (sample.busy_s, sample.backpressured_s) == (1.0, 1.0)
    assert (sample.records_in, sample.records_out) == (250, {"split->count": 1250})


def test_samples__of_a_source_count_what_it_gives_out_as_taken_in() -> None:
    before = {("sentences", 0): counters()}
    after = {("sentences", 0): counters(read=0, written=40, idle=1000)}
    assert operator_samples(CHAIN, before, after)[0].records_in == 40
    assert operator_samples(CHAIN, before, after)[0].arrivals is None


def test_samples__of_a_source_that_counts_what_it_polls_tell_arrivals_from_what_its_chain_gives_out() -> None:
    # An aggregation is chained behind the source; its second instance has no partition.
    before = {("sentences", 0): counters(), ("sentences", 1): counters()}
    after = {
        ("sentences", 0): counters(read=4000, written=40, idle=1000),
        ("sentences", 1): counters(read=0, written=0, idle=1000),
    }
    busy, idle = operator_samples(CHAIN, before, after)
    assert (busy.arrivals, busy.records_in, busy.records_out) == (4000, 4000, {"sentences->split": 40})
    assert (idle.arrivals, idle.records_in) == (0, 0)


def test_samples__share_several_outputs_out_by_what_their_only_readers_read() -> None:
    after = {
        # parse wrote 300: 60 to count, 30 to alarm (each of its two copies reads all), so 210 to join.
        ("parse", 0): counters(read=100, written=200, idle=1000),
        ("parse", 1): counters(read=50, written=100, idle=1000),
        ("count", 0): counters(read=60, written=60, idle=1000),
        ("alarm", 0): counters(read=30, written=1, idle=1000),
        ("alarm", 1): counters(read=30, written=1, idle=1000),
    }
    before = {at: counters() for at in after}
    first = operator_samples(FORK, before, after)[0]
    # Instance 0 wrote two thirds of it.
    assert first.records_out == pytest.approx({"parse->count": 40, "parse->alarm": 20, "parse->join": 140})


def test_samples__bring_counts_of_other_vertices_to_the_same_span() -> None:
    # Collected over 12 s of parse and 14 s of those after it: parse read 1200 and count 840, so 60 % go there, not 70.
    after = {
        ("parse", 0): counters(read=1200, written=1320, busy=4000, idle=8000),
        ("count", 0): counters(read=840, idle=14_000),
        ("alarm", 0): counters(read=140, idle=14_000),
    }
    parse = operator_samples(FORK, {at: counters() for at in after}, after)[0]
    assert parse.records_out == pytest.approx({"parse->count": 720, "parse->alarm": 120, "parse->join": 480})


@given(
    written=st.lists(st.integers(0, 10_000), min_size=1, max_size=5),
    read=st.lists(st.integers(0, 10_000), min_size=1, max_size=5),
)
def test_samples__are_never_negative_and_cover_every_instance(written: list[int], read: list[int]) -> None:
    after = {("parse", i): counters(read=n, written=n, busy=500, idle=500) for i, n in enumerate(written)}
    after |= {("count", i): counters(read=n, busy=-2, idle=1002) for i, n in enumerate(read)}
    samples = operator_samples(FORK, {at: counters() for at in after}, after)
    assert [(sample.operator, sample.index) for sample in samples] == list(after)
    for sample in samples:
        assert sample.busy_s >= 0
        assert all(count >= 0 and math.isfinite(count) for count in sample.records_out.values())


JOIN = Topology(
    "join",
    tuple(Operator(name) for name in ("left", "right", "join")),
    (Stream("left", "join"), Stream("right", "join", Grouping.ALL)),
)


def test_samples__share_what_a_join_reads_by_what_its_inputs_wrote() -> None:
    after = {
        ("left", 0): counters(written=600, idle=5000),
        ("right", 0): counters(written=100, idle=5000),
        ("join", 0): counters(read=500, idle=5000),
        ("join", 1): counters(read=300, idle=5000),
    }
    samples = operator_samples(JOIN, {at: counters() for at in after}, after)
    by = {(sample.operator, sample.index): sample.records_in_by for sample in samples}
    # 600 of the left, and 100 of the right to both: 600 : 200
    assert by["join", 0] == pytest.approx({"left->join": 375.0, "right->join": 125.0})
    assert by["join", 1] == pytest.approx({"left->join": 225.0, "right->join": 75.0})
    assert by["left", 0] == {}


def test_samples__bring_what_inputs_wrote_to_the_same_span() -> None:
    after = {
        ("left", 0): counters(written=600, idle=6000),
        ("right", 0): counters(written=50, idle=5000),
        ("join", 0): counters(read=440, idle=4000),
    }
    join = operator_samples(JOIN, {at: counters() for at in after}, after)[-1]
    # 100 a second of the left, 10 of the right
    assert join.records_in_by == pytest.approx({"left->join": 400.0, "right->join": 40.0})


def test_samples__do_not_guess_the_mix_where_an_input_is_one_output_of_several() -> None:
    after = {
        (name, 0): counters(read=100, written=100, idle=5000) for name in ("source", "parse", "count", "alarm", "join")
    }
    samples = operator_samples(FORK, {at: counters() for at in after}, after)
    assert all(sample.records_in_by == {} for sample in samples)


def test_shortest_span__is_negative_across_a_restart() -> None:
    before = {("split", 0): counters(idle=9000), ("split", 1): counters(idle=9000)}
    assert shortest_span_s(before, {at: counters(idle=14000) for at in before}) == 5.0
    assert shortest_span_s(before, {("split", 0): counters(idle=14000), ("split", 1): counters(idle=100)}) < 0
    assert shortest_span_s(before, {("split", 0): counters(idle=14000)}) < 0


class RunningFlink(RecordedFlink):
    """The recorded job, whose clock and counters move as it is waited on; also the clock that is waited on."""

    def __init__(self, collect_every_s: float = 10.0) -> None:
        super().__init__()
        self.collect_every_s = collect_every_s
        self.elapsed_s = 0.0
        self.collected_s = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.job["now"] / 1000, UTC)

    def details(self) -> list[Any]:
        return [self.bodies[f"/jobs/{JOB}/vertices/{vertex}"] for vertex in (SOURCE, SPLIT, COUNT)]

    def wait(self, seconds: float) -> None:
        self.elapsed_s += seconds
        self.job["now"] += int(1000 * seconds)
        for vertex in self.details():
            vertex["now"] += int(1000 * seconds)
        if self.elapsed_s - self.collected_s >= self.collect_every_s:
            self.collect()

    def collect(self) -> None:
        moved_ms = 1000 * (self.elapsed_s - self.collected_s)
        self.collected_s = self.elapsed_s
        for vertex in self.details():
            for subtask in vertex["subtasks"]:
                # A quarter of the time busy, at 4 ms a record.
                subtask["metrics"]["accumulated-busy-time"] += moved_ms / 4
                subtask["metrics"]["accumulated-idle-time"] += moved_ms * 3 / 4
                subtask["metrics"]["read-records"] += moved_ms / 4 / 4
                subtask["metrics"]["write-records"] += moved_ms / 4 / 4


class AskedFlink(RunningFlink):
    """Collects counters as Flink does: because it was asked, while it answers, each time after another vertex."""

    def __init__(self) -> None:
        super().__init__(collect_every_s=math.inf)
        self.vertices = cycle([SOURCE, SPLIT, COUNT, SPLIT])
        self.collects_after = SOURCE

    def wait(self, seconds: float) -> None:
        super().wait(seconds)
        self.collects_after = next(self.vertices)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        response = super()._answer(request)
        if request.url.path.endswith(self.collects_after) and self.elapsed_s > self.collected_s:
            self.collect()
        return response


def measured(flink: RunningFlink, warm_s: float = 20.0) -> FlinkCluster:
    return FlinkCluster(
        "http://flink:8081", "word-count", CHAIN, warm_s=warm_s, clock=flink, transport=flink.transport()
    )


def test_operator_samples__wait_until_the_plan_is_warm_and_the_counters_have_moved() -> None:
    flink = RunningFlink()
    samples = measured(flink).operator_samples(15.0)
    # Recorded 7 s after the start, so it is warm after 13 s more. Counters are collected at 10, 20, 30 and 40 s: those
    # of 10 s are too old, and from 20 s it takes two collections to move by 15 s.
    assert flink.elapsed_s == 40
    assert len(samples) == 1 + 2 + 2
    for sample in samples:
        assert sample.span_s == pytest.approx(20.0)
        assert sample.busy_s / sample.records_in == pytest.approx(0.004)
        # 20 s after what was recorded 7 s after the start, at most: counters were collected before that.
        assert sample.age_s is not None
        assert 20 < sample.age_s < 27.2
        assert sample.parallelism == (1 if sample.operator == "sentences" else 2)
        assert sample.state_gib is None
    assert len({sample.began_s for sample in samples}) == 1


@pytest.mark.parametrize("span_s", [1.0, 3.0, 5.0, 7.0])
def test_operator_samples__cover_one_span_when_flink_collects_counters_while_they_are_read(span_s: float) -> None:
    samples = measured(AskedFlink()).operator_samples(span_s)
    assert [sample.span_s for sample in samples] == pytest.approx([samples[0].span_s] * 5)


_GC_TIME = "Status.JVM.GarbageCollector.All.Time"
_GC_COUNT = "Status.JVM.GarbageCollector.All.Count"


class ComputingFlink(RunningFlink):
    """Its task manager sees two cores, and used .3 of them and collected garbage twice, for .02 s, in every collected
    second.
    """

    def __init__(self, *, counts_gc: bool = True) -> None:
        super().__init__()
        self.counts_gc = counts_gc
        manager = self.bodies["/taskmanagers"]["taskmanagers"][0]
        manager["path"] = "pekko.tcp://flink@127.0.0.1:38573/user/rpc/taskmanager_0"
        manager["hardware"] = {"cpuCores": 2, "physicalMemory": 2**34, "freeMemory": 2**30, "managedMemory": 2**30}
        self.replace("GET", f"/taskmanagers/{TASK_MANAGER}/metrics", self._cpu_time)

    def _cpu_time(self, request: httpx.Request) -> httpx.Response:
        names = request.url.params["get"].split(",")
        if not self.counts_gc and _GC_TIME in names:
            return httpx.Response(200, json=[])  # as Flink answers where it does not know one of the names
        values = {
            "Status.JVM.CPU.Time": 0.3 * self.collected_s * 1e9,
            _GC_TIME: 0.02 * self.collected_s * 1e3,
            _GC_COUNT: 2 * self.collected_s,
        }
        return httpx.Response(200, json=[{"id": name, "value": f"{values[name]:.0f}"} for name in names])


def test_operator_samples__hold_the_cpu_of_their_task_manager_over_their_own_span() -> None:
    samples = measured(ComputingFlink()).operator_samples(15.0)
    for sample in samples:
        assert sample.container == TASK_MANAGER
        assert sample.container_cores == 2.0
        assert sample.container_cpu_s == pytest.approx(0.3 * sample.span_s)


def test_operator_samples__hold_the_pauses_of_their_task_manager_where_flink_counts_them() -> None:
    for sample in measured(ComputingFlink()).operator_samples(15.0):
        assert sample.gc_s == pytest.approx(0.02 * sample.span_s, abs=0.001)
        assert sample.gc_pauses == pytest.approx(2 * sample.span_s, abs=1)
    for sample in measured(ComputingFlink(counts_gc=False)).operator_samples(15.0):
        assert sample.gc_s is sample.gc_pauses is None
        assert sample.container_cpu_s == pytest.approx(0.3 * sample.span_s)


class SharedFlink(ComputingFlink):
    """Its task manager also runs a task of another job, busy for a tenth of each second, and one that has ended."""

    def __init__(self) -> None:
        super().__init__()
        gone, other = "a" * 32, "b" * 32
        self.bodies[f"/taskmanagers/{TASK_MANAGER}"]["allocatedSlots"] += [{"jobId": other}, {"jobId": gone}]
        vertex = {**self.bodies[f"/jobs/{JOB}"]["vertices"][0], "id": "c" * 32}
        self.bodies[f"/jobs/{other}"] = {**self.job, "jid": other, "vertices": [vertex]}
        self.replace("GET", f"/jobs/{other}/vertices/{vertex['id']}", self._of_other)

    def _of_other(self, _: httpx.Request) -> httpx.Response:
        details = deepcopy(self.bodies[f"/jobs/{JOB}/vertices/{SOURCE}"])
        busy_ms = 100 * self.collected_s
        details["subtasks"][0]["metrics"] |= {
            "accumulated-busy-time": busy_ms,
            "accumulated-idle-time": 1000 * self.collected_s - busy_ms,
            "accumulated-backpressured-time": 0.0,
            "read-records": 7 * self.collected_s,
        }
        return httpx.Response(200, json=details)


def test_operator_samples__hold_tasks_of_other_jobs_on_their_task_manager() -> None:
    for sample in measured(SharedFlink()).operator_samples(15.0):
        (task,) = sample.beside
        assert (task.busy_s, task.tuples) == pytest.approx((0.1 * sample.span_s, 7 * sample.span_s))
        assert sample.features == (Feature.OTHER_JOBS,)


def test_operator_samples__say_which_chain_ends_mini_batches() -> None:
    flink = RunningFlink()
    (split,) = (vertex for vertex in flink.job["vertices"] if vertex["name"] == "split")
    split["name"] = "split -> MiniBatchAssigner[3] -> LocalGroupAggregate[4]"
    names = {"split": split["name"]}
    cluster = FlinkCluster("http://flink:8081", "word-count", CHAIN, names, clock=flink, transport=flink.transport())
    features = {sample.operator: sample.features for sample in cluster.operator_samples(15.0)}
    assert features == {"sentences": (), "split": (Feature.MINI_BATCHES,), "count": ()}


def test_operator_samples__name_no_container_of_a_flink_that_reports_no_cpu() -> None:
    assert {sample.container for sample in measured(RunningFlink()).operator_samples(15.0)} == {None}


def test_operator_samples__are_of_jobs_under_any_scheduler() -> None:
    flink = RunningFlink()
    flink.job["schedulerType"] = "Default"
    flink.replace("GET", f"/jobs/{JOB}/resource-requirements", lambda _: httpx.Response(404, json={"errors": ["no"]}))
    assert {sample.operator for sample in measured(flink).operator_samples(15.0)} == {"sentences", "split", "count"}


def test_state__is_that_of_the_last_checkpoint_dealt_out_evenly() -> None:
    flink = RunningFlink()
    flink.bodies[f"/jobs/{JOB}/checkpoints"] = {"latest": {"completed": {"id": 17, "state_size": 2**30}}}
    flink.bodies[f"/jobs/{JOB}/checkpoints/details/17"] = {"tasks": {COUNT: {"id": COUNT, "state_size": 2**30}}}
    samples = measured(flink).operator_samples(15.0)
    assert {(sample.operator, sample.state_gib) for sample in samples} == {
        ("sentences", None),
        ("split", None),
        ("count", 0.5),
    }


@pytest.mark.parametrize(
    ("config", "features"),
    [
        (None, set()),
        ({"interval": 10000, "unaligned_checkpoints": False, "state_backend": "HashMapStateBackend"}, set()),
        ({"unaligned_checkpoints": True, "state_backend": "HashMapStateBackend"}, {Feature.UNALIGNED_CHECKPOINTS}),
        ({"state_backend": "EmbeddedRocksDBStateBackend"}, {Feature.STATE_ON_DISK}),
    ],
)
def test_operator_samples__say_what_the_model_leaves_out_of_the_job(
    config: dict[str, Any] | None, features: set[Feature]
) -> None:
    flink = RunningFlink()
    if config is not None:
        flink.bodies[f"/jobs/{JOB}/checkpoints/config"] = config
    assert {sample.features for sample in measured(flink).operator_samples(15.0)} == {tuple(features)}


@pytest.mark.parametrize("latest", [{}, {"latest": None}, {"latest": {"completed": None}}])
def test_state__is_not_told_before_the_first_checkpoint(latest: dict[str, Any]) -> None:
    flink = RunningFlink()
    flink.bodies[f"/jobs/{JOB}/checkpoints"] = latest
    assert {sample.state_gib for sample in measured(flink).operator_samples(15.0)} == {None}


def test_operator_samples__do_not_use_counters_of_the_execution_before() -> None:
    flink = RunningFlink(collect_every_s=1.0)
    for subtask in flink.details()[1]["subtasks"]:
        subtask["metrics"]["accumulated-idle-time"] += 3_600_000  # an hour, of a job that started a minute ago
    with pytest.raises(ClusterError, match="did not move by 5 s"):
        measured(flink).operator_samples(5.0)


def test_operator_samples__leave_out_a_source_whose_busy_time_flink_cannot_tell() -> None:
    flink = RunningFlink(collect_every_s=1.0)
    flink.details()[0]["subtasks"][0]["metrics"]["accumulated-busy-time"] = "NaN"
    # A NaN stays NaN however the recorded counters move.
    flink.details()[0]["subtasks"][0]["metrics"] = _Frozen(flink.details()[0]["subtasks"][0]["metrics"])
    samples = measured(flink).operator_samples(5.0)
    assert {sample.operator for sample in samples} == {"split", "count"}


class _Frozen(dict[str, Any]):
    def __setitem__(self, key: str, value: Any) -> None:
        pass

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        return 0 if value == "NaN" else value


def test_operator_samples__give_up_on_counters_that_stand_still() -> None:
    with pytest.raises(ClusterError, match="see whether its task managers answer"):
        measured(RunningFlink(collect_every_s=math.inf)).operator_samples(5.0)


def test_operator_samples__of_a_job_that_never_runs_end_with_an_error() -> None:
    flink = RunningFlink()
    flink.job["vertices"][2]["tasks"].update(RUNNING=0, INITIALIZING=2)
    with pytest.raises(ClusterError, match="has not run for 20 s"):
        measured(flink).operator_samples(5.0)


def test_operator_samples__leave_out_a_subtask_that_has_finished() -> None:
    flink = RunningFlink()
    flink.job["vertices"][1]["tasks"].update(RUNNING=1, FINISHED=1)
    ended = flink.bodies[f"/jobs/{JOB}/vertices/{SPLIT}"]["subtasks"].pop(1) | {"status": "FINISHED"}
    flink.details()[1]["subtasks"].append(dict(ended, metrics=dict(ended["metrics"])))
    samples = measured(flink).operator_samples(15.0)
    assert sorted((one.operator, one.index) for one in samples) == [
        ("count", 0),
        ("count", 1),
        ("sentences", 0),
        ("split", 0),
    ]
