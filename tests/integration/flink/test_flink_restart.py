"""A real Flink under its default scheduler is a cluster too, by savepoint and restart."""

import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import httpx
import pytest
from contract.cluster_contract import ClusterContract
from faulty_calls import Cut, KilledError
from patience import until

from forescale.local.demo.word_count import RunningWordCount, WordCount
from forescale.local.flink.distribution import FlinkDistribution
from forescale.local.flink.local_cluster import LocalFlink, local_flink
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Topology
from planner.clusters.cluster import Accepted, Failed, Pending, Refusal, Verified
from planner.clusters.flink_restart import FlinkRestartCluster, Program, successor_id

JOB = WordCount(name="restarted")

pytestmark = [pytest.mark.flink, pytest.mark.slow]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, distribution: FlinkDistribution) -> Iterator[LocalFlink]:
    folder = tmp_path_factory.mktemp("plain-flink")
    with local_flink(folder, slots=6, distribution=distribution, scheduler="default", within_s=240) as running:
        yield running


@pytest.fixture(scope="module")
def running(plain: LocalFlink) -> RunningWordCount:
    return JOB.start(plain, 20)


class Misread(httpx.HTTPTransport):
    """The network, which garbles a number of counts."""

    def __init__(self, count: int) -> None:
        super().__init__(limits=httpx.Limits(max_keepalive_connections=0))
        self.count = count

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/run"):
            body = request.read().replace(f',{self.count}"'.encode(), f',x{self.count}"'.encode())
            headers = {name: value for name, value in request.headers.items() if name != "content-length"}
            request = httpx.Request(
                request.method, request.url, headers=headers, content=body, extensions=request.extensions
            )
        return super().handle_request(request)


def restarting(flink: LocalFlink, transport: httpx.BaseTransport | None = None) -> FlinkRestartCluster:
    jars = httpx.get(f"{flink.url}/jars", trust_env=False, timeout=60).json()["files"]
    program = Program(
        jars[0]["name"],
        ["--job-name", JOB.name, "--rate", "20", "--parallelism", "{sentences},{split},{count}"],
        (flink.folder / "savepoints").as_uri(),
        "wordcount.WordCount",
        timeout_s=60.0,
    )
    return FlinkRestartCluster(
        flink.url, JOB.name, JOB.topology, warm_s=3.0, timeout_s=60, program=program, transport=transport
    )


def ended(cluster: FlinkRestartCluster, accepted: Accepted | Refusal) -> Verified | Failed:
    assert isinstance(accepted, Accepted), accepted
    for _ in range(120):
        if not isinstance(progress := cluster.progress(accepted), Pending):
            return progress
        time.sleep(0.5)
    raise AssertionError(progress)


def other(plan: PhysicalPlan) -> PhysicalPlan:
    return replace(plan, parallelism={**plan.parallelism, "count": plan.parallelism["count"] % 3 + 1})


def alive(flink: LocalFlink) -> list[str]:
    jobs = httpx.get(f"{flink.url}/jobs/overview", trust_env=False, timeout=60).json()["jobs"]
    return [job["jid"] for job in jobs if job["state"] in ("RUNNING", "INITIALIZING", "CREATED")]


class TestFlinkRestartContract(ClusterContract):
    patience_s = 180.0
    poll_s = 0.5
    measured_s = 4.0
    topology = JOB.topology

    @pytest.fixture
    def cluster(self, plain: LocalFlink, running: RunningWordCount) -> FlinkRestartCluster:
        return restarting(plain)

    @pytest.fixture
    def unreachable(self) -> Callable[[], object]:
        with socket.socket() as probe:  # a port that nobody listens on
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        nobody = Topology("nobody", (Operator("source"),), ())
        return FlinkRestartCluster(
            f"http://127.0.0.1:{port}", "nobody", nobody, timeout_s=2.0, program=Program("j", [], "/s")
        ).state

    def let_time_pass(self, seconds: float) -> None:
        time.sleep(seconds)


@pytest.mark.parametrize("ending", ["/stop", "/run"])
def test_apply__that_was_killed_after_a_request_ends_in_the_same_state_when_it_is_repeated(
    plain: LocalFlink, running: RunningWordCount, ending: str
) -> None:
    """Killed before the one is as if nothing had been asked, before the other as after the first."""
    cluster = restarting(plain)
    before = cluster.state().plan
    (old,) = until(lambda: len(jobs := alive(plain)) == 1 and jobs)  # Flink caches what it tells of its jobs
    plan = other(before)
    cut = Cut(lambda _, request: request.method == "POST" and request.url.path.endswith(ending), after=True)
    killed = restarting(plain, transport=cut)
    with pytest.raises(KilledError):
        killed.apply(plan, expected=before)
    stopped = ending == "/stop"  # with its savepoint, and not started anew
    until(lambda: cluster.stopped_for(plan) is stopped)
    assert not cluster.stopped_for(before)
    again = cluster.apply(plan, expected=before)
    verified = ended(cluster, again)
    assert isinstance(verified, Verified), verified
    assert verified.plan.same_parallelism(plan)
    until(lambda: alive(plain) == [successor_id(old, plan)])  # started once


def test_apply__that_flink_does_not_start_restarts_what_ran_before(
    plain: LocalFlink, running: RunningWordCount
) -> None:
    cluster = restarting(plain)
    before = cluster.state().plan
    was = before.parallelism["count"]
    plan = replace(before, parallelism={**before.parallelism, "count": was + 1})
    # Its main method fails as it reads a word where that number is meant.
    refusal = restarting(plain, transport=Misread(was + 1)).apply(plan, expected=before)
    assert isinstance(refusal, Refusal), refusal
    assert "restarted with what ran before" in refusal.reason
    assert isinstance(ended(cluster, cluster.apply(before, expected=before)), Verified)
    until(lambda: len(alive(plain)) == 1)
