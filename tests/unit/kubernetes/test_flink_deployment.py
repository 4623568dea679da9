"""What a FlinkDeployment says and is asked for, field by field."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from engines.flink.answers import Job, Vertex
from engines.kubernetes.server import Answer
from planner.clusters.flink_deployment import OVERRIDES, VERTEX_CEILING, VERTEX_FLOOR, FlinkDeployment
from planner.errors import ClusterError

JOB = Job(
    jid="1",
    name="words",
    state="RUNNING",
    now=0,
    timestamps={},
    vertices=[
        Vertex(id="a", name="source", parallelism=1, max_parallelism=128, tasks={}),
        Vertex(id="b", name="count", parallelism=3, max_parallelism=128, tasks={}),
    ],
)


def _deployment(configuration: dict[str, str] | None = None, status: Any = None, **spec: Any) -> FlinkDeployment:
    body = {
        "metadata": {"name": "words", "generation": 2},
        "spec": {"flinkConfiguration": configuration or {}, **spec},
        "status": status or {},
    }
    return FlinkDeployment(Answer(body, datetime(2026, 1, 5, tzinfo=UTC)))


def test_asked__is_what_the_overrides_name_and_what_runs_of_the_rest() -> None:
    assert _deployment().asked(JOB) == {"a": 1, "b": 3}
    assert _deployment({OVERRIDES: "b:5, c:9"}).asked(JOB) == {"a": 1, "b": 5}


def test_asked__is_what_runs_where_an_autoscaler_says_so() -> None:
    assert _deployment({OVERRIDES: "b:5", "job.autoscaler.enabled": "true"}).asked(JOB) == {"a": 1, "b": 3}


def test_fields__leave_job_parallelism_alone_on_a_native_cluster() -> None:
    """The operator redeploys a native cluster for a change of job.parallelism, and scales it in place for overrides."""
    overrides = {"flinkConfiguration": {OVERRIDES: "a:2,b:6"}}
    assert _deployment().fields({"b": 6, "a": 2}) == overrides
    assert _deployment(mode="native").fields({"b": 6, "a": 2}) == overrides
    assert _deployment(mode="standalone").fields({"b": 6, "a": 2}) == {**overrides, "job": {"parallelism": 6}}


@pytest.mark.parametrize(
    ("status", "unsettled", "lost"),
    [
        ({"lifecycleState": "STABLE", "jobStatus": {"state": "RUNNING"}}, "", False),
        ({"lifecycleState": "DEPLOYED", "observedGeneration": 2, "jobStatus": {"state": "RUNNING"}}, "", False),
        (
            {"lifecycleState": "STABLE", "observedGeneration": 1, "jobStatus": {"state": "RUNNING"}},
            "its operator is at STABLE, the job RUNNING",
            False,
        ),
        (
            {"lifecycleState": "UPGRADING", "jobStatus": {"state": "RECONCILING"}, "error": "no\n slots"},
            "its operator is at UPGRADING, the job RECONCILING (no slots)",
            False,
        ),
        (
            {"lifecycleState": "ROLLED_BACK", "jobStatus": {"state": "RUNNING"}},
            "its operator is at ROLLED_BACK, the job RUNNING",
            True,
        ),
        ({}, "its operator is at CREATED, the job unknown", False),
    ],
)
def test_unsettled__tells_how_far_the_operator_is(status: dict[str, Any], unsettled: str, lost: bool) -> None:
    deployment = _deployment(status=status)
    assert deployment.unsettled == unsettled
    assert deployment.lost is lost


@pytest.mark.parametrize(
    ("configuration", "autoscaled"),
    [
        ({}, False),
        ({"job.autoscaler.enabled": "true"}, True),
        ({"kubernetes.operator.job.autoscaler.enabled": "TRUE"}, True),
        ({"job.autoscaler.enabled": "true", "job.autoscaler.scaling.enabled": "false"}, False),
    ],
)
def test_autoscaled__where_the_autoscaler_is_on_and_may_scale(configuration: dict[str, str], autoscaled: bool) -> None:
    assert _deployment(configuration).autoscaled is autoscaled


@pytest.mark.parametrize(
    ("key", "given", "shown", "read"),
    [
        (VERTEX_FLOOR, "two", "'two'", lambda deployment: deployment.floor),
        (VERTEX_CEILING, "", "''", lambda deployment: deployment.ceiling),
        (OVERRIDES, "a:1,b: many", "'many'", lambda deployment: deployment.asked(JOB)),
        ("taskmanager.numberOfTaskSlots", "0", "'0'", lambda deployment: deployment.pods_wanted(JOB, {}, {})),
    ],
)
def test_a_number_that_is_none__is_named_with_object_and_key(
    key: str, given: str, shown: str, read: Callable[[FlinkDeployment], object]
) -> None:
    said = f"flinkdeployment/words: {key} of its flinkConfiguration gives {shown}, which is not a number of at least"
    with pytest.raises(ClusterError, match=re.escape(said)):
        read(_deployment({key: given}))


@pytest.mark.parametrize(
    ("memory", "in_bytes"),
    [("2048m", 2 * 2**30), ("2g", 2 * 2**30), ("512 mb", 2**29), ("1Gi", 2**30), ("7", 7), ("?", 0)],
)
def test_pods_wanted__are_task_managers_that_the_widest_vertex_needs(memory: str, in_bytes: int) -> None:
    """Of 4 slots each: 1 task manager holds 3 subtasks, 9 need 3."""
    resource = {"cpu": 2, "memory": memory}
    deployment = _deployment({"taskmanager.numberOfTaskSlots": "4"}, taskManager={"resource": resource})
    wanted = deployment.pods_wanted(JOB, {"a": 1, "b": 3}, {"a": 1, "b": 9})
    assert wanted.pods == 2
    requests = wanted.template["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "2", "memory": str(in_bytes)}
