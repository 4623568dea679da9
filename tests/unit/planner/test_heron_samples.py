"""Operator samples from Heron's tracker, against a stand-in that answers in the shapes of its REST interface.

There is no Heron to be had any more, so what the stand-in tells is modelled on the code of its last releases: values
are text with six decimals, and minutes without a report show zeros.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from planner.clusters.heron_samples import heron_operator_samples
from planner.errors import ClusterError

WORDS = Topology(
    "words",
    (Operator("feed"), Operator("split"), Operator("count")),
    (Stream("feed", "split"), Stream("split", "count", Grouping.FIELDS), Stream("feed", "count")),
    Engine.HERON,
)
FEED, SPLIT, COUNT_2, COUNT_10 = (
    "container_1_feed_1",
    "container_1_split_4",
    "container_2_count_2",
    "container_1_count_10",
)
PRESSURE = "__time_spent_back_pressure_by_compid/"

Told = dict[str, dict[int, float]]
"""Metric, minute: value."""


class HeronStandIn:
    """feed (1) → split (1) → count (2, tasks 2 and 10), which also reads feed. Minute 0 began 70 s ago, and is the last
    that is over.

    told: what each instance told, by component. Everything was up for an hour at minute 0.
    """

    def __init__(self) -> None:
        self.start_s = int(datetime.now(UTC).timestamp()) - 70
        self.wrapped = self.legacy = False
        self.offsets_s: dict[str, int] = {}
        self.bolts = {
            "split": [("feed", "default")],
            "count": [("split", "default"), ("feed", "default")],
        }
        self.instances = {"feed": [FEED], "split": [SPLIT], "count": [COUNT_10, COUNT_2]}
        self.told: dict[str, dict[str, Told]] = {
            "feed": {FEED: {"__emit-count/default": steady(600)}},
            "split": {
                SPLIT: {
                    "__execute-count/feed/default": steady(600),
                    "__execute-latency/feed/default": steady(2e6),
                    "__emit-count/default": steady(3000),
                }
            },
            "count": {
                COUNT_2: {
                    "__execute-count/split/default": steady(2000),
                    "__execute-latency/split/default": steady(10e6),
                    "__execute-count/feed/default": steady(300),
                    "__execute-latency/feed/default": steady(20e6),
                },
                COUNT_10: {
                    "__execute-count/split/default": steady(1000),
                    "__execute-latency/split/default": steady(11e6),
                    "__execute-count/feed/default": steady(300),
                    "__execute-latency/feed/default": steady(20e6),
                },
            },
        }
        for of in self.told.values():
            for metrics in of.values():
                metrics["__jvm-uptime-secs"] = {minute: 3600.0 + 60 * minute for minute in range(-12, 2)}
        self.pressure: dict[str, Told] = {}
        self.asked: list[httpx.Request] = []
        self.answers: dict[str, Any] = {}

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def samples(self, topology: Topology = WORDS, **other: Any) -> Sequence[OperatorSample]:
        names = {"cluster": "local", "environ": "prod", "topology_name": "words", "span_s": 300.0}
        return heron_operator_samples(
            "http://heron:8888", topology=topology, transport=self.transport(), **{**names, **other}
        )

    def of(self, operator: str, index: int = 0, **other: Any) -> list[OperatorSample]:
        return [each for each in self.samples(**other) if (each.operator, each.index) == (operator, index)]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        path = request.url.path
        if path in self.answers:
            return self.answers[path]
        if path == "/topologies/logicalplan":
            spouts = {"feed": {"outputs": [{"stream_name": "default"}]}}
            bolts = {
                name: {"outputs": [], "inputs": [{"component_name": c, "stream_name": s} for c, s in inputs]}
                for name, inputs in self.bolts.items()
            }
            return self._body({"spouts": spouts, "bolts": bolts})
        if path == "/topologies/physicalplan":
            bolts_of = {name: ids for name, ids in self.instances.items() if name != "feed"}
            return self._body({"spouts": {"feed": self.instances["feed"]}, "bolts": bolts_of, "instances": {}})
        if path == ("/topologies/metricstimeline" if self.legacy else "/topologies/metrics/timeline"):
            return self._timeline(request.url.params)
        return httpx.Response(404, json={"message": "not found"})

    def _body(self, result: Any) -> httpx.Response:
        if self.wrapped:
            result = {"status": "success", "executiontime": 0.01, "message": "", "version": "0.17", "result": result}
        return httpx.Response(200, json=result)

    def _timeline(self, query: httpx.QueryParams) -> httpx.Response:
        component, since, until = query["component"], int(query["starttime"]), int(query["endtime"])
        of = {"stmgr-1": self.pressure.get("stmgr-1", {})} if component == "__stmgr__" else self.told[component]
        timeline: dict[str, Any] = {}
        for instance, metrics in of.items():
            for metric in set(query.get_list("metricname")) & set(metrics):
                offset_s = self.offsets_s.get(metric, 0)
                stamps = {self.start_s + 60 * minute + offset_s: value for minute, value in metrics[metric].items()}
                kept = {str(stamp): f"{value:f}" for stamp, value in stamps.items() if since - 60 < stamp < until}
                timeline.setdefault(metric, {})[instance] = kept
        return self._body({"component": component, "starttime": since, "endtime": until, "timeline": timeline})


def steady(value: float) -> dict[int, float]:
    return dict.fromkeys(range(-12, 2), value)


@pytest.fixture
def heron() -> HeronStandIn:
    return HeronStandIn()


@pytest.mark.parametrize(("wrapped", "legacy"), [(False, False), (True, True), (True, False)])
def test_samples__are_one_per_instance_and_whole_minute(heron: HeronStandIn, wrapped: bool, legacy: bool) -> None:
    heron.wrapped, heron.legacy = wrapped, legacy
    samples = heron.samples()
    begun = [heron.start_s + 60 * minute for minute in range(-4, 1)]  # minute 1 is not over, minute -5 is too long ago
    for operator, index in [("feed", 0), ("split", 0), ("count", 0), ("count", 1)]:
        of = [each for each in samples if (each.operator, each.index) == (operator, index)]
        assert [each.began_s for each in of] == begun
        assert {each.span_s for each in of} == {60.0}
    assert len(samples) == 4 * 5


def test_bolt__is_busy_for_its_tuples_times_their_latency_in_nanoseconds(heron: HeronStandIn) -> None:
    sample = heron.of("count", 0)[0]  # task 2, before task 10
    assert sample.records_in == 2300
    assert sample.records_in_by == {"split->count": 2000, "feed->count": 300}
    # 2000 · 10 ms, 300 · 20 ms
    assert sample.busy_s_by == pytest.approx({"split->count": 20.0, "feed->count": 6.0})
    assert sample.busy_s == pytest.approx(26.0)
    assert sample.parallelism == 2
    assert sample.backpressured_s == 0
    assert heron.of("count", 1)[0].busy_s == pytest.approx(11 + 6)


def test_stream_that_two_read__is_counted_whole_for_each(heron: HeronStandIn) -> None:
    sample = heron.of("feed")[0]
    assert sample.records_out == {"feed->split": 600, "feed->count": 600}
    assert sample.records_in == 600
    assert heron.of("split")[0].records_out == {"split->count": 3000}


def test_deserialisation__is_added_where_it_is_told(heron: HeronStandIn) -> None:
    heron.told["split"][SPLIT]["__tuple-deserialization-time-ns/feed/default"] = steady(0.3e9)
    assert heron.of("split")[0].busy_s == pytest.approx(600 * 0.002 + 0.3)


def test_jvm__tells_cpu_memory_garbage_collection_and_age(heron: HeronStandIn) -> None:
    metrics = heron.told["split"][SPLIT]
    metrics["__jvm-process-cpu-load"] = steady(0.25)
    metrics["__jvm-memory-used-mb"] = steady(412.0)
    # Since the JVM began: 1.5 s more each minute.
    metrics["__jvm-gc-collection-time-ms"] = {minute: 90_000.0 + 1500 * minute for minute in range(-12, 2)}
    last = heron.of("split")[-1]
    assert (last.cpu_s, last.memory_mib, last.gc_s) == (15.0, 412.0, 1.5)  # a quarter core for a minute
    assert last.age_s == 3600 - 60  # up for an hour at the end of the minute


def test_what_the_jvm_does_not_tell__is_none(heron: HeronStandIn) -> None:
    heron.told["split"][SPLIT]["__jvm-process-cpu-load"] = steady(-4.0)  # Java cannot tell, times four processors
    sample = heron.of("split")[0]
    assert (sample.cpu_s, sample.memory_mib, sample.gc_s) == (None, None, None)


def test_backpressure__holds_spouts_back_and_no_bolts(heron: HeronStandIn) -> None:
    heron.pressure["stmgr-1"] = {PRESSURE + COUNT_2: {-1: 12_000.0}, PRESSURE + SPLIT: {-1: 20_000.0, 0: 61_000.0}}
    assert [each.backpressured_s for each in heron.of("feed")] == [0, 0, 0, 20.0, 60.0]
    assert {each.backpressured_s for each in heron.of("count")} == {0}
    assert {each.busy_s for each in heron.of("feed")} == {0}


def test_stamps_a_few_seconds_apart__are_of_one_minute(heron: HeronStandIn) -> None:
    heron.offsets_s = {"__execute-latency/feed/default": 2, "__jvm-uptime-secs": 3}
    samples = heron.samples()
    assert len({each.began_s for each in samples}) == 5
    assert heron.of("split")[0].busy_s == pytest.approx(1.2)


def test_minute_without_a_report__is_left_out_with_the_one_of_two(heron: HeronStandIn) -> None:
    metrics = heron.told["split"][SPLIT]
    # The report of minute -2 came in minute -1, which therefore has two.
    metrics["__execute-count/feed/default"] |= {-2: 0.0, -1: 1200.0}
    metrics["__jvm-uptime-secs"] |= {-2: 0.0}
    assert [(each.began_s or 0) - heron.start_s for each in heron.of("split")] == [-240, -180, 0]


def test_minute_of_a_restart__is_left_out(heron: HeronStandIn) -> None:
    heron.told["split"][SPLIT]["__jvm-uptime-secs"] |= {-2: 30.0, -1: 90.0, 0: 150.0}
    of = heron.of("split")
    assert [((each.began_s or 0) - heron.start_s, each.age_s) for each in of][2:] == [(-60, 30), (0, 90)]


def test_instance_that_is_gone__is_left_out(heron: HeronStandIn) -> None:
    heron.instances["count"] = [COUNT_10]
    samples = heron.samples()
    assert {each.index for each in samples if each.operator == "count"} == {0}
    assert {each.parallelism for each in samples if each.operator == "count"} == {1}


def test_components_of_other_names__are_given_per_operator(heron: HeronStandIn) -> None:
    topology = Topology(
        "words",
        (Operator("lines"), Operator("split"), Operator("count")),
        (Stream("lines", "split"), Stream("split", "count", Grouping.FIELDS), Stream("lines", "count")),
    )
    samples = heron.samples(topology, operators={"lines": "feed"})
    assert samples[0].records_out == {"lines->split": 600, "lines->count": 600}


def test_labels__tell_streams_between_the_same_operators_apart(heron: HeronStandIn) -> None:
    heron.bolts = {"split": [("feed", "left"), ("feed", "right"), ("__topology_master", "__tick")]}
    heron.instances = {"feed": [FEED], "split": [SPLIT]}
    uptime = heron.told["split"][SPLIT]["__jvm-uptime-secs"]
    heron.told["split"][SPLIT] = {
        "__execute-count/feed/left": steady(100),
        "__execute-latency/feed/left": steady(1e6),
        "__execute-count/feed/right": steady(50),
        "__execute-latency/feed/right": steady(4e6),
        "__jvm-uptime-secs": uptime,
    }
    heron.told["feed"][FEED] |= {"__emit-count/left": steady(100), "__emit-count/right": steady(50)}
    streams = (Stream("feed", "split", label="left"), Stream("feed", "split", label="right"))
    topology = Topology("pairs", (Operator("feed"), Operator("split")), streams)
    samples = heron.samples(topology)
    split = next(each for each in samples if each.operator == "split")
    assert split.records_in_by == {"feed->split:left": 100, "feed->split:right": 50}
    assert split.busy_s_by == pytest.approx({"feed->split:left": 0.1, "feed->split:right": 0.2})
    feed = next(each for each in samples if each.operator == "feed")
    assert (feed.records_out, feed.records_in) == ({"feed->split:left": 100, "feed->split:right": 50}, 150)
    unlabelled = Topology("pairs", topology.operators, (streams[0], Stream("feed", "split", label="rechts")))
    with pytest.raises(ClusterError, match=r"stream 'right' of 'feed'.*labelled 'left', 'rechts'"):
        heron.samples(unlabelled)
    # With one stream between them all that flows is that stream.
    whole = heron.samples(Topology("pairs", topology.operators, (Stream("feed", "split"),)))
    assert next(each for each in whole if each.operator == "split").records_in_by == {"feed->split": 150}


def test_many_names__are_asked_for_in_several_requests(heron: HeronStandIn) -> None:
    heron.instances["count"] = [f"container_1_count_{task}" for task in range(10, 110)]
    heron.samples()
    of_managers = [each for each in heron.asked if each.url.params.get("component") == "__stmgr__"]
    assert [len(each.url.params.get_list("metricname")) for each in of_managers] == [40, 40, 22]


REFUSED = {"status": "failure", "message": "Could not find topology words", "version": "0.17", "result": {}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda heron: heron.answers.update({"/topologies/physicalplan": httpx.Response(200, json=REFUSED)}),
            r"topology local/prod/words refuses /topologies/physicalplan: Could not find topology words; check cluster",
        ),
        (
            lambda heron: heron.answers.update({"/topologies/metrics/timeline": httpx.Response(500, json={})}),
            r"refuses /topologies/metrics/timeline: HTTP 500",
        ),
        (
            lambda heron: heron.answers.update({"/topologies/physicalplan": httpx.Response(200, json=[1])}),
            r"answers /topologies/physicalplan in a shape that is not documented \('\[1\]'\); check its version",
        ),
        (
            lambda heron: heron.answers.update({"/topologies/physicalplan": httpx.Response(200, json={"bolts": {}})}),
            "in a shape that is not documented",
        ),
        (
            lambda heron: heron.answers.update(
                {"/topologies/metrics/timeline": httpx.Response(200, json={"timeline": {"m": {"i": {"x": "y"}}}})}
            ),
            "answers /topologies/metrics/timeline in a shape that is not documented",
        ),
        (
            lambda heron: heron.answers.update({"/topologies/logicalplan": httpx.Response(200, text="<html>")}),
            "HTTP 200 and no JSON .*check that the address is the server's own",
        ),
        (
            lambda heron: heron.answers.update({"/topologies/logicalplan": httpx.Response(403)}),
            "refuses /topologies/logicalplan with HTTP 403; give a token or a login that may read",
        ),
        (
            lambda heron: heron.instances.pop("count"),
            "has no component 'count' for operator 'count'; its components are feed, split",
        ),
        (
            lambda heron: heron.bolts["split"].append(("clicks", "default")),
            "component 'split' reads stream 'default' of 'clicks', which topology 'words' lacks; add a stream",
        ),
        (lambda heron: heron.bolts["count"].pop(), "has nothing that flows along feed->count; take the stream out"),
        (
            lambda heron: [of.clear() for each in heron.told.values() for of in each.values()],
            "reports no whole minute in the last 300 s; see whether it runs",
        ),
        (
            lambda heron: heron.told["split"][SPLIT].pop("__execute-latency/feed/default"),
            "reports no __execute-latency/feed/default of operator 'split'; add __execute-latency to",
        ),
    ],
)
def test_what_is_wrong__is_told_with_its_remedy(
    heron: HeronStandIn, change: Callable[[HeronStandIn], object], message: str
) -> None:
    change(heron)
    with pytest.raises(ClusterError, match=message):
        heron.samples()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"span_s": 30.0}, "span_s 30.0; it keeps minutes of three hours, so give 60 to 10800"),
        ({"operators": {"cuont": "count"}}, "a component is given for 'cuont', which is not an operator"),
        ({"operators": {"split": "count"}}, "component 'count' is given for operators"),
        ({"timeout_s": 0.0}, r"timeout_s 0\.0; give a positive number"),
    ],
)
def test_what_is_asked_wrongly__is_refused(heron: HeronStandIn, other: dict[str, Any], message: str) -> None:
    with pytest.raises(ClusterError, match=message):
        heron.samples(**other)


@pytest.mark.parametrize(
    ("error", "message"),
    [(httpx.ConnectError("refused"), "cannot be reached: refused"), (httpx.ReadTimeout("slow"), "did not answer")],
)
def test_tracker_out_of_reach__is_named_without_its_secrets(error: Exception, message: str) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        assert request.headers["X-Token"] == "hidden-token"
        raise error

    with pytest.raises(ClusterError, match=message) as raised:
        heron_operator_samples(
            "http://anna:hidden@heron:8888/?key=hidden",
            cluster="local",
            environ="prod",
            role="anna",
            topology_name="words",
            topology=WORDS,
            headers={"X-Token": SecretStr("hidden-token")},
            transport=httpx.MockTransport(fail),
        )
    assert "Heron Tracker at http://heron:8888, topology local/anna/prod/words" in str(raised.value)
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize("url", ["heron:8888", "ftp://anna:hidden@heron", "http://[hidden", "http://heron:0"])
def test_address_that_is_no_url__is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ClusterError, match="the address of Heron Tracker is not a URL") as raised:
        heron_operator_samples(url, cluster="c", environ="e", topology_name="words", topology=WORDS)
    assert "hidden" not in str(raised.value)
