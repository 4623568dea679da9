"""Operator samples from Storm's UI, against a stand-in that answers in the shapes of Storm 2's REST documentation."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from planner.clusters.storm_samples import storm_operator_samples
from planner.errors import ClusterError

WORDS = Topology(
    "words",
    (Operator("feed"), Operator("split"), Operator("count")),
    (Stream("feed", "split"), Stream("split", "count", Grouping.FIELDS), Stream("feed", "count")),
    Engine.STORM,
)
ID = "words-3-1709400000"
TOPOLOGY = f"/api/v1/topology/{ID}"


def executor(
    tasks: str,
    *,
    uptime: int = 7200,
    emitted: int = 0,
    executed: int = 0,
    latency: str = "0",
    capacity: str | None = None,
) -> dict[str, Any]:
    told = {"id": f"[{tasks}]", "uptimeSeconds": uptime, "uptime": "2h", "host": "node", "port": 6700}
    told |= {"emitted": emitted, "transferred": emitted, "acked": 0, "failed": 0}
    if capacity is None:
        return told | {"completeLatency": "0.000"}
    return told | {"executed": executed, "executeLatency": latency, "processLatency": "0.1", "capacity": capacity}


def entering(component: str, executed: int, latency: str, stream: str = "default") -> dict[str, Any]:
    return {"component": component, "stream": stream, "executed": executed, "executeLatency": latency, "acked": 1}


def leaving(emitted: int, stream: str = "default") -> dict[str, Any]:
    return {"stream": stream, "emitted": emitted, "transferred": emitted}


class StormStandIn:
    """feed (1 executor) → split (1) → count (2 executors of 3 and 2 tasks), which also reads feed; ten minutes."""

    def __init__(self) -> None:
        self.pages: dict[str, Any] = {
            "/api/v1/topology/summary": {
                "topologies": [{"id": "other-1-1", "name": "other"}, {"id": ID, "name": "words"}]
            },
            TOPOLOGY: {
                "id": ID,
                "status": "ACTIVE",
                "spouts": [{"spoutId": "feed", "executors": 1, "tasks": 1}],
                "bolts": [
                    {"boltId": "split", "executors": 1, "tasks": 1, "capacity": "0.040"},
                    {"boltId": "count", "executors": 2, "tasks": 5, "capacity": "0.2"},
                ],
            },
            f"{TOPOLOGY}/component/feed": {
                "executorStats": [executor("9-9", emitted=6000)],
                "outputStats": [leaving(6000), leaving(20, "__metrics")],
            },
            f"{TOPOLOGY}/component/split": {
                "executorStats": [executor("10-10", emitted=30000, executed=6000, latency="4.000", capacity="0.040")],
                "inputStats": [entering("feed", 6000, "4.000")],
                "outputStats": [leaving(30000)],
            },
            f"{TOPOLOGY}/component/count": {
                # As Storm lists them, in no order. 20000 · 6.6 ms = 132 s and 16000 · 6.6 ms = 105.6 s of 600.
                "executorStats": [
                    executor("4-5", executed=16000, latency="6.600", capacity="0.176"),
                    executor("1-3", executed=20000, latency="6.600", capacity="0.220"),
                ],
                "inputStats": [entering("split", 30000, "6.000"), entering("feed", 6000, "9.600")],
                "outputStats": [],
            },
        }
        self.statuses: dict[str, int] = {}
        self.asked: list[httpx.Request] = []

    def of(self, component: str) -> Any:
        return self.pages[f"{TOPOLOGY}/component/{component}"]

    def samples(self, topology: Topology = WORDS, **other: Any) -> Sequence[OperatorSample]:
        return storm_operator_samples(
            "http://storm:8080",
            topology=topology,
            transport=httpx.MockTransport(self._answer),
            **{"topology_name": "words", **other},
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        path = request.url.raw_path.decode().partition("?")[0]
        if path not in self.pages:
            return httpx.Response(500, json={"error": "Internal Server Error", "errorMessage": "java.lang"})
        page = self.pages[path]
        if isinstance(page, str):
            return httpx.Response(200, text=page)
        return httpx.Response(self.statuses.get(path, 200), json=page)


@pytest.fixture
def storm() -> StormStandIn:
    return StormStandIn()


def test_samples__are_one_per_executor_in_the_order_of_their_tasks(storm: StormStandIn) -> None:
    before_s = time.time()
    samples = storm.samples()
    assert [(each.operator, each.index, each.parallelism) for each in samples] == [
        ("feed", 0, 1),
        ("split", 0, 1),
        ("count", 0, 2),
        ("count", 1, 2),
    ]
    assert {(each.span_s, each.age_s, each.backpressured_s) for each in samples} == {(600.0, 6600.0, 0.0)}
    assert all(before_s - 600 <= (each.began_s or 0) <= time.time() - 600 for each in samples)
    assert {request.url.params["window"] for request in storm.asked} == {"600"}


def test_bolt__is_busy_for_its_tuples_times_their_latency_in_milliseconds(storm: StormStandIn) -> None:
    _, split, first, second = storm.samples()
    assert split.busy_s == pytest.approx(24.0)  # 6000 · 4 ms
    assert (first.busy_s, second.busy_s) == (pytest.approx(132.0), pytest.approx(105.6))


def test_inputs__are_shared_out_by_what_each_executor_executed(storm: StormStandIn) -> None:
    first, second = storm.samples()[2:]
    # 30000 and 6000 of 36000, by 20/36 and 16/36
    assert first.records_in_by == pytest.approx({"split->count": 16666.667, "feed->count": 3333.333})
    assert second.records_in == pytest.approx(16000)
    # 180 s by split and 57.6 s by feed, of 237.6
    assert first.busy_s_by == pytest.approx({"split->count": 132 * 180 / 237.6, "feed->count": 132 * 57.6 / 237.6})
    assert sum(second.busy_s_by.values()) == pytest.approx(105.6)


def test_stream_that_two_read__is_counted_whole_for_each(storm: StormStandIn) -> None:
    feed, split = storm.samples()[:2]
    assert feed.records_out == {"feed->split": 6000, "feed->count": 6000}
    assert (feed.records_in, feed.busy_s) == (6000, 0)
    assert split.records_out == {"split->count": 30000}


def test_outputs__are_shared_out_by_what_each_executor_emitted(storm: StormStandIn) -> None:
    storm.of("feed")["executorStats"] = [executor("9-9", emitted=4500), executor("8-8", emitted=1500)]
    samples = [each for each in storm.samples() if each.operator == "feed"]
    assert [each.records_out["feed->split"] for each in samples] == [1500, 4500]  # task 8 first
    assert [each.records_in for each in samples] == [1500, 4500]


def test_ticks__are_busy_time_and_no_tuples(storm: StormStandIn) -> None:
    storm.of("split")["inputStats"].append(entering("__system", 2000, "10.000", "__tick"))
    # 6000 · 4 ms and 2000 · 10 ms
    storm.of("split")["executorStats"] = [
        executor("10-10", emitted=30000, executed=8000, latency="5.500", capacity="0.073")
    ]
    split = storm.samples()[1]
    assert split.records_in == pytest.approx(6000)
    assert split.busy_s == pytest.approx(44.0)
    assert split.busy_s_by == pytest.approx({"feed->split": 24.0})


def test_quick_bolt__is_busy_by_its_capacity_which_is_rounded_less(storm: StormStandIn) -> None:
    # 30 million tuples of 0.0061 ms, rounded to 0.006: 180 s, where 183 are true, a capacity of 0.305
    storm.of("split")["executorStats"] = [
        executor("10-10", emitted=30000, executed=30_000_000, latency="0.006", capacity="0.305")
    ]
    assert storm.samples()[1].busy_s == pytest.approx(183.0)
    # A day has no capacity.
    assert storm.samples(window_s=86400)[1].busy_s == pytest.approx(180.0)


def test_young_executor__has_a_shorter_span(storm: StormStandIn) -> None:
    storm.of("split")["executorStats"] = [
        executor("10-10", uptime=200, emitted=30000, executed=6000, latency="4.000", capacity="0.120")
    ]
    split = storm.samples()[1]
    assert (split.span_s, split.age_s, split.busy_s) == (200, 0, pytest.approx(24.0))


def test_executor_that_has_not_reported__is_left_out_and_counted(storm: StormStandIn) -> None:
    storm.of("count")["executorStats"][1] = executor("1-3", uptime=0, capacity="0.000")
    counts = [each for each in storm.samples() if each.operator == "count"]
    assert [(each.index, each.parallelism) for each in counts] == [(1, 2)]


def test_topology_without_a_tuple__has_samples_of_nothing(storm: StormStandIn) -> None:
    for component in ("feed", "split", "count"):
        storm.of(component).update(inputStats=[], outputStats=[])
    storm.of("feed")["executorStats"] = [executor("9-9")]
    storm.of("split")["executorStats"] = [executor("10-10", latency="0.000", capacity="0.000")]
    storm.of("count")["executorStats"] = [executor("1-5", latency="0", capacity="0.000")]
    assert {(each.records_in, each.busy_s, sum(each.records_out.values())) for each in storm.samples()} == {(0, 0, 0)}


def test_stream_that_nobody_has_read_yet__is_the_one_that_there_is(storm: StormStandIn) -> None:
    storm.of("count")["inputStats"] = []
    assert storm.samples()[0].records_out == {"feed->split": 6000, "feed->count": 6000}
    storm.of("feed")["outputStats"].append(leaving(50, "errors"))
    assert storm.samples()[0].records_out["feed->count"] == 0


def test_labels__tell_streams_between_the_same_operators_apart(storm: StormStandIn) -> None:
    streams = (Stream("feed", "split", label="left"), Stream("feed", "split", label="right"))
    topology = Topology("pairs", (Operator("feed"), Operator("split")), streams)
    storm.of("split")["inputStats"] = [entering("feed", 4500, "4", "left"), entering("feed", 1500, "4", "right")]
    storm.of("feed")["outputStats"] = [leaving(4500, "left"), leaving(1500, "right")]
    feed, split = storm.samples(topology)
    assert feed.records_out == {"feed->split:left": 4500, "feed->split:right": 1500}
    assert feed.records_in == 6000
    assert split.records_in_by == pytest.approx({"feed->split:left": 4500, "feed->split:right": 1500})


def test_components_of_other_names__are_given_per_operator_and_quoted(storm: StormStandIn) -> None:
    storm.pages[TOPOLOGY]["spouts"] = [{"spoutId": "word feed/1", "executors": 1, "tasks": 1}]
    storm.pages[f"{TOPOLOGY}/component/word%20feed%2F1"] = storm.pages.pop(f"{TOPOLOGY}/component/feed")
    for bolt in ("split", "count"):
        for each in storm.of(bolt)["inputStats"]:
            each["component"] = each["component"].replace("feed", "word feed/1")
    assert storm.samples(operators={"feed": "word feed/1"})[0].records_in == 6000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda storm: storm.pages["/api/v1/topology/summary"]["topologies"].pop(),
            r"Storm UI at http://storm:8080, topology words does not run; known are: other\. Submit it",
        ),
        (
            lambda storm: storm.pages.update({"/api/v1/topology/summary": {"topologies": 3}}),
            "answers /api/v1/topology/summary in a shape that is not documented",
        ),
        (
            lambda storm: storm.pages.update({"/api/v1/topology/summary": ["x"]}),
            "answers /api/v1/topology/summary in a shape that is not documented",
        ),
        (
            lambda storm: storm.pages.update({TOPOLOGY: "<html>"}),
            f"answers {TOPOLOGY} with HTTP 200 and no JSON",
        ),
        (lambda storm: storm.pages[TOPOLOGY].pop("bolts"), f"answers {TOPOLOGY} in a shape that is not documented"),
        (
            lambda storm: storm.pages.pop(f"{TOPOLOGY}/component/split"),
            f"fails {TOPOLOGY}/component/split: Internal Server Error; see the log of the UI and whether Nimbus runs",
        ),
        (
            lambda storm: storm.of("split")["executorStats"][0].update(executed=-1),
            f"answers {TOPOLOGY}/component/split in a shape that is not documented",
        ),
        (
            lambda storm: storm.of("split")["executorStats"][0].update(executeLatency="soon"),
            "in a shape that is not documented",
        ),
        (
            lambda storm: storm.of("split")["executorStats"][0].update(id="all"),
            "in a shape that is not documented",
        ),
        (
            lambda storm: storm.of("split")["executorStats"][0].update(capacity="0.400"),
            "executor of 'split' with task 10 was busy for 24.0 s by its tuples and latency, and for 240.0 s by",
        ),
        (
            lambda storm: storm.pages[TOPOLOGY]["bolts"].pop(),
            "has no component 'count' for operator 'count'; its components are feed, split. Correct its name",
        ),
        (
            lambda storm: storm.of("split")["inputStats"].append(entering("clicks", 1, "1")),
            "component 'split' reads stream 'default' of 'clicks', which topology 'words' lacks",
        ),
        (
            lambda storm: storm.statuses.update({TOPOLOGY: 401}),
            f"refuses {TOPOLOGY} with HTTP 401; give a token or a login",
        ),
    ],
)
def test_what_is_wrong__is_told_with_its_remedy(
    storm: StormStandIn, change: Callable[[StormStandIn], object], message: str
) -> None:
    change(storm)
    with pytest.raises(ClusterError, match=message):
        storm.samples()


def test_window_that_storm_does_not_keep__is_refused(storm: StormStandIn) -> None:
    with pytest.raises(ClusterError, match="window_s 300; Storm keeps windows of 600, 10800 and 86400 s"):
        storm.samples(window_s=300)


def test_ui_out_of_reach__is_named_without_its_secrets() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        assert request.headers["Authorization"].startswith("Basic")
        assert request.headers["X-Token"] == "hidden-token"
        raise httpx.ConnectError("refused")

    with pytest.raises(ClusterError, match="Storm UI at http://storm:8080, topology words cannot be reached") as raised:
        storm_operator_samples(
            "http://anna:hidden@storm:8080",
            topology_name="words",
            topology=WORDS,
            headers={"X-Token": SecretStr("hidden-token")},
            transport=httpx.MockTransport(fail),
        )
    assert "hidden" not in str(raised.value)
