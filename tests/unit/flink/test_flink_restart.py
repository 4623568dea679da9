"""Which jobs that have ended are started again from a savepoint of ours, on answers in the shapes of a real Flink."""

import json
from typing import Any

import httpx
import pytest
from unit.flink.recorded_flink import COUNT, JOB, SOURCE, SPLIT, RecordedFlink, recorded
from unit.flink.test_flink_adapter import DECLARED, RUNNING, WIDER, moment

from planner.clusters.cluster import Accepted, Refusal
from planner.clusters.flink_restart import FlinkRestartCluster, Program, stopping_id, successor_id

NEW = successor_id(JOB, WIDER)
OURS = f"s3://kept/forescale-{stopping_id(JOB, WIDER)}/savepoint-1"
NARROWER = type(RUNNING)("word-count", {"sentences": 1, "split": 1, "count": 1})


class Restarted(RecordedFlink):
    """The recorded job was stopped for WIDER, and the job that took its place has ended."""

    def __init__(self, state: str, latest: dict[str, Any] | None = None) -> None:
        super().__init__()
        old = self.bodies["/jobs/overview"]["jobs"][0]
        old["state"] = "FINISHED"
        self.bodies["/jobs/overview"]["jobs"].append(dict(old, jid=NEW, state=state, **{"start-time": 2 * 10**12}))
        self.bodies[f"/jobs/{JOB}/checkpoints"] = {
            "latest": {"completed": None, "savepoint": {"external_path": OURS, "trigger_timestamp": 1}}
        }
        self.bodies[f"/jobs/{NEW}"] = recorded("job") | {"jid": NEW, "state": state}
        self.bodies[f"/jobs/{NEW}/checkpoints"] = {"latest": latest or {"completed": None, "savepoint": None}}
        for number, vertex in enumerate((SOURCE, SPLIT, COUNT)):
            body = recorded(f"vertex{number}")
            for subtask in body["subtasks"]:
                subtask["status"] = "FAILED"
                subtask["status-duration"]["RUNNING"] = 900
            self.bodies[f"/jobs/{NEW}/vertices/{vertex}"] = body
        self.bodies["/jars"] = {"files": [{"id": "1_words.jar", "name": "words.jar"}]}
        self.started: list[Any] = []
        self.replace("POST", "/jars/1_words.jar/run", self._run)

    def _run(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.started.append(body)
        job = dict(self.bodies["/jobs/overview"]["jobs"][0], jid=body["jobId"], state="RUNNING")
        self.bodies["/jobs/overview"]["jobs"].append(job)
        return httpx.Response(200, json={"jobid": body["jobId"]})


def cluster(flink: RecordedFlink) -> FlinkRestartCluster:
    program = Program("words.jar", ["{sentences},{split},{count}"], "s3://kept")
    return FlinkRestartCluster(
        "http://flink:8081", "word-count", DECLARED, program=program, transport=flink.transport()
    )


@pytest.mark.parametrize("state", ["CANCELED", "FINISHED", "FAILED"])
def test_apply__leaves_a_job_of_ours_that_has_ended_as_it_is(state: str) -> None:
    flink = Restarted(state)
    refusal = cluster(flink).apply(NARROWER, expected=WIDER)
    assert isinstance(refusal, Refusal)
    assert f"is {state}, not stopped for this plan; where it is to run, start it from its own last" in refusal.reason
    assert flink.started == []


def test_undo__starts_what_ran_before_where_the_new_job_never_came_up() -> None:
    flink = Restarted("FAILED")
    assert isinstance(cluster(flink).undo(Accepted(WIDER, RUNNING, moment(1))), Accepted)
    assert [body["savepointPath"] for body in flink.started] == [OURS]
    assert flink.started[0]["programArgsList"] == ["1,2,2"]


@pytest.mark.parametrize(
    ("flink", "said"),
    [
        (Restarted("CANCELED"), "is CANCELED, not stopped for this plan"),
        (
            Restarted("FINISHED", {"savepoint": {"external_path": "s3://anna/sp", "trigger_timestamp": 9}}),
            "is FINISHED, not stopped for this plan",
        ),
        (Restarted("FAILED", {"completed": {"id": 3}}), "is FAILED, and it has completed a checkpoint: from s3://kept"),
    ],
    ids=["cancelled", "stopped with a savepoint of their own", "failed after a checkpoint"],
)
def test_undo__leaves_a_job_that_somebody_stopped_or_that_went_on(flink: Restarted, said: str) -> None:
    refusal = cluster(flink).undo(Accepted(WIDER, RUNNING, moment(1)))
    assert isinstance(refusal, Refusal)
    assert said in refusal.reason
    assert flink.started == []
