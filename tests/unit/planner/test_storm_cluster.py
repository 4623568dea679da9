"""What a real Storm rarely answers: a stand-in for its UI, in the shapes that a real one was seen to answer in."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from forescale.files.topology import read_topology_file
from forescale.settings import Settings
from forescale.wiring.engines.registry import cluster_kind
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.topology import Engine, Operator, Stream, Topology
from planner.clusters.cluster import Accepted, Failed, Pending, Refusal, Status, Verified
from planner.clusters.storm import StormCluster
from planner.errors import ClusterError

PAIR = Topology("pair", (Operator("feed"), Operator("count")), (Stream("feed", "count"),), Engine.STORM)
SMALL = PhysicalPlan("pair", {"feed": 1, "count": 2})
LARGE = PhysicalPlan("pair", {"feed": 1, "count": 3})
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class StillClock:
    """Moves when somebody waits on it."""

    def __init__(self) -> None:
        self.at = NOON

    def now(self) -> datetime:
        return self.at

    def wait(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


class StormStandIn:
    """feed (1 task) → count (6 tasks), in one worker of three slots; all up for an hour."""

    def __init__(self) -> None:
        self.clock = StillClock()
        self.version, self.status, self.free_slots = "1.2.4", "ACTIVE", 2
        self.workers = 1
        self.uptimes_s = {"feed": [3600], "count": [3600, 3600]}
        self.counted, self.rebalance_status = 100, 200
        self.rests_until = NOON
        self.asked: list[httpx.Request] = []

    def cluster(self, **connection: Any) -> StormCluster:
        transport = httpx.MockTransport(self._answer)
        return StormCluster("http://ui", "pair", PAIR, wait_s=5, clock=self.clock, transport=transport, **connection)

    def posted(self) -> list[tuple[str, Any]]:
        return [(each.url.path, json.loads(each.content)) for each in self.asked if each.method == "POST"]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if request.method == "POST":
            return httpx.Response(self.rebalance_status, json={"status": "success"})
        return httpx.Response(200, json=self._page(request.url.path.removeprefix("/api/v1")))

    def _page(self, path: str) -> dict[str, Any]:
        status = "REBALANCING" if self.clock.now() < self.rests_until else self.status
        if path == "/cluster/summary":
            return {"stormVersion": self.version, "slotsFree": self.free_slots}
        if path == "/topology/summary":
            return {"topologies": [{"name": "pair", "id": "pair-1-99", "status": status}]}
        if path == "/topology/pair-1-99":
            return {
                "status": status,
                "workersTotal": self.workers,
                "spouts": [{"spoutId": "feed", "executors": 1, "tasks": 1}],
                "bolts": [{"boltId": "count", "executors": len(self.uptimes_s["count"]), "tasks": 6}],
            }
        name = path.rpartition("/")[2]
        executors = [
            {"id": f"[{at}-{at}]", "uptimeSeconds": up_s, "host": "a", "port": 6700, "emitted": self.counted}
            for at, up_s in enumerate(self.uptimes_s[name])
        ]
        return {"executorStats": executors}


@pytest.fixture
def storm() -> StormStandIn:
    return StormStandIn()


def _accepted(answer: Accepted | Refusal) -> Accepted:
    assert isinstance(answer, Accepted), answer
    return answer


def _refused(answer: Accepted | Refusal) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.reason


def test_apply__names_all_components_and_leaves_the_workers(storm: StormStandIn) -> None:
    _accepted(storm.cluster().apply(LARGE, expected=SMALL))
    options = {"rebalanceOptions": {"executors": {"feed": 1, "count": 3}}}
    assert storm.posted() == [("/api/v1/topology/pair-1-99/rebalance/5", options)]


def test_apply__asks_for_as_many_workers_as_there_are_containers(storm: StormStandIn) -> None:
    held = (Instance("feed", 0), Instance("count", 0)), (Instance("count", 1), Instance("count", 2))
    packed = replace(LARGE, packing=(Container(1, held[0]), Container(2, held[1])))
    accepted = _accepted(storm.cluster().apply(packed, expected=SMALL))
    assert storm.posted()[0][1]["rebalanceOptions"]["numWorkers"] == 2
    # What is undone is one worker.
    assert len(accepted.replaced.packing) == 1


def test_storm_2__is_refused_with_the_command_that_does_it(storm: StormStandIn) -> None:
    storm.version = "2.6.2"
    reason = _refused(storm.cluster().apply(LARGE, expected=SMALL))
    assert "run: storm rebalance pair -e feed=1 -e count=3" in reason
    assert storm.posted() == []


def test_inactive_topology__is_down_and_takes_no_plan(storm: StormStandIn) -> None:
    storm.status = "INACTIVE"
    cluster = storm.cluster()
    assert cluster.state().status is Status.DOWN
    assert "is INACTIVE; activate or submit it" in _refused(cluster.apply(LARGE, expected=SMALL))


def test_rebalance_of_somebody_else__is_waited_for_and_then_judged(storm: StormStandIn) -> None:
    storm.rests_until = NOON + timedelta(seconds=20)
    storm.uptimes_s["count"] = [3600] * 4
    reason = _refused(storm.cluster().apply(LARGE, expected=SMALL))
    assert storm.clock.now() == storm.rests_until
    assert "feed 1 · count 4, not feed 1 · count 2 as was assumed" in reason


def test_rebalance_that_does_not_end__is_an_error(storm: StormStandIn) -> None:
    storm.rests_until = NOON + timedelta(hours=1)
    with pytest.raises(ClusterError, match="has been rebalancing for 65 s; see the log of Nimbus"):
        storm.cluster().apply(LARGE, expected=SMALL)


def test_progress__waits_for_executors_that_have_not_reported_since(storm: StormStandIn) -> None:
    cluster = storm.cluster()
    accepted = _accepted(cluster.apply(LARGE, expected=SMALL))
    storm.clock.wait(10)
    # The worker of feed is still to restart: what it reported an hour long stays. Two of count are new.
    storm.uptimes_s = {"feed": [3600], "count": [0, 2, 2]}
    assert isinstance(pending := cluster.progress(accepted), Pending)
    assert "2 executors have not reported since the change" in pending.reason
    storm.clock.wait(5)
    storm.uptimes_s = {"feed": [3], "count": [4, 7, 7]}
    verified = cluster.progress(accepted)
    assert isinstance(verified, Verified)
    # Asked at noon; the last executor began 3 s before 12:00:15.
    assert verified.downtime_s == 12.0
    assert verified.running_since == NOON + timedelta(seconds=12)


def test_downtime__of_another_number_of_workers_is_measured_too(storm: StormStandIn) -> None:
    cluster = storm.cluster()
    both = Container(1, (Instance("feed", 0), Instance("count", 0))), Container(2, (Instance("count", 1),))
    accepted = _accepted(cluster.apply(replace(SMALL, packing=both), expected=SMALL))
    storm.workers = 2
    storm.clock.wait(20)
    storm.uptimes_s = {"feed": [8], "count": [8, 8]}
    verified = cluster.progress(accepted)
    assert isinstance(verified, Verified)
    assert verified.downtime_s == 12.0


def test_progress__waits_for_tuples_to_flow_but_not_for_ever(storm: StormStandIn) -> None:
    cluster = storm.cluster()
    accepted = _accepted(cluster.apply(LARGE, expected=SMALL))
    storm.counted = 0
    storm.clock.wait(20)
    storm.uptimes_s = {"feed": [10], "count": [10, 10, 10]}
    assert isinstance(cluster.progress(accepted), Pending)
    storm.clock.wait(25)
    storm.uptimes_s = {"feed": [35], "count": [35, 35, 35]}
    assert isinstance(cluster.progress(accepted), Verified)


def test_progress__of_another_number_of_executors_has_failed(storm: StormStandIn) -> None:
    cluster = storm.cluster()
    accepted = _accepted(cluster.apply(LARGE, expected=SMALL))
    assert isinstance(failed := cluster.progress(accepted), Failed)
    assert "runs feed 1 · count 2 in 1 worker, not feed 1 · count 3" in failed.reason


def test_running_since__does_not_move_with_the_age_of_heartbeats(storm: StormStandIn) -> None:
    cluster = storm.cluster()
    first = cluster.state().running_since
    storm.clock.wait(3)  # no heartbeat meanwhile: the uptime is the same
    assert cluster.state().running_since == first
    storm.clock.wait(60)
    storm.uptimes_s["count"] = [3660, 5]  # one began anew
    assert cluster.state().running_since == storm.clock.now() - timedelta(seconds=5)


def test_a_refused_login__is_told_without_the_token(storm: StormStandIn) -> None:
    storm.rebalance_status = 403
    cluster = storm.cluster(headers={"Authorization": SecretStr("Bearer s3cret")})
    with pytest.raises(ClusterError, match=r"HTTP 403; give a token or a login that may change it") as failed:
        cluster.apply(LARGE, expected=SMALL)
    assert "s3cret" not in str(failed.value)
    assert storm.asked[-1].headers["Authorization"] == "Bearer s3cret"


def test_section__without_the_variable_of_its_token_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORM_TOKEN", raising=False)
    file = tmp_path / "pair.yaml"
    file.write_text(
        "topology: pair\nengine: storm\noperators: {feed: {service_s: 0.1}}\nstreams: []\n"
        "cluster: {kind: storm, url: 'http://ui:8080', token_env: STORM_TOKEN}\n"
    )
    config = read_topology_file(file)
    with pytest.raises(
        ValueError, match="the environment variable STORM_TOKEN, which should hold a secret, is not set; set it"
    ):
        cluster_kind(config.cluster).connect(config, config.cluster, Settings(), StillClock())
