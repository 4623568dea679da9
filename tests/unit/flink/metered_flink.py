"""The recorded Flink job with metrics of its source that change as it is waited on."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
from unit.flink.recorded_flink import JOB, SOURCE, RecordedFlink

from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.clusters.cluster import SourceBacklog
from planner.clusters.flink import FlinkCluster

CHAIN = Topology(
    "word-count",
    (Operator("sentences"), Operator("split"), Operator("count")),
    (Stream("sentences", "split"), Stream("split", "count", Grouping.FIELDS)),
)
AGE = {"accumulateBusyTimeMs": 0.25, "accumulateIdleTimeMs": 0.25, "accumulateBackPressuredTimeMs": 0.5}
OF_SOURCE = "Source__sentences"


class MeteredFlink(RecordedFlink):
    """The recorded job with metrics of its source, and the clock that is waited on. Each wait brings the next of the
    samples: age in seconds of a subtask, pending and read records of all, and of how many subtasks that was collected,
    all if left out; the last one stays.
    """

    def __init__(self, *samples: tuple[float, ...], counts: str = "numRecordsIn", sources: int = 1) -> None:
        super().__init__()
        self.job["vertices"][0]["parallelism"] = sources
        self.job["vertices"][0]["tasks"]["RUNNING"] = sources
        self.samples, self.counts, self.sources = list(samples), counts, sources
        self.waited_s = 0.0
        self.replace("GET", f"/jobs/{JOB}/vertices/{SOURCE}/subtasks/metrics", self._metrics)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def wait(self, seconds: float) -> None:
        self.waited_s += seconds
        self.samples = self.samples[1:] or self.samples

    def cluster(self) -> FlinkCluster:
        return FlinkCluster("http://flink:8081", "word-count", CHAIN, clock=self, transport=self.transport())

    def backlog(self) -> SourceBacklog:
        backlogs = self.cluster().backlogs()
        assert list(backlogs) == ["sentences"]
        return backlogs["sentences"]

    def _metrics(self, request: httpx.Request) -> httpx.Response:
        sums, collected = dict(self._sums()), self.samples[0][3:] or (self.sources,)
        if "get" not in request.url.params:
            return httpx.Response(200, json=[{"id": name} for name in sums])
        assert request.url.params["subtasks"] == f"0-{self.sources - 1}"
        assert request.url.params["agg"] == "sum,avg"
        names = request.url.params["get"].split(",")
        # As Flink does it: one missing name empties the whole answer.
        known = sums.keys() >= set(names)
        told = [{"id": name, "sum": sums[name], "avg": sums[name] / collected[0]} for name in names if known]
        return httpx.Response(200, json=told)

    def _sums(self) -> Iterator[tuple[str, float]]:
        age_s, pending, counted, *collected = self.samples[0]
        if not math.isnan(age_s):
            # A quarter busy, a quarter idle, half held back; of all subtasks together.
            yield from ((name, part * 1000 * age_s * (*collected, self.sources)[0]) for name, part in AGE.items())
        if not math.isnan(pending):
            yield f"{OF_SOURCE}.pendingRecords", pending
        yield f"{OF_SOURCE}.numRecordsOut", counted
        yield f"{OF_SOURCE}.numRecordsIn", counted if self.counts == "numRecordsIn" else 0.0
