"""A checkpoint for each rescale: before it where Flink stops the job at once, after it where Flink waits for one."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from unit.flink.recorded_flink import COUNT, JOB, SPLIT, RecordedFlink
from unit.flink.test_flink_adapter import DECLARED, RUNNING

from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, Pending, Refusal
from planner.clusters.flink import FlinkCluster
from planner.clusters.flink_checkpoint import CHECKPOINT_S, POLL_S

CHECKPOINTS, TRIGGER = f"/jobs/{JOB}/checkpoints", "7f"
THREE = replace(RUNNING, parallelism={**RUNNING.parallelism, "split": 3})


class Checkpoints:
    """Of the recorded job: its calls in order. done: looks after which one is complete, None for never."""

    def __init__(self, flink: RecordedFlink, version: str | None, *, done: int | None = 1) -> None:
        self.flink, self.done, self.looks = flink, done, 0
        self.calls: list[str] = []
        self.failure: Any = None
        flink.bodies[f"{CHECKPOINTS}/config"] = {"interval": 600000}
        if version is not None:
            flink.bodies["/config"] = {"flink-version": version}
        flink.replace("POST", CHECKPOINTS, self.trigger)
        flink.replace("GET", f"{CHECKPOINTS}/{TRIGGER}", self.state)
        flink.replace("PUT", f"/jobs/{JOB}/resource-requirements", self.ask)

    def trigger(self, request: httpx.Request) -> httpx.Response:
        assert json.loads(request.content) == {"checkpointType": "CONFIGURED"}
        self.calls.append("checkpoint")
        return httpx.Response(202, json={"request-id": TRIGGER})

    def state(self, _: httpx.Request) -> httpx.Response:
        self.looks += 1
        done = self.done is not None and self.looks >= self.done
        operation = {"checkpointId": 5, "failureCause": self.failure} if done else None
        status = {"id": "COMPLETED" if done else "IN_PROGRESS"}
        return httpx.Response(200, json={"status": status, "operation": operation})

    def ask(self, request: httpx.Request) -> httpx.Response:
        self.calls.append("rescale")
        self.flink.asked.append(json.loads(request.content))
        return httpx.Response(200, json={})


class Waits:
    def __init__(self) -> None:
        self.waited_s = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.waited_s, UTC)

    def wait(self, seconds: float) -> None:
        self.waited_s += seconds


@pytest.fixture
def flink() -> RecordedFlink:
    return RecordedFlink()


def cluster(flink: RecordedFlink, clock: Waits | None = None) -> FlinkCluster:
    transport = flink.transport()
    return FlinkCluster("http://flink:8081", "word-count", DECLARED, clock=clock or Waits(), transport=transport)


def applied(flink: RecordedFlink, plan: PhysicalPlan = THREE, clock: Waits | None = None) -> Accepted:
    accepted = cluster(flink, clock).apply(plan, expected=RUNNING)
    assert isinstance(accepted, Accepted), accepted
    return accepted


@pytest.mark.parametrize("version", ["1.18.1", "1.20.0"])
def test_a_job_that_is_stopped_at_once__has_a_complete_checkpoint_before(flink: RecordedFlink, version: str) -> None:
    checkpoints, clock = Checkpoints(flink, version, done=4), Waits()
    assert applied(flink, clock=clock).note == ""
    assert checkpoints.calls == ["checkpoint", "rescale"]
    assert clock.waited_s == 3 * POLL_S


@pytest.mark.parametrize("version", ["2.0.0", "2.3.0", "3.0-SNAPSHOT"])
def test_a_rescale_that_waits_for_the_next_checkpoint__gets_it_at_once(flink: RecordedFlink, version: str) -> None:
    checkpoints, clock = Checkpoints(flink, version), Waits()
    assert applied(flink, clock=clock).note == ""
    assert checkpoints.calls == ["rescale", "checkpoint"]
    assert clock.waited_s == 0


@pytest.mark.parametrize(("started_s", "waited_s"), [(10.0, 21.0), (29.5, 1.5), (30.0, 0.0), (3600.0, 0.0)])
def test_a_rescale_within_the_cooldown__gets_its_checkpoint_after_it(
    flink: RecordedFlink, started_s: float, waited_s: float
) -> None:
    checkpoints, clock = Checkpoints(flink, "2.3.0"), Waits()
    flink.bodies[f"/jobs/{JOB}/rescales/config"] = {"executingCooldownTimeoutInMillis": 30000}
    flink.job["timestamps"]["RUNNING"] = flink.job["now"] - int(started_s * 1000)
    at: list[float] = []

    def triggered(request: httpx.Request) -> httpx.Response:
        at.append(clock.waited_s)
        return checkpoints.trigger(request)

    flink.replace("POST", CHECKPOINTS, triggered)
    assert applied(flink, clock=clock).note == ""
    assert checkpoints.calls == ["rescale", "checkpoint"]
    assert at == [waited_s]


def test_a_long_cooldown__is_not_waited_for(flink: RecordedFlink) -> None:
    checkpoints, clock = Checkpoints(flink, "2.3.0"), Waits()
    flink.bodies[f"/jobs/{JOB}/rescales/config"] = {"executingCooldownTimeoutInMillis": 600000}
    flink.job["timestamps"]["RUNNING"] = flink.job["now"] - 100_000
    note = applied(flink, clock=clock).note
    assert note == "it waits for the job's next checkpoint, as Flink's cooldown still takes 500 s"
    assert (checkpoints.calls, clock.waited_s) == (["rescale"], 0)


@pytest.mark.parametrize("version", [None, "", "<unknown>", "DeadBeef"])
def test_a_version_that_is_not_told__has_both(flink: RecordedFlink, version: str | None) -> None:
    checkpoints = Checkpoints(flink, version)
    assert applied(flink).note == ""
    assert checkpoints.calls == ["checkpoint", "rescale", "checkpoint"]


def test_a_job_without_checkpoints__is_rescaled_without(flink: RecordedFlink) -> None:
    checkpoints = Checkpoints(flink, "2.3.0")
    del flink.bodies[f"{CHECKPOINTS}/config"]  # Flink answers 404
    assert applied(flink).note == ""
    assert checkpoints.calls == ["rescale"]


def test_a_checkpoint_that_is_not_complete_in_time__delays_the_rescale_no_longer(flink: RecordedFlink) -> None:
    checkpoints, clock = Checkpoints(flink, "1.20.0", done=None), Waits()
    note = applied(flink, clock=clock).note
    assert note == "the checkpoint before it was not complete after 30 s; see the job's own"
    assert checkpoints.calls == ["checkpoint", "rescale"]
    assert clock.waited_s == CHECKPOINT_S


def test_a_checkpoint__is_waited_for_no_longer_than_the_step_is_of_use(flink: RecordedFlink) -> None:
    checkpoints, clock = Checkpoints(flink, "1.20.0", done=None), Waits()
    latest = clock.now() + timedelta(seconds=2)
    accepted = cluster(flink, clock).apply_by(THREE, expected=RUNNING, latest=latest)
    assert isinstance(accepted, Accepted)
    assert "after 2 s" in accepted.note
    assert checkpoints.calls == ["checkpoint", "rescale"]


def test_looks_that_take_long__count_as_waiting(flink: RecordedFlink) -> None:
    checkpoints, clock = Checkpoints(flink, "1.20.0", done=None), Waits()

    def slow(request: httpx.Request) -> httpx.Response:
        clock.wait(9.0)
        return checkpoints.state(request)

    flink.replace("GET", f"{CHECKPOINTS}/{TRIGGER}", slow)
    applied(flink, clock=clock)
    assert clock.waited_s <= CHECKPOINT_S + 9.0
    assert checkpoints.calls == ["checkpoint", "rescale"]


@pytest.mark.parametrize("status", [403, 500, 503])
@pytest.mark.parametrize(("version", "start"), [("1.20.0", "there was no checkpoint"), ("2.3.0", "it waits for")])
def test_a_server_that_fails_at_a_checkpoint__rescales_all_the_same(
    flink: RecordedFlink, version: str, start: str, status: int
) -> None:
    checkpoints = Checkpoints(flink, version)
    flink.replace("POST", CHECKPOINTS, lambda _: httpx.Response(status, json={"errors": ["no"]}))
    assert applied(flink).note.startswith(start)
    assert checkpoints.calls == ["rescale"]


def test_a_checkpoint_that_fails__is_noted(flink: RecordedFlink) -> None:
    checkpoints = Checkpoints(flink, "1.20.0")
    checkpoints.failure = {"class": "CheckpointException", "stack-trace": "Checkpoint expired\n\tat java"}
    assert applied(flink).note == "the checkpoint before it failed: Checkpoint expired"
    assert checkpoints.calls == ["checkpoint", "rescale"]


@pytest.mark.parametrize(
    ("version", "note"),
    [
        ("1.20.0", "there was no checkpoint just before it: too many"),
        ("2.3.0", "it waits for the job's next checkpoint, as Flink took none: too many"),
    ],
)
def test_a_checkpoint_that_is_refused__is_noted(flink: RecordedFlink, version: str, note: str) -> None:
    Checkpoints(flink, version)
    flink.replace("POST", CHECKPOINTS, lambda _: httpx.Response(400, json={"errors": ["too many"]}))
    assert applied(flink).note == note


def test_a_job_that_somebody_rescales_meanwhile__is_left_alone(flink: RecordedFlink) -> None:
    checkpoints = Checkpoints(flink, "1.20.0")

    def rescaled(request: httpx.Request) -> httpx.Response:
        for name in ("lowerBound", "upperBound"):
            flink.requirements[COUNT]["parallelism"][name] = 4
        return checkpoints.state(request)

    flink.replace("GET", f"{CHECKPOINTS}/{TRIGGER}", rescaled)
    refusal = cluster(flink).apply(THREE, expected=RUNNING)
    assert isinstance(refusal, Refusal)
    assert "on its way" in refusal.reason
    assert flink.asked == []


def test_an_undo__waits_for_nothing_before(flink: RecordedFlink) -> None:
    for version, calls in (("1.20.0", ["rescale"]), ("2.3.0", ["rescale", "checkpoint"])):
        checkpoints = Checkpoints(flink, version)
        away = replace(RUNNING, parallelism={**RUNNING.parallelism, "count": 1})
        undone = cluster(flink).undo(Accepted(RUNNING, away, datetime.fromtimestamp(0, UTC)))
        assert isinstance(undone, Accepted), undone
        assert checkpoints.calls == calls


def test_a_rescale_that_does_not_begin__gets_another_checkpoint_now_and_then(flink: RecordedFlink) -> None:
    checkpoints, named = Checkpoints(flink, "2.3.0"), cluster(flink)
    accepted = named.apply(THREE, expected=RUNNING)
    assert isinstance(accepted, Accepted)
    for name in ("lowerBound", "upperBound"):
        flink.requirements[SPLIT]["parallelism"][name] = 3
    began_ms, asked = flink.job["now"], []
    for seconds in range(0, 60, 2):
        flink.job["now"] = began_ms + 1000 * seconds
        before = len(checkpoints.calls)
        assert isinstance(named.progress(accepted), Pending)
        asked += [seconds] * (len(checkpoints.calls) - before)
    # 5 s after the first look, 10 s after that, then 20: at the next look, two seconds apart.
    assert asked == [6, 16, 36]
