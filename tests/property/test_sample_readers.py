"""What holds of the readers of Heron's and Storm's samples, whatever those answer."""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modeling.inputs.topology import Engine, Operator, Stream, Topology
from planner.clusters.heron_samples import heron_operator_samples
from planner.clusters.storm_samples import storm_operator_samples
from planner.errors import ClusterError

PAIR = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),), Engine.STORM)
COMPONENT = "/api/v1/topology/pair-1-1/component/"
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["1", "1e308", "[1-2]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FUZZED = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def _transport(answers: dict[str, Any]) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        found = answers[unquote(request.url.path)]
        # Java writes NaN and infinities into JSON, as Python's own module does.
        return httpx.Response(200, text=json.dumps(found(request) if callable(found) else found))

    return httpx.MockTransport(answer)


def _storm(answers: dict[str, Any]) -> list[Any]:
    samples = storm_operator_samples(
        "http://storm", topology_name="pair", topology=PAIR, transport=_transport(_storm_pages() | answers)
    )
    return list(samples)


def _storm_pages() -> dict[str, Any]:
    executor = {"id": "[1-1]", "uptimeSeconds": 900, "emitted": 60, "executed": 60, "executeLatency": "2.000"}
    return {
        "/api/v1/topology/summary": {"topologies": [{"name": "pair", "id": "pair-1-1"}]},
        "/api/v1/topology/pair-1-1": {
            "status": "ACTIVE",
            "spouts": [{"spoutId": "a", "executors": 1, "tasks": 1}],
            "bolts": [{"boltId": "b", "executors": 1, "tasks": 1}],
        },
        COMPONENT + "a": {"executorStats": [executor], "outputStats": [{"stream": "default", "emitted": 60}]},
        COMPONENT + "b": {
            "executorStats": [executor],
            "inputStats": [{"component": "a", "stream": "default", "executed": 60, "executeLatency": "2.000"}],
        },
    }


def _heron(answers: dict[str, Any]) -> list[Any]:
    samples = heron_operator_samples(
        "http://heron",
        cluster="c",
        environ="e",
        topology_name="pair",
        topology=PAIR,
        transport=_transport(_heron_pages() | answers),
    )
    return list(samples)


def _heron_pages() -> dict[str, Any]:
    start_s = int(time.time()) - 370
    minutes = {str(start_s + 60 * minute): minute for minute in range(5)}
    told = {
        "a": {"__emit-count/default": dict.fromkeys(minutes, "60.0")},
        "b": {
            "__execute-count/a/default": dict.fromkeys(minutes, "60.0"),
            "__execute-latency/a/default": dict.fromkeys(minutes, "2000000.0"),
        },
        "__stmgr__": {},
    }

    def timeline(request: httpx.Request) -> Any:
        component = request.url.params["component"]
        uptimes = {stamp: str(600.0 + 60 * minute) for stamp, minute in minutes.items()}
        metrics = told[component] | ({} if component == "__stmgr__" else {"__jvm-uptime-secs": uptimes})
        instance = f"container_1_{component}_1"
        return {"timeline": {metric: {instance: values} for metric, values in metrics.items()}}

    return {
        "/topologies/physicalplan": {"spouts": {"a": ["container_1_a_1"]}, "bolts": {"b": ["container_1_b_1"]}},
        "/topologies/logicalplan": {
            "spouts": {"a": {}},
            "bolts": {"b": {"inputs": [{"component_name": "a", "stream_name": "default"}]}},
        },
        "/topologies/metrics/timeline": timeline,
    }


def _is_read_or_told_of(read: Callable[[], object], place: str) -> None:
    """Whatever is wrong is a ClusterError that names the place."""
    told = place
    try:
        read()
    except ClusterError as error:
        told = str(error)
    assert place in told


@pytest.mark.parametrize("read", [_storm, _heron])
def test_what_the_stand_ins_answer__is_understood(read: Callable[[dict[str, Any]], list[Any]]) -> None:
    samples = read({})
    assert {each.operator for each in samples} == {"a", "b"}
    assert {each.records_in for each in samples} == {60}
    assert all(each.busy_s == pytest.approx(0.12) for each in samples if each.operator == "b")  # 60 · 2 ms


@FUZZED
@given(st.sampled_from(sorted(_storm_pages())), JSON)
def test_storm_that_answers_anything__is_read_or_told_of(path: str, answer: Any) -> None:
    _is_read_or_told_of(lambda: _storm({path: answer}), "Storm UI at http://storm, topology pair")


@FUZZED
@given(
    st.sampled_from(["executorStats", "inputStats", "outputStats"]),
    st.sampled_from(
        ["id", "uptimeSeconds", "emitted", "executed", "executeLatency", "capacity", "component", "stream"]
    ),
    JSON,
)
def test_storm_of_which_one_field_is_anything__is_read_or_told_of(part: str, field: str, value: Any) -> None:
    pages = _storm_pages()
    for name in "ab":
        for each in pages[COMPONENT + name].get(part, ()):
            each[field] = value
    _is_read_or_told_of(lambda: _storm(pages), "Storm UI at http://storm, topology pair")


@FUZZED
@given(st.sampled_from(sorted(_heron_pages())), JSON)
def test_heron_that_answers_anything__is_read_or_told_of(path: str, answer: Any) -> None:
    _is_read_or_told_of(lambda: _heron({path: answer}), "Heron Tracker at http://heron, topology c/e/pair")


@FUZZED
@given(
    st.sampled_from(
        ["__execute-count/a/default", "__execute-latency/a/default", "__jvm-uptime-secs", "__emit-count/default"]
    ),
    JSON,
)
def test_heron_of_which_one_metric_is_anything__is_read_or_told_of(metric: str, value: Any) -> None:
    pages = _heron_pages()
    whole = pages["/topologies/metrics/timeline"]

    def changed(request: httpx.Request) -> Any:
        answer = whole(request)
        for by_stamp in answer["timeline"].get(metric, {}).values():
            by_stamp.update(dict.fromkeys(by_stamp, value))
        return answer

    _is_read_or_told_of(
        lambda: _heron({"/topologies/metrics/timeline": changed}), "Heron Tracker at http://heron, topology c/e/pair"
    )


@FUZZED
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 5000)), min_size=1, max_size=6), st.integers(1, 4000))
def test_executors__share_out_all_that_came_and_was_spent(executors: list[tuple[int, int]], latency_us: int) -> None:
    """executors: what each executed, and its uptime."""
    total = sum(executed for executed, _ in executors)
    latency = f"{latency_us / 1000:.3f}"
    stats = [
        {"id": f"[{task}-{task}]", "uptimeSeconds": up_s, "emitted": 0, "executed": executed, "executeLatency": latency}
        for task, (executed, up_s) in enumerate(executors, 1)
    ]
    entered = {"component": "a", "stream": "default", "executed": total, "executeLatency": latency}
    samples = [
        each
        for each in _storm({COMPONENT + "b": {"executorStats": stats, "inputStats": [entered]}})
        if each.operator == "b"
    ]
    assert sum(each.records_in for each in samples) == pytest.approx(total)
    assert sum(each.records_in_by["a->b"] for each in samples) == pytest.approx(total)
    assert sum(each.busy_s for each in samples) == pytest.approx(total * latency_us / 1e6)
    assert sum(each.busy_s_by["a->b"] for each in samples) == pytest.approx(sum(each.busy_s for each in samples))
    assert [each.index for each in samples] == list(range(len(executors)))
