"""A stand-in for Storm that keeps what it is asked for: spouts rest for the wait, then executors begin anew."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx
from fault_benches.bench import Bench, SteppingClock
from faulty_calls import Wire, WiredTransport
from unit.planner.test_storm_cluster import LARGE, NOON, PAIR, SMALL, StormStandIn

from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Cluster
from planner.clusters.storm import StormCluster

WAIT_S = 5


class KeptStorm(StormStandIn):
    """stuck: executors of a plan with 3 counts never report."""

    def __init__(self) -> None:
        super().__init__()
        self.clock: SteppingClock = SteppingClock(NOON)
        self.stuck = False
        self.counts = self.were = {"feed": 1, "count": 2}
        self.began = NOON.timestamp() - 3600
        self.rebalanced: list[dict[str, int]] = []

    def rebalance(self, counts: Mapping[str, int]) -> None:
        self.were = self.shown()
        self.rests_until = self.clock.now() + timedelta(seconds=WAIT_S)
        self.began = self.rests_until.timestamp() + 1
        self.counts = dict(counts)

    def shown(self) -> dict[str, int]:
        """What ran before, until spouts have rested."""
        return self.were if self.clock.now() < self.rests_until else self.counts

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            counts = json.loads(request.content)["rebalanceOptions"]["executors"]
            self.rebalanced.append(counts)
            self.rebalance(counts)
        else:
            up_s = max(0, int(self.clock.now().timestamp() - self.began))
            counts = self.shown()
            if self.stuck and counts["count"] == LARGE.parallelism["count"]:
                up_s = 0
            self.uptimes_s = {name: [up_s] * count for name, count in counts.items()}
        return super()._answer(request)


class StormBench(Bench):
    before, after, other = SMALL, LARGE, PhysicalPlan("pair", {"feed": 1, "count": 5})

    def __init__(self) -> None:
        self.storm = KeptStorm()
        self.clock = self.storm.clock
        super().__init__()

    @property
    def stuck(self) -> bool:
        return self.storm.stuck

    @stuck.setter
    def stuck(self, stuck: bool) -> None:
        self.storm.stuck = stuck

    def cluster(self, wire: Wire) -> Cluster:
        transport = WiredTransport(wire, httpx.MockTransport(self.storm._answer))
        return StormCluster("http://ui", "pair", PAIR, wait_s=WAIT_S, clock=self.clock, transport=transport)

    def asked(self) -> Mapping[str, int]:
        return self.storm.counts

    def changes(self) -> list[Any]:
        return list(self.storm.rebalanced)

    def others_ask(self) -> None:
        self.storm.rebalance(self.other.parallelism)
