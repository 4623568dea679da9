"""A job of which whole operators and single subtasks have finished is read, measured and rescaled like any other."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from patience import until

from forescale.local.flink.example_job import example_job
from forescale.local.flink.local_cluster import LocalFlink
from forescale.local.flink.submission import cancel_job, submit_job
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.cluster import Accepted, Pending, SourceBacklog, Status, Verified
from planner.clusters.flink import FlinkCluster

pytestmark = [pytest.mark.flink, pytest.mark.slow]

NAME = "bounded-input"
TOPOLOGY = Topology(
    NAME,
    (Operator("countries"), Operator("events"), Operator("work")),
    (Stream("countries", "work"), Stream("events", "work")),
)
SOURCES = Path(__file__).parents[2] / "flink_bounded"


@pytest.fixture
def partly_finished(flink: LocalFlink) -> Iterator[FlinkCluster]:
    jar = example_job(flink.java, flink.distribution, flink.folder, SOURCES)
    job_id = submit_job(flink.url, jar, {"job-name": NAME}, main_class="bounded.BoundedInput")
    yield FlinkCluster(flink.url, NAME, TOPOLOGY, warm_s=3.0, timeout_s=60)
    cancel_job(flink.url, job_id)


def test_job__of_which_parts_have_finished_runs_and_can_be_measured_and_rescaled(partly_finished: FlinkCluster) -> None:
    cluster = partly_finished

    def running() -> dict[str, tuple[int, int]]:
        return {name: (vertex.running, vertex.parallelism) for name, vertex in cluster._found()[1].items()}

    # The one source ends after 5 s, and the first subtask of the other after 4 s.
    until(lambda: running() == {"countries": (0, 1), "events": (2, 3), "work": (1, 1)})
    state = cluster.state()
    assert state.status is Status.RUNNING
    assert state.running_since is not None

    samples = cluster.operator_samples(8.0)
    # Two subtasks read ten events a second each.
    assert sorted(one.operator for one in samples) == ["events", "events", "work"]
    assert sum(one.records_in / one.span_s for one in samples if one.operator == "work") == pytest.approx(20, rel=0.15)
    assert cluster.backlogs()["countries"] == SourceBacklog(0.0, 0.0)

    wider = replace(state.plan, parallelism={"countries": 2, "events": 4, "work": 2})
    accepted = cluster.apply(wider, expected=state.plan)
    assert isinstance(accepted, Accepted), accepted
    for _ in range(120):
        if not isinstance(progress := cluster.progress(accepted), Pending):
            break
        time.sleep(0.5)
    assert isinstance(progress, Verified), progress
    assert cluster.state().plan == wider
