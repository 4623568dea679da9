"""A stand-in for Flink that keeps what it is asked for: the recorded job, rescaled in place or restarted."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
from fault_benches.bench import Bench, SteppingClock
from faulty_calls import Wire, WiredTransport
from unit.flink.recorded_flink import COUNT, JOB, SOURCE, SPLIT, RecordedFlink, recorded
from unit.flink.test_flink_adapter import DECLARED

from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Cluster
from planner.clusters.flink import FlinkCluster
from planner.clusters.flink_restart import FlinkRestartCluster, Program

VERTICES = {"sentences": SOURCE, "split": SPLIT, "count": COUNT}
URL = "http://flink:8081"


def words(count: int) -> PhysicalPlan:
    return PhysicalPlan("word-count", {"sentences": 1, "split": 2, "count": count})


class KeptFlink(RecordedFlink):
    """The recorded job, which comes to the parallelism that it was asked for when time passes. stuck: but for 4."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = SteppingClock(datetime.fromtimestamp(self.job["now"] / 1000, UTC), self.passed)
        self.stuck = False
        path = f"/jobs/{JOB}/resource-requirements"
        self.replace("PUT", path, self._ask)

    @property
    def upper(self) -> dict[str, int]:
        return {name: self.requirements[vertex]["parallelism"]["upperBound"] for name, vertex in VERTICES.items()}

    def ask(self, counts: Mapping[str, int]) -> None:
        for name, count in counts.items():
            self.requirements[VERTICES[name]]["parallelism"] = {"lowerBound": 1, "upperBound": count}

    def passed(self, seconds: float) -> None:
        self.job["now"] += int(seconds * 1000)
        if not (self.stuck and self.upper["count"] == 4):
            self.run(self.upper)

    def run(self, counts: Mapping[str, int]) -> None:
        for vertex in self.job["vertices"]:
            count = {id: counts[name] for name, id in VERTICES.items()}[vertex["id"]]
            vertex["parallelism"] = vertex["tasks"]["RUNNING"] = count

    def _ask(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        bounds = {id: each["parallelism"]["upperBound"] for id, each in body.items()}
        counts = {name: bounds[id] for name, id in VERTICES.items()}
        self.ask(counts)
        self.asked.append(counts)
        return httpx.Response(200, json={})


class StandInBench(Bench):
    """A job on a stand-in of Flink."""

    before, after, other = words(2), words(4), words(3)
    refuses = frozenset({"no effect, then 409"})
    stand_in: Callable[[], Any]

    def __init__(self) -> None:
        self.flink = type(self).stand_in()
        self.clock = self.flink.clock
        super().__init__()

    @property
    def stuck(self) -> bool:
        return bool(self.flink.stuck)

    @stuck.setter
    def stuck(self, stuck: bool) -> None:
        self.flink.stuck = stuck


class FlinkBench(StandInBench):
    stand_in = KeptFlink

    def cluster(self, wire: Wire) -> Cluster:
        transport = WiredTransport(wire, self.flink.transport())
        return FlinkCluster(URL, "word-count", DECLARED, clock=self.clock, transport=transport)

    def asked(self) -> Mapping[str, int]:
        return self.flink.upper

    def changes(self) -> list[Any]:
        return list(self.flink.asked)

    def others_ask(self) -> None:
        self.flink.ask(self.other.parallelism)
        self.flink.run(self.other.parallelism)


class RestartedFlink(RecordedFlink):
    """Jobs under a scheduler that keeps their parallelism, savepoints that take a moment, and one jar.

    changes: of each stop and start that had an effect, what it was. stuck: a job with 4 counts never gets its slots.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clock = SteppingClock(datetime.fromtimestamp(self.job["now"] / 1000, UTC), self.passed)
        self.stuck = False
        self.jobs: dict[str, dict[str, Any]] = {}
        self.savepoints: dict[str, dict[str, Any]] = {}
        self.changes: list[Any] = []
        self.bodies["/jars"] = {"files": [{"id": "1_words.jar", "name": "words.jar"}]}
        self.start(JOB, [1, 2, 2])

    def start(self, jid: str, counts: list[int]) -> None:
        job = recorded("job") | {"jid": jid, "schedulerType": "Default", "start-time": self._now_ms() + len(self.jobs)}
        for vertex, count in zip(job["vertices"], counts, strict=True):
            vertex["parallelism"] = count
            vertex["tasks"] = {"RUNNING": 0, "SCHEDULED": count}
        job["state"] = "RUNNING"
        self.jobs[jid] = job
        self.passed(0.0)

    @property
    def newest(self) -> dict[str, Any]:
        return list(self.jobs.values())[-1]

    def counts(self) -> dict[str, int]:
        """Of the newest job, whether it runs or not."""
        by_id = {vertex["id"]: vertex["parallelism"] for vertex in self.newest["vertices"]}
        return {name: by_id[id] for name, id in VERTICES.items()}

    def end(self, jid: str) -> None:
        self.jobs[jid]["state"] = "FINISHED"
        for vertex in self.jobs[jid]["vertices"]:
            vertex["tasks"] = {"RUNNING": 0, "FINISHED": vertex["parallelism"]}

    def passed(self, seconds: float) -> None:
        for request in self.savepoints.values():
            if not request["done"]:
                request["done"] = True
                self.end(request["jid"])
        for job in self.jobs.values():
            if job["state"] == "RUNNING" and not (self.stuck and job["vertices"][2]["parallelism"] == 4):
                for vertex in job["vertices"]:
                    vertex["tasks"] = {"RUNNING": vertex["parallelism"]}

    def _now_ms(self) -> int:
        return int(self.clock.now().timestamp() * 1000)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        parts = request.url.path.split("/")[1:]
        if request.method == "POST":
            return self._changed(parts, json.loads(request.content))
        if parts == ["jobs", "overview"]:
            keys = ("jid", "name", "state", "start-time")
            shown = [recorded("jobs_overview")["jobs"][0] | {k: job[k] for k in keys} for job in self.jobs.values()]
            return httpx.Response(200, json={"jobs": shown})
        if parts[0] == "jobs" and parts[1] in self.jobs:
            return self._of_job(self.jobs[parts[1]], parts[2:])
        return super()._answer(request)

    def _of_job(self, job: dict[str, Any], parts: list[str]) -> httpx.Response:
        if not parts:
            return httpx.Response(200, json=job | {"now": self._now_ms()})
        if parts[0] == "vertices":
            number = [SOURCE, SPLIT, COUNT].index(parts[1])
            return httpx.Response(200, json=recorded(f"vertex{number}"))
        of_job = [each for each in self.savepoints.values() if each["jid"] == job["jid"]]
        if parts[0] == "checkpoints":
            done = [each for each in of_job if each["done"]]
            last = {"external_path": done[-1]["path"], "trigger_timestamp": done[-1]["at"]} if done else None
            return httpx.Response(200, json={"latest": {"completed": None, "savepoint": last}})
        if parts[0] == "savepoints" and parts[1] in self.savepoints:
            known = self.savepoints[parts[1]]
            if not known["done"]:
                return httpx.Response(200, json={"status": {"id": "IN_PROGRESS"}})
            told = {"status": {"id": "COMPLETED"}, "operation": {"location": known["path"]}}
            return httpx.Response(200, json=told)
        return httpx.Response(404, json={"errors": [f"Not found: {parts}"]})

    def _changed(self, parts: list[str], body: dict[str, Any]) -> httpx.Response:
        if parts[-1] == "stop":
            if body["triggerId"] not in self.savepoints:
                if self.jobs[parts[1]]["state"] != "RUNNING":
                    return httpx.Response(409, json={"errors": [f"Job {parts[1]} is not running"]})
                path = f"{body['targetDirectory']}/savepoint-1"
                known = {"jid": parts[1], "path": path, "done": False, "at": self._now_ms()}
                self.savepoints[body["triggerId"]] = known
                self.changes.append(("stop", path))
            return httpx.Response(202, json={"request-id": body["triggerId"]})
        if body["jobId"] in self.jobs:
            return httpx.Response(400, json={"errors": ["Job has already been submitted"]})
        counts = [int(count) for count in body["programArgsList"][0].split(",")]
        self.start(body["jobId"], counts)
        self.changes.append(("run", counts, body["savepointPath"]))
        return httpx.Response(200, json={"jobid": body["jobId"]})


class FlinkRestartBench(StandInBench):
    """Somebody else's plan runs under an id that is not ours, in place of the job that ran, or was stopped."""

    stand_in = RestartedFlink

    def cluster(self, wire: Wire) -> Cluster:
        program = Program("words.jar", ["{sentences},{split},{count}"], "s3://kept")
        transport = WiredTransport(wire, self.flink.transport())
        return FlinkRestartCluster(URL, "word-count", DECLARED, program=program, clock=self.clock, transport=transport)

    def asked(self) -> Mapping[str, int]:
        assert self.flink.newest["state"] == "RUNNING", "the job is left down"
        return self.flink.counts()

    def changes(self) -> list[Any]:
        return list(self.flink.changes)

    def others_ask(self) -> None:
        self.flink.passed(0.0)
        for jid in self.flink.jobs:
            self.flink.end(jid)
        self.flink.start("a" * 32, list(self.other.parallelism.values()))
