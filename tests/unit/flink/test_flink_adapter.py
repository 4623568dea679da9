"""The Flink adapter on recorded answers: what it reads, what it refuses, and answers a healthy cluster never gives."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest
from unit.flink.recorded_flink import COUNT, JOB, SOURCE, SPLIT, RecordedFlink, recorded, recorded_status

from engines.flink.rest import FlinkRest
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.clusters.cluster import Accepted, Failed, Pending, Refusal, SourceBacklog, Status, Verified
from planner.clusters.flink import FlinkCluster
from planner.errors import ClusterError

DECLARED = Topology(
    "word-count",
    (Operator("sentences"), Operator("split"), Operator("count")),
    (Stream("sentences", "split"), Stream("split", "count", Grouping.FIELDS)),
)
RUNNING = PhysicalPlan("word-count", {"sentences": 1, "split": 2, "count": 2})
WIDER = PhysicalPlan("word-count", {"sentences": 1, "split": 2, "count": 4})
RESTARTED = "ffffffffffffffffffffffffffffffff"
REQUIREMENTS = f"/jobs/{JOB}/resource-requirements"


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


# The last count subtask was deployed at …5657, then took 113 ms to deploy and 139 ms to restore its state.
RUNNING_SINCE = moment(1795161615657 + 113 + 139)


@pytest.fixture
def flink() -> RecordedFlink:
    return RecordedFlink()


@pytest.fixture
def cluster(flink: RecordedFlink) -> FlinkCluster:
    return FlinkCluster("http://flink:8081", "word-count", DECLARED, transport=flink.transport())


def ask(flink: RecordedFlink, **upper: int) -> None:
    """Let the recorded job have been asked for another parallelism."""
    vertices = {"sentences": SOURCE, "split": SPLIT, "count": COUNT}
    for name, count in upper.items():
        flink.requirements[vertices[name]]["parallelism"]["upperBound"] = count


def test_state__tells_plan_slots_and_when_the_last_task_began_to_run(cluster: FlinkCluster) -> None:
    state = cluster.state()
    assert state.plan == RUNNING
    assert state.status is Status.RUNNING
    assert state.free_slots == 2
    assert state.running_since == RUNNING_SINCE
    assert state.observed_at == moment(1795161622739)


def test_state__is_rescaling_while_more_was_asked_for_than_runs(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    ask(flink, count=4)
    assert cluster.state().status is Status.RESCALING


def test_state__is_running_when_more_was_asked_for_than_there_are_slots(
    flink: RecordedFlink, cluster: FlinkCluster
) -> None:
    ask(flink, count=5)  # of 4 slots: Flink runs what fits, nothing will change
    assert cluster.state().status is Status.RUNNING


def test_state__is_rescaling_while_tasks_restore_their_state(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    flink.job["vertices"][2]["tasks"].update(RUNNING=1, INITIALIZING=1)
    state = cluster.state()
    assert (state.status, state.running_since) == (Status.RESCALING, None)


def finish(flink: RecordedFlink, vertex: int, *subtasks: int) -> None:
    """Let those subtasks of the recorded job have read their input to its end."""
    tasks = flink.job["vertices"][vertex]["tasks"]
    tasks.update(RUNNING=tasks["RUNNING"] - len(subtasks), FINISHED=len(subtasks))
    for subtask in subtasks:
        flink.bodies[f"/jobs/{JOB}/vertices/{(SOURCE, SPLIT, COUNT)[vertex]}"]["subtasks"][subtask]["status"] = (
            "FINISHED"
        )


def test_state__is_running_while_any_task_runs_and_all_others_have_finished(
    flink: RecordedFlink, cluster: FlinkCluster
) -> None:
    finish(flink, 0, 0)  # a bounded source beside what works on
    finish(flink, 1, 1)  # one of two subtasks
    state = cluster.state()
    assert (state.status, state.plan) == (Status.RUNNING, RUNNING)
    assert state.running_since == RUNNING_SINCE


def test_progress__is_verified_although_a_source_has_finished(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    finish(flink, 0, 0)
    accepted = Accepted(RUNNING, WIDER, moment(1795161610000))
    assert isinstance(cluster.progress(accepted), Verified)


def test_state__is_rescaling_when_no_task_runs_any_more(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    for vertex, subtasks in enumerate([(0,), (0, 1), (0, 1)]):
        finish(flink, vertex, *subtasks)
    assert cluster.state().status is Status.RESCALING  # Flink is about to call the job finished


def test_backlog__of_a_source_that_has_finished_is_empty(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    finish(flink, 0, 0)
    assert cluster.backlogs() == {"sentences": SourceBacklog(0.0, 0.0)}


def test_state__of_a_cancelled_job_is_down_without_asking_for_its_requirements(
    flink: RecordedFlink, cluster: FlinkCluster
) -> None:
    flink.bodies["/jobs/overview"]["jobs"][0]["state"] = "CANCELED"
    flink.bodies[f"/jobs/{JOB}"] = recorded("job_canceled") | {"jid": JOB, "name": "word-count"}
    flink.replace("GET", REQUIREMENTS, lambda _: httpx.Response(500, json=recorded("canceled_req")))
    assert cluster.state().status is Status.DOWN


def test_operators__are_found_under_the_vertex_name_that_is_given(flink: RecordedFlink) -> None:
    flink.job["vertices"][1]["name"] = "Tokenizer -> Lower case"
    named = FlinkCluster(
        "http://flink:8081",
        "word-count",
        DECLARED,
        {"split": "Tokenizer -> Lower case"},
        transport=flink.transport(),
    )
    assert named.state().plan == RUNNING
    unnamed = FlinkCluster("http://flink:8081", "word-count", DECLARED, transport=flink.transport())
    with pytest.raises(ClusterError, match=r"0 vertices for operator 'split'.*'Tokenizer -> Lower case'.*name one in"):
        unnamed.state()


def test_apply__asks_for_every_vertex_with_the_plan_as_upper_bound(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    assert cluster.apply(WIDER, expected=RUNNING) == Accepted(WIDER, RUNNING, moment(1795161622739))
    assert flink.asked == [
        {
            SOURCE: {"parallelism": {"lowerBound": 1, "upperBound": 1}},
            SPLIT: {"parallelism": {"lowerBound": 1, "upperBound": 2}},
            COUNT: {"parallelism": {"lowerBound": 1, "upperBound": 4}},
        }
    ]


def test_apply__leaves_vertices_that_are_no_operator_as_they_were(flink: RecordedFlink) -> None:
    without_source = Topology("word-count", DECLARED.operators[1:], DECLARED.streams[1:])
    cluster = FlinkCluster("http://flink:8081", "word-count", without_source, transport=flink.transport())
    before = PhysicalPlan("word-count", {"split": 2, "count": 2})
    cluster.apply(PhysicalPlan("word-count", {"split": 2, "count": 4}), expected=before)
    assert flink.asked[0][SOURCE] == {"parallelism": {"lowerBound": 1, "upperBound": 1}}


def test_apply__counts_slots_per_slot_sharing_group(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    # In one group 4 counts and 2 splits share 4 slots; in groups of their own they need 1 + 2 + 4 = 7 > 2 + 2.
    for vertex in flink.job["vertices"]:
        vertex["slotSharingGroupId"] = vertex["id"]
    refusal = cluster.apply(WIDER, expected=RUNNING)
    assert isinstance(refusal, Refusal)
    assert "needs 7 slots > 4 (2 held by the job, 2 free)" in refusal.reason
    assert "add 3 slots" in refusal.reason
    assert flink.asked == []


def test_apply__refuses_more_than_the_jobs_own_max_parallelism(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    flink.job["vertices"][2]["maxParallelism"] = 3
    refusal = cluster.apply(WIDER, expected=RUNNING)
    assert isinstance(refusal, Refusal)
    assert "parallelism 4 of operator 'count' > its max_parallelism 3" in refusal.reason


def test_apply__refuses_while_the_job_is_on_its_way_to_another_plan(
    flink: RecordedFlink, cluster: FlinkCluster
) -> None:
    ask(flink, count=3)
    refusal = cluster.apply(WIDER, expected=RUNNING)
    assert isinstance(refusal, Refusal)
    assert "on its way" in refusal.reason
    assert "count 3" in refusal.reason
    assert flink.asked == []


def test_apply__tells_flinks_own_refusal_without_its_stack_trace(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    status, body = recorded_status("put_unknown_vertex"), recorded("put_unknown_vertex")
    flink.replace("PUT", REQUIREMENTS, lambda _: httpx.Response(status, json=body))
    refusal = cluster.apply(WIDER, expected=RUNNING)
    assert isinstance(refusal, Refusal)
    assert "was not found in the JobGraph" in refusal.reason
    assert "\tat " not in refusal.reason


def test_progress__is_pending_until_parallelism_and_tasks_are_there_then_verified_with_its_downtime(
    flink: RecordedFlink, cluster: FlinkCluster
) -> None:
    before = replace(RUNNING, parallelism={"sentences": 1, "split": 1, "count": 1})
    # Recorded: the rescale began at …4650, and stopped the tasks at …5533.
    accepted = Accepted(RUNNING, before, moment(1795161614640))
    count = flink.job["vertices"][2]
    count["parallelism"] = 1
    count["tasks"].update(RUNNING=1)
    assert isinstance(cluster.progress(accepted), Pending)
    count["parallelism"] = 2
    count["tasks"].update(RUNNING=1, INITIALIZING=1)
    pending = cluster.progress(accepted)
    assert isinstance(pending, Pending)
    assert "count: 1 RUNNING, 1 INITIALIZING" in pending.reason
    count["tasks"].update(RUNNING=2, INITIALIZING=0)
    # From …5533 to …5909, when the last subtask had restored its state: 376 ms.
    assert cluster.progress(accepted) == Verified(RUNNING, RUNNING_SINCE, 0.376)


def test_progress__tells_no_downtime_where_flink_keeps_no_rescale_history(
    flink: RecordedFlink, cluster: FlinkCluster
) -> None:
    del flink.bodies[f"/jobs/{JOB}/rescales/history"]
    before = replace(RUNNING, parallelism={"sentences": 1, "split": 1, "count": 1})
    progress = cluster.progress(Accepted(RUNNING, before, moment(1795161614640)))
    assert progress == Verified(RUNNING, RUNNING_SINCE, None)


def test_progress__tells_the_state_of_the_last_checkpoint(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    flink.bodies[f"/jobs/{JOB}/checkpoints"] = {"latest": {"completed": {"id": 17, "state_size": 3 * 2**29}}}
    flink.bodies[f"/jobs/{JOB}/checkpoints/details/17"] = {
        "tasks": {COUNT: {"id": COUNT, "state_size": 2**30}, SPLIT: {"id": SPLIT, "state_size": 2**29}}
    }
    before = replace(RUNNING, parallelism={"sentences": 1, "split": 1, "count": 1})
    progress = cluster.progress(Accepted(RUNNING, before, moment(1795161614640)))
    assert isinstance(progress, Verified)
    assert progress.state_gib == 1.5


def test_progress__fails_when_the_job_has_failed(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    flink.job["state"] = "FAILED"
    failed = cluster.progress(Accepted(WIDER, RUNNING, RUNNING_SINCE))
    assert isinstance(failed, Failed)
    assert "FAILED" in failed.reason


def test_progress__fails_when_somebody_else_asked_for_another_plan(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    ask(flink, count=3)
    failed = cluster.progress(Accepted(WIDER, RUNNING, RUNNING_SINCE))
    assert isinstance(failed, Failed)
    assert "sentences 1 · split 2 · count 3" in failed.reason


def restart(flink: RecordedFlink, submitted_ms: int) -> None:
    """Let the recorded job have ended, and another of its name run in its place."""
    old, new = f"/jobs/{JOB}", f"/jobs/{RESTARTED}"
    for path in [path for path in flink.bodies if path.startswith(old)]:
        flink.bodies[new + path.removeprefix(old)] = flink.bodies.pop(path)
    flink.bodies[new].update({"jid": RESTARTED, "start-time": submitted_ms})
    jobs = flink.bodies["/jobs/overview"]["jobs"]
    jobs[0]["state"] = "FINISHED"
    jobs.append({**jobs[0], "jid": RESTARTED, "state": "RUNNING", "start-time": submitted_ms})


def test_progress__follows_the_job_to_the_id_under_which_it_was_restarted(
    flink: RecordedFlink, cluster: FlinkCluster
) -> None:
    # Accepted at …0000, submitted anew with the same plan at …0235.
    before = replace(RUNNING, parallelism={"sentences": 1, "split": 1, "count": 1})
    accepted = Accepted(RUNNING, before, moment(1795161610000))
    restart(flink, 1795161610235)
    progress = cluster.progress(accepted)
    assert isinstance(progress, Verified)
    assert (progress.plan, progress.running_since) == (RUNNING, RUNNING_SINCE)


def test_progress__fails_with_the_new_id_where_the_restarted_job_has_another_plan(
    flink: RecordedFlink, cluster: FlinkCluster
) -> None:
    restart(flink, 1795161610235)
    failed = cluster.progress(Accepted(WIDER, RUNNING, moment(1795161610000)))
    assert isinstance(failed, Failed)
    # 1795161610 s after the epoch is 08:00:10 UTC of that day.
    assert f"submitted anew at 08:00:10 UTC as {RESTARTED}, with sentences 1 · split 2 · count 2" in failed.reason


@pytest.mark.parametrize("state", ["FINISHED", "SUSPENDED"])
def test_progress__waits_while_a_job_that_was_stopped_is_not_yet_started_again(
    flink: RecordedFlink, cluster: FlinkCluster, state: str
) -> None:
    flink.job["state"] = state
    pending = cluster.progress(Accepted(WIDER, RUNNING, RUNNING_SINCE))
    assert isinstance(pending, Pending)
    assert f"({JOB}) is {state}" in pending.reason


def test_undo__takes_back_a_change_that_has_not_come_through(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    ask(flink, count=4)  # asked for, while 2 still run
    undone = cluster.undo(Accepted(WIDER, RUNNING, RUNNING_SINCE))
    assert isinstance(undone, Accepted)
    assert (undone.plan, undone.replaced) == (RUNNING, WIDER)
    assert flink.asked[0][COUNT]["parallelism"]["upperBound"] == 2


def test_undo__does_not_undo_what_somebody_else_changed(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    ask(flink, count=3)
    refusal = cluster.undo(Accepted(WIDER, RUNNING, RUNNING_SINCE))
    assert isinstance(refusal, Refusal)
    assert flink.asked == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda _: httpx.Response(200, text="<html>proxy</html>"), "no JSON"),
        (lambda _: httpx.Response(503, json={"errors": ["Service temporarily unavailable"]}), "HTTP 503"),
        (lambda _: httpx.Response(200, json={"jobs": [{"jid": 7}]}), r"answers /jobs/overview with jobs\.0\.jid = '7'"),
        (lambda _: httpx.Response(200, json=[]), "answers /jobs/overview"),
        (lambda _: httpx.Response(200, json={"jobs": []}), "no job 'word-count'; known are: none"),
    ],
)
def test_state__of_an_odd_answer_is_a_cluster_error_that_says_where(
    flink: RecordedFlink, cluster: FlinkCluster, answer: Callable[[httpx.Request], httpx.Response], message: str
) -> None:
    flink.replace("GET", "/jobs/overview", answer)
    with pytest.raises(ClusterError, match=message) as raised:
        cluster.state()
    assert "Flink at http://flink:8081" in str(raised.value)


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError])
def test_state__of_a_broken_connection_is_a_cluster_error(
    flink: RecordedFlink, cluster: FlinkCluster, error: type[httpx.TransportError]
) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error("broken", request=request)

    flink.replace("GET", f"/jobs/{JOB}", fail)
    with pytest.raises(ClusterError, match="Flink at http://flink:8081"):
        cluster.state()


def test_state__of_two_jobs_of_one_name_is_a_cluster_error(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    jobs = flink.bodies["/jobs/overview"]["jobs"]
    jobs.append({**jobs[0], "jid": RESTARTED})
    with pytest.raises(
        ClusterError, match=rf"runs 2 jobs named 'word-count' \({JOB}, {RESTARTED}\); give each its own"
    ):
        cluster.state()
    jobs[1]["state"] = "FAILED"  # an earlier run of the same job
    assert cluster.state().plan == RUNNING


def test_state__of_a_job_under_another_scheduler_says_what_to_set(flink: RecordedFlink, cluster: FlinkCluster) -> None:
    flink.job["schedulerType"] = "Default"
    with pytest.raises(ClusterError, match=r"jobmanager\.scheduler: adaptive .*, or give cluster\.rescale: savepoint"):
        cluster.state()


def test_cluster__refuses_an_address_that_is_no_url_and_keeps_passwords_out_of_messages(flink: RecordedFlink) -> None:
    with pytest.raises(ClusterError, match="is not a URL"):
        FlinkCluster("flink:8081", "word-count", DECLARED)
    cluster = FlinkCluster("http://me:secret@flink:8081", "other", DECLARED, transport=flink.transport())
    with pytest.raises(ClusterError) as raised:
        cluster.state()
    assert "secret" not in str(raised.value)


def test_the_right_to_rescale__is_asked_for_without_a_change(flink: RecordedFlink) -> None:
    rest = FlinkRest("http://flink:8081", ClusterError, transport=flink.transport())
    refusal = recorded("put_unknown_vertex")
    flink.replace("PUT", REQUIREMENTS, lambda _: httpx.Response(400, json=refusal))
    assert "it takes requests of resources" in rest.check_may_ask(JOB)
    flink.replace("PUT", REQUIREMENTS, lambda _: httpx.Response(403, json={"errors": ["no"]}))
    with pytest.raises(ClusterError, match=r"HTTP 403; give a token or a login that may change it"):
        rest.check_may_ask(JOB)
