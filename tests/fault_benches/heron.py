"""The stand-in for Heron without its server and its process, so that any call of either may be cut short."""

import contextlib
import io
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from fault_benches.bench import Bench, SteppingClock
from faulty_calls import CommandFailures, Wire, WiredTransport
from heron_stand_in import HeronStandIn, prepared, tracker_answers, update
from json_stand_in import JsonStandIn

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from planner.clusters.cluster import Cluster
from planner.clusters.heron import HeronCluster, HeronNames

WORDS = Topology(
    "words",
    (Operator("feed", 16), Operator("split", 16), Operator("count", 16)),
    (Stream("feed", "split"), Stream("split", "count", Grouping.FIELDS)),
    Engine.HERON,
)
NAMES = HeronNames("local", "prod", "words", "ubuntu")


def words(count: int) -> PhysicalPlan:
    return PhysicalPlan("words", {"feed": 1, "split": 2, "count": count})


class HeronBench(Bench):
    """A client that ends with an error has done nothing here; one that is silent is stopped, and may have done it."""

    before, after, other = words(2), words(3), words(5)
    refuses = frozenset(
        ["no effect, then a broken connection", *(f"no effect, then {each}" for each in (409, 422, 429, 500, 503))]
    )

    def __init__(self, folder: Path) -> None:
        tracker = JsonStandIn("http://heron", tracker_answers(prepared(folder)))
        self.heron = HeronStandIn("http://heron", folder / "heron", tracker, folder / "state.json")
        self.updated: list[list[str]] = []
        self.clock = SteppingClock(datetime.now(UTC))  # the stand-in goes by the machine's clock
        super().__init__()

    @property
    def stuck(self) -> bool:
        return self._stuck

    @stuck.setter
    def stuck(self, stuck: bool) -> None:
        self._stuck = stuck
        if stuck:
            self.heron.change(lost=["count"])

    def cluster(self, wire: Wire) -> Cluster:
        def run(call: Sequence[str], timeout_s: float) -> "subprocess.CompletedProcess[str]":
            changes = "--dry-run" not in call
            return wire.passed(" ".join(call), lambda: self._ran(call), CommandFailures(call), changes=changes)

        transport = WiredTransport(wire, httpx.MockTransport(self._tracked))
        return HeronCluster("http://heron", NAMES, WORDS, clock=self.clock, run=run, transport=transport)

    def asked(self) -> Mapping[str, int]:
        packing = self.heron.state()["packing"]
        return Counter(each[0] for instances in packing.values() for each in instances)

    def changes(self) -> list[Any]:
        return list(self.updated)

    def others_ask(self) -> None:
        self._ran(["heron", "update", "local/ubuntu/prod", "words", "--component-parallelism", "count:5"])
        self.updated.pop()

    def _ran(self, call: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        told, wrong = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(wrong):
            code = update(str(self.heron.file), list(call[1:]))
        if "--dry-run" not in call and not code:
            self.updated.append(list(call))
        return subprocess.CompletedProcess(list(call), code, told.getvalue(), wrong.getvalue())

    def _tracked(self, request: httpx.Request) -> httpx.Response:
        query = {name: request.url.params.get_list(name) for name in request.url.params}
        status, body = self.heron.tracker.answer(request.url.path, query)
        return httpx.Response(status, content=body)
